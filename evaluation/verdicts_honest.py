"""Verdicts on pages that nobody has a reason to accuse: no page may be blocked, and few dropped other than replicas.

    python -m evaluation.verdicts_honest --data FOLDER

`webpages` are 989 real pages of many sites and languages, `genres` 2,763 blog posts and film reviews as plain text.
Nothing was fitted on them. Each page that is dropped or blocked, other than a replica, is printed with its reason.
"""

import argparse
import csv
import io
import json
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import samehand

MOST_DROPPED = 0.01
"""Share of the pages that may be dropped other than as replicas."""
Records = Iterator[dict[str, str]]


def main() -> None:
    """Prints the figures of both corpora; ends with 1 where one misses its floor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    is_low = False
    for name, (read, signals) in CORPORA.items():
        archive = options.data / f"{name}.tar.xz"
        if not archive.is_file():
            sys.exit(f"{archive} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
        with tempfile.TemporaryDirectory() as scratch:
            source = Path(scratch) / f"{name}.jsonl"
            with tarfile.open(archive) as tar, source.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in read(tar))
            run = samehand.scan(source, Path(scratch) / "run", signals=signals, workers=1)
            for policy in ("crawl", "corpus"):
                is_low |= _print_policy(name, run, policy)
    sys.exit(1 if is_low else 0)


def _print_policy(name: str, run: samehand.Run, policy: str) -> bool:
    """What a policy does with the pages and sites of a corpus. True if it does more than it may."""
    pages, sites = run.verdicts("pages", policy=policy), run.verdicts("sites", policy=policy)
    dropped = [row for row in pages if row["action"] == "drop"]
    others = [row for row in dropped if row["kind"] not in ("replica", "mirror")]
    blocked = [row for row in sites if row["action"] == "block"]
    reviewed = Counter(row["kind"] for row in pages if row["action"] == "review")
    print(
        f"{name}, {policy}: {len(pages):,} pages, {len(sites):,} sites; blocked {len(blocked)} sites; dropped "
        f"{len(dropped) - len(others)} replicas and {len(others)} others ({len(others) / max(1, len(pages)):.2%}); "
        f"to review: {dict(reviewed) or 'none'}"
    )
    for row in [*others, *blocked]:
        against = [item["symbol"] for item in row["evidence"] if item["log_odds"] > 0]
        print(f"  {row['action']} {row['kind']} {row['probability']:.2f} {row['url']}: {', '.join(against)}")
    return bool(blocked) or len(others) > MOST_DROPPED * len(pages)


def _web_pages(tar: tarfile.TarFile) -> Records:
    manifest = tar.extractfile("webpages/manifest.tsv")
    if manifest is None:
        return
    rows = csv.DictReader(io.TextIOWrapper(manifest, "utf-8"), delimiter="\t")
    for row in list(rows):
        page = tar.extractfile(f"webpages/pages/{row['file']}")
        if page is not None:
            yield {"url": row["url"], "html": page.read().decode("utf-8", "replace"), "id": row["file"]}


def _texts(tar: tarfile.TarFile) -> Records:
    """Each text as a page of a site of its own."""
    for number, member in enumerate(sorted(tar.getmembers(), key=lambda one: one.name)):
        handle = tar.extractfile(member) if member.name.endswith(".txt") else None
        if handle is not None:
            text = handle.read().decode("utf-8", "replace")
            yield {"url": f"http://site{number}.example/", "text": text, "id": member.name}


CORPORA: dict[str, tuple[Callable[[tarfile.TarFile], Records], str]] = {
    "webpages": (_web_pages, "all"),
    "genres": (_texts, "replica,language,phrases"),
}
"""How a corpus is read, and the methods that say something of it."""


if __name__ == "__main__":
    main()
