"""What a setting is: its group, default, range and help, and how a value of it is checked."""

import dataclasses
import difflib
from collections.abc import Iterable
from typing import Any

from samehand.base.errors import SettingsError

GROUPS = {
    "read": "Reading",
    "style": "Style",
    "grouping": "Grouping",
    "markup": "Markup",
    "replica": "Near replicas",
    "language": "Fake text",
    "phrases": "Shared phrases",
    "sites": "Sites",
    "providers": "Providers",
    "labels": "Labels",
    "verdicts": "Verdicts",
}
"""The groups of settings and their titles, in the order of --help-all and docs/settings.md."""


def setting(
    default: Any,
    group: str,
    help_text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] = (),
    common: bool = False,
) -> Any:
    """One setting. `common` ones are shown by `samehand scan --help`, all of them by `--help-all`."""
    metadata = {"group": group, "help": help_text, "low": low, "high": high, "choices": choices, "common": common}
    return dataclasses.field(default=default, metadata=metadata)


def check_value(field: "dataclasses.Field[Any]", value: Any) -> None:
    """Type, choices and range of one setting."""
    kind, rule = type(field.default), field.metadata
    is_number = kind in (int, float) and isinstance(value, kind if kind is int else int | float)
    if not (is_number and not isinstance(value, bool)) and type(value) is not kind:
        raise SettingsError(f"{field.name} is {value!r}: give a value of type {kind.__name__}.")
    if rule["choices"] and value not in rule["choices"]:
        raise SettingsError(f"{field.name} is {value!r}: choose one of {', '.join(map(str, rule['choices']))}.")
    if rule["low"] is not None and not rule["low"] <= value <= rule["high"]:
        raise SettingsError(f"{field.name} is {value}: choose a value from {rule['low']} to {rule['high']}.")


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a wrong name: the most similar right one, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 1, 0.5)
    return f": did you mean {close[0]}?" if close else f": choose from {', '.join(names)}."
