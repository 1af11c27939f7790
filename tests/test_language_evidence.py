"""Reasons: one plain sentence each, with the figure and what is usual; the weightiest first, one for each subject."""

import math

import numpy as np
import pytest

from samehand.methods.language.evidence import MOST_REASONS, reasons
from samehand.methods.language.measures import MEASURES, percent, reason


@pytest.mark.parametrize("name", MEASURES)
def test_a_reason_is_one_short_sentence_whatever_the_figures(name: str) -> None:
    for here in (-1e9, -2.5, 0.0, 0.4, 1.0, 7.0, 1e9):
        said = reason(name, here, 0.5)
        assert "; usual is " in said
        assert said.endswith(".")
        assert not set("{}") & set(said)
        assert len(said) <= 160


EXAMPLES = {
    ("known_histories_4", 0.63, 0.8): "37 % of its three-word sequences occur nowhere in ordinary text; usual is 20 %.",
    ("keyword_kinds", math.log1p(52), math.log1p(0.2)): "It uses 52 different spam keywords; usual is 0.",
    ("back_ever", math.log(0.5), math.log(12)): "Content words come back 0.50 times as often as by chance; "
    "usual is 12 times.",
    ("log_p_3", -3.3, -2.0): "After two words, the next word is as hard to guess as one of 1,995; usual is one of 100.",
    ("word_rarity", 3.5, 3.0): "A typical word of it occurs once in 3,162 words of ordinary text; "
    "usual is once in 1,000.",
    ("put_in", -1.0, -2.0): "Its words fit between their neighbours 2.72 times as well as random words; "
    "usual is 7.39 times.",
    ("sentence_length", math.log(8), math.log(20)): "A typical sentence has 8.00 words; usual is 20 words.",
}


@pytest.mark.parametrize("measured", EXAMPLES)
def test_figures_are_told_in_units_people_know(measured: tuple[str, float, float]) -> None:
    assert reason(*measured) == EXAMPLES[measured]


@pytest.mark.parametrize(
    ("share", "wanted"), [(0.372, "37 %"), (0.0717, "7.2 %"), (0.004, "0.4 %"), (0.0, "0 %"), (-0.2, "0 %")]
)
def test_shares(share: float, wanted: str) -> None:
    assert percent(share) == wanted


def test_the_weightiest_measure_of_each_subject_gives_a_reason() -> None:
    names = ("gain_3", "gain_4", "keywords", "keyword_kinds", "marks", "numbers", "distinct", "topic_near")
    weights = np.array([0.1, 5.0, 4.0, 4.5, 0.4, -3.0, 0.5, 0.31])
    figures = dict.fromkeys(names, 0.5)
    found = reasons(names, figures, figures, weights, is_fake=True)
    wanted = ("gain_4", "keyword_kinds", "distinct", "marks")
    assert found == tuple(reason(name, 0.5, 0.5) for name in wanted)
    assert len(found) == MOST_REASONS
    assert reasons(names, figures, figures, weights, is_fake=False) == (reason("numbers", 0.5, 0.5),)


def test_a_verdict_that_no_measure_weighs_much_for_has_a_reason_too() -> None:
    figures = {"marks": 0.1, "numbers": 0.2}
    assert reasons(tuple(figures), figures, figures, np.array([0.0, -0.1]), is_fake=True) == (
        reason("marks", 0.1, 0.1),
    )
