"""Evidence on a cluster for someone who was not there, such as a registrar: a page to read, and the facts as JSON.

Everything crawled was written by a stranger. In the page it is escaped and no address can be clicked; the JSON is plain
ASCII. No file holds a clock, so the same run gives the same bytes.
"""

import dataclasses
import hashlib
import html
import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from samehand.base.neutral import neutral

_STYLE = (
    "body{font:15px/1.45 sans-serif;margin:2em auto;max-width:75em;padding:0 1em}table{border-collapse:collapse}"
    "td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left;vertical-align:top;overflow-wrap:anywhere}"
    "pre{background:#f3f3f3;padding:.5em;white-space:pre-wrap;overflow-wrap:anywhere}"
)
_HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
)
_PAGE_COLUMNS = {
    "url": "URL",
    "similarity": "similarity",
    "fetch_time": "fetched",
    "fetch_status": "status",
    "source_path": "file",
    "warc_record_offset": "offset",
    "warc_record_length": "length",
    "sha256": "SHA-256 of the page",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Stretch:
    """Source that two pages share, letters and digits aside: the places in both, and its text in the first."""

    url: str
    jaccard: float
    centre_place: tuple[int, int]
    page_place: tuple[int, int]
    text: str


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """What a run knows of a cluster. Pages are rows of facts; the first is the centre."""

    cluster: int
    about: Mapping[str, Any]
    pages: Sequence[Mapping[str, Any]]
    stretches: Sequence[Stretch]
    name_servers: Mapping[str, Sequence[str]]
    notes: Sequence[str]


def evidence_files(evidence: Evidence) -> dict[str, bytes]:
    """The files of a bundle by name, with a list of their digests."""
    facts = json.dumps(dataclasses.asdict(evidence), indent=1, sort_keys=True, default=str)
    files = {"evidence.json": f"{facts}\n".encode("ascii"), "report.html": _report(evidence).encode("utf-8")}
    sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return files | {"SHA256SUMS": sums.encode("ascii")}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """The files as a zip, whose bytes depend on them alone."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), files[name], zipfile.ZIP_DEFLATED)
    return whole.getvalue()


def _report(evidence: Evidence) -> str:
    title = f"Pages of the same hand: cluster {evidence.cluster}"
    about = "; ".join(f"{name.replace('_', ' ')} {_shown(value)}" for name, value in evidence.about.items())
    parts = [
        f"{_HEAD}<title>{_escaped(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_escaped(title)}</h1><p>{_escaped(about)}</p>",
        *(f"<p>{_escaped(note)}</p>" for note in evidence.notes),
        "<h2>Pages</h2>",
        _table(_PAGE_COLUMNS.values(), ([page.get(name) for name in _PAGE_COLUMNS] for page in evidence.pages)),
        "<h2>Source that the first page shares with others</h2>",
        *(_stretch(stretch) for stretch in evidence.stretches),
        "<h2>Name servers</h2>",
        _table(["site", "name servers"], ([site, ", ".join(names)] for site, names in evidence.name_servers.items())),
        "</body></html>\n",
    ]
    return "\n".join(parts)


def _stretch(stretch: Stretch) -> str:
    places = "bytes {}-{} of the first page, {}-{} of".format(*stretch.centre_place, *stretch.page_place)
    return (
        f"<p>{places} {_escaped(stretch.url)} (Jaccard similarity {stretch.jaccard:.2f})</p>"
        f"<pre>{_escaped(stretch.text)}</pre>"
    )


def _table(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    head = "".join(f"<th>{_escaped(heading)}</th>" for heading in headings)
    body = "\n".join("<tr>" + "".join(f"<td>{_escaped(_shown(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _escaped(text: str) -> str:
    return "\n".join(html.escape(neutral(line)) for line in text.split("\n"))
