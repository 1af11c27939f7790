"""From what the user names to sources: globs, lists, standard input, and what kind of input each is.

The kind is found from the first bytes, never from the name alone: names lie. The name only decides where the bytes
leave it open, such as for an HTML file without a tag at its start.
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
from samehand.base.page import Reject
from samehand.sources.archive.frames import codec_for
from samehand.sources.archive.heads import ARC, WARC
from samehand.sources.archive.members import Codec, MemberError
from samehand.sources.archive.wacz import is_wacz
from samehand.sources.archive.warc import open_archive
from samehand.sources.files import HTML_ENDINGS, is_html, top_level
from samehand.sources.reasons import EMPTY_FILE, UNKNOWN_FORMAT, UNREADABLE_FILE, reject, text_of
from samehand.sources.unit import Source, clean_name

STANDARD_INPUT: Final = "-"
_LOOK = 64 << 10
_EDGE = 1 << 20
_JSON_ENDINGS: Final = (".jsonl", ".ndjson", ".json")


def find_sources(
    inputs: Sequence[str], *, spool: Path | None = None, profile: str = "web"
) -> tuple[list[Source], list[Reject]]:
    """The sources that `inputs` name, in that order, each once; and the inputs that cannot be read.

    An input is a file, a folder, a glob pattern, `@file` (a list, one input a line) or `-` (standard input, which is
    copied to `spool`, since its pages must be found again). What does not exist raises UsageError. With the profile
    "mail" every input is a mailbox.
    """
    sources: list[Source] = []
    rejects: list[Reject] = []
    seen: set[str] = set()
    for name, path in _paths(inputs, spool):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        found = _source_of(name, os.path.abspath(path), profile)
        if isinstance(found, Source):
            sources.append(found)
        else:
            rejects.append(found)
    return sources, rejects


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
    """Standard input as a file. When nothing comes, the copy of an earlier run stays: that run is to be resumed."""
    if spool is None or sys.stdin is None:
        raise UsageError("Standard input cannot be read here: save it to a file, and name that.")
    target = spool / "stdin"
    temporary = spool / "stdin.tmp"
    try:
        spool.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy, _EDGE)
            is_empty = copy.tell() == 0
        if is_empty and target.is_file():
            temporary.unlink()
        else:
            os.replace(temporary, target)
    except OSError as error:
        raise UsageError(f"Standard input cannot be copied to {str(target)!r}: {error.strerror}.") from error
    return str(target)


def _source_of(given: str, path: str, profile: str) -> Source | Reject:
    name = clean_name(given)
    try:
        found = os.stat(path)
        if stat.S_ISDIR(found.st_mode):
            entries = top_level(path)
            if not entries:
                return reject(name, 0, reason=EMPTY_FILE, detail="a folder with nothing in it")
            kind = "mail" if profile == "mail" else "folder"
            return Source(name, path, kind, 0, _digest(b"\0".join(map(os.fsencode, entries))))
        if not stat.S_ISREG(found.st_mode):
            return reject(name, 0, reason=UNKNOWN_FORMAT, detail="not a regular file: pipe it in and read it as -")
        return _source_of_file(name, path, found.st_size, profile)
    except OSError as error:
        return reject(name, 0, reason=UNREADABLE_FILE, detail=text_of(error))


def _source_of_file(name: str, path: str, size: int, profile: str) -> Source | Reject:
    if size == 0:
        return reject(name, 0, reason=EMPTY_FILE)
    with open(path, "rb") as file:
        kind = "mail" if profile == "mail" else _kind_of(file, path, size)
        if kind is None:
            return reject(name, 0, reason=UNKNOWN_FORMAT, size=size, detail=f"starts with {_start_of(file)!r}")
        return Source(name, path, kind, size, _digest_of(file, size))


def _kind_of(file: BinaryIO, path: str, size: int) -> str | None:
    """What kind of input a file is; None when it is none."""
    start = _start_of(file)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "wacz" if is_wacz(path) else None
    codec = codec_for(start)
    text = _first_text(codec(file, size)) if codec else start
    return _kind_of_text(text, path, is_packed=codec is not None) or _kind_by_search(file, size)


def _kind_of_text(text: bytes, path: str, *, is_packed: bool) -> str | None:
    text = text.lstrip(b"\r\n")
    if text.startswith(WARC.starts):
        return "warc"
    if ARC.is_start(text):
        return "arc"
    is_json_name = path.lower().removesuffix(".gz").removesuffix(".zst").endswith(_JSON_ENDINGS)
    if text.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{") or (is_json_name and b"\n{" in text):
        return "jsonl"
    if not is_packed and (is_html(text) or path.lower().endswith(HTML_ENDINGS)):
        return "html"
    return None


def _kind_by_search(file: BinaryIO, size: int) -> str | None:
    """An archive that is broken at its start is one all the same, if a record is found behind."""
    part = min(size, _EDGE)
    return next((form.name for form in (WARC, ARC) if open_archive(file, part, form).find(0) < part), None)


def _first_text(codec: Codec) -> bytes:
    """What a packed file starts with, as far as it can be unpacked. Empty members do not count."""
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


def _start_of(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(_LOOK)


def _digest_of(file: BinaryIO, size: int) -> str:
    """Cheap for any size: a file that changes does so in its length or, nearly always, near its start or end."""
    file.seek(0)
    first = file.read(_EDGE)
    file.seek(max(0, size - _EDGE))
    return _digest(str(size).encode() + b"\0" + first + file.read(_EDGE))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]
