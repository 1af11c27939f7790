"""From entries to what a list holds: canonical names, each once, none of them under the guard.

Names were written by strangers, so only canonical ones get through: letters, digits, hyphens and underscores in labels
of a domain name. Everything that is left out is kept with the reason.
"""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from samehand.base.names import canonical_name
from samehand.base.page import host_of
from samehand.exports.entries import HOST, NAME_SERVER, SITE, Entry
from samehand.methods.guard import REVIEW, Guard

SHARED, RESERVED, TOO_LONG, NO_RULE = "shared host", "reserved name", "name too long", "no rule in this format"
_UNITS = (NAME_SERVER, SITE, HOST)


class LeftOut(NamedTuple):
    """A name that is not listed, the reason, and what says so."""

    name: str
    reason: str
    detail: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Chosen:
    """What a list holds, in order: entries, names that it lets through, and what was left out."""

    entries: tuple[Entry, ...]
    let_through: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    reviewed: frozenset[str] = frozenset()

    def reasons(self) -> dict[str, int]:
        """How many names were left out, by reason."""
        return dict(sorted(Counter(left.reason for left in self.left_out).items()))


def choose(
    entries: Iterable[Entry],
    guard: Guard,
    *,
    reviewed: Iterable[str] = (),
    honest: Iterable[str] = (),
    served: Mapping[str, Sequence[str]] | None = None,
) -> Chosen:
    """The entries that may be listed.

    `reviewed` are names that a person looked at. `honest` are sites of blocked providers, to be let through. `served`
    has the domains that use each name server.
    """
    looked_at = frozenset(canonical_name(name)[0] for name in reviewed)
    kept: dict[str, Entry] = {}
    left_out: dict[tuple[str, str], LeftOut] = {}
    for entry in entries:
        name, reason = canonical_name(entry.name)
        left = LeftOut(entry.name, reason.replace("_", " ")) if reason else None
        entry = dataclasses.replace(entry, name=name)
        left = left or _objection(entry, guard, looked_at, served or {})
        if left:
            left_out[left.name, left.reason] = left
        else:
            kept[entry.key] = _better(kept.get(entry.key, entry), entry)
    good = {canonical_name(name)[0] for name in honest} if _has_servers(kept.values()) else set()
    passed = (good | set(guard.own)) - {""}
    listed = [entry for entry in kept.values() if entry.unit == NAME_SERVER or entry.name not in passed]
    return Chosen(
        tuple(sorted(listed, key=lambda entry: (_UNITS.index(entry.unit), entry.name))),
        tuple(sorted(passed)),
        tuple(left_out[key] for key in sorted(left_out)),
        looked_at,
    )


def _objection(
    entry: Entry, guard: Guard, reviewed: Collection[str], served: Mapping[str, Sequence[str]]
) -> LeftOut | None:
    """Why a canonical name must not be listed."""
    name = entry.name
    if name.rpartition(".")[2].startswith("rpz-"):
        return LeftOut(name, RESERVED)  # in a response policy zone it would be another kind of rule
    if host_of(f"http://{name}/").registered_domain is None or guard.is_shared(name):
        return LeftOut(name, SHARED)
    is_server = entry.unit == NAME_SERVER
    hit = guard.server_hit(name, served.get(name, ())) if is_server else guard.site_hit(name)
    if hit is None or (hit.tier == REVIEW and name in reviewed):
        return None
    return LeftOut(name, hit.tier, hit.label)


def _better(known: Entry, entry: Entry) -> Entry:
    """Of two entries of one name: the wider unit, the surer one, the earlier page."""
    return min(known, entry, key=lambda one: (_UNITS.index(one.unit), -(one.probability or 0), one.page_id or 0))


def _has_servers(entries: Iterable[Entry]) -> bool:
    return any(entry.unit == NAME_SERVER for entry in entries)


def only_units(chosen: Chosen, units: Collection[str], most: int) -> Chosen:
    """What a format has rules for: these units, and names of at most so many characters."""
    kept, left_out = [], list(chosen.left_out)
    for entry in chosen.entries:
        if entry.unit not in units:
            left_out.append(LeftOut(entry.name, NO_RULE, entry.unit))
        elif len(entry.name) > most:
            left_out.append(LeftOut(entry.name, TOO_LONG))
        else:
            kept.append(entry)
    return dataclasses.replace(chosen, entries=tuple(kept), left_out=tuple(left_out))
