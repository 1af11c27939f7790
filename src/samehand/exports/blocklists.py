"""Verdicts as block lists: a response policy zone that blocks providers by their name servers, and plain lists.

In a response policy zone (RPZ) `ns1.park.net.rpz-nsdname CNAME .` denies every domain that has ns1.park.net for a name
server: one line for all that is parked there, domains of tomorrow included. A rule for a domain itself goes first, so
sites found honest on a blocked provider are let through by name (the paper's section 4: what an end user misses by
a false positive is worse than an advertisement).

Host names were written by strangers. Only names that `clean_name` passes get into a list; whatever is left out is
counted. There is no time in a list: the same verdicts give the same bytes.
"""

import collections
import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from samehand.base.errors import UsageError
from samehand.base.page import host_of
from samehand.methods.sites.nameservers import clean_name

SPAM, HONEST = "spam", "ok"
ZONE = "rpz.samehand"
NAME_SERVER, PROVIDER, SITE, LET_THROUGH = "name_server", "provider", "site", "let_through"
_KINDS = (LET_THROUGH, PROVIDER, NAME_SERVER, SITE)
SUFFIX, RESERVED, TOO_LONG, ALLOWED = "suffix", "reserved", "too_long", "allowed"
LONGEST_NAME = 253
LARGEST_SERIAL = (1 << 32) - 1

_TRIGGER = ".rpz-nsdname"
_DENY, _PASS = "CNAME .", "CNAME rpz-passthru."
_SECONDS_TO_LIVE = 300


class JudgedProvider(NamedTuple):
    """A provider, its verdict and those of its name servers that were seen."""

    provider: str
    verdict: str
    nameservers: tuple[str, ...] = ()


class JudgedSite(NamedTuple):
    """A site, its verdict and its provider."""

    domain: str
    verdict: str
    provider: str = ""


class Entry(NamedTuple):
    """One thing to block or let through: `kind` is name_server, provider, site or let_through."""

    kind: str
    name: str
    provider: str


@dataclasses.dataclass(frozen=True, slots=True)
class BlockList:
    """A list as text, how many entries of each kind are in it, and how many names were left out, by reason."""

    text: str
    written: dict[str, int]
    left_out: dict[str, int]


class _Chosen:
    """Entries that may be written, each name once, and what was left out."""

    def __init__(self, allow: Collection[str]) -> None:
        self._allow = {clean_name(name)[0] for name in allow}
        self.entries: dict[str, Entry] = {}
        self.left_out: collections.Counter[str] = collections.Counter()

    def add(self, kind: str, written: str, provider: str) -> None:
        name, reason = clean_name(written)
        reason = reason or self._objection(kind, name)
        if reason:
            self.left_out[reason] += 1
            return
        entry = Entry(kind, name, clean_name(provider)[0])
        owner = _owners(entry)[0]
        self.entries[owner] = min(entry, self.entries.get(owner, entry), key=_before)

    def _objection(self, kind: str, name: str) -> str:
        """Why a proper name is not blocked. Blocking a suffix would block everybody below it."""
        host = host_of(f"http://{name}/")
        if name.rpartition(".")[2].startswith("rpz-"):
            return RESERVED  # the name of another kind of trigger
        if host.registered_domain is None or (kind == SITE and host.private_domain is None):
            return SUFFIX
        if kind != LET_THROUGH and self._allow & {name, host.registered_domain, host.private_domain}:
            return ALLOWED
        return ""

    def listed(self, *kinds: str) -> list[Entry]:
        chosen = (entry for entry in self.entries.values() if entry.kind in kinds)
        return sorted(chosen, key=lambda entry: (kinds.index(entry.kind), entry.name))

    def done(self, lines: Iterable[str], entries: Iterable[Entry]) -> BlockList:
        written = collections.Counter(entry.kind for entry in entries)
        text = "".join(line + "\n" for line in lines)
        return BlockList(text, dict(sorted(written.items())), dict(sorted(self.left_out.items())))


def to_rpz(
    providers: Iterable[JudgedProvider],
    sites: Iterable[JudgedSite] = (),
    *,
    serial: int,
    zone: str = ZONE,
    whole: bool = False,
    block_sites: bool = False,
    allow: Collection[str] = (),
) -> BlockList:
    """A response policy zone that blocks spam providers by their name servers, and spam sites if `block_sites`.

    With `whole`, all name servers below a provider's domain are blocked, those never seen included. Honest sites of
    blocked providers and what is in `allow` are let through.
    """
    origin, reason = clean_name(zone)
    if reason or not 0 <= serial <= LARGEST_SERIAL:
        raise UsageError(f"{zone!r} with serial {serial} makes no zone: give a domain name and 0 to {LARGEST_SERIAL}.")
    judged = list(providers)
    blocked = {one.provider for one in judged if one.verdict == SPAM}
    chosen = _Chosen(allow)
    for name in allow:
        chosen.add(LET_THROUGH, name, "")
    for site in sites:
        if site.verdict == HONEST and site.provider in blocked:
            chosen.add(LET_THROUGH, site.domain, site.provider)
        elif site.verdict == SPAM and block_sites:
            chosen.add(SITE, site.domain, site.provider)
    _add_providers(chosen, judged, whole=whole)
    entries = [entry for entry in chosen.listed(*_KINDS) if _fits(entry, origin)]
    chosen.left_out.update([TOO_LONG] * (len(chosen.entries) - len(entries)))
    rules = (rule for entry in entries for rule in _rules(entry))
    return chosen.done([*_header(serial), *rules], entries)


def _add_providers(chosen: _Chosen, providers: Iterable[JudgedProvider], *, whole: bool) -> None:
    for one in providers:
        if one.verdict != SPAM:
            continue
        if whole:
            chosen.add(PROVIDER, one.provider, one.provider)
            continue
        for ns in one.nameservers:
            chosen.add(NAME_SERVER, ns, one.provider)


def _header(serial: int) -> Iterator[str]:
    yield f"$TTL {_SECONDS_TO_LIVE}"
    yield f"@ SOA localhost. root.localhost. {serial} 3600 600 604800 {_SECONDS_TO_LIVE}"
    yield "@ NS localhost."


def _rules(entry: Entry) -> Iterator[str]:
    action = _PASS if entry.kind == LET_THROUGH else _DENY
    for owner in _owners(entry):
        yield f"{owner} {action}"


def _before(entry: Entry) -> tuple[int, str]:
    """Who goes first among entries of one owner: what lets through, then any fixed order."""
    return _KINDS.index(entry.kind), entry.provider


def _owners(entry: Entry) -> tuple[str, ...]:
    """A rule for a name does not hold for the names below it: that takes a second one."""
    if entry.kind == NAME_SERVER:
        return (entry.name + _TRIGGER,)
    trigger = _TRIGGER if entry.kind == PROVIDER else ""
    return entry.name + trigger, f"*.{entry.name}{trigger}"


def _fits(entry: Entry, origin: str) -> bool:
    return all(len(owner) + 1 + len(origin) <= LONGEST_NAME for owner in _owners(entry))


def to_domains(sites: Iterable[JudgedSite], *, allow: Collection[str] = ()) -> BlockList:
    """The spam sites, one domain per line."""
    chosen = _chosen_sites(sites, allow)
    entries = chosen.listed(SITE)
    return chosen.done((entry.name for entry in entries), entries)


def to_csv(
    providers: Iterable[JudgedProvider], sites: Iterable[JudgedSite] = (), *, allow: Collection[str] = ()
) -> BlockList:
    """Spam providers' name servers and spam sites as a table: kind, name, provider."""
    chosen = _chosen_all(providers, sites, allow)
    entries = chosen.listed(NAME_SERVER, SITE)
    return chosen.done([",".join(Entry._fields), *map(",".join, entries)], entries)


def to_jsonl(
    providers: Iterable[JudgedProvider], sites: Iterable[JudgedSite] = (), *, allow: Collection[str] = ()
) -> BlockList:
    """The same as JSON, one object per line."""
    chosen = _chosen_all(providers, sites, allow)
    entries = chosen.listed(NAME_SERVER, SITE)
    return chosen.done((json.dumps(entry._asdict()) for entry in entries), entries)


def _chosen_sites(sites: Iterable[JudgedSite], allow: Collection[str]) -> _Chosen:
    chosen = _Chosen(allow)
    for site in sites:
        if site.verdict == SPAM:
            chosen.add(SITE, site.domain, site.provider)
    return chosen


def _chosen_all(providers: Iterable[JudgedProvider], sites: Iterable[JudgedSite], allow: Collection[str]) -> _Chosen:
    chosen = _chosen_sites(sites, allow)
    _add_providers(chosen, providers, whole=False)
    return chosen
