"""How often each rule is right, by hand-labelled home pages and made ones: every hand (kit, owner) is one voice.

`python -m evaluation.sites` prints these figures. The probability of a rule is (right + 1) ÷ (voices + 2), so a rule
with few voices is never sure. Rules that accuse have few hands each, and purpose is what all of them ask for: so what
they are all together stands in for the two added voices.
"""

from samehand.methods.sites.kinds import RULES
from samehand.methods.sites.verdicts import ACCUSING, FARM

FIGURES: dict[str, tuple[int, int]] = {
    "real": (2663, 2709),
    "redirect title": (32, 32),
    "sale offer": (2, 2),
    "nothing": (21, 22),
    "feed of parked domains": (10, 12),
    "wording of an unfilled content system": (10, 11),
    "built by script": (40, 50),
    "script that leads on": (26, 29),
    "wall wording": (17, 24),
    "moved wording": (32, 32),
    "error wording": (61, 62),
    "refresh": (56, 56),
    "login form": (7, 9),
    "error title": (31, 31),
    "age wall": (4, 4),
    "network": (12, 12),
    "registration wording": (5, 5),
    "cookie and reload": (4, 4),
    "script of a bot wall": (8, 9),
    "leads to a panel's default page": (1, 1),
    "coming soon": (12, 15),
    "wording of a default page": (17, 22),
    "registrar's page over a feed": (1, 1),
    "title of a default page": (11, 11),
    "nothing but one script": (0, 1),
    "unsure": (15, 23),
    "frame": (4, 4),
    "sale title": (2, 2),
    "form that leads on": (1, 2),
    "sale offer over a feed": (1, 1),
    "offers its own name": (29, 29),
    "tells another site its own name": (5, 6),
    "speaks of its server alone": (7, 8),
    "keywords under its own name": (14, 14),
    "says that this domain is taken": (7, 7),
    "suspension": (5, 5),
    "farm": (4, 4),
}
"""Right and all voices of each rule, as printed. Those of farms are the planted hands of evaluation/sites_farms.py."""
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
