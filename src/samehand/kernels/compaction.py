"""Blocks of 64 bytes: which of them are noise or white space, as bits of a word, and those kept moved together.

LLVM makes one instruction of a compaction where the machine has one (AVX-512 VBMI2). Elsewhere it makes a table of
small moves, which is about as fast as a loop over single bytes, and half as fast on the plainest x86-64. Bytes are in
little-endian order wherever Numba runs.

`source` and `target` are pointers (see pointers.py), and no index is checked: arrays need room for BLOCK more bytes.
"""

from typing import Any

import numba as nb
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending

BLOCK = 64

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types

_VECTOR = ir.VectorType(ir.IntType(8), BLOCK)
_CHOICE = ir.VectorType(ir.IntType(1), BLOCK)
_WORD = ir.IntType(64)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_FIRST_EVERYWHERE = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
_COMPRESS = f"llvm.experimental.vector.compress.v{BLOCK}i8"
_TO_LOWER, _BLANK = ord("a") ^ ord("A"), ord(" ")


@_intrinsic
def noise_bits(_typing: Any, source: Any, _position: Any) -> Any:
    """Bit i is set where byte i of the block at `position` is noise: no ASCII letter, no digit, and below 0x80."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        block = _load(builder, *arguments)
        is_letter = _between(builder, builder.or_(block, _everywhere(_TO_LOWER)), ord("a"), ord("z"))
        is_wide = builder.icmp_signed("<", block, _everywhere(0))
        is_content = builder.or_(builder.or_(is_letter, is_wide), _between(builder, block, ord("0"), ord("9")))
        return builder.bitcast(builder.not_(is_content), _WORD)

    return _types.uint64(source, _types.uint64), generate


@_intrinsic
def blank_bits(_typing: Any, source: Any, _position: Any) -> Any:
    """Bit i is set where byte i of the block at `position` is white space."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        block = _load(builder, *arguments)
        is_blank = builder.icmp_unsigned("==", block, _everywhere(_BLANK))
        return builder.bitcast(builder.or_(is_blank, _between(builder, block, ord("\t"), ord("\r"))), _WORD)

    return _types.uint64(source, _types.uint64), generate


@_intrinsic
def space_bits(_typing: Any, source: Any, _position: Any) -> Any:
    """Bit i is set where byte i of the block at `position` is white space of HTML, which a vertical tab is not."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        block = _load(builder, *arguments)
        is_other = builder.icmp_unsigned("!=", block, _everywhere(ord("\v")))
        is_control = builder.and_(is_other, _between(builder, block, ord("\t"), ord("\r")))
        is_blank = builder.icmp_unsigned("==", block, _everywhere(_BLANK))
        return builder.bitcast(builder.or_(is_blank, is_control), _WORD)

    return _types.uint64(source, _types.uint64), generate


@_intrinsic
def byte_bits(_typing: Any, source: Any, _position: Any, _byte: Any) -> Any:
    """Bit i is set where byte i of the block at `position` equals `byte`."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        source_value, position, byte = arguments
        only_first = builder.insert_element(_UNDEFINED, byte, ir.Constant(ir.IntType(32), 0))
        everywhere = builder.shuffle_vector(only_first, _UNDEFINED, _FIRST_EVERYWHERE)
        return builder.bitcast(builder.icmp_unsigned("==", _load(builder, source_value, position), everywhere), _WORD)

    return _types.uint64(source, _types.uint64, _types.uint8), generate


@_intrinsic
def compact_block(
    _typing: Any, source: Any, _position: Any, _kept: Any, _blanks: Any, target: Any, _length: Any
) -> Any:
    """Writes the bytes of the block at `position` whose bits are in `kept` to target[length:], those in `blanks` as
    blanks. What is behind them in the target is overwritten."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        source_value, position, kept, blanks, target_value, length = arguments
        block = _load(builder, source_value, position)
        block = builder.select(builder.bitcast(blanks, _CHOICE), _everywhere(_BLANK), block)
        kind = ir.FunctionType(_VECTOR, [_VECTOR, _CHOICE, _VECTOR])
        compress = builder.module.globals.get(_COMPRESS) or ir.Function(builder.module, kind, _COMPRESS)
        together = builder.call(compress, [block, builder.bitcast(kept, _CHOICE), _UNDEFINED])
        place = builder.bitcast(builder.gep(target_value, [length]), _VECTOR.as_pointer())
        builder.store(together, place).align = 1
        return context.get_dummy_value()

    word = _types.uint64
    return _types.void(source, word, word, word, target, word), generate


def _load(builder: Any, source: Any, position: Any) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(source, [position]), _VECTOR.as_pointer()))
    loaded.align = 1
    return loaded


def _everywhere(byte: int) -> Any:
    return ir.Constant(_VECTOR, [byte] * BLOCK)


def _between(builder: Any, block: Any, first: int, last: int) -> Any:
    return builder.icmp_unsigned("<=", builder.sub(block, _everywhere(first)), _everywhere(last - first))
