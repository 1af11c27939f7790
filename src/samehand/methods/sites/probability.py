"""How often each rule is right, by hand-labelled home pages: every hand (kit, template, owner) is one voice.

`python -m evaluation.sites` prints these figures. The probability of a rule is (right + 1) ÷ (voices + 2), so a rule
with few voices is never sure.
"""

FIGURES: dict[str, tuple[int, int]] = {}
"""Right and all voices of each rule."""
UNKNOWN_RULE = (0, 0)


def probability(rule: str) -> float:
    """The probability that the rule is right about a site."""
    right, voices = FIGURES.get(rule, UNKNOWN_RULE)
    return (right + 1) / (voices + 2)
