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
