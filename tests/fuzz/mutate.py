"""Seeded damage: flips, cuts, repeats, swaps and pieces that parsers look for."""

import random
from collections.abc import Sequence

NUMBERS = (b"0", b"-1", b"9" * 20, b"4294967295", b"4294967296", b"18446744073709551615", b"1e999", b"nan")
BYTES = (0, 1, 0x0A, 0x0D, 0x20, 0x22, 0x26, 0x3C, 0x3E, 0x7F, 0x80, 0xC0, 0xFE, 0xFF)


def mutated(seeds: Sequence[bytes], pieces: Sequence[bytes], draw: random.Random) -> bytes:
    """One of the seeds after one to six changes. `pieces` are words that the parser knows."""
    data = bytearray(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        change(data, seeds, pieces, draw)
    return bytes(data)


def change(data: bytearray, seeds: Sequence[bytes], pieces: Sequence[bytes], draw: random.Random) -> None:
    """One change in place."""
    at = draw.randrange(len(data) + 1)
    other = draw.randrange(len(data) + 1)
    first, last = min(at, other), max(at, other)
    size = draw.choice((1, 1, 2, 4, 16, 100))
    match draw.randrange(9):
        case 0 if at < len(data):
            data[at] ^= 1 << draw.randrange(8)
        case 1 if at < len(data):
            data[at] = draw.choice(BYTES)
        case 2:
            del data[at : at + size]
        case 3:
            data[at:at] = draw.randbytes(size)
        case 4:
            data[at:at] = draw.choice((*pieces, *NUMBERS))
        case 5:
            data[at : at + size] = draw.choice((*pieces, *NUMBERS))
        case 6:
            data[at:at] = data[first : first + min(last - first, 2_000)] * draw.choice((1, 2, 30))
        case 7:
            del data[at:]
        case _:
            donor = draw.choice(seeds)
            data[at:] = donor[draw.randrange(len(donor) + 1) :]
    del data[1 << 20 :]
