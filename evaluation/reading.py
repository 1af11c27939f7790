"""The fast reader gives what the careful reader gives, on every file of every corpus: python -m evaluation.reading.

Each file of a corpus, whatever it holds, is stored as the response of a server. Heads are written in many ways, some
bodies are packed or in chunks. The archive is read as it is, and again with bytes of it damaged. Pages, rejects and
skips of both readers have to be the same. Exits with 1 if they are not.
"""

import argparse
import gzip
import random
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pyarrow as pa

from samehand import Settings
from samehand.base.page import Reject
from samehand.sources import find_sources, plan_units, read_unit
from samehand.sources.archive import warc
from samehand.sources.runs import Run, batched

TYPES = (
    *["text/html", "text/html; charset=utf-8"] * 4,
    *("text/html;charset=ISO-8859-1", "text/html; charset=GB2312", "TEXT/HTML; charset=shift_jis", "text/html; x=y"),
    *("application/xhtml+xml", "text/plain", "image/png", "text/html; charset=no-such", "text/html; charset=utf-16"),
)
STATUS_LINES = (*["HTTP/1.1 200 OK"] * 8, "HTTP/1.0 200", "HTTP/2 200 ", "HTTP/1.1 404 Not Found", "HTTP/1.1 abc")
DAMAGE_EVERY = 300_000
"""Bytes of a damaged archive between two damages."""
MOST_BYTES = 150_000_000
"""Bytes of a corpus that are read; of larger ones every n-th file."""


class Read:
    """What a reader makes of an archive."""

    def __init__(self, path: Path) -> None:
        (source,), _ = find_sources([str(path)])
        self.skipped: Counter[str] = Counter()
        self.rejects: list[Reject] = []
        self.batches: list[pa.RecordBatch] = []
        self.fast = 0
        for unit in plan_units([source], 1 << 62):
            items = self._counted(read_unit(unit, Settings()).items())
            for rows, rejects in batched(items, self.skipped):
                batch = rows.batch(0)
                # The memory of a batch is used again, so it is copied.
                self.batches.append(pa.ipc.read_record_batch(batch.serialize(), batch.schema))
                self.rejects += rejects

    def _counted(self, items: Iterator[object]) -> Iterator[object]:
        for item in items:
            self.fast += len(item.table) if isinstance(item, Run) else 0
            yield item

    def equals(self, other: "Read") -> bool:
        """Whether both give the same."""
        ours, theirs = ((one.skipped, one.rejects, one.batches) for one in (self, other))
        return ours == theirs

    def __str__(self) -> str:
        pages = sum(map(len, self.batches))
        return (
            f"{pages} pages, {len(self.rejects)} rejects, {self.skipped.total()} skips, {self.fast} records read fast"
        )


def files_of(archive: Path) -> Iterator[bytes]:
    """The files of a corpus."""
    with tarfile.open(archive) as tar:
        members = [member for member in tar if member.isfile() and member.size]
        step = 1 + sum(member.size for member in members) // MOST_BYTES
        for member in members[::step]:
            if handle := tar.extractfile(member):
                yield handle.read()


def record_of(body: bytes, chance: random.Random) -> bytes:
    """A response, its head written in one of many ways."""
    head = [f"Content-Type: {chance.choice(TYPES)}", "Server: x"]
    coding = chance.randrange(20)
    if coding == 0:
        head.append("Content-Encoding: gzip")
        body = gzip.compress(body, 1)
    elif coding == 1:
        head.append("Transfer-Encoding: chunked")
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    chance.shuffle(head)
    block = "\r\n".join([chance.choice(STATUS_LINES), *head]).encode() + b"\r\n\r\n" + body
    kind = chance.choice((*["response"] * 20, "request", "metadata", "resource"))
    date = chance.choice(("2020-02-29T12:00:00Z", "2020-02-29T12:00:00.123Z", "yesterday"))
    fields = [f"WARC-Type: {kind}", f"WARC-Date: {date}", f"Content-Length: {len(block)}"]
    fields += [f"WARC-Target-URI: http://{chance.randrange(999)}.example/?{chance.random()}"] * (chance.random() < 0.95)
    fields += ["Content-Type: application/http;msgtype=response"] * (chance.random() < 0.9)
    return ("WARC/1.0\r\n" + "\r\n".join(fields) + "\r\n\r\n").encode() + block + b"\r\n\r\n"


def damaged(data: bytes, chance: random.Random) -> bytes:
    """Data with some bytes changed, lost or added. It still begins like a WARC file."""
    pieces = []
    for start in range(0, len(data), DAMAGE_EVERY):
        piece = data[start : start + DAMAGE_EVERY]
        at, size = chance.randrange(len(piece) // 2, len(piece)), chance.choice((0, 1, 50))
        pieces.append(piece[:at] + chance.randbytes(chance.choice((0, 1, size))) + piece[at + size :])
    return b"".join(pieces)


def compare(archive: Path, folder: Path) -> bool:
    """Whether both readers agree about a corpus, packed and not packed, sound and damaged."""
    chance = random.Random(archive.name)
    records = [record_of(body, chance) for body in files_of(archive)]
    packed = b"".join(gzip.compress(record, 1) for record in records)
    plain = b"".join(records[: 1 + len(records) // 4])
    is_same = True
    for name, data in (("packed", packed), ("plain", plain)):
        for state, written in (("sound", data), ("damaged", damaged(data, chance))):
            path = folder / f"x.warc{'.gz' if name == 'packed' else ''}"
            path.write_bytes(written)
            fast = Read(path)
            with mock.patch.object(warc.Archive, "fast_reader", return_value=None):
                careful = Read(path)
            same = fast.equals(careful)
            is_same &= same
            print(f"{archive.name}, {name}, {state}: {fast}: {'the same' if same else f'NOT THE SAME: {careful}'}")
    return is_same


def main() -> None:
    """Prints a line for each archive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--corpora", nargs="+", default=["*"], help="names of the archives, with wildcards")
    chosen = parser.parse_args()
    found = sorted({path for name in chosen.corpora for path in chosen.data.glob(f"{name}.tar.xz")})
    if not found:
        sys.exit(f"There are no corpora in {chosen.data}. Say where they are with --data FOLDER.")
    with tempfile.TemporaryDirectory() as folder:
        agreed = [compare(archive, Path(folder)) for archive in found]
    sys.exit(0 if all(agreed) else 1)


if __name__ == "__main__":
    main()
