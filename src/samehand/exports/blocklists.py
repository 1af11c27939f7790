"""Verdicts as block lists: a response policy zone that blocks providers by their name servers, and lists of sites.

In a response policy zone (RPZ), `ns1.park.net.rpz-nsdname CNAME .` blocks every domain that has ns1.park.net as a name
server: one line for all domains that are parked there, now and later. Rules for a domain itself come first, so honest
sites on a blocked provider are let through by name (section 4 of the paper: users suffer more from an honest site that
is blocked than from an advertisement that is not).

A list names what was judged and no more: a site if the page on its own domain was judged, otherwise the host of the
judged page. Names below are blocked too only if the name is a private domain. A domain with names of strangers below
it is never blocked. Host names were written by strangers, so only canonical names get into a list; everything that is
left out is counted. A list contains no time: the same verdicts give the same bytes.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from samehand.base.errors import UsageError
from samehand.base.page import host_of, is_shared_domain
from samehand.methods.sites.nameservers.names import LONGEST_NAME, canonical_name
from samehand.methods.sites.verdicts import ACCUSING, PARKED, PARKED_KINDS, Verdicts

ZONE = "rpz.samehand"
NAME_SERVER, PROVIDER, SITE, LET_THROUGH = "name_server", "provider", "site", "let_through"
_KINDS = (LET_THROUGH, PROVIDER, NAME_SERVER, SITE)
SHARED_DOMAIN, RESERVED, TOO_LONG, ALLOWED = "shared_domain", "reserved", "too_long", "allowed"
LARGEST_SERIAL = (1 << 32) - 1

_TRIGGER = ".rpz-nsdname"
_DENY, _PASS = "CNAME .", "CNAME rpz-passthru."
_SECONDS_TO_LIVE = 300


class Entry(NamedTuple):
    """One name to block or to let through. `below` says that the names below it are meant too."""

    kind: str
    name: str
    below: bool

    def owners(self) -> Iterator[str]:
        """The owner names of the rules: a rule for a name does not hold for the names below it."""
        trigger = _TRIGGER if self.kind in (NAME_SERVER, PROVIDER) else ""
        yield self.name + trigger
        if self.below:
            yield f"*.{self.name}{trigger}"


@dataclasses.dataclass(frozen=True, slots=True)
class BlockList:
    """A list as text, the number of entries of each kind, and the number of names left out by reason."""

    text: str
    written: dict[str, int]
    left_out: dict[str, int]


class _Entries:
    """The entries of a list, each name once, and counts of what was left out."""

    def __init__(self, allow: Collection[str]) -> None:
        self._allow = {canonical_name(name)[0] for name in allow}
        self._entries: dict[str, Entry] = {}
        self._left_out: collections.Counter[str] = collections.Counter()

    def add(self, kind: str, written: str, *, below: bool) -> None:
        """Adds a name, unless there is a reason against it. What lets a name through wins over what blocks it."""
        name, reason = canonical_name(written)
        reason = reason or self._objection(kind, name)
        if reason:
            self._left_out[reason] += 1
            return
        entry = Entry(kind, name, below)
        owner = next(entry.owners())
        known = self._entries.get(owner, entry)
        self._entries[owner] = min(entry, known, key=lambda one: (_KINDS.index(one.kind), not one.below))

    def add_site(self, kind: str, row: dict[str, Any]) -> None:
        """Adds a site, or the host of its judged page if that is another one than the domain itself or its www."""
        site, host = canonical_name(row["site"])[0] or row["site"], host_of(row["url"]).name
        name = site if kind == LET_THROUGH or host in (None, site, f"www.{site}") else host
        self.add(kind, name, below=host_of(f"http://{name}/").private_domain == name)

    def _objection(self, kind: str, name: str) -> str:
        """Why a canonical name must not be in the list; "" if it may."""
        host = host_of(f"http://{name}/")
        if name.rpartition(".")[2].startswith("rpz-"):
            return RESERVED  # it would be another kind of trigger
        if host.registered_domain is None or (kind != LET_THROUGH and is_shared_domain(name)):
            return SHARED_DOMAIN
        if kind != LET_THROUGH and self._allow & {name, host.registered_domain, host.private_domain}:
            return ALLOWED
        return ""

    def fitting(self, most: int) -> list[Entry]:
        """The entries whose rules have owner names of at most so many characters, sorted. The others are left out."""
        entries = [entry for entry in self._entries.values() if max(map(len, entry.owners())) <= most]
        self._left_out.update([TOO_LONG] * (len(self._entries) - len(entries)))
        return sorted(entries, key=lambda entry: (_KINDS.index(entry.kind), entry.name))

    def block_list(self, lines: Iterable[str], entries: Iterable[Entry]) -> BlockList:
        written = collections.Counter(entry.kind for entry in entries)
        text = "".join(line + "\n" for line in lines)
        return BlockList(text, dict(sorted(written.items())), dict(sorted(self._left_out.items())))


def to_rpz(
    verdicts: Verdicts,
    *,
    serial: int,
    zone: str = ZONE,
    whole: bool = False,
    block_sites: bool = False,
    allow: Collection[str] = (),
) -> BlockList:
    """A response policy zone that blocks parked providers by their name servers; with `block_sites`, parked sites too.

    With `whole`, all name servers below the provider's domain are blocked, also those never seen. Honest sites of
    blocked providers and the names in `allow` are let through.
    """
    origin, reason = canonical_name(zone)
    if reason or not 0 <= serial <= LARGEST_SERIAL:
        raise UsageError(f"{zone!r} with serial {serial} makes no zone: give a domain name and 0 to {LARGEST_SERIAL}.")
    blocked = [row for row in verdicts.providers.to_pylist() if row["verdict"] == PARKED]
    providers = {row["provider"] for row in blocked}
    chosen = _Entries(allow)
    for name in allow:
        chosen.add(LET_THROUGH, name, below=True)
    for row in verdicts.sites.select(["site", "url", "kind", "provider"]).to_pylist():
        if row["kind"] not in PARKED_KINDS and row["provider"] in providers:
            chosen.add_site(LET_THROUGH, row)
        elif row["kind"] in ACCUSING and block_sites:
            chosen.add_site(SITE, row)
    for row in blocked:
        if whole:
            chosen.add(PROVIDER, row["provider"], below=True)
            continue
        for name in row["nameservers"]:
            chosen.add(NAME_SERVER, name, below=False)
    entries = chosen.fitting(LONGEST_NAME - len(f".{origin}"))
    actions = {LET_THROUGH: _PASS}
    rules = (f"{owner} {actions.get(entry.kind, _DENY)}" for entry in entries for owner in entry.owners())
    return chosen.block_list([*_header(serial), *rules], entries)


def _header(serial: int) -> Iterator[str]:
    yield f"$TTL {_SECONDS_TO_LIVE}"
    yield f"@ SOA localhost. root.localhost. {serial} 3600 600 604800 {_SECONDS_TO_LIVE}"
    yield "@ NS localhost."


def to_domains(verdicts: Verdicts, *, allow: Collection[str] = ()) -> BlockList:
    """The parked sites, one domain or host per line."""
    chosen = _Entries(allow)
    for row in verdicts.sites.select(["site", "url", "kind"]).to_pylist():
        if row["kind"] in ACCUSING:
            chosen.add_site(SITE, row)
    entries = chosen.fitting(LONGEST_NAME + len("*."))
    return chosen.block_list((entry.name for entry in entries), entries)
