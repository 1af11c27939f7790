"""Kernels: arrays in, arrays out. Their machine code is kept in a cache that knows which sources it was made from.

Numba keeps the code of a function until the function's own file changes. But the code also contains what the function
calls in other files, so an upgrade of one file would leave wrong code behind in others. Here the code of a kernel is
valid for the digest of its file and of all files of samehand that this one imports, directly or not. The kernels of
buckets.py also contain the similarities that other files register there. Other files and the times of files do not
matter.

Numba asks a list of locators where the code of a function is kept; one that is not for a function says None. Those of
this module answer for kernels alone, and choose the same folders as numba: NUMBA_CACHE_DIR, beside the source, or the
user's cache folder where that cannot be written to.

Workers start together and need the same kernels. One of them compiles, the others wait for it and load its code.

A wheel that `make wheel` builds brings machine code along, beside the sources. It is made for PORTABLE_CPU and not for
the machine at hand, so that every machine of the last ten years runs it and compiles nothing.
"""

import contextlib
import fcntl
import functools
import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba as nb
from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba.core import caching, dispatcher

_njit: Any = nb.njit
_FunctionCache: Any = caching.FunctionCache
_CacheFile: Any = caching.IndexDataCacheFile
_Function = TypeVar("_Function", bound=Callable[..., Any])

_FOLDER = Path(__file__).parent
_IMPORTED = re.compile(r"^from samehand([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"\w+")
_PATIENCE = 120.0
"""Seconds that a process waits in all for those that compile. The lock saves work; no answer needs it."""
_LOOK_SECONDS = 0.02
PORTABLE_CPU = "x86-64-v3"
_PORTABLE_NEEDS = frozenset(("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"))
_GENERIC, _REGISTERS = _FOLDER / "buckets.py", b"\n@similarity_of("


def helper(function: _Function) -> _Function:
    """Decorates a function that only kernels call.

    Their code contains its code, so it needs no cache of its own and no entry from Python. That saves a tenth of the
    time to compile kernels.
    """
    compiled: _Function = _njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return compiled


def part(function: _Function) -> _Function:
    """Decorates a function that becomes a part of the kernel that calls it, before that is compiled.

    A helper is optimised on its own, and again with each kernel and helper above it. A part costs no more than what its
    caller would cost with it.
    """
    inserted: _Function = _njit(nogil=True, inline="always")(function)
    return inserted


@functools.cache
def _read(path: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A file, and the files of samehand that it imports."""
    source = path.read_bytes()
    imported = set()
    for package, names in _IMPORTED.findall(source.decode()):
        module = _FOLDER.parent.joinpath(*package.split("."))
        inside = [module / f"{name}.py" for name in ("__init__", *_NAME.findall(names))]
        files = [module.with_suffix(".py"), *inside]
        imported |= {file for file in files if file.is_file()}
    return source, tuple(sorted(imported))


@functools.cache
def _registering() -> tuple[Path, ...]:
    """The files that register a similarity."""
    return tuple(path for path in _FOLDER.rglob("*.py") if _REGISTERS in _read(path)[0])


def sources_of(path: Path) -> list[Path]:
    """A kernel file and all files of samehand that it needs, sorted."""
    found, waiting = {path}, [path]
    while waiting:
        file = waiting.pop()
        fresh = {*_read(file)[1], *(_registering() if file == _GENERIC else ())} - found
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


class _Turn:
    """The turn to compile, of one process at a time: a lock on this file, which the system drops with its owner."""

    def __init__(self) -> None:
        self._depth = 0
        self._lock: Any = None
        self._patience = _PATIENCE

    def take(self) -> None:
        """Waits for the turn. A kernel that another one needs is compiled in the same turn."""
        self._depth += 1
        if self._depth > 1:
            return
        self._lock = open(__file__, "rb")  # noqa: SIM115 - `end` closes it
        began = time.monotonic()
        while time.monotonic() - began < self._patience:
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(_LOOK_SECONDS)
        self._patience -= time.monotonic() - began

    def end(self) -> None:
        """Lets the next one compile."""
        self._depth -= 1
        if not self._depth:
            self._lock.close()


@functools.cache
def runs_portable_code() -> bool:
    """Whether this machine has all that x86-64-v3 asks for."""
    has = llvm.get_host_cpu_features()
    return all(has.get(feature) for feature in _PORTABLE_NEEDS)


class _Index(_CacheFile):  # type: ignore[misc]
    """The index of a kernel's code in a folder.

    Its version names the sources, too. An index that was made from others may mention classes that are gone, and numba
    opens it before it looks at the stamp.
    """

    def __init__(self, folder: str, name: str, stamp: str) -> None:
        super().__init__(folder, name, stamp)
        self._version = f"{nb.__version__} {stamp}"


class _KernelCache(_FunctionCache):  # type: ignore[misc]
    """Looks for the code of this machine, then for the wheel's, and once more when it has the turn to compile it."""

    _turn = _Turn()

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = self._index_in(self._cache_path)

    def _index_in(self, folder: str) -> "_Index":
        return _Index(folder, self._impl.filename_base, self._impl.locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code from the cache; None if this process has to compile it."""
        found = super().load_overload(sig, target_context) or self._load_from_wheel(sig, target_context)
        if found is None:
            self._turn.take()
            found = super().load_overload(sig, target_context)
            if found is not None:
                self._turn.end()
        return found

    def _load_from_wheel(self, sig: Any, target_context: Any) -> Any:
        folder = Path(self._py_func.__code__.co_filename).with_name("__pycache__")
        if not (runs_portable_code() and folder.is_dir()):
            return None
        signature, (triple, *_), bytecode = self._index_key(sig, target_context.codegen())
        data = self._index_in(str(folder)).load((signature, (triple, PORTABLE_CPU, ""), bytecode))
        return None if data is None else self._impl.rebuild(target_context, data)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Stores what was compiled."""
        super().save_overload(sig, data)
        self._turn.end()


caching.CacheImpl._locator_classes[:0] = list(map(_for_kernels, caching.CacheImpl._locator_classes))
dispatcher.FunctionCache = _KernelCache  # type: ignore[attr-defined]
