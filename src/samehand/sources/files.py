"""Folders of pages as wget saves them, and single HTML files.

The first folder below the given one that is named like a host is the host: `mirror/example.org/a/b.html` is
http://example.org/a/b.html, and so is `backup/mirror/example.org/a/b.html`. If none is, the first folder is the host. A
file that lies directly in the given folder has no URL. Links are never followed, because they may lead out of the
folder or in a circle.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from samehand.base.page import Outcome, Skip, is_below_public_suffix
from samehand.base.settings import Settings
from samehand.sources.http.body import (
    HTML,
    MAX_URL,
    SNIFF_BYTES,
    Origin,
    binary_type,
    guarded,
    looks_like_html,
    make_page,
    refuse,
)
from samehand.sources.http.charset import to_ascii_compatible
from samehand.sources.reader import Reader, Reading, Source, Span, Unit, clean_name, pieces
from samehand.sources.reasons import NOT_HTML, SYMLINK, UNREADABLE_FILE, text_of

FOLDER_UNIT = 256
"""Most top-level entries of a folder, which usually are hosts, in one unit."""

_HTML_ENDINGS: Final = (".html", ".htm", ".xhtml")
_ARCHIVE_STARTS: Final = (b"WARC/", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1")

Found = os.stat_result | OSError | list[str]
"""What is at a path: a file or link, an error, or a folder as the sorted list of its names."""


def top_level(folder: str) -> list[str]:
    """Names of a folder's entries, sorted. Units are ranges of this list."""
    return sorted(os.listdir(folder))


def walk(folder: str, entry: str = "") -> Iterator[tuple[str, Found]]:
    """Everything at and below an entry of a folder, depth first: its path in the folder, and what it is."""
    waiting = [entry]
    while waiting:
        relative = waiting.pop()
        found = _found(os.path.join(folder, relative))
        if isinstance(found, list):
            waiting.extend(os.path.join(relative, name) for name in reversed(found))
        yield relative, found


def _found(path: str) -> Found:
    try:
        found = os.lstat(path)
        return top_level(path) if stat.S_ISDIR(found.st_mode) else found
    except OSError as error:
        return error


def _split_folder(source: Source, split_bytes: int) -> Iterable[Span]:
    try:
        return pieces(len(top_level(source.path)), FOLDER_UNIT)
    except OSError:
        return [(0, 1)]  # It is gone since it was found: the reader of this unit says so.


def _read_folder(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    source = unit.source
    for entry in top_level(source.path)[unit.start : unit.end]:
        for relative, found in walk(source.path, entry):
            if not isinstance(found, list):
                yield _outcome_in_folder(source, relative, found=found, settings=settings)


def _find_in_folder(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    relative = _relative_of(source, source_path)
    if relative is None:
        return None
    found = os.lstat(os.path.join(source.path, relative))
    return _outcome_in_folder(source, relative, found=found, settings=settings)


def _relative_of(source: Source, source_path: str) -> str | None:
    """The path in the folder. A name that is not UTF-8 was changed in `source_path`, so all names are compared then."""
    prefix = _prefix(source)
    if not source_path.startswith(prefix):
        return None
    relative = os.path.normpath(source_path[len(prefix) :])
    is_inside = not os.path.isabs(relative) and relative.split(os.sep)[0] != os.pardir
    if is_inside and os.path.lexists(os.path.join(source.path, relative)) and not _through_link(source.path, relative):
        return relative
    return next((path for path, _ in walk(source.path) if prefix + clean_name(path) == source_path), None)


def _through_link(folder: str, relative: str) -> bool:
    parts = relative.split(os.sep)
    return any(os.path.islink(os.path.join(folder, *parts[:count])) for count in range(1, len(parts)))


def _prefix(source: Source) -> str:
    return source.name.rstrip("/") + "/"


def _outcome_in_folder(
    source: Source, relative: str, *, found: os.stat_result | OSError, settings: Settings
) -> Outcome:
    name = clean_name(relative)
    origin = Origin(_prefix(source) + name, 0, url=_url_of(name))
    if isinstance(found, OSError):
        return refuse(origin, UNREADABLE_FILE, text_of(found))
    if stat.S_ISLNK(found.st_mode):
        return Skip(origin.source_path, 0, SYMLINK.name)
    return _outcome_of(os.path.join(source.path, relative), origin, found=found, settings=settings)


def _url_of(name: str) -> str:
    folders = name.split("/")[:-1]
    if not folders:
        return ""
    host = next((place for place, folder in enumerate(folders) if is_below_public_suffix(folder)), 0)
    return f"http://{'/'.join(name.split('/')[host:])}"[:MAX_URL]


def _outcome_of(path: str, origin: Origin, *, found: os.stat_result, settings: Settings) -> Outcome:
    """The page in a file, or why it is none. Only regular files are opened: a FIFO would block forever."""
    if not stat.S_ISREG(found.st_mode):
        return refuse(origin, UNREADABLE_FILE, "not a regular file")
    origin = origin._replace(length=found.st_size)
    return guarded(origin, lambda: _page_in_file(path, origin, settings))


def _page_in_file(path: str, origin: Origin, settings: Settings) -> Outcome:
    with open(path, "rb") as file:
        start = file.read(SNIFF_BYTES)
        if start and not _is_html_name(path) and not is_html(start):
            return refuse(origin, NOT_HTML, _other_type(start))
        content = start + file.read(max(0, settings.max_page_bytes + 1 - len(start)))
    return make_page(content, origin, media=HTML, limit=settings.max_page_bytes)


def is_html(start: bytes) -> bool:
    """Whether a file that starts with these bytes is HTML, in whatever charset."""
    return looks_like_html(to_ascii_compatible(start, None)[0])


def _is_html_name(path: str) -> bool:
    return path.lower().endswith(_HTML_ENDINGS)


def _other_type(start: bytes) -> str:
    if start.startswith(_ARCHIVE_STARTS):
        return "looks like an archive: give it by its own name, or with a pattern such as folder/*.warc.gz"
    return binary_type(start)


def _read_html(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    yield _find_html(unit.source, unit.source.name, 0, settings)


def _find_html(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome:
    """The page of a single file. The user named it, so it may be a link."""
    origin = Origin(source.name, 0)
    return guarded(origin, lambda: _outcome_of(source.path, origin, found=os.stat(source.path), settings=settings))


FOLDER_READER: Final = Reader(
    kind="folder",
    inputs="folders of HTML files",
    recognises=lambda look: look.is_folder,
    split=_split_folder,
    read=_read_folder,
    find_page=_find_in_folder,
)
HTML_READER: Final = Reader(
    kind="html",
    inputs="HTML files",
    recognises=lambda look: not look.is_packed and (is_html(look.text) or _is_html_name(look.path)),
    read=_read_html,
    find_page=_find_html,
)
