"""From what the user names to sources: globs, lists, standard input; which format reads each; and what has changed.

The format is recognised by the first bytes, since names lie. The name decides only where the bytes leave it open, such
as for an HTML file without a tag at its start.
"""

import glob
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from samehand.base.errors import UsageError
from samehand.base.files import write_whole
from samehand.base.page import Reject
from samehand.sources.archive.frames import codec_for
from samehand.sources.archive.members import Codec, MemberError
from samehand.sources.files import walk
from samehand.sources.formats import recognised
from samehand.sources.reader import Look, Source, clean_name
from samehand.sources.reasons import EMPTY_FILE, UNKNOWN_FORMAT, UNREADABLE_FILE, reject, text_of

STANDARD_INPUT: Final = "-"
_LOOK = 64 << 10
_EDGE = 1 << 20


def find_sources(
    inputs: Sequence[str], *, spool: Path | None = None, profile: str = "web"
) -> tuple[list[Source], list[Reject]]:
    """The sources that `inputs` name, in that order, each once; and the inputs that cannot be read.

    An input is a file, a folder, a glob pattern, `@file` (a list with one input a line) or `-` (standard input, which
    is copied to `spool`, since its pages must be found again). An input that does not exist raises UsageError. With the
    profile "mail" every input is a mailbox.
    """
    sources: list[Source] = []
    rejects: list[Reject] = []
    seen: set[str] = set()
    for name, path in _paths(inputs, spool):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        found = _source_of(clean_name(name), os.path.abspath(path), profile)
        if isinstance(found, Source):
            sources.append(found)
        else:
            rejects.append(found)
    return sources, rejects


def changed_sources(sources: Iterable[Source]) -> list[str]:
    """Names of the sources that are gone, or are not what they were when they were found. Nothing is read in full.

    Sources on other file systems (such as s3a://) are not looked at, since only an engine can fetch them.
    """
    return [source.name for source in sources if os.path.isabs(source.path) and _has_changed(source)]


def _has_changed(source: Source) -> bool:
    try:
        found = os.stat(source.path)
        if stat.S_ISDIR(found.st_mode):
            return source.digest != _digest_of_folder(source.path)
        if not stat.S_ISREG(found.st_mode) or found.st_size != source.size:
            return True
        with open(source.path, "rb") as file:
            return source.digest != _digest_of_file(file, source.size)
    except OSError:
        return True


def _paths(inputs: Iterable[str], spool: Path | None, *, in_list: bool = False) -> Iterator[tuple[str, str]]:
    """Name and path of everything that `inputs` stand for."""
    for given in inputs:
        if given == STANDARD_INPUT:
            yield given, _spooled(spool)
        elif given.startswith("@"):
            if in_list:
                raise UsageError(f"{given} is a list inside a list: name its lines in the outer list.")
            yield from _paths(_lines_of(given[1:]), spool, in_list=True)
        else:
            yield from ((path, path) for path in _expanded(given))


def _expanded(given: str) -> list[str]:
    if os.path.lexists(given):
        return [given]
    if not glob.has_magic(given):
        raise UsageError(f"There is no file or folder {given!r}: check the path.")
    matches = sorted(glob.glob(given, recursive=True))
    if not matches:
        raise UsageError(f"The pattern {given!r} matches nothing: check the path.")
    return matches


def _lines_of(path: str) -> list[str]:
    try:
        text = os.fsdecode(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"The list of inputs {path!r} cannot be read ({error.strerror}): check the path.") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _spooled(spool: Path | None) -> str:
    """Standard input as a file. If nothing comes, the copy of an earlier run stays, so that the run can be resumed."""
    if spool is None or sys.stdin is None:
        raise UsageError("Standard input cannot be read here: save it to a file, and name that.")
    target = spool / "stdin"
    first = sys.stdin.buffer.read(1)
    if first or not target.is_file():
        with write_whole(target) as copy:
            copy.write(first)
            shutil.copyfileobj(sys.stdin.buffer, copy, _EDGE)
    return str(target)


def _source_of(name: str, path: str, profile: str) -> Source | Reject:
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            return _source_of_folder(name, path, profile)
        if not stat.S_ISREG(found.st_mode):
            return reject(name, 0, reason=UNKNOWN_FORMAT, detail="not a regular file: pipe it in and read it as -")
        return _source_of_file(name, path, found.st_size, profile)
    except OSError as error:
        return reject(name, 0, reason=UNREADABLE_FILE, detail=text_of(error))


def _source_of_folder(name: str, path: str, profile: str) -> Source | Reject:
    if not os.listdir(path):
        return reject(name, 0, reason=EMPTY_FILE, detail="a folder with nothing in it")
    reader = recognised(Look(path, is_folder=True), profile)
    if reader is None:
        return reject(name, 0, reason=UNKNOWN_FORMAT, detail="a folder")
    return Source(name, path, reader.kind, 0, _digest_of_folder(path))


def _source_of_file(name: str, path: str, size: int, profile: str) -> Source | Reject:
    if size == 0:
        return reject(name, 0, reason=EMPTY_FILE)
    with open(path, "rb") as file:
        start = file.read(_LOOK)
        codec = codec_for(start)
        text = _first_text(codec(file, size)) if codec else start
        look = Look(path, size, start, text.lstrip(b"\r\n"), is_packed=codec is not None)
        reader = recognised(look, profile)
        if reader is None:
            return reject(name, 0, reason=UNKNOWN_FORMAT, size=size, detail=f"starts with {start!r}")
        return Source(name, path, reader.kind, size, _digest_of_file(file, size))


def _first_text(codec: Codec) -> bytes:
    """The first unpacked bytes of a packed file, as far as it can be unpacked. Empty members do not count."""
    position = 0
    text = b""
    try:
        while not text and position < codec.size:
            member = codec.open(position)
            while len(text) < _LOOK and (more := member.read(_LOOK)):
                text += more
            position = max(member.end, position + 1)
    except MemberError:
        return text
    return text


def _digest_of_file(file: BinaryIO, size: int) -> str:
    """Cheap for any size: the length, and the first and the last bytes. Nearly every change shows in one of these."""
    file.seek(0)
    first = file.read(_EDGE)
    file.seek(max(0, size - _EDGE))
    return hashlib.sha256(str(size).encode() + b"\0" + first + file.read(_EDGE)).hexdigest()[:32]


def _digest_of_folder(path: str) -> str:
    """The names, lengths and times of change of all files. To open every file would be as much work as to read them."""
    digest = hashlib.sha256()
    for relative, found in walk(path):
        if isinstance(found, os.stat_result):
            stamp = f"{stat.S_IFMT(found.st_mode)} {found.st_size} {found.st_mtime_ns}"
            digest.update(os.fsencode(relative) + b"\0" + stamp.encode() + b"\0")
    return digest.hexdigest()[:32]
