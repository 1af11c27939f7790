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
