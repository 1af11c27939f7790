"""Kinds on hands that the labelled pages do not have (sites_hands): recall by hand, and honest look-alikes."""

from collections import Counter
from collections.abc import Sequence

from evaluation.sites_hands import by_hand, is_reported
from evaluation.sites_truth import Home, read
from evaluation.style import Floor
from samehand.methods.sites.kinds import RULES, page_rules
from samehand.methods.sites.providers import share_bounds
from samehand.methods.sites.signs import page_signs
from samehand.methods.sites.verdicts import (
    ACCUSING,
    CHALLENGE,
    DEFAULTS,
    ERROR,
    FOR_SALE,
    PARKED_ADS,
    REAL,
    REGISTRAR,
)

GROUPS = {
    "parked": (PARKED_ADS, FOR_SALE),
    "default": DEFAULTS,
    "error": (ERROR,),
    "challenge": (CHALLENGE,),
    "honest": (REAL,),
}


def print_unseen(pages: Sequence[Home]) -> list[Floor]:
    """Prints hands found by group, and every hand that is not found with what is said of it."""
    hands = by_hand(pages)
    kinds = dict(zip(hands, (page_kinds(of_hand) for of_hand in hands.values()), strict=True))
    floors: list[Floor] = []
    for is_report, title in ((False, "read while the rules were written"), (True, "for the report alone")):
        print(f"\nhands that the labelled pages do not have, {title}: found, all")
        for name, group in GROUPS.items():
            here = {
                hand: said for hand, said in kinds.items() if hand[0] in group and is_reported(hand[1]) == is_report
            }
            found = [2 * sum(is_found(hand[0], kind) for kind in said) >= len(said) for hand, said in here.items()]
            low, high = share_bounds(sum(found), len(found))
            print(f"  {name:12} {sum(found):3} of {len(found):3} [{low:.2f}, {high:.2f}]")
            if is_report and name in ("parked", "default"):
                floors.append(Floor(f"unseen hands, {name}: found", sum(found) / max(1, len(found)), 0.75))
        floors += _print_accused(kinds, is_report=is_report)
        for (truth, hand), said in kinds.items():
            if is_reported(hand) == is_report and not all(is_found(truth, kind) for kind in said):
                print(f"    {truth:18} {hand:28} {dict(Counter(said))}")
    return floors


def _print_accused(kinds: dict[tuple[str, str], list[str]], *, is_report: bool) -> list[Floor]:
    honest = {hand: said for (truth, hand), said in kinds.items() if truth == REAL and is_reported(hand) == is_report}
    accused = [hand for hand, said in honest.items() if set(said) & set(ACCUSING)]
    print(f"  honest hands accused: {len(accused)} of {len(honest)} {', '.join(accused)}")
    return [Floor("unseen hands: honest ones not accused", 1 - len(accused) / max(1, len(honest)), 1.0)]


def page_kinds(pages: Sequence[Home]) -> list[str]:
    """The kinds of pages by themselves."""
    return [RULES[rule].kind if rule >= 0 else REAL for rule in page_rule_numbers(pages)]


def page_rule_numbers(pages: Sequence[Home]) -> list[int]:
    """The rule that decides about each page; -1 for none."""
    taken = read(pages)
    numbers: list[int] = page_rules(
        page_signs(taken.rows, taken.markup, data=taken.data, offsets=taken.offsets)
    ).tolist()
    return numbers


def is_found(truth: str, said: str) -> bool:
    """Whether a kind is right up to its group. A registrar's page that offers names may be called for sale."""
    same = any(truth in group and said in group for group in GROUPS.values())
    return truth == said or same or (truth == REGISTRAR and said in GROUPS["parked"])
