"""Arguments of the public functions, checked: what cannot be used raises a UsageError that says what to give."""

import numbers
import operator
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from samehand.base.errors import UsageError
from samehand.base.neutral import neutral
from samehand.base.settings import Settings

if TYPE_CHECKING:
    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress

_LONGEST = 60

Path = str | os.PathLike[str]
Paths = Path | Iterable[Path]


def told(value: object) -> str:
    """A wrong argument, short and harmless enough for a sentence."""
    text = repr(value)
    return neutral(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def path_of(given: Any, name: str) -> str:
    """A path."""
    path = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(path, str) or not path or "\0" in path or not _is_encodable(path, "surrogateescape"):
        raise UsageError(f"{name} is {told(given)}: give a path.")
    return path


def paths_of(given: Any, name: str) -> list[str]:
    """One path or several, as a list."""
    if isinstance(given, str | os.PathLike):
        return [path_of(given, name)]
    if not isinstance(given, Iterable):
        raise UsageError(f"{name} is {told(given)}: give a path or a list of paths.")
    return [path_of(each, name) for each in given]


def texts_of(given: Any, name: str) -> list[str]:
    """One text or several, as a list."""
    texts = [given] if isinstance(given, str) else items_of(given, name)
    if not texts or not all(isinstance(text, str) and _is_encodable(text) for text in texts):
        raise UsageError(f"{name} is {told(given)}: give a text or a list of texts.")
    return texts


def items_of(given: Any, name: str) -> list[Any]:
    """The items of a list or of anything like it."""
    if not isinstance(given, Iterable):
        raise UsageError(f"{name} is {told(given)}: give a list.")
    return list(given)


def _is_encodable(text: str, errors: str = "strict") -> bool:
    """Whether a text is Unicode: Python allows halves of characters, which no file and no library takes."""
    try:
        text.encode("utf-8", errors)
    except UnicodeEncodeError:
        return False
    return True


def number_of(given: Any, name: str) -> int:
    """A whole number, of Python or of numpy."""
    try:
        if not isinstance(given, bool):
            return operator.index(given)
    except TypeError:
        pass
    raise UsageError(f"{name} is {told(given)}: give a whole number.")


def fraction_of(given: Any, name: str) -> float | None:
    """A number, or None."""
    if isinstance(given, bool) or not (given is None or isinstance(given, numbers.Real)):
        raise UsageError(f"{name} is {told(given)}: give a number, such as 0.6.")
    return None if given is None else float(given)


def settings_of(given: Any) -> Settings:
    """Settings; the defaults if none are given."""
    if given is not None and not isinstance(given, Settings):
        raise UsageError(f"settings is {told(given)}: give samehand.Settings(...).")
    return given or Settings()


def engine_of(engine: Any, workers: Any) -> "Engine":
    """The engine, or the local one with so many workers."""
    from samehand.engine.local import LocalEngine

    if engine is None:
        return LocalEngine(workers)
    if workers is not None:
        raise UsageError("workers and engine are both given: the number of workers is for the local engine alone.")
    if not all(hasattr(engine, step) for step in ("plan", "read", "group")):
        raise UsageError(f"engine is {told(engine)}: give samehand.LocalEngine(...) or samehand.SparkEngine(...).")
    found: Engine = engine
    return found


def progress_of(on_progress: Any) -> "OnProgress":
    """The function that is told of progress, or one that tells nobody."""
    from samehand.engine.progress import silent

    if on_progress is not None and not callable(on_progress):
        raise UsageError(f"on_progress is {told(on_progress)}: give a function that takes a samehand.Progress.")
    found: OnProgress = on_progress or silent
    return found
