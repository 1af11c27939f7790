"""For the builder of a text corpus: one document of each group of near replicas, by the ids of the corpus.

The corpus is JSONL, Parquet or CSV with the columns id, url and text (or html), or Common Crawl's WET files.

python examples/corpus_builder.py corpus.parquet run kept.txt
"""

import sys
from collections import Counter
from pathlib import Path

import samehand


def kept_ids(documents: str, folder: str) -> tuple[list[str], Counter[str]]:
    """The ids of the documents to keep, and how many were kept or dropped for which reason."""
    # Other names of columns: settings=samehand.Settings(text_column="body", url_column="metadata.link")
    run = samehand.scan(documents, folder, signals="replica")
    # The longest of a group stays: it is the one that extraction cut least. There is a row for every document.
    rows = run.keep_drop(survivor="longest")
    return [row["doc_id"] for row in rows if row["keep"]], Counter(rows["reason"])


if __name__ == "__main__":
    kept, reasons = kept_ids(*sys.argv[1:3])
    Path(sys.argv[3]).write_text("".join(f"{doc_id}\n" for doc_id in kept), encoding="utf-8")
    print(f"{len(kept)} documents kept: " + ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items())))
