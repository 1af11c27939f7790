"""How often a probability of a kind is right: by hand, each hand left out of its own probability.

A voice is a hand (kit, template or owner) and what decided about it: a rule, its cluster, its owner. The labelled home
pages are judged by the whole method, made hands and hands of packages by their pages alone.
"""

import itertools
from collections.abc import Sequence

from evaluation.sites_hands import by_hand
from evaluation.sites_truth import Home
from evaluation.sites_unseen import page_rule_numbers
from evaluation.style import Floor
from samehand.methods.sites.kinds import RULES
from samehand.methods.sites.probability import ACCUSING_RULES, FIGURES, smoothed
from samehand.methods.sites.providers import share_bounds
from samehand.methods.sites.verdicts import COPIES, FARM, NETWORK, PARKED_ADS, REAL, REGISTRAR, UNSURE, Verdicts

BINS = (0.0, 0.5, 0.8, 0.9, 0.95, 1.01)
HONEST = (REAL, UNSURE, FARM, COPIES, NETWORK)
BOTH_RIGHT = "namecheap-parked"
"""Pages of a registrar that carry ads: registrar-default and parked-ads are both right."""
_BY_GROUPS = {"cluster": "cluster", "one owner": "", "farm": "farm"}

Votes = dict[str, list[bool]]
"""For each rule whether it is right about each hand."""


def is_right(home: Home, kind: str) -> bool:
    """Whether a kind is right; honest kinds are not told apart here."""
    if home.hand == BOTH_RIGHT and kind in (REGISTRAR, PARKED_ADS):
        return True
    return home.kind == kind or (home.kind in HONEST and kind in HONEST)


def votes(homes: Sequence[Home], verdicts: Verdicts, made: Sequence[Home]) -> Votes:
    """The voices of all rules."""
    voices: dict[str, dict[tuple[str, str], list[bool]]] = {}
    rows = verdicts.sites.sort_by("page_id").select(["kind", "evidence"]).to_pylist()
    for home, row in zip(homes, rows, strict=True):
        first = row["evidence"][0]
        name = first["value"] if first["name"] == "rule" else _BY_GROUPS.get(first["name"]) or row["kind"]
        voices.setdefault(name, {}).setdefault((home.hand, home.kind), []).append(is_right(home, row["kind"]))
    for (truth, hand), pages in by_hand(made).items():
        for page, rule in zip(pages, page_rule_numbers(pages), strict=True):
            name, kind = (RULES[rule].name, RULES[rule].kind) if rule >= 0 else (REAL, REAL)
            voices.setdefault(name, {}).setdefault((hand, truth), []).append(is_right(page, kind))
    return {name: [2 * sum(given) >= len(given) for given in hands.values()] for name, hands in voices.items()}


def print_reliability(found: Votes) -> list[Floor]:
    """Prints the figures of probability.py, and how often a probability is right."""
    print("\nvoices of the rules, each hand one: right, all (samehand/methods/sites/probability.py)")
    for name, given in found.items():
        note = "" if FIGURES.get(name) == (sum(given), len(given)) else "  # not as stored"
        print(f'    "{name}": ({sum(given)}, {len(given)}),{note}')
    pool = [one for name, given in found.items() if name in ACCUSING_RULES for one in given]
    pairs: dict[bool, list[tuple[float, bool]]] = {True: [], False: []}
    for name, given in found.items():
        accuses = name in ACCUSING_RULES
        for one in given:
            others = (sum(pool) - one, len(pool) - 1) if accuses else (0, 0)
            pairs[accuses].append((smoothed((sum(given) - one, len(given) - 1), others), one))
    floors = []
    for title, chosen in (("all kinds", [*pairs[True], *pairs[False]]), ("accusing kinds", pairs[True])):
        right, number = _print_bins(title, chosen)
        floors.append(Floor(f"probability of 0.95 or more is right: {title}", right / max(1, number), 0.97))
    return floors


def _print_bins(title: str, pairs: Sequence[tuple[float, bool]]) -> tuple[int, int]:
    """Prints how often probabilities are right, and returns right and all voices of the last bin."""
    print(f"reliability by hand, each left out of its own probability: {title}")
    right, number = 0, 0
    for low, high in itertools.pairwise(BINS):
        inside = [(p, one) for p, one in pairs if low <= p < high]
        right, number = sum(one for _, one in inside), len(inside)
        if inside:
            bounds = share_bounds(right, number)
            mean = sum(p for p, _ in inside) / number
            shown = f"right {right / number:.3f} [{bounds[0]:.3f}, {bounds[1]:.3f}]"
            print(f"  {low:.2f} to {min(high, 1):.2f}: {number:5} voices, mean p {mean:.3f}, {shown}")
    return right, number
