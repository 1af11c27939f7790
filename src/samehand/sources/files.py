"""Folders of pages as wget saves them, and single HTML files.

The first folder below the given one is the host: `mirror/example.org/a/b.html` is http://example.org/a/b.html. A file
that lies directly in the given folder has no URL. Links are never followed: they may lead out of the folder, or round.
"""

import os
import stat
from collections.abc import Iterator
from typing import Final

from samehand.base.settings import Settings
from samehand.sources.http.body import (
    HTML,
    MAX_URL,
    SNIFF_BYTES,
    Origin,
    binary_type,
    looks_like_html,
    make_page,
    refuse,
)
from samehand.sources.http.charset import to_ascii_compatible
from samehand.sources.reasons import NOT_HTML, READER_ERROR, SYMLINK, UNREADABLE_FILE, text_of
from samehand.sources.unit import Outcome, Reading, Source, Unit, clean_name

FOLDER_UNIT = 256
"""Most top-level entries of a folder in one unit: as a rule, hosts."""

HTML_ENDINGS: Final = (".html", ".htm", ".xhtml")
_ARCHIVE_STARTS: Final = (b"WARC/", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"PAR1")


def top_level(folder: str) -> list[str]:
    """Names of a folder's entries, sorted. Units are ranges of this list."""
    return sorted(os.listdir(folder))


def read_folder(unit: Unit, settings: Settings, *, reading: Reading) -> Iterator[Outcome]:
    """The pages and rejects of some of the top-level entries of a folder."""
    source = unit.source
    for entry in top_level(source.path)[unit.start : unit.end]:
        for relative, found in _walk(source.path, entry):
            yield _outcome_in_folder(source, relative, found=found, settings=settings)


def read_html(unit: Unit, settings: Settings, *, reading: Reading) -> Iterator[Outcome]:
    """The one page of a single HTML file."""
    yield find_html_page(unit.source, settings)


def find_html_page(source: Source, settings: Settings) -> Outcome:
    """The page of a single HTML file. It was named by the user, so it may be a link."""
    origin = Origin(source.name, 0)
    try:
        return _outcome_of(source.path, origin, found=os.stat(source.path), settings=settings)
    except OSError as error:
        return refuse(origin, UNREADABLE_FILE, text_of(error))


def find_folder_page(source: Source, warc_filename: str, *, settings: Settings) -> Outcome | None:
    """The page of a file in a folder, found again by its name."""
    relative = _relative_of(source, warc_filename)
    if relative is None:
        return None
    found = os.lstat(os.path.join(source.path, relative))
    return _outcome_in_folder(source, relative, found=found, settings=settings)


def _walk(folder: str, entry: str) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Everything at and below one entry that is not a folder, sorted, depth first: path in `folder`, what it is."""
    waiting = [entry]
    while waiting:
        relative = waiting.pop()
        path = os.path.join(folder, relative)
        try:
            found = os.lstat(path)
            if stat.S_ISDIR(found.st_mode):
                waiting.extend(os.path.join(relative, name) for name in sorted(os.listdir(path), reverse=True))
            else:
                yield relative, found
        except OSError as error:
            yield relative, error


def _relative_of(source: Source, warc_filename: str) -> str | None:
    """The file's path in the folder. A name that is not UTF-8 was changed on its way out: look for the one it was."""
    prefix = _prefix(source)
    if not warc_filename.startswith(prefix):
        return None
    relative = os.path.normpath(warc_filename[len(prefix) :])
    is_inside = not os.path.isabs(relative) and relative.split(os.sep)[0] != os.pardir
    if is_inside and os.path.lexists(os.path.join(source.path, relative)) and not _through_link(source.path, relative):
        return relative
    paths = (path for entry in top_level(source.path) for path, _ in _walk(source.path, entry))
    return next((path for path in paths if prefix + clean_name(path) == warc_filename), None)


def _through_link(folder: str, relative: str) -> bool:
    parts = relative.split(os.sep)
    return any(os.path.islink(os.path.join(folder, *parts[:count])) for count in range(1, len(parts)))


def _prefix(source: Source) -> str:
    return source.name.rstrip("/") + "/"


def _outcome_in_folder(
    source: Source, relative: str, *, found: os.stat_result | OSError, settings: Settings
) -> Outcome:
    name = clean_name(relative)
    host, slash, rest = name.partition("/")
    origin = Origin(_prefix(source) + name, 0, url=f"http://{host}/{rest}"[:MAX_URL] if slash else "")
    if isinstance(found, OSError):
        return refuse(origin, UNREADABLE_FILE, text_of(found))
    return _outcome_of(os.path.join(source.path, relative), origin, found=found, settings=settings)


def _outcome_of(path: str, origin: Origin, *, found: os.stat_result, settings: Settings) -> Outcome:
    """The page in a file, or why it is none. Nothing but regular files is ever opened: a FIFO would wait forever."""
    if stat.S_ISLNK(found.st_mode):
        return refuse(origin, SYMLINK)
    if not stat.S_ISREG(found.st_mode):
        return refuse(origin, UNREADABLE_FILE, "not a regular file")
    origin = origin._replace(length=found.st_size)
    try:
        with open(path, "rb") as file:
            start = file.read(SNIFF_BYTES)
            if not start or path.lower().endswith(HTML_ENDINGS) or is_html(start):
                content = start + file.read(max(0, settings.max_page_bytes + 1 - len(start)))
                return make_page(content, origin, media=HTML, limit=settings.max_page_bytes)
        return refuse(origin, NOT_HTML, _what_else(start))
    except OSError as error:
        return refuse(origin, UNREADABLE_FILE, text_of(error))
    except Exception as error:  # noqa: BLE001 - the page boundary: no page stops a run
        return refuse(origin, READER_ERROR, text_of(error))


def is_html(start: bytes) -> bool:
    """Whether a file that starts so is HTML, in whatever charset."""
    return looks_like_html(to_ascii_compatible(start, None)[0])


def _what_else(start: bytes) -> str:
    if start.startswith(_ARCHIVE_STARTS):
        return "looks like an archive: give it by its own name, or with a pattern such as folder/*.warc.gz"
    return binary_type(start)
