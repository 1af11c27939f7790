"""Files that are there whole or not at all, their digests, and locks.

A file is written under a temporary name, synced and renamed. So whatever has its final name is complete, and what a
killed process left behind is known by its ending.
"""

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from samehand.base.errors import RunBusyError, RunWriteError

TEMPORARY = ".writing"
"""Ending of files that are not complete yet."""


@contextlib.contextmanager
def write_whole(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """A file to write to. It takes the place of `path` at the end, or never if an error is raised before."""
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = temporary_name(path)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    try:
        # All of it: closing a file whose last bytes could not be written raises the same error once more.
        with writing(path.parent):
            with os.fdopen(descriptor, "w+b") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            publish(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_name(path: Path) -> Path:
    """The name of a file until it is complete. Two attempts at one file never share it."""
    return path.with_name(f"{path.name}.{uuid.uuid4().hex}{TEMPORARY}")


def publish(temporary: Path, path: Path) -> None:
    """Renames a complete file and makes the renaming itself durable."""
    temporary.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_whole(source: Path, target: Path) -> None:
    """Makes `target` a copy of `source`. Processes that have the old file mapped keep it."""
    with source.open("rb") as content, write_whole(target) as handle:
        shutil.copyfileobj(content, handle, 1 << 20)


def remove_leftovers(folder: Path) -> None:
    """Removes what a killed process left half written."""
    with writing(folder):
        for leftover in folder.rglob(f"*{TEMPORARY}"):
            leftover.unlink(missing_ok=True)


def file_digest(path: Path) -> str:
    """Digest of a file's bytes, "" if there is no such file. Computed once for a file that does not change."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return ""
    return _digest(path, found.st_size, found.st_mtime_ns, found.st_ino)


@functools.lru_cache(maxsize=64)
def _digest(path: Path, *_: int) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path, busy: str) -> Iterator[None]:
    """Keeps a second process out, which gets the sentence `busy`. The system drops the lock when its owner dies.

    The lock file may have been planted by a stranger: links are not followed, and nothing is truncated.
    """
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    with os.fdopen(descriptor, "r+b", buffering=0) as handle:
        if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
            raise RunWriteError(f"{path} is not a plain file. Remove it, then run the same command again.")
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunBusyError(busy) from None
        yield


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns the operating system's refusals into one clear sentence."""
    try:
        yield
    except OSError as error:
        raise RunWriteError(
            f"Cannot write to {folder}: {_refusal(error)}, then run the same command again: nothing done is lost."
        ) from error


def _refusal(error: OSError) -> str:
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return "the disk is full. Free some space"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "writing is not permitted. Choose another folder with -o, or change its permissions"
    if error.errno == errno.ELOOP:
        return f"{error.filename} is a symbolic link. Remove it"
    return f"{error.strerror or error}. Correct that"
