"""For the builder of a text corpus: one document of each group of near replicas, by the ids of the corpus.

Each line of documents.jsonl has the fields id, url and html.

python examples/corpus_builder.py documents.jsonl run kept.txt
"""

import sys
from pathlib import Path

import samehand


def kept_ids(documents: str, folder: str) -> list[str]:
    """The ids of all documents but the near replicas of another one."""
    run = samehand.scan(documents, folder, signals="replica")
    best: dict[int, tuple[float, str]] = {}
    grouped = set()
    for member in run.replica_members():
        # The document nearest to the medoid stands for its group: it has the least text of its own.
        group, candidate = member["group_number"], (member["cosine"], member["doc_id"])
        best[group] = max(best.get(group, candidate), candidate)
        grouped.add(member["doc_id"])
    chosen = {doc_id for _, doc_id in best.values()}
    # Documents that are in no group are replicas of nothing, or have too few words to say: both stay.
    return [doc_id for doc_id in run.pages("doc_id")["doc_id"] if doc_id in chosen or doc_id not in grouped]


if __name__ == "__main__":
    kept = kept_ids(*sys.argv[1:3])
    Path(sys.argv[3]).write_text("".join(f"{doc_id}\n" for doc_id in kept), encoding="utf-8")
    print(f"{len(kept)} documents kept")
