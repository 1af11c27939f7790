"""Bits of a 64-bit word, counted and found: one instruction each."""

from typing import Any

import numba as nb
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types


@_intrinsic
def ones(_typing: Any, _bits: Any) -> Any:
    """How many bits are set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return _types.uint64(_types.uint64), generate


@_intrinsic
def first_bit(_typing: Any, _bits: Any) -> Any:
    """The position of the lowest bit that is set; 64 if none is."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return _types.uint64(_types.uint64), generate


@_intrinsic
def equal_bytes(_typing: Any, left: Any, _at: Any, right: Any, _place: Any, _mask: Any) -> Any:
    """How many of 64 bytes, from word left[at] and from word right[place] on, agree in the bits of a mask (one byte).

    One comparison of 512 bits where the processor has it; the compiler splits it up elsewhere.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block, byte = ir.VectorType(ir.IntType(8), 64), ir.IntType(8)
        loaded = []
        for place in (0, 2):
            start = builder.bitcast(builder.gep(arguments[place], [arguments[place + 1]]), block.as_pointer())
            loaded.append(builder.load(start, align=8))
        mask = context.cast(builder, arguments[4], signature.args[4], _types.uint8)
        one = builder.insert_element(ir.Constant(block, ir.Undefined), mask, ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        masks = builder.shuffle_vector(one, ir.Constant(block, ir.Undefined), everywhere)
        differ = builder.and_(builder.xor(*loaded), masks)
        same = builder.icmp_unsigned("==", differ, ir.Constant(block, [ir.Constant(byte, 0)] * 64))
        return builder.ctpop(builder.bitcast(same, ir.IntType(64)))

    return _types.uint64(left, _types.uint64, right, _types.uint64, _types.uint8), generate


@_intrinsic
def common_words(_typing: Any, left: Any, _at: Any, right: Any, _place: Any) -> Any:
    """How many of the 16 different words of 32 bits from left[at] on are among the 16 different ones from right[place].

    A vector is compared with each word of the other side: 16 comparisons, which do not wait for each other.
    """

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, count = ir.IntType(32), 16
        block = ir.VectorType(word, count)
        nothing, everywhere = ir.Constant(block, ir.Undefined), ir.Constant(block, [ir.Constant(word, 0)] * count)
        start = builder.bitcast(builder.gep(arguments[2], [arguments[3]]), block.as_pointer())
        others = builder.load(start, align=4)
        found = ir.Constant(ir.VectorType(ir.IntType(1), count), [ir.Constant(ir.IntType(1), 0)] * count)
        for place in range(count):
            one = builder.load(
                builder.gep(arguments[0], [builder.add(arguments[1], ir.Constant(ir.IntType(64), place))])
            )
            all_one = builder.insert_element(nothing, one, ir.Constant(word, 0))
            same = builder.icmp_unsigned("==", builder.shuffle_vector(all_one, nothing, everywhere), others)
            found = builder.or_(found, same)
        return builder.zext(builder.ctpop(builder.bitcast(found, ir.IntType(count))), ir.IntType(64))

    return _types.int64(left, _types.uint64, right, _types.uint64), generate


@_intrinsic
def add_matches(_typing: Any, _v0: Any, _v1: Any, _v2: Any, _v3: Any, places: Any, _row: Any, _carry: Any) -> Any:
    """One step of an LCS by bit vectors, with a vector of 256 bits: (V + (V & P)) | (V & ~P), and the carry out.

    P are the four words of `places` from 4 * row on, whose lowest bit is 0, and the carry in is added to them. The
    lowest bit of the vector is 1 and stays so: it hands the carry in to the next bit. LLVM makes one chain of additions
    with carry of it.
    """
    wide = ir.IntType(256)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shifts = [ir.Constant(wide, 64 * word) for word in range(4)]
        parts = [builder.shl(builder.zext(arguments[word], wide), shifts[word]) for word in range(4)]
        vector = builder.or_(builder.or_(parts[0], parts[1]), builder.or_(parts[2], parts[3]))
        start = builder.gep(arguments[4], [builder.shl(arguments[5], ir.Constant(ir.IntType(64), 2))])
        here = builder.load(builder.bitcast(start, wide.as_pointer()), align=8)
        matching = builder.and_(vector, builder.or_(here, builder.zext(arguments[6], wide)))
        added = builder.uadd_with_overflow(vector, matching)
        after = builder.or_(builder.extract_value(added, 0), builder.and_(vector, builder.not_(here)))
        words = [builder.trunc(builder.lshr(after, shift), ir.IntType(64)) for shift in shifts]
        carry = builder.zext(builder.extract_value(added, 1), ir.IntType(64))
        return context.make_tuple(builder, signature.return_type, [*words, carry])

    word = _types.uint64
    return _types.UniTuple(word, 5)(word, word, word, word, places, word, word), generate
