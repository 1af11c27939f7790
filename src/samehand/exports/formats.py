"""The table of list formats. A new one is a writer, its reader, and one entry here."""

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from samehand.base.names import LONGEST_NAME
from samehand.base.neutral import csv_line, json_line
from samehand.exports import blocklists, sharing
from samehand.exports.choose import Chosen, only_units
from samehand.exports.entries import HOST, NAME_SERVER, SITE, Entry
from samehand.exports.stamp import Stamp

_SITES = (SITE, HOST)
_ALL = (*_SITES, NAME_SERVER)

ENTRY_SCHEMA: Final = pa.schema(
    [
        ("name", pa.string()),
        ("unit", pa.string()),
        ("kind", pa.string()),
        ("probability", pa.float64()),
        ("cluster", pa.int64()),
        ("evidence", pa.string()),
        ("until", pa.string()),
        ("page_id", pa.int64()),
        ("doc_id", pa.string()),
        ("url", pa.string()),
        ("fetched", pa.string()),
    ]
)


@dataclasses.dataclass(frozen=True, slots=True)
class ListFormat:
    """How a list is written, how the keys of a list on disk are read, and which units it has rules for."""

    write: Callable[[Chosen, Stamp], str | bytes]
    keys: Callable[[Any], set[str]]
    units: tuple[str, ...] = _SITES


def entry_table(entries: tuple[Entry, ...]) -> pa.Table:
    """Entries as a table."""
    rows = [
        {
            **{name: getattr(entry, name) for name in ENTRY_SCHEMA.names},
            "until": entry.until and entry.until.isoformat(),
            "fetched": entry.fetched and entry.fetched.isoformat(),
        }
        for entry in entries
    ]
    return pa.Table.from_pylist(rows, ENTRY_SCHEMA)


def _to_csv(chosen: Chosen, _: Stamp) -> str:
    rows = entry_table(chosen.entries).to_pylist()
    return csv_line(ENTRY_SCHEMA.names) + "".join(csv_line(row.values()) for row in rows)


def _to_jsonl(chosen: Chosen, _: Stamp) -> str:
    return "".join(json_line(row) + "\n" for row in entry_table(chosen.entries).to_pylist())


def _to_parquet(chosen: Chosen, _: Stamp) -> bytes:
    whole = io.BytesIO()
    pq.write_table(entry_table(chosen.entries), whole, compression="zstd")
    return whole.getvalue()


def _keys_of_csv(text: str) -> set[str]:
    rows = csv.DictReader(io.StringIO(text))
    if text and "name" not in (rows.fieldnames or ()):
        raise ValueError("there is no column name")
    return _keys_of_rows(rows)


def _keys_of_jsonl(text: str) -> set[str]:
    return _keys_of_rows(map(json.loads, text.splitlines()))


def _keys_of_parquet(data: bytes) -> set[str]:
    return _keys_of_rows(pq.read_table(pa.BufferReader(data), columns=["name", "unit"]).to_pylist())


def _keys_of_rows(rows: Iterable[Mapping[str, Any]]) -> set[str]:
    return {f"{row['name']} (name server)" if row["unit"] == NAME_SERVER else row["name"] for row in rows}


FORMATS: Final[dict[str, ListFormat]] = {
    "rpz": ListFormat(blocklists.to_rpz, blocklists.keys_of_rpz, _ALL),
    "hosts": ListFormat(blocklists.to_hosts, blocklists.keys_of_hosts),
    "adblock": ListFormat(blocklists.to_adblock, blocklists.keys_of_adblock),
    "domains": ListFormat(blocklists.to_domains, blocklists.keys_of_domains),
    "stix": ListFormat(sharing.to_stix, sharing.keys_of_stix),
    "misp": ListFormat(sharing.to_misp, sharing.keys_of_misp),
    "misp-warninglist": ListFormat(sharing.to_warninglist, sharing.keys_of_warninglist),
    "csv": ListFormat(_to_csv, _keys_of_csv, _ALL),
    "jsonl": ListFormat(_to_jsonl, _keys_of_jsonl, _ALL),
    "parquet": ListFormat(_to_parquet, _keys_of_parquet, _ALL),
}
"""All formats of lists."""


def fitting(chosen: Chosen, form: str, stamp: Stamp) -> Chosen:
    """What a format has rules for."""
    most = blocklists.longest_in_zone(stamp.zone) if form == "rpz" else LONGEST_NAME
    return only_units(chosen, FORMATS[form].units, most)


def keys_in(form: str, data: bytes) -> set[str]:
    """The keys of the entries in a list that was written before. ValueError if it is no such list."""
    try:
        found = FORMATS[form].keys(data if form == "parquet" else data.decode("utf-8"))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, pa.ArrowException) as error:
        raise ValueError(f"it is no list in the format {form}") from error
    return found
