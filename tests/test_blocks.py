"""Blocks of a search: kernels equal plain loops, and no division of rows changes a forest, a medoid or a count."""

import collections
import contextlib
import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samehand.grouping import blocks as division
from samehand.grouping import comparable, medoids, memory
from samehand.grouping.edges import cut
from samehand.grouping.forest import find_forest
from samehand.grouping.probes import Buckets
from samehand.kernels import blocks
from samehand.kernels.sketches import hash_rows
from test_grouping import DIMENSIONS, all_probes, rule, sketch_rows, sketches

COLUMNS = st.lists(st.lists(st.integers(0, 4), min_size=9, max_size=9), min_size=1, max_size=5)
FIRST = int(blocks.FIRST)


def buckets_of(column: list[int]) -> list[list[int]]:
    """The buckets of two rows and more."""
    found = collections.defaultdict(list)
    for row, bucket in enumerate(column):
        found[bucket].append(row)
    return sorted(rows for rows in found.values() if len(rows) > 1)


def sorted_keys(column: list[int]) -> NDArray[np.uint64]:
    return np.sort(np.array(column, np.uint64) << np.uint64(32) | np.arange(len(column), dtype=np.uint64))


def split(entries: list[int]) -> list[list[int]]:
    """Entries as buckets."""
    found: list[list[int]] = []
    for entry in entries:
        if entry & FIRST:
            found.append([])
        found[-1].append(entry & ~FIRST)
    return found


@given(COLUMNS, st.sampled_from([1, 3, 64]))
def test_every_bucket_goes_whole_to_one_block_that_has_its_rows(columns: list[list[int]], count: int) -> None:
    homes, guests = np.full(9, blocks.HOMELESS, np.uint8), np.zeros(9, np.uint64)
    sent: dict[int, list[list[int]]] = collections.defaultdict(list)
    parts = []
    for column in columns:
        entries, starts = blocks.route(sorted_keys(column), homes, guests, count)
        found = [split(entries[a:b].tolist()) for a, b in itertools.pairwise(starts.tolist())]
        assert sorted(itertools.chain(*found)) == buckets_of(column)
        for block, here in enumerate(found):
            sent[block] += here
        parts.append((entries, starts))
    needed = [len({row for bucket in sent[block] for row in bucket}) for block in range(count)]
    assert blocks.block_sizes(homes, guests, count).tolist() == needed
    for first, stop in ((0, count), (count // 2, count)):
        rows, starts = blocks.rows_of_blocks(homes, guests, first, stop)
        for block in range(first, stop):
            here = rows[starts[block - first] : starts[block - first + 1]].tolist()
            assert here == sorted({row for bucket in sent[block] for row in bucket})
            keys = [blocks.keys_of_block(*ends(part, block), *blocks.ranked(rows_at(here), 9), 5, 7) for part in parts]
            for (entries, bounds), found_keys in zip(parts, keys, strict=True):
                wanted = split(entries[bounds[block] : bounds[block + 1]].tolist())
                named = [(7 + number, 5 + here.index(row)) for number, bucket in enumerate(wanted) for row in bucket]
                assert [(key >> 32, key & 0xFFFFFFFF) for key in found_keys.tolist()] == named


def ends(
    part: tuple[NDArray[np.uint32], NDArray[np.int64]], block: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    return part[0], part[1][block : block + 1], part[1][block + 1 : block + 2]


def rows_at(rows: list[int]) -> NDArray[np.int32]:
    return np.array(rows, np.int32)


def test_rows_that_meet_again_stay_in_one_block() -> None:
    homes, guests = np.full(40, blocks.HOMELESS, np.uint8), np.zeros(40, np.uint64)
    for probe in range(5):
        column = [row if row % 9 == probe else 100 + row // 20 for row in range(40)]  # two templates, and strays
        blocks.route(sorted_keys(column), homes, guests, 64)
    assert (len(set(homes[:20])), len(set(homes[20:])), guests.any()) == (1, 1, False)


@given(sketch_rows(), st.integers(2, 8), st.sampled_from([1, 2]))
def test_no_division_changes_a_forest_or_a_count(rows: list[list[int]], bucket_size: int, threads: int) -> None:
    values, things = np.array(rows, np.uint32).reshape(len(rows), DIMENSIONS), sketches(rows)
    buckets = Buckets(all_probes().columns(values), hash_rows(values))
    limits = rule(exhaustive_bucket_size=bucket_size, max_leaders=2)
    forest, counts = find_forest(things, buckets, rule=limits)
    with small_steps():
        divided, counted = find_forest(things, buckets, rule=limits, threads=threads)
    assert divided.packed.tolist() == forest.packed.tolist()
    assert divided.similarities.tolist() == forest.similarities.tolist()
    assert counted.stored() == counts.stored()


@given(sketch_rows())
def test_no_block_of_members_changes_a_medoid(rows: list[list[int]]) -> None:
    things, everything = sketches(rows), np.arange(len(rows), dtype=np.int32)
    values = np.array(rows, np.uint32).reshape(len(rows), DIMENSIONS)
    forest, _ = find_forest(things, Buckets(all_probes().columns(values), hash_rows(values)), rule=rule())
    labels = cut(forest, len(rows), 0.3)
    whole = medoids.find_medoids(things, everything, labels)
    with small_steps():
        found = medoids.find_medoids(things, everything, labels)
    for name in ("labels", "starts", "members", "medoids", "similarities"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()


@contextlib.contextmanager
def small_steps() -> Iterator[None]:
    """Blocks, shelves, pieces and stretches of a few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(division, "BLOCK_ROWS", 2)
        patch.setattr(comparable, "GATHERED_LEAST", 2)
        patch.setattr(comparable, "GATHERED_BYTES", 1)
        patch.setattr(division, "_PIECE", 4)
        patch.setattr(memory, "_STRETCH", 3)
        yield
