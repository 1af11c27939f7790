"""Pairs of a domain and a name server in Arrow: collected raw, checked in blocks, stored sorted and without repeats."""

import collections
import dataclasses
import functools
from collections.abc import Collection, Iterable, Sequence
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.base.names import BAD_NAME, LONGEST_NAME, NAME, canonical_name
from samehand.methods.sites.nameservers.names import MOST_SERVERS, TOO_MANY, provider_of, upwards

PAIR_SCHEMA = pa.schema([("domain", pa.large_string()), ("ns", pa.large_string())])
PAIRS_AT_ONCE = 1 << 18

_PLAIN = rf"^{NAME}\.?$"
_NUMBER_LAST = r"(?:^|\.)[0-9]+\.?$"
_EXAMPLE = 80

Pair = tuple[bytes, bytes]


@dataclasses.dataclass(frozen=True, kw_only=True)
class NameServers:
    """Pairs of a domain and one of its name servers, and counts of what was read.

    `other` of the `lines` are not about name servers. `bad` counts what was refused by its reason, and `first_bad` has
    an example of each. `outcomes` counts what DNS answered for the domains that were looked up.
    """

    pairs: pa.Table
    lines: int = 0
    other: int = 0
    bad: dict[str, int] = dataclasses.field(default_factory=dict)
    first_bad: dict[str, str] = dataclasses.field(default_factory=dict)
    outcomes: dict[str, int] = dataclasses.field(default_factory=dict)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        """From canonical names."""
        rows = list(pairs)
        columns = [pa.array([row[side] for row in rows], pa.large_string()) for side in (0, 1)]
        return cls(pairs=_each_once(pa.table(columns, schema=PAIR_SCHEMA)))

    def servers_of(self, domain: str) -> tuple[str, ...]:
        """Name servers of `domain`, or of the nearest domain above it that has any, up to the registered one."""
        for name in upwards(domain):
            if name in self._places:
                first, end = self._places[name]
                return tuple(self.pairs["ns"].slice(first, end - first).to_pylist())
        return ()

    def providers_of(self, domain: str) -> tuple[str, ...]:
        """Providers of `domain`, sorted. A domain may use the name servers of several."""
        return tuple(sorted({provider for ns in self.servers_of(domain) if (provider := provider_of(ns))}))

    def servers_of_providers(self) -> dict[str, tuple[str, ...]]:
        """The name servers of each provider, sorted."""
        servers: dict[str, list[str]] = collections.defaultdict(list)
        for ns in sorted(pc.unique(self.pairs["ns"]).to_pylist()):
            if provider := provider_of(ns):
                servers[provider].append(ns)
        return {provider: tuple(servers[provider]) for provider in sorted(servers)}

    @functools.cached_property
    def _places(self) -> dict[str, tuple[int, int]]:
        """Where the pairs of each domain begin and end."""
        counts = pc.value_counts(self.pairs["domain"].combine_chunks())  # in order of appearance, which is sorted
        ends = np.cumsum(np.asarray(counts.field("counts")))
        starts = ends - np.asarray(counts.field("counts"))
        bounds = zip(starts.tolist(), ends.tolist(), strict=True)
        return dict(zip(counts.field("values").to_pylist(), bounds, strict=True))


def _each_once(table: pa.Table) -> pa.Table:
    """`table` sorted by its columns, without repeated rows."""
    table = table.sort_by([(name, "ascending") for name in table.column_names]).combine_chunks()
    if not table.num_rows:
        return table
    columns = [column.chunk(0) for column in table.columns]
    same = [pc.equal(column[1:], column[:-1]) for column in columns]
    return table.filter(pa.concat_arrays([pa.array([True]), pc.invert(pc.and_(*same))]))


def _places_within(names: pa.ChunkedArray) -> NDArray[np.int64]:
    """For each of the sorted `names` how many equal ones stand before it."""
    counts: NDArray[np.int64] = np.asarray(pc.value_counts(names.combine_chunks()).field("counts"))
    return np.arange(len(names)) - np.repeat(np.cumsum(counts) - counts, counts)


class Taker:
    """Collects raw pairs from the readers of files, keeps those of the wanted domains, counts refusals by reason."""

    def __init__(self, wanted: Collection[str] | None) -> None:
        names = None if wanted is None else sorted({above for name in wanted for above in upwards(name)})
        self._wanted = None if names is None else pa.array(names, pa.large_string())
        self._raw: list[Pair] = []
        self._kept = [PAIR_SCHEMA.empty_table()]
        self._bad: collections.Counter[str] = collections.Counter()
        self._first_bad: dict[str, str] = {}
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.lines = self.other = self.taken = 0

    def refuse(self, reason: str, example: bytes) -> None:
        """Counts what cannot be taken."""
        self._bad[reason] += 1
        self._first_bad.setdefault(reason, example[:_EXAMPLE].decode("utf-8", "backslashreplace"))

    def take(self, pairs: Sequence[Pair]) -> None:
        """Takes pairs as they are written; relative names are absolute already."""
        self.taken += len(pairs)
        self._raw.extend(pairs)
        if len(self._raw) >= PAIRS_AT_ONCE:
            self._check()

    def done(self) -> NameServers:
        """All that was kept."""
        self._check()
        pairs = _each_once(pa.concat_tables(self._kept))
        is_kept = pa.array(_places_within(pairs["domain"]) < MOST_SERVERS)
        for domain in pairs["domain"].filter(pc.invert(is_kept)).to_pylist():
            self.refuse(TOO_MANY, domain.encode())
        return NameServers(
            pairs=pairs.filter(is_kept),
            lines=self.lines,
            other=self.other,
            bad=dict(sorted(self._bad.items())),
            first_bad=dict(sorted(self._first_bad.items())),
            outcomes=dict(sorted(self.outcomes.items())),
        )

    def _check(self) -> None:
        """Checks the raw pairs, wanted or not. A bad pair is refused once, for its first bad name."""
        raw, self._raw = self._raw, []
        columns = [_canonical_names([pair[side] for pair in raw]) for side in (0, 1)]
        good = pc.and_(pc.is_valid(columns[0]), pc.is_valid(columns[1]))
        for place in np.flatnonzero(~np.asarray(good)).tolist():
            self.refuse(*next((reason, name) for name in raw[place] if (reason := _canonical_raw(name)[1])))
        keep = good if self._wanted is None else pc.and_(good, pc.is_in(columns[0], value_set=self._wanted))
        self._kept.append(pa.table(columns, schema=PAIR_SCHEMA).filter(keep))


def _canonical_names(raw: list[bytes]) -> pa.Array:
    """Canonical names, null where refused. Arrow handles plain names; the rest goes through `canonical_name`."""
    names = pa.array(raw, pa.large_binary())
    plain = pc.and_(
        pc.match_substring_regex(names, _PLAIN, ignore_case=True), pc.less_equal(pc.binary_length(names), LONGEST_NAME)
    )
    plain = np.asarray(pc.and_not(plain, pc.match_substring_regex(names, _NUMBER_LAST)))
    passed = pc.ascii_rtrim(pc.ascii_lower(names.filter(pa.array(plain)).cast(pa.large_string())), ".")
    if plain.all():
        return passed
    seen = pa.array([_canonical_raw(raw[place])[0] or None for place in np.flatnonzero(~plain)], pa.large_string())
    order = np.empty(len(raw), np.int64)
    order[np.flatnonzero(plain)] = np.arange(len(passed))
    order[np.flatnonzero(~plain)] = np.arange(len(passed), len(raw))
    return pa.concat_arrays([passed, seen]).take(pa.array(order))


def _canonical_raw(raw: bytes) -> tuple[str, str]:
    try:
        return canonical_name(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return "", BAD_NAME
