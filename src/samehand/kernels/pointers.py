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
    """The named tuple with pointers instead of its arrays, which have to be contiguous."""
    if any(isinstance(kind, _types.Array) and kind.layout != "C" for kind in rows.types):
        return None
    lent = [_types.CPointer(kind.dtype) if isinstance(kind, _types.Array) else kind for kind in rows.types]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        members = []
        for place, kind in enumerate(signature.args[0].types):
            member = builder.extract_value(arguments[0], place)
            is_array = isinstance(kind, _types.Array)
            members.append(context.make_array(kind)(context, builder, member).data if is_array else member)
        return context.make_tuple(builder, signature.return_type, members)

    return _types.NamedTuple(lent, rows.instance_class)(rows), generate
