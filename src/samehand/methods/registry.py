"""The methods by name, and what a list of names asks for."""

import functools
import importlib
from collections.abc import Iterable, Sequence

from samehand.base.errors import UsageError
from samehand.base.setting import nearest
from samehand.methods import NAMES, ORDER
from samehand.methods.method import Method


@functools.cache
def methods() -> dict[str, Method]:
    """All methods by name, in order. They are imported when first asked for, because kernels are slow to import."""
    return {name: importlib.import_module(f"samehand.methods.{name}.method").METHOD for name in ORDER}


def chosen(names: str | Iterable[str], profile: str = "web") -> tuple[str, ...]:
    """Names of methods, checked and in order: "all", one name, several with commas between, or a sequence of names."""
    if not isinstance(names, str):
        names = ",".join(names)
    asked = [name.strip() for name in names.split(",") if name.strip()]
    fitting = [name for name in NAMES if profile in methods()[name].profiles]
    if asked == ["all"]:
        return tuple(fitting)
    for name in asked:
        if name not in NAMES:
            raise UsageError(f"There is no method {name!r}{nearest(name, [*NAMES, 'all'])}")
        if name not in fitting:
            raise UsageError(f"The method {name} is not for {profile}: choose from {', '.join(fitting)}.")
    if not asked:
        raise UsageError(f"No method is named: choose from {', '.join(fitting)}, or all.")
    return tuple(name for name in NAMES if name in asked)


def with_derived(names: Sequence[str]) -> tuple[str, ...]:
    """The methods to be grouped once `names` have rows: those, and what follows from them alone, in order."""
    derived = [method.name for method in methods().values() if method.follows_from(names)]
    return tuple(name for name in methods() if name in names or name in derived)
