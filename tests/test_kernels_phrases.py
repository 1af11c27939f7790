"""The kernels of shared phrases equal readable references."""

import itertools
import unicodedata
from collections import Counter, defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samehand.kernels.phrases.groups import (
    PARTS,
    STRETCH,
    branching,
    count_holders,
    covered_words,
    find_stars,
    join_groups,
)
from samehand.kernels.phrases.runs import unbroken, without_passages
from samehand.kernels.phrases.windows import (
    MANY,
    count_windows,
    find_windows,
    keep_windows,
    move_entries,
    note_windows,
    window_hashes,
    window_slots,
)
from samehand.kernels.phrases.words import LETTERS, page_words

SEED = np.uint64(7)
SIZE = 5

texts = st.lists(st.text(st.sampled_from("abAB1é É'’\u00ad\u200b\u0301 .,—中δΔ\U0001f600\n"), max_size=30), max_size=5)
pages = st.lists(st.lists(st.integers(0, 3), max_size=14), max_size=6)
held = st.lists(st.lists(st.tuples(st.integers(0, 7), st.integers(1, 4)), max_size=12), min_size=1, max_size=7)
"""Pages of (phrase, words after the phrase before it)."""


def laid(rows: list[list[int]], kind: type[np.generic] = np.uint32) -> tuple[NDArray[np.generic], NDArray[np.int64]]:
    """Rows end to end, and where each begins."""
    return np.array([*itertools.chain(*rows)], kind), np.cumsum([0, *map(len, rows)])


def read_words(text: str) -> list[str]:
    """The words of a text, as they are hashed."""
    said = ""
    for char in text:
        if unicodedata.category(char) in ("Mn", "Cf") or char in "'’":
            continue
        base = unicodedata.normalize("NFKD", char)[0].lower()
        said += base if base.isalnum() else " "
    return said.split()


@given(texts, st.integers(1, 6))
def test_words(given_texts: list[str], most: int) -> None:
    encoded = [text.encode() for text in given_texts]
    data, offsets = np.frombuffer(b"".join(encoded) or b" ", np.uint8), np.cumsum([0, *map(len, encoded)])
    hashes, places, bounds, totals = page_words(data, offsets, LETTERS, SEED, most)
    wanted = [read_words(text) for text in given_texts]
    assert totals.tolist() == [len(words) for words in wanted]
    assert np.diff(bounds).tolist() == [min(most, len(words)) for words in wanted]
    kept = [word for words in wanted for word in words[:most]]
    assert len(set(zip(kept, hashes.tolist(), strict=True))) == len(set(kept)) == len(set(hashes.tolist()))
    shown = [data[begin:end].tobytes().decode() for begin, end in places]
    assert [read_words(text) for text in shown] == [[word] for word in kept]


def test_broken_bytes_end_a_word() -> None:
    data = np.frombuffer(b"ab\xffcd\xc3", np.uint8)
    hashes, places, _, totals = page_words(data, np.array([0, 6]), LETTERS, SEED, 9)
    assert (places.tolist(), totals.tolist(), hashes.size) == ([[0, 2], [3, 5]], [2], 2)


def windows_of(rows: list[list[int]], size: int) -> list[tuple[int, ...] | None]:
    """The window that begins at each word, None where the page ends before."""
    return [tuple(row[at : at + size]) if at + size <= len(row) else None for row in rows for at in range(len(row))]


@given(pages, st.integers(1, 6))
def test_windows(rows: list[list[int]], size: int) -> None:
    words, bounds = laid(rows)
    hashes = window_hashes(words, bounds, size).tolist()
    wanted = windows_of(rows, size)
    assert [value == 0 for value in hashes] == [window is None for window in wanted]
    assert len(set(zip(hashes, wanted, strict=True))) == len(set(wanted)) == len(set(hashes))


@given(pages, st.lists(st.integers(0, 2), min_size=6, max_size=6), st.integers(1, 3))
def test_counted_windows(rows: list[list[int]], sites: list[int], parts: int) -> None:
    words, bounds = laid(rows)
    hashes = window_hashes(words, bounds, 2)
    seen = np.zeros(64, np.uint8)
    note_windows(hashes, seen)
    found: dict[int, tuple[int, int]] = {}
    for part in range(parts):
        entries, filled = tables(2), np.zeros(1, np.int64)
        kept, done = keep_windows(hashes, seen, 2, parts, part), 0
        while (
            done := count_windows(kept, bounds, np.array(sites, np.int32), 100, done, entries, filled)
        ) < bounds.size - 1:
            larger = tables(2 * entries[0].size)
            move_entries(entries, larger)
            entries = larger
        keys, _, number, site = entries
        assert not found.keys() & set(keys[keys != 0].tolist())
        found |= {int(key): (int(number[at]), int(site[at])) for at, key in enumerate(keys) if key}
    holders = defaultdict(set)
    for page, row in enumerate(rows):
        for at, window in enumerate(windows_of([row], 2)):
            if window:
                holders[int(hashes[bounds[page] + at])].add(page)
    for key, on in holders.items():
        if len(on) >= 2:
            places = {sites[page] for page in on}
            assert found[key] == (len(on), places.pop() if len(places) == 1 else MANY)
    slots, numbers = window_slots(np.array(sorted(found), np.uint64))
    place = {key: at for at, key in enumerate(sorted(found))}
    assert find_windows(hashes, slots, numbers).tolist() == [place.get(int(value), -1) for value in hashes]


def tables(size: int) -> tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    return np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)


@given(st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20), max_size=4))
def test_runs_and_passages(rows: list[list[tuple[bool, bool]]]) -> None:
    long = SIZE + 2
    flags = [
        [
            (shared and at + SIZE <= len(row), passage and at + long <= len(row))
            for at, (shared, passage) in enumerate(row)
        ]
        for row in rows
    ]
    found, bounds = laid([[7 if shared else -1 for shared, _ in row] for row in flags], np.int32)
    passages, _ = laid([[1 if passage else -1 for _, passage in row] for row in flags], np.int32)
    starts = [
        all(shared for shared, _ in row[at : at + 3]) and at + 3 <= len(row) for row in flags for at in range(len(row))
    ]
    assert unbroken(found, bounds, 3).tolist() == starts
    kept, covered = without_passages(found, passages, bounds, SIZE, long)
    wanted, words = [], []
    for row in flags:
        inside = {at + step for at, (_, passage) in enumerate(row) if passage for step in range(long)}
        own = [at for at, (shared, _) in enumerate(row) if shared and inside.isdisjoint(range(at, at + SIZE))]
        wanted += [7 if at in own else -1 for at in range(len(row))]
        words.append(len({at + step for at in own for step in range(SIZE)}))
    assert (kept.tolist(), covered.tolist()) == (wanted, words)


def placed(rows: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Pages of (phrase, place)."""
    return [
        list(zip((phrase for phrase, _ in row), itertools.accumulate(step for _, step in row), strict=True))
        for row in rows
    ]


def arrays(rows: list[list[tuple[int, int]]]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    phrases, bounds = laid([[phrase for phrase, _ in row] for row in rows], np.int32)
    return phrases, laid([[place for _, place in row] for row in rows], np.int32)[0], bounds


def covered_by(row: list[tuple[int, int]], wanted: set[int]) -> set[int]:
    return {place + step for phrase, place in row if phrase in wanted for step in range(SIZE)}


@given(held, st.lists(st.booleans(), min_size=8, max_size=8), st.lists(st.integers(0, 1), min_size=7, max_size=7))
def test_holders_and_covered_words(rows: list[list[tuple[int, int]]], flags: list[bool], sites: list[int]) -> None:
    given_pages = placed(rows)
    phrases, places, bounds = arrays(given_pages)
    chosen = flags[: len(rows)]
    holders, on_sites = count_holders(phrases, bounds, np.array(chosen), np.array(sites, np.int32), 8)
    for phrase in range(8):
        on = [page for page, row in enumerate(given_pages) if chosen[page] and phrase in dict(row)]
        assert (holders[phrase], on_sites[phrase]) == (len(on), len({sites[page] for page in on}) > 1)
    telling = {phrase for phrase in range(8) if flags[phrase]}
    covered = covered_words(phrases, places, bounds, np.array(flags), SIZE)
    assert covered.tolist() == [len(covered_by(row, telling)) for row in given_pages]


def separate(row: list[tuple[int, int]]) -> int:
    """Different phrases of a page that count as apart from each other."""
    number, last, begin, seen = 0, -9, 0, set()
    for phrase, place in row:
        if (number == 0 or place > last + 1 or place - begin >= STRETCH) and phrase not in seen:
            number, begin = number + 1, place
        seen.add(phrase)
        last = place
    return number


@given(held, st.integers(1, 3))
def test_stars(rows: list[list[tuple[int, int]]], least: int) -> None:
    given_pages = placed(rows)
    phrases, places, bounds = arrays(given_pages)
    holding = [[page for page, row in enumerate(given_pages) if phrase in dict(row)] for phrase in range(8)]
    holders, holder_bounds = laid(holding, np.int32)
    order = np.arange(len(rows))[::-1].copy()
    labels = find_stars(phrases, places, bounds, order, holder_bounds, holders, least)
    wanted = [-1] * len(rows)
    for centre in order.tolist():
        if wanted[centre] >= 0:
            continue
        first = dict(reversed(given_pages[centre]))
        near = []
        for page, row in enumerate(given_pages):
            common = sorted((place, phrase) for phrase, place in first.items() if phrase in dict(row))
            if page != centre and wanted[page] < 0 and separate([(phrase, place) for place, phrase in common]) >= least:
                near.append(page)
        if len(near) >= 2:
            for page in (centre, *near):
                wanted[page] = centre
    assert labels.tolist() == wanted


@given(held, st.lists(st.integers(-1, 2), min_size=8, max_size=8))
def test_joined_groups(rows: list[list[tuple[int, int]]], owners: list[int]) -> None:
    given_pages = placed(rows)
    owners = [owner if owner < len(rows) else -1 for owner in owners]
    phrases, places, bounds = arrays(given_pages)
    lengths = np.array([row[-1][1] + SIZE if row else 0 for row in given_pages], np.int32)
    found = join_groups(phrases, places, bounds, lengths, np.array(owners, np.int32), SIZE)
    for page, row in enumerate(given_pages):
        best = (-1, 0, 0, 0)
        for group in range(3):
            own = [(phrase, place) for phrase, place in row if owners[phrase] == group]
            words = covered_by(own, set(range(8)))
            if len(words) > best[1]:
                parts = {word * PARTS // int(lengths[page]) for word in words}
                best = (group, len(words), separate(own), len(parts))
        assert tuple(int(column[page]) for column in found) == best


@given(held, st.lists(st.integers(-1, 1), min_size=8, max_size=8))
def test_branching(rows: list[list[tuple[int, int]]], owners: list[int]) -> None:
    given_pages = placed(rows)
    phrases, places, bounds = arrays(given_pages)
    after: dict[int, Counter[int]] = defaultdict(Counter)
    for row in given_pages:
        for (phrase, place), (other, next_place) in itertools.pairwise(row):
            if next_place == place + 1 and owners[phrase] == owners[other] >= 0:
                after[phrase][other] += 1
    found = branching(phrases, places, bounds, np.array(owners, np.int32))
    assert found.tolist() == [len(after[phrase]) > 1 for phrase in range(8)]
