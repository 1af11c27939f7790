"""The noise kernels equal their readable references, at every size around a window and a word."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reference
from samehand.base.settings import Settings
from samehand.kernels import noise
from samehand.methods.style import noise as style
from style_pages import estimate, fingerprint

MARKUP = st.lists(
    st.sampled_from(
        [b"<a href='x'>", b"</a>", b"  \n\t", b"word", b"\xc3\xa9", b"&amp;", b"{}();", b"0", b"\x00", b"\x0b\x0c"]
    ),
    max_size=60,
).map(b"".join)
PAGES = st.one_of(st.binary(max_size=300), MARKUP)


def settings(**changes: object) -> Settings:
    return Settings(**{"dimensions": 16, "min_filled": 0, **changes})


@given(PAGES, st.booleans())
@example(b"", True)
@example(b" ", True)
@example(b"a b c\n\n d", True)
def test_noise_equals_reference(page: bytes, fold: bool) -> None:
    assert style.noise_of(page, settings(fold_spaces=fold)) == reference.noise(page, fold=fold)


@given(PAGES, st.booleans())
def test_positions_lead_back_to_the_source(page: bytes, fold: bool) -> None:
    chosen = settings(fold_spaces=fold)
    positions = noise.noise_positions(np.frombuffer(page, np.uint8), fold)
    back = bytes(page[p] for p in positions)
    assert reference.noise(back, fold=fold) == style.noise_of(page, chosen)
    assert len(back) == len(style.noise_of(page, chosen))
    assert (np.diff(positions) > 0).all()


@given(PAGES, st.sampled_from([2, 3, 16, 31, 32, 33, 63]), st.booleans(), st.sampled_from(["samehand", "another"]))
def test_fingerprint_equals_procedure_1(page: bytes, width: int, fold: bool, key: str) -> None:
    chosen = settings(shingle_bytes=width, fold_spaces=fold, key=key)
    expected = reference.fingerprint(reference.noise(page, fold=fold), width=width, key=key, dimensions=16)
    assert fingerprint(page, chosen).tolist() == expected


@given(PAGES)
def test_shuffled_bits_are_the_permutations_of_the_paper(page: bytes) -> None:
    chosen = settings(shuffle_bits=True)
    kept = reference.noise(page, fold=True)
    xor, swaps = reference.key_numbers(chosen.key, 16)[256:], style.shuffle_tables(chosen.key, 16).tolist()
    expected = [reference.EMPTY] * 16
    for part in reference.parts(kept, 16):
        hashed = reference.part_hash(part, chosen.key, 16)
        place = hashed % 16
        expected[place] = min(expected[place], reference.shuffled(hashed ^ xor[place], swaps[place]) >> 32)
    assert fingerprint(page, chosen).tolist() == expected


@given(st.integers(0, (1 << 64) - 1))
def test_a_shuffle_keeps_every_bit(value: int) -> None:
    masks = style.shuffle_tables("samehand", 16)[3].tolist()
    ones = [reference.shuffled(1 << place, masks) for place in range(64)]
    assert sorted(ones) == [1 << place for place in range(64)]
    assert reference.shuffled(value, masks) == sum(ones[place] for place in range(64) if value >> place & 1)


@given(PAGES, st.sampled_from([2, 16, 63]))
def test_rolling_hash_equals_hash_of_each_window(page: bytes, width: int) -> None:
    chosen = settings(shingle_bytes=width)
    tables = style.tables_of(chosen)
    kept = style.noise_of(page, chosen)
    hashes = noise.hash_shingles(np.frombuffer(kept, np.uint8), tables.entering, tables.leaving, width)
    assert hashes.tolist() == [reference.part_hash(part, chosen.key, 16) for part in reference.parts(kept, width)]


@given(st.lists(PAGES, max_size=6))
def test_pages_end_to_end_equal_pages_alone(pages: list[bytes]) -> None:
    offsets = np.cumsum([0, *map(len, pages)]).astype(np.int64)
    values, lengths = style.fingerprint_buffers(np.frombuffer(b"".join(pages), np.uint8), offsets, settings())
    for index, page in enumerate(pages):
        alone = style.fingerprint_buffers(np.frombuffer(page, np.uint8), np.array([0, len(page)]), settings())
        assert values[index].tolist() == alone[0][0].tolist()
        assert lengths[index] == alone[1][0]


def test_another_key_gives_another_fingerprint() -> None:
    page = b"<div class='a'> <p> {x} </p> </div> " * 20
    ours, theirs = (fingerprint(page, settings(key=key)) for key in ("one", "two"))
    assert estimate(ours, ours, settings()) == 1.0
    assert estimate(ours, theirs, settings()) == 0.0


def _best_runs(left: list[int], right: list[int]) -> list[tuple[int, int, int]]:
    runs, position = [], 0
    while position < len(left):
        if left[position] not in right:
            position += 1
            continue
        other, length = right.index(left[position]), 1
        while left[position + length : position + length + 1] and left[position + length] == (
            right[other + length] if other + length < len(right) else None
        ):
            length += 1
        runs.append((position, other, length))
        position += length
    return runs


@given(st.lists(st.integers(0, 5), max_size=30), st.lists(st.integers(0, 5), max_size=30))
def test_shared_runs_equal_reference(left: list[int], right: list[int]) -> None:
    found = noise.shared_runs(np.array(left, np.uint64), np.array(right, np.uint64))
    assert [tuple(row) for row in found.tolist()] == _best_runs(left, right)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 63, 64, 65, 142, 143, 144, 270, 271, 272, 273, 4095, 4096, 4097])
def test_sizes_around_edges(size: int) -> None:
    page = bytes(33 + (i * i) % 14 for i in range(size))
    expected = reference.fingerprint(reference.noise(page, fold=True), width=16, key="samehand", dimensions=16)
    assert fingerprint(page, settings()).tolist() == expected
