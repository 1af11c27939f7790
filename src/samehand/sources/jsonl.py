"""JSONL, plain or packed: a document in each line. It is found again by the offset of its line in the unpacked file."""

import io
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, NamedTuple

from samehand.base.page import Outcome
from samehand.base.settings import Settings
from samehand.sources.archive.frames import codec_for
from samehand.sources.archive.members import STEP, MemberError, MemberStream
from samehand.sources.http.body import Origin, bounded_url, guarded, refuse
from samehand.sources.reader import Look, Reader, Reading, Source, Unit, by_bytes
from samehand.sources.reasons import BAD_JSON, DAMAGED_RECORD, MISSING_COLUMN, reject, text_of
from samehand.sources.tables import Fields, choose_columns, doc_id_of, outcome_of_fields, time_in

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_JSON_ENDINGS: Final = (".jsonl", ".ndjson", ".json")
_NO_END: Final = 1 << 62
_LINE_EXTRA = 1_000_000
_SKIP_STEP = 1 << 20
_ABSENT: Final = object()


class Line(NamedTuple):
    """A line of a file. `text` is None if the line is too long to be held."""

    text: bytes | None
    size: int


def unpacked(file: BinaryIO, size: int) -> BinaryIO | None:
    """The unpacked stream of a file, None if the file is plain. A packed file can only be read from its start."""
    codec = codec_for(file.read(4))
    file.seek(0)
    return io.BufferedReader(MemberStream(codec(file, size)), STEP) if codec else None


def longest_line(settings: Settings) -> int:
    """Bytes of the longest line that is held."""
    return 3 * settings.max_page_bytes + _LINE_EXTRA


def read_line(stream: BinaryIO, settings: Settings) -> Line | None:
    """The next line, None at the end. It may be three times as long as a page, since JSON escapes letters."""
    longest = longest_line(settings)
    text = stream.readline(longest)
    size = len(text)
    if size < longest or text.endswith(b"\n"):
        return Line(text, size) if text else None
    while more := stream.readline(_SKIP_STEP):
        size += len(more)
        if more.endswith(b"\n"):
            break
    return Line(None, size)


def row_of(line: Line) -> dict[str, Any] | str:
    """The JSON object in a line, or what is wrong with it."""
    if line.text is None:
        return f"a line of {line.size} bytes"
    try:
        row = json.loads(line.text.removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError) as error:
        return text_of(error)
    return row if isinstance(row, dict) else f"a JSON {type(row).__name__}, not an object"


def _recognises(look: Look) -> bool:
    """Whether an object comes first; or somewhere, if the name says JSON and the first line is damaged."""
    if look.text.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"{"):
        return True
    name = look.path.lower().removesuffix(".gz").removesuffix(".zst")
    return name.endswith(_JSON_ENDINGS) and b"\n{" in look.text


def _read(unit: Unit, settings: Settings, reading: Reading) -> Iterator[Outcome]:
    source = unit.source
    with open(source.path, "rb") as file:
        stream = unpacked(file, source.size)
        position = 0 if stream else _line_start(file, unit)
        reading.first = position
        end = _NO_END if stream else unit.end
        try:
            while position < end and (line := read_line(stream or file, settings)):
                if line.text is None or not line.text.isspace():
                    yield _outcome_of_line(line, Origin(source.name, position, line.size), settings)
                position += line.size
        except MemberError as error:
            yield reject(source.name, position, reason=DAMAGED_RECORD, detail=text_of(error))
        reading.stop = unit.end if stream else position


def _find_page(source: Source, source_path: str, offset: int, settings: Settings) -> Outcome | None:
    with open(source.path, "rb") as file:
        stream = unpacked(file, source.size)
        try:
            if stream is None:
                file.seek(offset)
            elif not skip(stream, offset):
                return None
            line = read_line(stream or file, settings)
        except MemberError:
            return None
    return _outcome_of_line(line, Origin(source.name, offset, line.size), settings) if line else None


def _line_start(file: BinaryIO, unit: Unit) -> int:
    """Position of the first line that starts in the unit or behind it. The file stands there."""
    if unit.exact or unit.start == 0:
        return file.seek(unit.start)
    position = file.seek(unit.start - 1)
    while text := file.readline(_SKIP_STEP):
        position += len(text)
        if text.endswith(b"\n"):
            break
    return position


def skip(stream: BinaryIO, size: int) -> bool:
    """Passes over so many bytes. False if the stream ends before."""
    while size and (data := stream.read(min(size, _SKIP_STEP))):
        size -= len(data)
    return size == 0


def _outcome_of_line(line: Line, origin: Origin, settings: Settings) -> Outcome:
    row = row_of(line)
    if isinstance(row, str):
        return refuse(origin, BAD_JSON, row)
    return guarded(origin, lambda: _outcome_of_row(row, origin, settings))


def _outcome_of_row(row: dict[str, Any], origin: Origin, settings: Settings) -> Outcome:
    url = value_at(row, settings.url_column or "url")
    if isinstance(url, str):
        origin = origin._replace(url=bounded_url(url.encode("utf-8", "replace")))
    columns = choose_columns(settings, lambda name: value_at(row, name) is not _ABSENT, lambda: _names_in(row))
    if isinstance(columns, str):
        return refuse(origin, MISSING_COLUMN, columns)
    content = value_at(row, columns.content)
    if not isinstance(content, str | None):
        return refuse(origin, MISSING_COLUMN, f"{columns.content} is {type(content).__name__}, not text")
    url, doc_id, time = (value_at(row, name) if name else None for name in columns[1:4])
    fields = Fields(
        content=None if content is None else content[: settings.max_page_bytes + 1].encode("utf-8", "replace"),
        url=url.encode("utf-8", "replace") if isinstance(url, str) else b"",
        doc_id=doc_id_of(doc_id),
        time=time_in(time),
    )
    return outcome_of_fields(fields, columns, origin, settings)


def value_at(row: Any, name: str) -> Any:
    """The value of a column. Dots lead into nested objects, unless a key itself has them."""
    if not isinstance(row, dict) or name in row:
        return row[name] if isinstance(row, dict) else _ABSENT
    outer, dot, inner = name.partition(".")
    return value_at(row.get(outer), inner) if dot else _ABSENT


def _names_in(row: dict[str, Any]) -> Iterator[str]:
    """The columns of a row, those of nested objects one level deep."""
    for name, value in row.items():
        yield from (f"{name}.{inner}" for inner in value) if isinstance(value, dict) and value else (name,)


JSONL_READER: Final = Reader(
    kind="jsonl",
    inputs="JSONL",
    recognises=_recognises,
    split=by_bytes(lambda file, source: unpacked(file, source.size) is None),
    read=_read,
    find_page=_find_page,
)
