"""Blocks of 32 bytes at once, for kernels that look for the next byte of some kind.

Such a byte is often near, but at a different distance each time, so a loop over single bytes ends with a mispredicted
branch. A block is compared in two instructions, and the position of the first hit is computed. LLVM uses the vectors
that the machine has. Bytes are in little-endian order wherever Numba runs.

`source` and `target` are pointers (see pointers.py), and no index is checked: arrays need room for BLOCK more bytes.
"""

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numpy.typing import NDArray

from samehand.kernels import helper
from samehand.kernels.bits import first_bit

BLOCK = 32

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types

_BYTE, _INDEX, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_BYTE, BLOCK)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_FIRST_EVERYWHERE = ir.Constant(ir.VectorType(_INDEX, BLOCK), [0] * BLOCK)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_TOPS = np.uint64(0x8080808080808080)
_FROM_A = np.uint64(0x3F3F3F3F3F3F3F3F)
_AFTER_Z = np.uint64(0x2525252525252525)
_ONE, _TWO, _EIGHT = np.uint64(1), np.uint64(2), np.uint64(8)


@_intrinsic
def equal_bits(_typing: Any, source: Any, _position: Any, _byte: Any) -> Any:
    """Bit i is set where byte i of the block at `position` equals `byte`."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _bits_where(builder, "==", arguments)

    return _types.uint64(source, _types.uint64, _types.uint8), generate


@_intrinsic
def at_most_bits(_typing: Any, source: Any, _position: Any, _byte: Any) -> Any:
    """Bit i is set where byte i of the block at `position` is `byte` or less."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _bits_where(builder, "<=", arguments)

    return _types.uint64(source, _types.uint64, _types.uint8), generate


def _bits_where(builder: Any, comparison: str, arguments: Any) -> Any:
    source, position, byte = arguments
    only_first = builder.insert_element(_UNDEFINED, byte, ir.Constant(_INDEX, 0))
    everywhere = builder.shuffle_vector(only_first, _UNDEFINED, _FIRST_EVERYWHERE)
    hits = builder.icmp_unsigned(comparison, _load(builder, source, position, _VECTOR), everywhere)
    return builder.zext(builder.bitcast(hits, ir.IntType(BLOCK)), _WORD)


def _load(builder: Any, source: Any, position: Any, kind: Any) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(source, [position]), kind.as_pointer()))
    loaded.align = 1
    return loaded


@_intrinsic
def copy_block(_typing: Any, source: Any, _position: Any, target: Any, _length: Any) -> Any:
    """Copies the block at source[position] to target[length]."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        source_value, position, target_value, length = arguments
        block = _load(builder, source_value, position, _VECTOR)
        place = builder.bitcast(builder.gep(target_value, [length]), _VECTOR.as_pointer())
        builder.store(block, place).align = 1
        return context.get_dummy_value()

    return _types.void(source, _types.uint64, target, _types.uint64), generate


@_intrinsic
def word_at(_typing: Any, source: Any, _position: Any) -> Any:
    """The eight bytes at `position`, the first one in the lowest bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _load(builder, arguments[0], arguments[1], _WORD)

    return _types.uint64(source, _types.uint64), generate


@helper
def lower_word(word: np.uint64) -> np.uint64:
    """Eight bytes with A to Z in lower case."""
    low = word & _SEVENS
    upper = ~word & ((low + _FROM_A) ^ (low + _AFTER_Z)) & _TOPS
    return word | (upper >> _TWO)


@helper
def first_word(source: NDArray[np.uint8], start: np.uint64, length: np.uint64) -> np.uint64:
    """The first eight bytes of a name in lower case, the first one in the lowest bits, zeros after its end."""
    word: np.uint64 = lower_word(word_at(source, start))
    if length < _EIGHT:
        word &= (_ONE << (length * _EIGHT)) - _ONE
    return word


@helper
def find_byte(source: NDArray[np.uint8], position: np.uint64, stop: np.uint64, byte: np.uint8) -> np.uint64:
    """The first position of `byte` from `position` on; `stop` if there is none before it."""
    while position < stop:
        bits = equal_bits(source, position, byte)
        if bits:
            found: np.uint64 = position + first_bit(bits)
            return min(found, stop)
        position += np.uint64(BLOCK)
    return stop
