"""Kernels: arrays in, arrays out. Their machine code is kept in a cache that knows which sources it was made from.

Numba keeps the code of a function until the function's own file changes. But the code also contains what the function
calls in other files, so an upgrade of one file would leave wrong code behind in others. Here the code of a kernel is
valid for the digest of its file and of all kernel files that this one imports, directly or not. Other files and the
times of files do not matter.

Numba asks a list of locators where the code of a function is kept; one that is not for a function says None. Those of
this module answer for kernels alone, and choose the same folders as numba: NUMBA_CACHE_DIR, beside the source, or the
user's cache folder where that cannot be written to.
"""

import functools
import hashlib
import re
from pathlib import Path
from typing import Any

from numba.core import caching

_FOLDER = Path(__file__).parent
_IMPORTED = re.compile(r"^from samehand\.kernels([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"\w+")


@functools.cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A kernel file, and the kernel files that it imports."""
    source = path.read_bytes()
    imported = set()
    for package, names in _IMPORTED.findall(source.decode()):
        module = _FOLDER.joinpath(*package.split("."))
        files = [module.with_suffix(".py"), *(module / f"{name}.py" for name in _NAME.findall(names))]
        imported |= {file for file in files if file.is_file()}
    return source, tuple(sorted(imported))


def sources_of(path: Path) -> list[Path]:
    """A kernel file and all kernel files that it needs, sorted."""
    found, waiting = {path}, [path]
    while waiting:
        fresh = set(_read(waiting.pop())[1]) - found
        found |= fresh
        waiting += fresh
    return sorted(found)


@functools.cache
def sources_digest(path: Path) -> str:
    """Changes when a kernel file, or one that it needs, changes."""
    digest = hashlib.blake2b(digest_size=16)
    for file in sources_of(path):
        digest.update(hashlib.blake2b(_read(file)[0]).digest())
    return digest.hexdigest()


class _BySources:
    """Makes a locator of numba one for kernels alone, whose code is valid for the digest of its sources."""

    _py_file: str

    def get_source_stamp(self) -> str:
        """What the sources have to be for the code to be used."""
        return sources_digest(Path(self._py_file))

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """The locator for a kernel; None for any other function, and where the folder cannot be used."""
        if _FOLDER not in Path(file).parents:
            return None
        found: Any = super().from_function(function, file)  # type: ignore[misc]
        return found


def _for_kernels(locator: Any) -> Any:
    return type(f"Kernel{locator.__name__}", (_BySources, locator), {})


caching.CacheImpl._locator_classes[:0] = list(map(_for_kernels, caching.CacheImpl._locator_classes))
