"""Gzip members unpacked end to end into one buffer, by a C function that is called at its address."""

from typing import Any

import numba as nb
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending
from numpy.typing import NDArray

_GUNZIP_ARGUMENTS = 7
_ODD_FLAGS = 0xE2
"""A checksum of the gzip header, which libdeflate does not check, and flags that gzip does not have."""

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types


@_intrinsic
def _call(_typing: Any, function: Any, arguments: Any) -> Any:
    """Calls the C function at an address with addresses and sizes. The result is an int."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word = ir.IntType(64)
        kind = ir.FunctionType(ir.IntType(32), [word] * _GUNZIP_ARGUMENTS)
        numbers = [builder.extract_value(values[1], place) for place in range(_GUNZIP_ARGUMENTS)]
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), numbers)

    return _types.int32(_types.uint64, _types.UniTuple(_types.uint64, _GUNZIP_ARGUMENTS)), generate


@nb.njit(cache=True, nogil=True)
def unpack_members(
    gunzip: np.uint64,
    unpacker: np.uint64,
    packed: NDArray[np.uint8],
    limit: int,
    raw: NDArray[np.uint8],
    goal: int,
    sizes: NDArray[np.uint64],
    members: NDArray[np.int64],
) -> int:
    """Unpacks gzip members that start before `limit` into `raw`, until `goal` bytes are there or one cannot be.

    `gunzip` and `unpacker` are the addresses of libdeflate_gzip_decompress_ex and its state, `sizes` is room for two
    numbers. A row of `members` says where a member ends in `packed` and in `raw`. Returns how many there are.
    """
    at, filled, count = np.int64(0), np.int64(0), 0
    source, target = np.uint64(packed.ctypes.data), np.uint64(raw.ctypes.data)
    used = np.uint64(sizes.ctypes.data)
    while at < limit and filled < goal and count < len(members):
        if at + 4 > packed.size or packed[at + 3] & _ODD_FLAGS:
            break
        given, room = np.uint64(packed.size - at), np.uint64(raw.size - filled)
        into = target + np.uint64(filled)
        if _call(gunzip, (unpacker, source + np.uint64(at), given, into, room, used, used + np.uint64(8))):
            break
        at += np.int64(sizes[0])
        filled += np.int64(sizes[1])
        members[count, 0], members[count, 1] = at, filled
        count += 1
    return count
