"""Sites of one owner: the same site under several names (copies), and real sites of one operator (network).

That is sameness, not an accusation. Signs: the same account of analytics or ads, the same text, a link from one to
the other, the same style cluster or family, the same name under other suffixes. One sign alone can be chance, or a
platform's, and sites with one theme may well link to each other: they must do so both ways.

An account of analytics gives each of its owner's sites a number of its own. Sites under one number are counted by
their platform, so no id that they share is their owner's.
"""

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.page import is_shared_domain, public_suffix
from samehand.kernels.html.links import hash_hosts
from samehand.kernels.html.owner_ids import ADS, ANALYTICS, KIND_BITS, NUMBER_BITS
from samehand.methods.sites.features import NO_PAIR, Features
from samehand.methods.sites.verdicts import COPIES, NETWORK

MAX_SITES = 8
"""An id or text that more sites have belongs to a platform or a theme."""
SAME_TEXT, TEXT_WORDS = 0.7, 30
"""Texts are the same if they share this part of their pairs of words, and have so many words."""
NAME_LETTERS = 5
"""Shorter names are often words that many owners use."""
NAMED_MATES = 3
"""Other sites of the owner that a reason names."""
MIN_SIGNS = 2
"""Different signs that join two sites."""
TEXT, ID, STYLE, NAME, LINKED = "same text", "same account", "same style", "same name", "linked"
BOTH_WAYS = "linked both ways"


@dataclasses.dataclass(frozen=True, slots=True)
class Owners:
    """The group of each row that shares its owner with others (the first row of it), kinds and reasons."""

    group_of: dict[int, int]
    kinds: dict[int, str]
    reasons: dict[int, str]

    @classmethod
    def none(cls) -> "Owners":
        """No site shares its owner."""
        return cls({}, {}, {})


def find_owners(
    features: Features, sites: Sequence[str], clusters: NDArray[np.int64], families: NDArray[np.int64]
) -> Owners:
    """Joins rows whose own pages are undecided and that have at least MIN_SIGNS signs in common."""
    rows = [row for row, kind in enumerate(features.kinds) if not kind]
    signs: dict[tuple[int, int], set[str]] = {}
    for name, pair in _pairs(features, sites, (clusters, families), rows):
        found = signs.setdefault(pair, set())
        found.add(BOTH_WAYS if name == LINKED and LINKED in found else name)
    joined = {pair: found for pair, found in signs.items() if _are_enough(found, sites[pair[0]], sites[pair[1]])}
    parents = {row: row for pair in joined for row in pair}
    for left, right in sorted(joined):
        a, b = _root(parents, left), _root(parents, right)
        parents[max(a, b)] = min(a, b)
    group_of = {row: _root(parents, row) for row in sorted(parents)}
    signs_of: dict[int, set[str]] = {row: set() for row in group_of}
    for pair, found in joined.items():
        for row in pair:
            signs_of[row] |= found
    members: dict[int, list[str]] = {}
    for row in sorted(group_of, key=lambda row: sites[row]):
        members.setdefault(group_of[row], []).append(sites[row])
    kinds = {row: COPIES if TEXT in found else NETWORK for row, found in signs_of.items()}
    reasons = {row: _reason(found, sites[row], members[group_of[row]]) for row, found in signs_of.items()}
    return Owners(group_of, kinds, reasons)


def _are_enough(signs: set[str], left: str, right: str) -> bool:
    """Whether signs join two sites: the same text, or two others."""
    if TEXT in signs or _same_host(left, right):
        return TEXT in signs
    return len(signs - {BOTH_WAYS}) >= MIN_SIGNS and signs != {LINKED, STYLE}


def _reason(signs: set[str], site: str, members: Sequence[str]) -> str:
    """What a site has in common with others of its group, and the first of them."""
    mates = [mate for mate in members[: NAMED_MATES + 1] if mate != site][:NAMED_MATES]
    others = " and others" if len(members) > NAMED_MATES + 1 else ""
    named = sorted(signs - {LINKED} if BOTH_WAYS in signs else signs)
    return f"{', '.join(named)} as {', '.join(mates)}{others}"


def _same_host(left: str, right: str) -> bool:
    """Whether two sites are names below one shared host, whose ids and themes they have in common."""
    parent = left.partition(".")[2]
    is_hoster = is_shared_domain(parent) and public_suffix(parent) != parent
    return is_hoster and parent == right.partition(".")[2]


def _root(parents: dict[int, int], row: int) -> int:
    while parents[row] != row:
        parents[row] = parents[parents[row]]
        row = parents[row]
    return row


def _pairs(
    features: Features, sites: Sequence[str], styles: tuple[NDArray[np.int64], ...], rows: list[int]
) -> Iterator[tuple[str, tuple[int, int]]]:
    """Signs, and the pairs of rows that have them, the smaller row first."""
    keyed: list[tuple[str, Mapping[int, Sequence[Hashable]]]] = [
        *((STYLE, {row: [int(groups[row])] for row in rows if groups[row] >= 0}) for groups in styles),
        (NAME, {row: [sites[row].split(".")[0]] for row in rows if len(sites[row].split(".")[0]) >= NAME_LETTERS}),
    ]
    for name, keys in keyed:
        for pair in _sharing(keys):
            yield name, pair
    accounts = {row: [_account(one) for one in features.owner_ids[row]] for row in rows}
    for left, right in sorted(set(_sharing(accounts))):
        if _same_owner(features.owner_ids[left], features.owner_ids[right]):
            yield ID, (left, right)
    for pair in _same_texts(features, rows):
        yield TEXT, pair
    yield from _linked(features, sites, rows)


def _sharing(keys: Mapping[int, Sequence[Hashable]]) -> Iterator[tuple[int, int]]:
    """Pairs of rows with a key in common that at most MAX_SITES rows have."""
    having: dict[Hashable, list[int]] = {}
    for row, values in keys.items():
        for value in set(values):
            having.setdefault(value, []).append(row)
    for found in having.values():
        if 2 <= len(found) <= MAX_SITES:
            yield from ((left, right) for place, left in enumerate(found) for right in found[place + 1 :])


def _account(one: int) -> int:
    """An id without the number of the property."""
    return one & ~(((1 << NUMBER_BITS) - 1) << KIND_BITS)


def _same_owner(left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether an account that two sites have in common is their owner's.

    An ad account is, if a page has no other: agencies add theirs.
    """
    kind = (1 << KIND_BITS) - 1
    shared = {_account(one) for one in left} & {_account(one) for one in right}
    counted = [{one for one in ids if one & kind == ANALYTICS and _account(one) in shared} for ids in (left, right)]
    if counted[0]:
        by_platform = {_account(one) for one in counted[0] & counted[1]}
        return any(_account(one) not in by_platform for one in counted[0])
    only_ads = all(sum(one & kind == ADS for one in ids) == 1 for ids in (left, right))
    return any(account & kind != ADS or only_ads for account in shared)


def _same_texts(features: Features, rows: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of rows with nearly the same text: candidates share one of their smallest hashes."""
    long_enough = [row for row in rows if features.words[row] >= TEXT_WORDS]
    keys = {row: features.sketches[row, :4].tolist() for row in long_enough}
    for left, right in sorted(set(_sharing(keys))):
        a, b = (set(features.sketches[row].tolist()) - {int(NO_PAIR)} for row in (left, right))
        if len(a & b) >= SAME_TEXT * len(a | b):
            yield left, right


def _linked(features: Features, sites: Sequence[str], rows: list[int]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Pairs of rows of which one links to the other."""
    names = [sites[row].encode() for row in rows]
    hosts = hash_hosts(*end_to_end([*names, *(b"www." + name for name in names)])).reshape(2, -1)
    row_of = {int(host): row for row, pair in zip(rows, hosts.T.tolist(), strict=True) for host in pair}
    links = {row: {row_of[host] for host in features.targets[row] if host in row_of} - {row} for row in rows}
    for row, found in links.items():
        yield from ((LINKED, (min(row, other), max(row, other))) for other in sorted(found))
