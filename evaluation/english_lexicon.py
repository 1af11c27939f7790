"""Makes the lexicon of general English that ships with the package: python -m evaluation.english_lexicon --data FOLDER.

From 133 sessions of the European Parliament (acknowledged as their source), 99 novels of 1840 to 1920 (public domain)
and 1,627 documentation pages (free licences): what words English documents have, and how common each is. No text of
them is kept. Long texts are cut into documents of about a page.
"""

import argparse
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from evaluation.corpora import debian_pages
from samehand.html import visible_text
from samehand.methods.replica.lexicon import WordCounts
from samehand.methods.replica.method import SHIPPED_LEXICON

_DOCUMENT_BYTES = 4000
_MARKUP = re.compile(rb"<[^>]*>")


def main() -> None:
    """Writes the file into the package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    data = parser.parse_args().data
    counts = WordCounts()
    for name in ("europarl_en_sub.tar.xz", "eltec_level1.tar.xz"):
        for text in _texts(data / name):
            documents = [text[at : at + _DOCUMENT_BYTES] for at in range(0, len(text), _DOCUMENT_BYTES)]
            counts.add(pa.array(documents, pa.large_binary()))
    pages = [visible_text(page.content).encode() for page in debian_pages(data)]
    counts.add(pa.array(pages, pa.large_binary()))
    learned = counts.lexicon("European Parliament, English novels, free documentation")
    kept = learned.frequencies >= 3  # what stands in one or two pages of fifty thousand is no English in general
    small = learned.only(kept)
    SHIPPED_LEXICON.parent.mkdir(exist_ok=True)
    small.save(SHIPPED_LEXICON)
    first, end = small.primary()
    print(f"{small.documents} documents, {small.words.size} words, {end - first} of them primary")
    print(f"{SHIPPED_LEXICON.stat().st_size / 1e6:.1f} MB; typical: {' '.join(small.typical())}")


def _texts(archive: Path) -> Iterator[bytes]:
    with tarfile.open(archive) as tar:
        for member in tar:
            handle = tar.extractfile(member) if member.isfile() else None
            if handle is not None:
                yield _MARKUP.sub(b" ", handle.read())


if __name__ == "__main__":
    main()
