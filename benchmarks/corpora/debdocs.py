"""The HTML pages of Debian's packages as a crawl, one site for each package: python -m benchmarks.corpora.debdocs OUT.

apt-get fetches the packages and checks them against Debian's signatures. A package is read as a stream: nothing of it
is unpacked to disk and nothing of it is run. OUT gets PACKAGE.warc.gz for each package and labels.tsv, which says who
wrote the pages of which host. The same packages give the same bytes. What is finished is not made again, so after an
interruption the same command goes on where it stopped.
"""

import argparse
import csv
import datetime
import gzip
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
import uuid
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, NamedTuple

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from samehand.base.errors import InputError, SamehandError, UsageError

PACKAGE_LIST = Path("../shared/data/debdocs-packages.tsv")
DOMAIN = "example"
_APT_LISTS = Path("/var/lib/apt/lists")
_PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_PAGE_NAME = re.compile(r"\.(?:html?|xhtml)(?:\.gz)?\Z")
_DOCUMENTATION = "usr/share/doc/"
_LAST_DATE = 4_102_444_800  # the year 2100
_PACKAGES_AT_ONCE = 16  # apt-get needs half a second before it fetches anything
_DOWNLOAD_SECONDS = 900
_QUESTIONS_BEHIND_THE_END = 8


class PackageError(SamehandError):
    """A package gives no site; its text is the reason, the same for all packages with that problem."""


@dataclass(frozen=True, slots=True)
class Limits:
    """No package of the list reaches any of them; the largest page of all has 87 MB."""

    page_bytes: int = 256 << 20
    archive_bytes: int = 1 << 30
    members: int = 500_000


class Listed(NamedTuple):
    """A package of the list: the generator is empty where it is not certain."""

    package: str
    generator: str
    pages: int

    def site_file(self, out: Path) -> Path:
        return out / f"{self.package}.warc.gz"


class Document(NamedTuple):
    """A page as it lies in a package."""

    path: str
    modified: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Site:
    """What became of a package: pages written, their bytes, and what was left out by reason."""

    pages: int
    bytes: int
    left_out: Mapping[str, int] = field(default_factory=dict)


class Outcome(NamedTuple):
    """A site, or why there is none."""

    listed: Listed
    site: Site | None
    failure: str = ""


class _Bounded(io.RawIOBase):
    """A stream that ends in an error once it has given too much, or is asked again and again behind its end."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._left, self._asked = stream, limit, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        self._left -= len(piece)
        if self._left < 0:
            raise PackageError("too large")
        # tarfile passes over a member in small steps, as many as its claimed size has, even when nothing is left.
        self._asked += not piece
        if self._asked > _QUESTIONS_BEHIND_THE_END:
            raise PackageError("damaged archive")
        return piece


def read_list(path: Path) -> list[Listed]:
    """The packages of the list, in an order by the hash of their names: the first N are a fair and growing choice."""
    try:
        with path.open(encoding="utf-8", newline="") as handle:
            table = csv.DictReader(handle, delimiter="\t")
            rows = [Listed(row["package"], row["generator"], int(row["pages"])) for row in table]
    except FileNotFoundError:
        raise InputError(f"{path} is not there. Say where the list of packages is with --list FILE.") from None
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} must be a table with the columns package, generator and pages.") from None
    unfit = next((row.package for row in rows if not _PACKAGE_NAME.fullmatch(row.package)), None)
    if unfit is not None:
        raise InputError(f"{path}: {unfit!r} is no name of a Debian package. Take the line out.")
    if len({host_of(row.package) for row in rows}) < len(rows):
        raise InputError(f"{path}: two packages have the same host. Take one of them out.")
    return sorted(rows, key=lambda row: hashlib.sha256(row.package.encode()).digest())


def host_of(package: str) -> str:
    """The host of a package: its name in the letters a host may have, as one label."""
    return re.sub(r"[.-]+", "-", package.replace("+", "p")).strip("-") + f".{DOMAIN}"


def documents_of(stream: IO[bytes], left_out: Counter[str], limits: Limits) -> Iterator[Document]:
    """The pages in a tar stream, in its order; every other member with a page's name is counted in `left_out`."""
    try:
        bounded = _Bounded(stream, limits.archive_bytes)
        with tarfile.open(fileobj=bounded, mode="r|", encoding="utf-8", errors="surrogateescape") as archive:
            for number, member in enumerate(archive):
                if number >= limits.members:
                    raise PackageError("too many files")
                if member.size < 0:
                    raise PackageError("damaged archive")
                if _PAGE_NAME.search(member.name.lower()) and not member.isdir():
                    document, problem = _read_member(archive, member, limits)
                    if document:
                        yield document
                    else:
                        left_out[problem] += 1
    except (tarfile.TarError, ValueError, OverflowError, RecursionError):
        raise PackageError("damaged archive") from None


def _read_member(archive: tarfile.TarFile, member: tarfile.TarInfo, limits: Limits) -> tuple[Document | None, str]:
    name = member.name.removeprefix("./")
    if not member.isreg() or member.issparse():
        return None, "not a regular file"
    if name.startswith("/") or {"", ".", ".."} & set(name.split("/")):
        return None, "path leads outside"
    if member.size > limits.page_bytes:
        return None, "too large"
    handle = archive.extractfile(member)
    content = handle.read() if handle else b""
    if len(content) != member.size:
        raise PackageError("damaged archive")
    if name.lower().endswith(".gz"):
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(limits.page_bytes + 1)
        except (OSError, EOFError, zlib.error):
            return None, "damaged gzip"
        if len(content) > limits.page_bytes:
            return None, "too large"
    return Document(name, int(min(max(member.mtime, 0), _LAST_DATE)), content), ""


def write_site(stream: IO[bytes], out: Path, *, host: str, source: str, limits: Limits | None = None) -> Site:
    """Writes the pages of a tar stream as a .warc.gz with its records in the order of their URLs."""
    left_out: Counter[str] = Counter()
    places: dict[str, tuple[int, int, int]] = {}
    # Every record is a gzip member of its own, so they can be put in order after they were packed.
    with tempfile.SpooledTemporaryFile(64 << 20, dir=str(out.parent)) as spool:
        for document in documents_of(stream, left_out, limits or Limits()):
            url = _url_of(document.path, host)
            left_out["overwritten by a later file"] += url in places
            record = _page_record(url, document)
            places[url] = (spool.tell(), len(record), len(document.content))
            spool.write(record)
        site = Site(len(places), sum(place[2] for place in places.values()), dict(sorted((+left_out).items())))
        with out.open("wb") as handle:
            handle.write(_info_record(site, host=host, source=source))
            for url in sorted(places):
                start, length, _ = places[url]
                spool.seek(start)
                handle.write(spool.read(length))
    return site


def read_site(path: Path, host: str) -> Site | None:
    """What a finished file says about itself in its first record; None if it is not there or not of this host."""
    try:
        with path.open("rb") as handle:
            text = next(iter(ArchiveIterator(handle))).content_stream().read().decode()
        facts = dict(line.split(": ", 1) for line in text.splitlines())
        left_out = {name[9:]: int(value) for name, value in facts.items() if name.startswith("left-out ")}
        return Site(int(facts["pages"]), int(facts["bytes"]), left_out) if facts["host"] == host else None
    except (FileNotFoundError, ArchiveLoadFailed, StopIteration, KeyError, ValueError):
        return None


def _url_of(path: str, host: str) -> str:
    below = path.removeprefix(_DOCUMENTATION)
    return f"http://{host}/{urllib.parse.quote(below.encode('utf-8', 'surrogateescape'), safe='/~+@!,;=():')}"


def _page_record(url: str, document: Document) -> bytes:
    name = document.path.lower().removesuffix(".gz")
    kind = "application/xhtml+xml" if name.endswith(".xhtml") else "text/html"
    headers = [("Content-Type", kind), ("Content-Length", str(len(document.content)))]
    http = StatusAndHeaders("200 OK", headers, protocol="HTTP/1.1")
    return _record("response", url, body=document.content, date=document.modified, http=http)


def _info_record(site: Site, *, host: str, source: str) -> bytes:
    facts = {"software": "samehand debdocs", "format": "WARC File Format 1.0", "host": host, "source": source}
    facts |= {"pages": str(site.pages), "bytes": str(site.bytes)}
    facts |= {f"left-out {reason}": str(count) for reason, count in site.left_out.items()}
    body = "".join(f"{name}: {value}\r\n" for name, value in facts.items()).encode()
    return _record("warcinfo", "", body=body, date=0, http=None)


def _record(kind: str, url: str, *, body: bytes, date: int, http: StatusAndHeaders | None) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    headers = {
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{kind} {url} {digest}')}>",
        "WARC-Date": f"{datetime.datetime.fromtimestamp(date, datetime.UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    plain = io.BytesIO()
    writer = WARCWriter(plain, gzip=False, warc_version="1.0")
    record = writer.create_warc_record(
        url, kind, payload=io.BytesIO(body), length=len(body), warc_headers_dict=headers, http_headers=http
    )
    writer.write_record(record)
    # warcio packs at level 9, which takes 1.4 times as long on these pages and saves less than one percent.
    return gzip.compress(plain.getvalue(), 6, mtime=0)


def build_package(deb: Path, out: Path, *, host: str) -> Site:
    """Writes the site of a .deb file; `out` is there only when it is whole."""
    partial = out.with_name(f".{out.name}.partial")
    command = ["dpkg-deb", "--fsys-tarfile", str(deb)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as unpacker:
        try:
            stream = unpacker.stdout or io.BytesIO()
            site = write_site(stream, partial, host=host, source=deb.name)
            while stream.read(1 << 16):  # the padding behind the archive's end
                pass
            if unpacker.wait():
                raise PackageError("damaged archive")
        except BaseException:
            unpacker.kill()
            partial.unlink(missing_ok=True)
            raise
    partial.replace(out)
    return site


def _download(packages: Sequence[str], folder: Path) -> None:
    """One call for all; if that fails, one for each, so that a missing package takes no other with it."""
    command = ["apt-get", "--quiet", "-o", "Acquire::Retries=2", "download", *packages]
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=_DOWNLOAD_SECONDS)
        failed = ended.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    if failed and len(packages) > 1:
        for package in packages:
            _download([package], folder)


def _build_batch(batch: Sequence[Listed], out: Path, *, keep: Path | None) -> list[Outcome]:
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="debdocs-") as scratch:
        folder = keep or Path(scratch)
        _download([listed.package for listed in batch], folder)
        for listed in batch:
            debs = sorted(folder.glob(f"{listed.package}_*.deb"), key=lambda deb: (deb.stat().st_mtime, deb.name))
            try:
                if not debs:
                    raise PackageError("not downloadable")
                site = build_package(debs[-1], listed.site_file(out), host=host_of(listed.package))
                outcomes.append(Outcome(listed, site))
            except PackageError as problem:
                outcomes.append(Outcome(listed, None, str(problem)))
    return outcomes


def build(packages: Sequence[Listed], out: Path, *, jobs: int = 2, keep: Path | None = None) -> list[Outcome]:
    """Makes what is not there yet and tells how far it is; one outcome for each package, in the order given."""
    for folder in (out, keep or out):
        folder.mkdir(parents=True, exist_ok=True)
    sites = {row: read_site(row.site_file(out), host_of(row.package)) for row in packages}
    found = {row: Outcome(row, site) for row, site in sites.items() if site}
    missing = [row for row in packages if row not in found]
    if missing:
        _prepare_apt()
    batches = [missing[start : start + _PACKAGES_AT_ONCE] for start in range(0, len(missing), _PACKAGES_AT_ONCE)]
    print(f"{len(found)} of {len(packages)} packages are there already", flush=True)
    began = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        tasks = [pool.submit(_build_batch, batch, out, keep=keep) for batch in batches]
        try:
            for task in as_completed(tasks):
                found |= {outcome.listed: outcome for outcome in task.result()}
                pages = sum(outcome.site.pages for outcome in found.values() if outcome.site)
                seconds = time.monotonic() - began
                print(f"{len(found)} of {len(packages)} packages, {pages:,} pages, {seconds:.0f} s", flush=True)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [found[row] for row in packages]


def _prepare_apt() -> None:
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise UsageError(
                f"{program} is not there. Run this on Debian or in its container (docker run -it debian:12)."
            )
    if not any(_APT_LISTS.glob("*_Packages*")):
        print("apt-get has no lists of packages yet: apt-get update", flush=True)
        if subprocess.run(["apt-get", "--quiet", "update"]).returncode:
            raise UsageError("apt-get update failed. Run it as root (sudo apt-get update), then start again.")


def write_labels(packages: Sequence[Listed], out: Path) -> None:
    """Host, package and generator of every site that is there, by package."""
    there = [row for row in sorted(packages) if row.site_file(out).is_file()]
    lines = [f"{host_of(row.package)}\t{row.package}\t{row.generator}\n" for row in there]
    partial = out / ".labels.tsv.partial"
    partial.write_text("url_host_name\tpackage\tgenerator\n" + "".join(lines), encoding="utf-8")
    partial.replace(out / "labels.tsv")


def closing_table(outcomes: Sequence[Outcome]) -> str:
    """What was made, what was left out, what failed, and where the pages are not as many as the list says."""
    done = [(outcome.listed, outcome.site) for outcome in outcomes if outcome.site]
    rows = [
        ("packages done", len(done)),
        ("pages", sum(site.pages for _, site in done)),
        ("pages by the list", sum(outcome.listed.pages for outcome in outcomes)),
        ("bytes of HTML", sum(site.bytes for _, site in done)),
    ]
    left_out = sum((Counter(site.left_out) for _, site in done), Counter())
    failures = Counter(outcome.failure for outcome in outcomes if not outcome.site)
    rows += [(f"left out: {reason}", count) for reason, count in sorted(left_out.items())]
    rows += [(f"failed: {reason}", count) for reason, count in sorted(failures.items())]
    unlike = [f"{row.package} {site.pages - row.pages:+d}" for row, site in done if site.pages != row.pages]
    rows.append(("packages unlike the list", len(unlike)))
    lines = [f"{name:40}{count:>16,}" for name, count in rows]
    lines += [f"  failed: {outcome.listed.package}: {outcome.failure}" for outcome in outcomes if not outcome.site]
    return "\n".join([*lines, *(f"  unlike the list: {line}" for line in sorted(unlike))])


def main(arguments: Sequence[str] | None = None) -> None:
    """Builds the corpus and prints the closing table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the .warc.gz files")
    parser.add_argument("--packages", type=int, metavar="N", help="only N packages, a fair choice; all if not given")
    parser.add_argument("--list", type=Path, default=PACKAGE_LIST, help="table of packages (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="packages read at a time (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the .deb files there, and use those that are")
    chosen = parser.parse_args(arguments)
    if chosen.jobs < 1 or (chosen.packages is not None and chosen.packages < 1):
        parser.error("--jobs and --packages must be 1 or more")
    try:
        listed = read_list(chosen.list)
        wanted = listed[: chosen.packages]
        outcomes = build(wanted, chosen.out, jobs=chosen.jobs, keep=chosen.keep)
        write_labels(listed, chosen.out)
    except SamehandError as problem:
        sys.exit(str(problem))
    except OSError as problem:
        sys.exit(f"{problem}. What is finished stays: make room or set it right, then run the same command again.")
    print(closing_table(outcomes))


if __name__ == "__main__":
    main()
