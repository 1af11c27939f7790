"""Texts of real corpora, and MinHash over them: what the replica evaluation reads and what it stands beside."""

import csv
import io
import re
import sys
import tarfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.page import Page
from samehand.base.settings import Settings
from samehand.html import visible_text
from samehand.sources.mail.messages import read_stream

SPAM, HAM = ("spam-1", "spam-2"), ("easy-ham-1", "easy-ham-2", "hard-ham-1")
_WORD = re.compile(r"[^\W_]+")
_PERMUTATIONS = 128


def members(data: Path, archive: str) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file in an archive, streamed and by name."""
    path = data / archive
    if not path.is_file():
        sys.exit(f"{path} is not there: this evaluation needs it. Say where it is with --data FOLDER.")
    with tarfile.open(path) as tar:
        found = {
            member.name: handle.read() for member in tar if member.isfile() and (handle := tar.extractfile(member))
        }
    yield from sorted(found.items())


def mails(data: Path) -> dict[str, list[bytes]]:
    """Subject and text of the SpamAssassin mails, by folder."""
    folders: dict[str, list[bytes]] = {}
    for name, raw in members(data, "spamassassin.tar.xz"):
        folders.setdefault(name.split("/")[1], []).append(mail_text(raw))
    return folders


def mail_text(raw: bytes) -> bytes:
    """Subject and body of a mail as UTF-8; nothing of what is no mail. Every file of the corpus is one message."""
    message = raw.partition(b"\n")[2] if raw.startswith(b"From ") else raw
    items = list(read_stream(io.BytesIO(message), "mail", Settings()))
    return items[0].content if items and isinstance(items[0], Page) else b""


def reuters(data: Path) -> list[bytes]:
    """The bodies of the Reuters newswire, one a line."""
    lines = (line for _, content in members(data, "reuters21578_txt.tar.xz") for line in content.splitlines())
    return [line for line in lines if line.strip()]


class RevisionPairs(NamedTuple):
    """The same pages in two releases, and the Jaccard similarity of their word 5-grams."""

    older: list[bytes]
    newer: list[bytes]
    jaccard: NDArray[np.float64]


def revision_pairs(data: Path) -> RevisionPairs:
    """The 529 pages of debdoc_revpairs."""
    contents = dict(members(data, "debdoc_revpairs.tar.xz"))
    table = contents["debdoc_revpairs/pairs.tsv"].decode().splitlines()
    rows = list(csv.DictReader(table, delimiter="\t"))
    older, newer = (
        [visible_text(contents[f"debdoc_revpairs/{release}/{row['package']}/{row['file']}"]) for row in rows]
        for release in ("bookworm", "trixie")
    )
    jaccard = np.array([float(row["jaccard5"]) for row in rows])
    return RevisionPairs([text.encode() for text in older], [text.encode() for text in newer], jaccard)


def documentation(data: Path) -> list[bytes]:
    """The pages of debdoc_shared."""
    pages = (content for name, content in members(data, "debdoc_shared.tar.xz") if name.endswith(".html"))
    return [visible_text(page).encode() for page in pages]


def written_news(data: Path) -> list[bytes]:
    """News of people and machines on the same subjects."""
    files = members(data, "ghostbuster_reuter.tar.xz")
    return [content for name, content in files if name.endswith(".txt") and "/headlines/" not in name]


def human_news(data: Path) -> list[bytes]:
    """News that people wrote."""
    files = members(data, "ghostbuster_reuter.tar.xz")
    return [
        content for name, content in files if name.endswith(".txt") and "/human/" in name and "/headlines/" not in name
    ]


def blogs(data: Path) -> list[bytes]:
    """Blog posts."""
    return [content for name, content in members(data, "genres.tar.xz") if "/blogs/" in name]


def reviews(data: Path) -> list[bytes]:
    """Film reviews."""
    return [content for name, content in members(data, "genres.tar.xz") if "/imdb/" in name]


def real_pages(data: Path) -> dict[str, bytes]:
    """Real pages of many sites and languages, by file name."""
    return {name: content for name, content in members(data, "webpages.tar.xz") if name.endswith(".html")}


def word_shingles(text: bytes) -> list[bytes]:
    """The distinct word 3-grams of a text."""
    words = _WORD.findall(text.decode("utf-8", "replace").lower())
    return list({" ".join(words[start : start + 3]).encode() for start in range(max(1, len(words) - 2))})


def datasketch_pairs(texts: Sequence[bytes], threshold: float) -> tuple[set[tuple[int, int]], float]:
    """Pairs that datasketch's MinHash index finds at `threshold`, and the seconds it took."""
    from datasketch import MinHash, MinHashLSH  # type: ignore[import-untyped]

    began = time.perf_counter()
    index = MinHashLSH(threshold=threshold, num_perm=_PERMUTATIONS)
    pairs = set()
    for number, text in enumerate(texts):
        sketch = MinHash(num_perm=_PERMUTATIONS)
        sketch.update_batch(word_shingles(text))
        pairs |= {(other, number) for other in index.query(sketch)}
        index.insert(number, sketch)
    return pairs, time.perf_counter() - began


def datasketch_seconds(texts: Sequence[bytes]) -> float:
    """Seconds datasketch needs to make the sketches of texts, shingles included."""
    from datasketch import MinHash

    began = time.perf_counter()
    for text in texts:
        MinHash(num_perm=_PERMUTATIONS).update_batch(word_shingles(text))
    return time.perf_counter() - began
