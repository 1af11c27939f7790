"""Blocks of 64 bytes: which of them are noise or white space, as bits of a word, and those kept moved together.

LLVM makes one instruction of a compaction where the machine has one (AVX-512 VBMI2). Other x86-64 processors shuffle
8 bytes at a time by a table, which takes a fifth of the time of what LLVM makes there. Bytes are in little-endian order
wherever Numba runs.

`source` and `target` are pointers (see pointers.py), and no index is checked: arrays need room for BLOCK more bytes.
"""

from typing import Any

import numba as nb
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending

from samehand.kernels import PORTABLE_CPU

BLOCK = 64

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types

_VECTOR = ir.VectorType(ir.IntType(8), BLOCK)
_CHOICE = ir.VectorType(ir.IntType(1), BLOCK)
_WORD = ir.IntType(64)
_UNDEFINED = ir.Constant(_VECTOR, ir.Undefined)
_FIRST_EVERYWHERE = ir.Constant(ir.VectorType(ir.IntType(32), BLOCK), [0] * BLOCK)
_HALF, _WORDS = ir.VectorType(ir.IntType(8), 16), ir.VectorType(_WORD, 2)
_SHUFFLE, _ORDER = "llvm.x86.ssse3.pshuf.b.128", "samehand.order_of_bits"
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
def same_bits(_typing: Any, left: Any, _at: Any, right: Any, _place: Any) -> Any:
    """Bit i is set where byte i of the block at left[at] equals that of the block at right[place]."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        blocks = _load(builder, *arguments[:2]), _load(builder, *arguments[2:])
        return builder.bitcast(builder.icmp_unsigned("==", *blocks), _WORD)

    return _types.uint64(left, _types.uint64, right, _types.uint64), generate


@_intrinsic
def copy_bytes(_typing: Any, source: Any, _position: Any, target: Any, _place: Any) -> Any:
    """Copies the block at source[position] to target[place]."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        block = _load(builder, *arguments[:2])
        target_value, place = arguments[2:]
        builder.store(block, builder.bitcast(builder.gep(target_value, [place]), _VECTOR.as_pointer())).align = 1
        return context.get_dummy_value()

    return _types.void(source, _types.uint64, target, _types.uint64), generate


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
        if _shuffles(context):
            _compact_by_shuffles(builder, block, kept, builder.gep(target_value, [length]))
        else:
            kind = ir.FunctionType(_VECTOR, [_VECTOR, _CHOICE, _VECTOR])
            together = _call(builder, _COMPRESS, kind, [block, builder.bitcast(kept, _CHOICE), _UNDEFINED])
            place = builder.bitcast(builder.gep(target_value, [length]), _VECTOR.as_pointer())
            builder.store(together, place).align = 1
        return context.get_dummy_value()

    word = _types.uint64
    return _types.void(source, word, word, word, target, word), generate


def _shuffles(context: Any) -> bool:
    """Whether the processor that code is made for shuffles bytes, and cannot compact them."""
    _, cpu, features = context.codegen().magic_tuple()
    return cpu == PORTABLE_CPU or ("+ssse3" in features and "+avx512vbmi2" not in features)


def _compact_by_shuffles(builder: Any, block: Any, kept: Any, place: Any) -> None:
    """Moves the kept ones of each 8 bytes together, and writes them behind those before."""
    words = builder.bitcast(block, ir.VectorType(_WORD, BLOCK // 8))
    order = _order_of_bits(builder.module)
    before = _ones_before(builder, kept)
    for eighth in range(BLOCK // 8):
        bits, ones_before = (_byte_of(builder, value, eighth) for value in (kept, before))
        places = builder.load(builder.gep(order, [ir.Constant(_WORD, 0), bits]))
        word = builder.extract_element(words, ir.Constant(ir.IntType(32), eighth))
        moved = _call(
            builder, _SHUFFLE, ir.FunctionType(_HALF, [_HALF, _HALF]), [_half(builder, word), _half(builder, places)]
        )
        together = builder.extract_element(builder.bitcast(moved, _WORDS), ir.Constant(ir.IntType(32), 0))
        builder.store(together, builder.bitcast(builder.gep(place, [ones_before]), _WORD.as_pointer())).align = 1


def _order_of_bits(module: Any) -> Any:
    """For each byte, the places of its set bits in order, as the bytes of a word."""
    if _ORDER not in module.globals:
        kind = ir.ArrayType(_WORD, 256)
        table = ir.GlobalVariable(module, kind, _ORDER)
        table.global_constant, table.linkage = True, "internal"
        orders = [[bit for bit in range(8) if byte >> bit & 1] for byte in range(256)]
        table.initializer = ir.Constant(kind, [int.from_bytes(bytes(order), "little") for order in orders])
    return module.globals[_ORDER]


def _ones_before(builder: Any, bits: Any) -> Any:
    """Byte i is the number of bits that are set in the bytes before byte i of a word."""

    def every(byte: int) -> Any:
        return ir.Constant(_WORD, int.from_bytes(bytes([byte]) * 8, "little"))

    def shifted(value: Any, by: int) -> Any:
        return builder.lshr(value, ir.Constant(_WORD, by))

    pairs = builder.sub(bits, builder.and_(shifted(bits, 1), every(0x55)))
    fours = builder.add(builder.and_(pairs, every(0x33)), builder.and_(shifted(pairs, 2), every(0x33)))
    in_bytes = builder.and_(builder.add(fours, shifted(fours, 4)), every(0x0F))
    return builder.shl(builder.mul(in_bytes, every(0x01)), ir.Constant(_WORD, 8))


def _byte_of(builder: Any, word: Any, place: int) -> Any:
    return builder.and_(builder.lshr(word, ir.Constant(_WORD, 8 * place)), ir.Constant(_WORD, 0xFF))


def _half(builder: Any, word: Any) -> Any:
    """A word as the lower half of a vector of 16 bytes."""
    both = builder.insert_element(ir.Constant(_WORDS, ir.Undefined), word, ir.Constant(ir.IntType(32), 0))
    return builder.bitcast(both, _HALF)


def _call(builder: Any, name: str, kind: Any, arguments: Any) -> Any:
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, arguments)


def _load(builder: Any, source: Any, position: Any) -> Any:
    loaded = builder.load(builder.bitcast(builder.gep(source, [position]), _VECTOR.as_pointer()))
    loaded.align = 1
    return loaded


def _everywhere(byte: int) -> Any:
    return ir.Constant(_VECTOR, [byte] * BLOCK)


def _between(builder: Any, block: Any, first: int, last: int) -> Any:
    return builder.icmp_unsigned("<=", builder.sub(block, _everywhere(first)), _everywhere(last - first))
