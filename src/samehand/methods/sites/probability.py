"""How often each rule is right, by hand-labelled home pages and made ones: every hand (kit, owner) is one voice.

`python -m evaluation.sites` prints these figures. The probability of a rule is (right + 1) ÷ (voices + 2), so a rule
with few voices is never sure. Rules that accuse have few hands each, and purpose is what all of them ask for: so what
they are all together stands in for the two added voices.
"""

from samehand.methods.sites.kinds import RULES
from samehand.methods.sites.verdicts import ACCUSING, FARM

FIGURES: dict[str, tuple[int, int]] = {}
"""Right and all voices of each rule. That of farms counts the planted farms of evaluation/sites_farms.py and those of
the demo crawl; no other figure is set by hand."""
UNKNOWN_RULE = (0, 0)
ACCUSING_RULES = frozenset({"cluster", FARM, *(rule.name for rule in RULES if rule.kind in ACCUSING)})


def smoothed(figures: tuple[int, int], pool: tuple[int, int]) -> float:
    """The share of right voices, with two voices added that are as often right as the pool is."""
    added = 2 * (pool[0] + 1) / (pool[1] + 2)
    return (figures[0] + added) / (figures[1] + 2)


def probability(rule: str) -> float:
    """The probability that the rule is right about a site."""
    return smoothed(FIGURES.get(rule, UNKNOWN_RULE), _POOL if rule in ACCUSING_RULES else (0, 0))


_ACCUSED = [figures for name, figures in FIGURES.items() if name in ACCUSING_RULES]
_POOL = (sum(right for right, _ in _ACCUSED), sum(voices for _, voices in _ACCUSED))
