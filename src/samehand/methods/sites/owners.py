"""Sites of one owner: the same site under several names (copies), and real sites of one operator (network).

That is sameness, not an accusation. Signs: the same account of analytics or ads, the same text, a link from one to
the other, the same style cluster or family, the same name under other suffixes. One sign alone can be chance, or a
platform's.
"""

import dataclasses
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.page import is_shared_domain, public_suffix
from samehand.kernels.html.links import hash_hosts
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
TEXT, ID, SECOND_ID, STYLE, NAME = "same text", "same account id", "same second account id", "same style", "same name"
LINKED = "linked"


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
        found.add(SECOND_ID if name in found and name == ID else name)
    joined = {
        pair: found
        for pair, found in signs.items()
        if TEXT in found or (len(found) >= MIN_SIGNS and not _same_host(sites[pair[0]], sites[pair[1]]))
    }
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


def _reason(signs: set[str], site: str, members: Sequence[str]) -> str:
    """What a site has in common with others of its group, and the first of them."""
    mates = [mate for mate in members[: NAMED_MATES + 1] if mate != site][:NAMED_MATES]
    others = " and others" if len(members) > NAMED_MATES + 1 else ""
    return f"{', '.join(sorted(signs))} as {', '.join(mates)}{others}"


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
        (ID, {row: features.owner_ids[row] for row in rows}),
        *((STYLE, {row: [int(groups[row])] for row in rows if groups[row] >= 0}) for groups in styles),
        (NAME, {row: [sites[row].split(".")[0]] for row in rows if len(sites[row].split(".")[0]) >= NAME_LETTERS}),
    ]
    for name, keys in keyed:
        for pair in _sharing(keys):
            yield name, pair
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
