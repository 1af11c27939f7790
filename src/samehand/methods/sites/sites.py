"""The kind of a site, from all that is known of it: its page by itself, its cluster, its owner."""

from collections.abc import Mapping
from typing import NamedTuple

from samehand.methods.sites.clusters import Membership, Rules
from samehand.methods.sites.features import Features
from samehand.methods.sites.kinds import BARE
from samehand.methods.sites.owners import Owners
from samehand.methods.sites.probability import probability
from samehand.methods.sites.purpose import STRONG, named
from samehand.methods.sites.verdicts import FARM, PARKED_ADS, REAL, UNSURE

LITTLE = 20
"""A page with fewer words, and without prose, that no rule knows, is unsure."""


class FinalKind(NamedTuple):
    """The kind of a site, how sure it is, the evidence, and a sentence for users."""

    kind: str
    probability: float
    evidence: list[tuple[str, str]]
    reason: str


class Groups(NamedTuple):
    """What sites have to do with each other over all providers: their owners, and why each is part of a farm."""

    owners: Owners
    farms: Mapping[int, str]


def final_kind(row: int, features: Features, member: Membership | None, groups: Groups, rules: Rules) -> FinalKind:
    """A page that says what it is comes first, then its cluster, its farm, its owner; else the site is real or unsure.

    A bare page, which shows nothing, is what its cluster says.
    """
    if not rules.evidence:
        kind = PARKED_ADS if member is not None and member.kind else REAL
        return FinalKind(kind, 0.5, [], member.reason if member is not None else "")
    in_cluster = member is not None and bool(member.kind)
    if features.kinds[row] and not (in_cluster and features.rules[row] in BARE):
        return _alone(row, features)
    if member is not None and member.kind:
        evidence = [("cluster", member.reason), *(("purpose", name) for name in named(int(features.purposes[row])))]
        return FinalKind(member.kind, probability("cluster"), evidence, member.reason)
    if row in groups.farms:
        return FinalKind(FARM, probability(FARM), [("farm", groups.farms[row])], groups.farms[row])
    owners = groups.owners
    if row in owners.kinds:
        reason = owners.reasons[row]
        return FinalKind(owners.kinds[row], probability(owners.kinds[row]), [("one owner", reason)], reason)
    return _undecided(row, features)


def _alone(row: int, features: Features) -> FinalKind:
    rule, wording = features.rules[row], features.wording[row]
    evidence = [("rule", rule)]
    for item in wording:
        name, _, value = item.partition(": ")
        evidence.append((name, value))
    evidence += [("purpose", name) for name in named(int(features.purposes[row]))]
    evidence += [("words", str(features.words[row])), ("prose", str(features.prose[row]))]
    said = f": “{wording[0].partition(': ')[2]}”" if wording else ""
    return FinalKind(features.kinds[row], probability(rule), evidence, f"{rule}{said}")


def _undecided(row: int, features: Features) -> FinalKind:
    words, prose = int(features.words[row]), int(features.prose[row])
    evidence = [("words", str(words)), ("prose", str(prose)), ("links", str(features.links[row]))]
    purpose = int(features.purposes[row])
    if not prose and (words < LITTLE or purpose & STRONG):
        evidence += [("purpose", name) for name in named(purpose)]
        return FinalKind(
            UNSURE, probability(UNSURE), evidence, f"{words} words and no prose, and no rule knows the page"
        )
    return FinalKind(
        REAL, probability(REAL), evidence, f"{words} words, {prose} of them prose, and nothing that accuses"
    )
