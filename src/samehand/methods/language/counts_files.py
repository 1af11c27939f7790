"""Counts from files in the layout of the Web 1T corpus (Google's n-grams, LDC2006T13), gzipped or plain.

    vocab or 1gms/vocab     word <tab> count
    2gms/*, 3gms/*, ...     words separated by blanks <tab> count, in any order, in any number of files

<S>, </S> and <UNK>, in upper or lower case, are the sentence marks and the unknown word. Words outside the vocabulary
count as unknown. Other lines are skipped and counted. Memory is bounded as in `counting`.
"""

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError
from samehand.kernels.ngrams import count_lines
from samehand.kernels.ngrams import tries as kernel
from samehand.methods.language.counting import (
    DEFAULT_MEMORY,
    Counts,
    OnProgress,
    check_order,
    merged,
    silent,
    write_run,
)
from samehand.methods.language.trie import field_bits
from samehand.methods.language.vocabulary import MOST_WORDS, Vocabulary

_MARK_IDS = {b"<unk>": kernel.UNKNOWN, b"<s>": kernel.START, b"</s>": kernel.END}
_VOCABULARY_FILES = ("vocab.gz", "vocab", "1gms/vocab.gz", "1gms/vocab")
_LONGEST_LINE = 1 << 16
_LARGEST_BLOCK, _SMALLEST_BLOCK = 1 << 28, 1 << 20


def is_count_folder(root: Path) -> bool:
    """Whether a folder has count files in this layout."""
    return _vocabulary_file(root) is not None


def read_counts(
    root: Path,
    *,
    order: int,
    most_words: int = MOST_WORDS,
    memory_bytes: int = DEFAULT_MEMORY,
    on_progress: OnProgress = silent,
) -> Counts:
    """The counts of n-grams of up to `order` words below a folder, for the `most_words` most frequent words."""
    check_order(order)
    vocabulary, counts, bad = _read_vocabulary(root, most_words)
    bits = field_bits(len(vocabulary))
    block = min(_LARGEST_BLOCK, max(_SMALLEST_BLOCK, memory_bytes // 32))
    with tempfile.TemporaryDirectory(prefix="samehand-count-") as folder:
        paths = [Path(folder) / "run-words"]
        rows = np.arange(len(vocabulary), dtype=np.int32).reshape(-1, 1)
        _write_sorted(paths[0], rows, counts, order=order, bits=bits)
        for length in range(2, order + 1):
            for path in _ngram_files(root, length):
                for data in _blocks(path, block):
                    rows, counts, skipped = _rows(data, length, vocabulary)
                    bad += skipped
                    paths.append(Path(folder) / f"run-{len(paths):06}")
                    _write_sorted(paths[-1], rows, counts, order=order, bits=bits)
                on_progress(f"read {path.name}")
        if bad:
            on_progress(f"skipped {bad} lines that are not n-grams with their counts")
        return merged(paths, vocabulary=vocabulary, order=order, memory_bytes=memory_bytes, whole=True)


def _vocabulary_file(root: Path) -> Path | None:
    return next((root / name for name in _VOCABULARY_FILES if (root / name).is_file()), None)


def _read_vocabulary(root: Path, most_words: int) -> tuple[Vocabulary, NDArray[np.uint64], int]:
    """The vocabulary, the count of each of its words, and the number of lines skipped."""
    path = _vocabulary_file(root)
    if path is None:
        raise InputError(f"There is no vocab.gz in {root}: name the folder that holds it beside 2gms, 3gms, ....")
    counted: dict[bytes, int] = {}
    marks = [0, 0, 0]
    bad = 0
    for data in _blocks(path, _SMALLEST_BLOCK):
        for line in data.tobytes().split(b"\n"):
            word, tab, number = line.rstrip(b"\r").rpartition(b"\t")
            if not tab or not word or b" " in word or not number.isdigit() or len(number) > 18:
                bad += bool(line)
            elif word.lower() in _MARK_IDS:
                marks[_MARK_IDS[word.lower()]] += int(number)
            else:
                counted[word] = counted.get(word, 0) + int(number)
    ranked = sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    marks[kernel.UNKNOWN] += sum(count for _, count in ranked[most_words:])
    del ranked[most_words:]
    if not ranked:
        raise InputError(f"There is no word with a count in {path}: its lines must be word, tab, count.")
    counts = np.array([*marks, *(count for _, count in ranked)], np.uint64)
    return Vocabulary.from_words(word for word, _ in ranked), counts, bad


def _ngram_files(root: Path, length: int) -> list[Path]:
    folder = root / f"{length}gms"
    found = sorted(path for path in folder.glob("*") if path.is_file() and path.suffix in ("", ".gz", ".txt", ".tsv"))
    if not found:
        raise InputError(f"There are no counts of {length}-grams in {folder}: ask for a lower order, or add them.")
    return found


def _blocks(path: Path, size: int) -> Iterator[NDArray[np.uint8]]:
    """The content of a file in blocks of whole lines. Lines of more than 64 KB are skipped."""
    try:
        with path.open("rb") as start:
            packed = start.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if packed else path.open("rb") as opened:
            handle = cast(IO[bytes], opened)
            while data := handle.read(size):
                data += handle.readline(_LONGEST_LINE)
                yield np.frombuffer(data, np.uint8)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}): fetch it again.") from error


def _rows(
    data: NDArray[np.uint8], length: int, vocabulary: Vocabulary
) -> tuple[NDArray[np.int32], NDArray[np.uint64], int]:
    starts, ends, marks, counts, bad = count_lines.split_lines(data, length)
    ids = vocabulary.ids_of(data, starts, ends)
    ids[marks > 0] = marks[marks > 0]
    return ids.reshape(-1, length), counts, bad


def _write_sorted(path: Path, rows: NDArray[np.int32], counts: NDArray[np.uint64], *, order: int, bits: int) -> None:
    high, low = kernel.pack_rows(rows, order, bits)
    counts = counts.copy()
    kernel.sort_wide(high, low, counts)
    write_run(path, *kernel.collapse(high, low, counts))
