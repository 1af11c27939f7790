"""Arrays lent to small functions as bare pointers.

Numba counts the references to an array. It raises and lowers the count atomically, whenever an array is taken out of a
tuple, and in every small function that takes one. A pointer has no count, and is indexed like a flat array. It is valid
only while the array lives: take it from an argument. No index is checked.
"""

from typing import Any

import numba as nb
from numba import extending

# Intrinsics run in the compiler: their arguments are types, not values.
_intrinsic: Any = extending.intrinsic
_types: Any = nb.types


@_intrinsic
def pointer(_typing: Any, array: Any) -> Any:
    """The memory of a contiguous array, to be indexed like the array."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return _types.CPointer(array.dtype)(array), generate


@_intrinsic
def lend(_typing: Any, rows: Any) -> Any:
    """The named tuple with pointers instead of its arrays, which have to be contiguous; in tuples inside it, too."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _lent_value(context, builder, signature.args[0], arguments[0])

    return _lent_type(rows)(rows), generate


def _lent_type(kind: Any) -> Any:
    if isinstance(kind, _types.Array):
        if kind.layout != "C":
            raise nb.errors.TypingError("an array that is not contiguous cannot be lent")
        return _types.CPointer(kind.dtype)
    if isinstance(kind, _types.NamedTuple):
        return _types.NamedTuple([_lent_type(member) for member in kind.types], kind.instance_class)
    return kind


def _lent_value(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, _types.Array):
        return context.make_array(kind)(context, builder, value).data
    if isinstance(kind, _types.NamedTuple):
        members = enumerate(kind.types)
        lent = [_lent_value(context, builder, member, builder.extract_value(value, place)) for place, member in members]
        return context.make_tuple(builder, _lent_type(kind), lent)
    return value
