"""Block lists: a response policy zone, a hosts file, a list for ad blockers, plain names.

In a response policy zone (RPZ), `ns1.park.net.rpz-nsdname CNAME .` blocks every domain that has ns1.park.net as a name
server: one line for all domains that are parked there, now and later. Rules for a name itself come first, so honest
sites on a blocked provider are let through by name (section 4 of the paper: users suffer more from an honest site that
is blocked than from an advertisement that is not).

Each writer has its reader: the keys of the entries in a list that was written before.
"""

import re

from samehand.base.errors import UsageError
from samehand.base.names import LONGEST_NAME, canonical_name
from samehand.exports.choose import Chosen
from samehand.exports.entries import NAME_SERVER, SITE, Entry
from samehand.exports.stamp import Stamp

LARGEST_SERIAL = (1 << 32) - 1
_TRIGGER = ".rpz-nsdname"
_SECONDS_TO_LIVE = 300
_LONGEST_COMMENT = 200
_RPZ_RULE = re.compile(r"^(?!\*\.)([a-z0-9_.-]+) CNAME \.(?: ;.*)?$", re.MULTILINE)
_HOSTS_LINE = re.compile(r"^0\.0\.0\.0 (?!www\.)([a-z0-9_.-]+)$", re.MULTILINE)
_ADBLOCK_RULE = re.compile(r"^\|\|([a-z0-9_.-]+)\^$", re.MULTILINE)


def comment(entry: Entry) -> str:
    """Kind, probability, evidence and end of an entry: one line of printable ASCII."""
    sure = "" if entry.probability is None else f" {entry.probability:.2f}"
    said = f"{entry.kind}{sure}: {entry.evidence}".encode("unicode_escape").decode("ascii")
    until = "" if entry.until is None else f" (until {entry.until})"
    return said[:_LONGEST_COMMENT] + until


def longest_in_zone(zone: str) -> int:
    """Characters of the longest name that has a rule in a zone."""
    return LONGEST_NAME - len(f"{_TRIGGER}.{zone}")


def to_rpz(chosen: Chosen, stamp: Stamp) -> str:
    """A response policy zone. What is let through comes first."""
    reason = canonical_name(stamp.zone)[1]
    serial = stamp.serial if stamp.serial is not None else min(stamp.version * 100, LARGEST_SERIAL)
    if reason or not 0 <= serial <= LARGEST_SERIAL:
        raise UsageError(
            f"{stamp.zone!r} with serial {serial} makes no zone: give a domain name and 0 to {LARGEST_SERIAL}."
        )
    lines = [
        f"$TTL {_SECONDS_TO_LIVE}",
        f"@ SOA localhost. root.localhost. {serial} 3600 600 604800 {_SECONDS_TO_LIVE}",
        "@ NS localhost.",
        *(f"{owner} CNAME rpz-passthru." for name in chosen.let_through for owner in (name, f"*.{name}")),
    ]
    for entry in chosen.entries:
        trigger = _TRIGGER if entry.unit == NAME_SERVER else ""
        lines.append(f"{entry.name}{trigger} CNAME . ; {comment(entry)}")
        if entry.unit == SITE:
            lines.append(f"*.{entry.name} CNAME .")
    return _text(lines)


def keys_of_rpz(text: str) -> set[str]:
    """The entries of a zone."""
    owners = _RPZ_RULE.findall(text)
    return {f"{name.removesuffix(_TRIGGER)} (name server)" if name.endswith(_TRIGGER) else name for name in owners}


def to_hosts(chosen: Chosen, stamp: Stamp) -> str:
    """A hosts file. It has no wildcards: of a site it names the domain and its www."""
    lines = [f"# {stamp.title}", "# A hosts file has no wildcards: other names below these sites are not blocked."]
    for entry in chosen.entries:
        lines += [f"# {comment(entry)}", f"0.0.0.0 {entry.name}"]
        if entry.unit == SITE and len(entry.name) + len("www.") <= LONGEST_NAME:
            lines.append(f"0.0.0.0 www.{entry.name}")
    return _text(lines)


def keys_of_hosts(text: str) -> set[str]:
    """The entries of a hosts file."""
    return set(_HOSTS_LINE.findall(text))


def to_adblock(chosen: Chosen, stamp: Stamp) -> str:
    """Rules for ad blockers. A rule holds for the name and all names below it."""
    lines = ["[Adblock Plus 2.0]", f"! Title: {stamp.title}", "! Expires: 4 days"]
    for entry in chosen.entries:
        lines += [f"! {comment(entry)}", f"||{entry.name}^"]
    lines += [f"@@||{name}^" for name in chosen.let_through]
    return _text(lines)


def keys_of_adblock(text: str) -> set[str]:
    """The entries of a list for ad blockers."""
    return set(_ADBLOCK_RULE.findall(text))


def to_domains(chosen: Chosen, stamp: Stamp) -> str:
    """The names alone, one a line."""
    return _text(sorted(entry.name for entry in chosen.entries))


def keys_of_domains(text: str) -> set[str]:
    """The entries of a list of names."""
    return set(text.split())


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
