"""The shape of JSON that was read from a run folder: the keys, types and ranges that it must have."""

import dataclasses
import math
from typing import Any

MOST = (1 << 63) - 1
"""The largest whole number that a table can hold."""


def fits(value: Any, shape: Any) -> bool:
    """Whether a JSON value has a shape.

    A shape is `str`, `bool`, `int` (not negative) or `float` (finite); a tuple of shapes, of which one has to fit;
    `[shape]` for a list; `{str: shape}` for an object with any names; `{"name": shape, ...}` for an object that has at
    least these names; or a dataclass for an object that has just its fields.
    """
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict) and str in shape:
        return isinstance(value, dict) and all(fits(item, shape[str]) for item in value.values())
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], shape[name]) for name in shape)
    if dataclasses.is_dataclass(shape):
        fields = {field.name: field.type for field in dataclasses.fields(shape)}
        return isinstance(value, dict) and set(value) == set(fields) and fits(value, fields)
    return _is_of(value, shape)


def _is_of(value: Any, kind: type) -> bool:
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return type(value) is int and 0 <= value <= MOST
    if kind is str:
        return type(value) is str and "\0" not in value  # no path holds that byte
    return type(value) is kind
