"""NS records from zone files of any size.

Zones of top-level domains have 10^8 lines. One regular expression reads a block of plain lines; other blocks are read
line by line. Both give the same pairs. Records other than NS are counted and skipped. $INCLUDE and $GENERATE are
counted and never followed.
"""

import re
from collections.abc import Iterator

from samehand.base.names import BAD_NAME, LONGEST_NAME
from samehand.methods.sites.nameservers.pairs import Pair, Taker

BAD_RECORD, NO_ORIGIN, UNCLOSED = "bad_record", "no_origin", "unclosed"
INCLUDE, DIRECTIVE = "include", "directive"

MOST_OPEN_LINES, MOST_OPEN_BYTES = 1000, 1 << 22
"""Lines and bytes within one pair of parentheses, so that an open parenthesis does not swallow the file."""

ANY_NS = re.compile(rb"[ \t]ns(?=[ \t\r\n]|\Z)", re.IGNORECASE)
_SPECIAL = b';"()\\$@'
_INDENTED = (b"\n ", b"\n\t", b"\n\r", b"\n\n")
_SAYS_NS = tuple(blank + b"ns" + after for blank in (b" ", b"\t") for after in (b" ", b"\t", b"\r", b"\n"))
_PLAIN_NS = re.compile(
    rb"^([^\s]++)(?:[ \t]++(?:[0-9]++|in)(?=[ \t])){0,2}+[ \t]++ns[ \t]++([^\s]++)[ \t]*+\r?$", re.MULTILINE
)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[()]|(?:[^\s;"()\\]++|\\.)++|\\\Z|;.*+', re.DOTALL)
_LEFT_OUT = re.compile(rb"[0-9]+(?:[smhdw](?:[0-9]+[smhdw])*)?|in", re.IGNORECASE)
"""Time to live and class may stand between owner and type, in any order."""


class ZoneReader:
    """Reads a zone in blocks of whole lines and hands its NS records to a taker."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._origin: bytes | None = None
        self._owner: bytes | None = None
        self._open: list[bytes] = []
        self._depth = self._open_lines = self._open_bytes = 0

    def read(self, block: bytes) -> None:
        """The next block of lines."""
        if self._depth or _is_special(block) or not self._read_plain(block.lower()):
            for line in block.removesuffix(b"\n").split(b"\n"):
                self._taker.lines += 1
                self._read_line(line)

    def end(self) -> None:
        """The zone ends here."""
        if self._depth:
            self._taker.refuse(UNCLOSED, b" ".join(self._open[:8]))

    def _read_plain(self, block: bytes) -> bool:
        """Reads a block of plain lines. False if a line about NS is not plain: it must be read by itself."""
        pairs = _PLAIN_NS.findall(block)
        if len(pairs) != sum(map(block.count, _SAYS_NS)) or block.endswith((b" ns", b"\tns")):
            return False
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        self._taker.lines += lines
        self._taker.other += lines - len(pairs)
        last = block[block.rstrip(b"\n").rfind(b"\n") + 1 :].split(None, 1)
        self._owner = self._absolute(last[0]) if last else self._owner
        self._take(pairs)
        return True

    def _take(self, pairs: list[Pair]) -> None:
        if all(owner[-1] == ns[-1] == 46 for owner, ns in pairs):  # 46 is the dot of an absolute name
            self._taker.take(pairs)
            return
        absolute = []
        for pair in pairs:
            owner, ns = map(self._absolute, pair)
            if owner is None or ns is None:
                self._taker.refuse(NO_ORIGIN, b" NS ".join(pair))
            else:
                absolute.append((owner, ns))
        self._taker.take(absolute)

    def _absolute(self, name: bytes) -> bytes | None:
        if name.endswith(b"."):
            return name
        if self._origin is None:
            return None
        return self._origin + b"." if name == b"@" else name + b"." + self._origin

    def _read_line(self, line: bytes) -> None:
        if not self._depth:
            self._open, self._open_lines, self._open_bytes = [], 0, 0
            if line[:1] in (b" ", b"\t"):
                self._open.append(b"")  # stands for the owner of the record before
        self._open_lines += 1
        self._open_bytes += len(line)
        for token in _TOKEN.findall(line):
            if token == b"(":
                self._depth += 1
            elif token == b")":
                self._depth = max(0, self._depth - 1)
            elif not token.startswith(b";"):
                self._open.append(token)
        if self._depth and (self._open_lines >= MOST_OPEN_LINES or self._open_bytes > MOST_OPEN_BYTES):
            self._taker.refuse(UNCLOSED, b" ".join(self._open[:8]))
            self._depth = 0
        elif not self._depth and any(self._open):
            self._read_record(self._open)

    def _read_record(self, tokens: list[bytes]) -> None:
        if tokens[0].startswith(b"$"):
            self._follow(tokens)
            return
        written = tokens[0]
        if written:
            self._owner = self._absolute(written)
        place = 1
        while place < min(3, len(tokens)) and _LEFT_OUT.fullmatch(tokens[place]):
            place += 1
        if place == len(tokens) or tokens[place].lower() != b"ns":
            self._taker.other += 1
        elif len(tokens) != place + 2:
            self._taker.refuse(BAD_RECORD, b" ".join(tokens[:8]))
        else:
            self._take_one(written, tokens[place + 1])

    def _take_one(self, written: bytes, target: bytes) -> None:
        ns = self._absolute(target)
        if self._owner is None or ns is None:
            self._taker.refuse(NO_ORIGIN, written + b" NS " + target)
        else:
            self._taker.take([(self._owner, ns)])

    def _follow(self, tokens: list[bytes]) -> None:
        directive = tokens[0].upper()
        if directive == b"$ORIGIN" and len(tokens) == 2:
            origin = self._absolute(tokens[1])
            if origin is None or len(origin) > LONGEST_NAME + 1:
                self._taker.refuse(BAD_NAME if origin else NO_ORIGIN, tokens[1])
                origin = None
            self._origin = origin.removesuffix(b".") if origin is not None else None
        elif directive == b"$INCLUDE":
            self._taker.refuse(INCLUDE, b" ".join(tokens[:2]))
        elif directive != b"$TTL":
            self._taker.refuse(DIRECTIVE, b" ".join(tokens[:8]))


def _is_special(block: bytes) -> bool:
    """Whether a block has comments, quotes, directives, blank lines or continued lines."""
    if len(block.translate(None, _SPECIAL)) != len(block) or block[:1] in b" \t\r\n":
        return True
    return any(start in block for start in _INDENTED)


def read_zone(blocks: Iterator[bytes], taker: Taker) -> None:
    """Takes the NS records of a zone, given in blocks of whole lines."""
    reader = ZoneReader(taker)
    for block in blocks:
        reader.read(block)
    reader.end()
