"""Sketches of neighbouring words equal their readable references."""

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samehand.html import parse_pages
from samehand.kernels import buckets
from samehand.kernels.noise import EMPTY
from samehand.kernels.text import pairs as kernel
from samehand.kernels.text.documents import DocumentRows
from samehand.methods.replica.lexicon import Blocks, WordReader
from samehand.methods.replica.pairs import PairSketches, ProbeColumns, probe_slots, sketch_identity
from test_kernels_words import TEXTS, buffers, cosine, flat, mix, rows, runs_of, word_hash

GOLDEN, MASK = 0x9E3779B97F4A7C15, (1 << 64) - 1
WORDS = st.sampled_from(
    ["of", "the", "word", "World", "Ünïcode", "a1b2", "слово", "5", "wоrd", "\n", "zero\u200bwidth"]
)
DOCUMENTS = st.one_of(TEXTS, st.lists(WORDS, max_size=60).map(lambda words: " ".join(words).encode()))


def pairs_of(
    blocks: Sequence[bytes], least: int, enough: int, menus: frozenset[int] = frozenset()
) -> tuple[set[int], bool]:
    """The hashes of neighbouring words in the blocks that count, at least one of four characters; if there is prose."""
    read = [[word for word, _ in runs_of(block)] for block in blocks]
    long = [words for place, words in enumerate(read) if len(words) >= least and place not in menus]
    has_prose = sum(map(len, long)) >= enough
    words = list(itertools.chain(*(long if has_prose else read)))
    found = {
        max(1, mix((word_hash(one) * GOLDEN & MASK) ^ word_hash(other)))
        for one, other in itertools.pairwise(words)
        if max(len(one), len(other)) >= 4
    }
    return found, has_prose


def sketch_of(pairs: set[int]) -> list[int]:
    """The smallest hash of each slot; an empty slot takes the value of one that is drawn by its own number."""
    slots: dict[int, int] = {}
    for pair in sorted(pairs, reverse=True):
        slots[pair >> 57] = pair & 0xFF
    sketch = []
    for slot in range(128):
        draw, other = 0, slot
        while other not in slots:
            draw += 1
            other = mix(slot << 32 | draw) >> 57
        sketch.append(slots[other])
    return sketch


@given(st.lists(DOCUMENTS, max_size=4), st.sampled_from([(0, 0), (1, 1), (3, 5), (12, 60)]), st.sampled_from([1, 5]))
def test_sketches_equal_the_reference(texts: list[bytes], rule: tuple[int, int], fewest: int) -> None:
    data, offsets = buffers(texts)
    found = WordReader().read_documents(data, offsets, Blocks.lines(data, offsets), (*rule, fewest))
    assert rows(*found[:2]) == rows(*WordReader().word_sets(data, offsets))
    for place, text in enumerate(texts):
        pairs, has_prose = pairs_of(text.split(b"\n"), *rule)
        is_sketched = len(pairs) >= fewest
        assert found[3][place] == len(pairs) * is_sketched * (1 if has_prose else -1)
        assert found[2][place].tolist() == (sketch_of(pairs) if is_sketched else [0] * 128)


def test_menus_do_not_count_unless_there_is_nothing_else() -> None:
    lines = [" ".join(f"word{chr(97 + n)}{chr(97 + line)}" for n in range(20)).encode() for line in range(4)]
    data, offsets = buffers([b"\n".join(lines)] * 2)
    ends = np.cumsum([len(line) + 1 for line in lines])[:-1]
    menus = Blocks(np.tile(ends, 2), np.array([True, False, True, False, False, False]), np.array([0, 3, 6]))
    found = WordReader().read_documents(data, offsets, menus, (12, 60, 1))
    assert found[3][0] == len(pairs_of(lines, 12, 60, frozenset({1}))[0]) == 59
    assert found[3][1] == -len(pairs_of(lines, 0, 0)[0]) == -79


def test_a_block_that_is_half_links_is_a_menu() -> None:
    long, links = b"some <a href=a>li</a> text" + b" and words" * 9, b"<a href=b>" + b"link " * 20 + b"</a>two"
    page = b"<p>%s</p><p>%s</p><p>%s</p><p>end</p>" % (long, links, long * 4)
    found = parse_pages(np.frombuffer(page * 2, np.uint8), np.array([0, len(page), 2 * len(page)]))
    blocks = Blocks.of_pages(found)
    assert blocks.is_text[:4].tolist() == [False, False, True, False]  # the first block is outside of the main text
    kinds = Blocks.of_pages(dataclasses.replace(found, block_links=np.zeros_like(found.block_links)))
    assert kinds.is_text[:4].tolist() == [True, True, True, False]
    assert blocks.is_text[: blocks.offsets[1]].tolist() == blocks.is_text[blocks.offsets[1] :].tolist()


def test_without_blocks_the_whole_text_counts() -> None:
    words = " ".join(f"word{chr(97 + n)}" for n in range(20))
    text = f"{words}\nshort\n{words[::-1]}".encode()
    data, offsets = buffers([text])
    whole = WordReader().read_documents(data, offsets, Blocks.none(1), (0, 0, 1))
    assert whole[3][0] == len(pairs_of([text], 0, 0)[0])
    lines = WordReader().read_documents(data, offsets, Blocks.lines(data, offsets), (12, 30, 1))
    assert lines[3][0] == whole[3][0] - 1  # "short" has a neighbour on both sides there


def sketches(draw: np.random.Generator, count: int) -> NDArray[np.uint8]:
    base = draw.integers(0, 1 << 8, (1, 128))
    return np.where(draw.random((count, 128)) < 0.5, base, draw.integers(0, 1 << 8, (count, 128))).astype(np.uint8)


def reference_jaccard(left: NDArray[np.uint8], right: NDArray[np.uint8]) -> float:
    share = float((left == right).mean())
    return max(0.0, (share - 1 / 256) / (1 - 1 / 256))


def test_estimates_equal_counting() -> None:
    draw = np.random.default_rng(1)
    values, sizes = sketches(draw, 12), draw.integers(20, 900, 12).astype(np.int32)
    sizes[3], sizes[5] = 0, -sizes[5]
    things = PairSketches(values, sizes, 0.2)
    left, right = np.array(list(itertools.product(range(12), repeat=2)), np.int32).T.copy()
    jaccards, held = things.estimates(left, right)
    closeness = things.similarities(left, right)
    for place, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        wanted = reference_jaccard(values[a], values[b]) if 3 not in (a, b) else 0.0
        one, other = abs(sizes[a]), abs(sizes[b])
        inside = min(1.0, wanted / (1 + wanted) * (one + other) / min(one, other)) if one and other else 0.0
        assert jaccards[place] == pytest.approx(wanted)
        assert held[place] == pytest.approx(inside)
        counted = wanted * (2 / 3 if min(one, other) < 64 else 1)
        whole = min(counted, 0.2) if 5 in (a, b) else max(counted, 0.2 * min(1, 2 * inside))
        assert closeness[place] == pytest.approx(whole)


def test_the_nearest_sketch_is_that_of_all() -> None:
    draw = np.random.default_rng(2)
    known, asked = np.split(sketches(draw, 14), [9])
    asked[0] = known[4]
    sizes = np.full(9, 50, np.int32)
    sizes[2] = 0
    found = kernel.nearest_sketches(
        PairSketches(asked, sizes[:2].repeat(3)[:5], 0.2).rows, PairSketches(known, sizes, 0.2).rows
    )
    for place, values in enumerate(asked):
        likeness = [reference_jaccard(values, other) * (row != 2) for row, other in enumerate(known)]
        assert found[1][place] == pytest.approx(max(likeness))
        assert found[0][place] == likeness.index(max(likeness))
    assert found[0][0] == 4


def test_probes_bring_equal_slots_together() -> None:
    draw = np.random.default_rng(3)
    values, sizes = sketches(draw, 40), np.full(40, 30, np.int32)
    sizes[7] = 0
    for subset, column in zip(probe_slots(), ProbeColumns(values, sizes), strict=True):
        assert column[7] == EMPTY
        keys = [tuple(row) for row in values[:, subset].tolist()]
        for a, b in itertools.combinations([row for row in range(40) if row != 7], 2):
            assert (column[a] == column[b]) == (keys[a] == keys[b])
    identity = sketch_identity(np.concatenate([values, values]), np.concatenate([sizes, sizes]))
    assert identity[7] == 0
    assert (identity[:40] == identity[40:]).all()
    assert len(set(identity.tolist())) == 40


@given(st.lists(st.sets(st.integers(0, 12), max_size=10), min_size=1, max_size=6), st.sampled_from([0.0, 0.6, 0.8]))
def test_both_channels_are_on_one_scale(sets: list[set[int]], least: float) -> None:
    draw = np.random.default_rng(len(sets))
    values, sizes = sketches(draw, len(sets)), draw.choice([-90, 0, 20, 63, 64, 200], len(sets)).astype(np.int32)
    starts, words = flat(sets, np.uint32)
    pairs = PairSketches(values, sizes, 0.2).rows
    documents = DocumentRows(starts, words, pairs.sketches, pairs.sizes, least, 0.4)
    left, right = np.array(list(itertools.product(range(len(sets)), repeat=2)), np.int32).T.copy()
    found = buckets.similarities_of_pairs(documents, left, right)
    for place, (a, b) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        near = float(np.float32(cosine(sets[a], sets[b])))
        scaled = 0.4 + 0.6 * (near - least) / (1 - least) if near >= least else 0.0
        jaccard = reference_jaccard(values[a], values[b]) if sizes[a] > 0 and sizes[b] > 0 else 0.0
        jaccard *= 2 / 3 if min(sizes[a], sizes[b]) < 64 else 1
        assert found[place] == pytest.approx(max(scaled, jaccard), abs=1e-6)
