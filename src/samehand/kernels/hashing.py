"""The steps that hashes of this project are made of. Values are stored in run folders and models: never change them."""

import numpy as np

from samehand.kernels import part

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2 ** 64 ÷ the golden ratio: the factor of multiplicative hashing."""
MURMUR = np.uint64(0xFF51AFD7ED558CCD)
"""First factor of MurmurHash3's last step."""
FNV_BASIS, FNV_PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)
"""Start and factor of FNV-1a."""


@part
def absorb(state: np.uint64, value: np.uint64, factor: np.uint64) -> np.uint64:
    """The state of a hash after one more value."""
    mixed = (state ^ value) * factor
    return mixed ^ (mixed >> np.uint64(32))


@part
def finish(state: np.uint64) -> np.uint64:
    """Spreads every bit of a state over the whole hash: one multiplication and two shifts."""
    mixed = (state ^ (state >> np.uint64(32))) * MURMUR
    return mixed ^ (mixed >> np.uint64(29))
