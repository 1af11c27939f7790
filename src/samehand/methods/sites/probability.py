"""How often each rule is right, by hand-labelled home pages: every hand (kit, template, owner) is one voice.

`python -m evaluation.sites` prints these figures. The probability of a rule is (right + 1) ÷ (voices + 2), so a rule
with few voices is never sure.
"""

FIGURES: dict[str, tuple[int, int]] = {
    "real": (2620, 2633),
    "redirect title": (32, 32),
    "sale offer": (2, 2),
    "nothing": (21, 21),
    "feed of parked domains": (7, 9),
    "wording of an unfilled content system": (3, 3),
    "built by script": (40, 47),
    "script that leads on": (26, 29),
    "wall wording": (14, 14),
    "moved wording": (32, 32),
    "error wording": (11, 11),
    "refresh": (56, 56),
    "login form": (7, 9),
    "error title": (9, 9),
    "age wall": (3, 3),
    "registration wording": (2, 2),
    "cookie and reload": (4, 4),
    "script of a bot wall": (8, 9),
    "leads to a panel's default page": (1, 1),
    "coming soon": (7, 7),
    "wording of a default page": (3, 4),
    "registrar's page over a feed": (1, 1),
    "title of a default page": (5, 5),
    "nothing but one script": (0, 1),
    "frame": (4, 4),
    "sale title": (1, 1),
    "form that leads on": (1, 1),
    "sale offer over a feed": (1, 1),
    "cluster": (4, 4),
    "network": (3, 3),
}
"""Right and all voices of each rule."""
UNKNOWN_RULE = (0, 0)


def probability(rule: str) -> float:
    """The probability that the rule is right about a site."""
    right, voices = FIGURES.get(rule, UNKNOWN_RULE)
    return (right + 1) / (voices + 2)
