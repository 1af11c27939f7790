"""The sum behind verdicts: it equals a readable reference, groups are bounded, and bad files are named."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import SettingsError
from samehand.methods.verdicts.fitting import calibrate, fit_ridge, hand_weights, isotonic, wilson
from samehand.methods.verdicts.model import SHIPPED_WEIGHTS, Weights, read_weights
from samehand.methods.verdicts.policy import POLICIES, read_policy
from samehand.methods.verdicts.scoring import Collector, design_matrix, score

WEIGHTS = """
prior = -2.0
[groups.purpose]
low = 0.0
high = 4.0
[groups.text]
low = -0.5
high = 2.0
[symbols.ADS]
group = "purpose"
weight = 3.0
sentence = "ads"
[symbols.SALE]
group = "purpose"
weight = 2.5
sentence = "sale"
[symbols.NATURAL]
group = "text"
weight = -1.0
sentence = "natural"
[calibration]
log_odds = [-3.0, 0.0, 3.0]
probability = [0.01, 0.5, 0.9]
low = [0.0, 0.4, 0.8]
high = [0.1, 0.6, 1.0]
"""


@pytest.fixture
def weights(tmp_path: Path) -> Weights:
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS)
    return read_weights(file)


def reference(weights: Weights, items: list[tuple[str, float]]) -> float:
    """prior + Σ over groups of the bounded sum."""
    total = weights.prior
    for group, (low, high) in weights.groups.items():
        inside = sum(
            weights.symbols[name].weight * value for name, value in items if weights.symbols[name].group == group
        )
        total += min(max(inside, low), high)
    return total


UNITS = st.lists(
    st.dictionaries(st.sampled_from(["ADS", "SALE", "NATURAL"]), st.floats(0, 3, width=32), max_size=3), max_size=6
)


@given(found=UNITS)
def test_the_sum_equals_the_reference(found: list[dict[str, float]], tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("weights") / "weights.toml"
    file.write_text(WEIGHTS)
    weights = read_weights(file)
    collector = Collector(weights, len(found))
    for name in weights.symbols:
        where = np.array([name in unit for unit in found], np.bool_)
        collector.add(name, where, np.array([unit.get(name, 0.0) for unit in found]))
    scored = score(collector.evidence(), weights)
    for place, unit in enumerate(found):
        assert scored.log_odds[place] == pytest.approx(reference(weights, list(unit.items())), abs=1e-5)
        listed = scored.items[place].as_py()
        assert {item["symbol"] for item in listed} == set(unit)
        strengths = [abs(item["log_odds"]) for item in listed]
        assert strengths == sorted(strengths, reverse=True)
    assert (scored.low <= scored.probability).all()
    assert (scored.probability <= scored.high).all()
    matrix = design_matrix(collector.evidence(), len(weights.symbols))
    assert matrix.shape == (len(found), len(weights.symbols))


def test_more_of_one_group_adds_no_more_than_its_bound(weights: Weights) -> None:
    both = Collector(weights, 2)
    both.add("ADS", np.array([True, True]))
    both.add("SALE", np.array([False, True]))
    scored = score(both.evidence(), weights)
    assert scored.log_odds.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("prior = -2.0", "prior = 'x'"), "no file of weights"),
        (('group = "purpose"', 'group = "porpoise"'), "porpoise"),
        (("low = -0.5", "low = 0.5"), "must hold 0"),
        (("[0.01, 0.5, 0.9]", "[0.5, 0.01, 0.9]"), "must rise"),
        (("[0.01, 0.5, 0.9]", "[0.01, 0.5]"), "must rise"),
        (("prior = -2.0", "prior = "), "not valid TOML"),
    ],
)
def test_a_bad_file_of_weights_is_one_sentence(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = tmp_path / "weights.toml"
    file.write_text(WEIGHTS.replace(*change))
    with pytest.raises(SettingsError, match=message):
        read_weights(file)


def test_the_shipped_weights_are_sound() -> None:
    shipped = read_weights(SHIPPED_WEIGHTS)
    assert all(math.isfinite(symbol.weight) and symbol.sentence for symbol in shipped.symbols.values())
    assert shipped.groups["text"][0] >= -0.5, "natural text weighs little"


@pytest.mark.parametrize("name", POLICIES)
def test_shipped_policies_name_kinds_and_actions(name: str) -> None:
    policy = read_policy(name)
    kinds = pa.array(["parked-ads", "real", "replica", "parked-ads"])
    probability = np.array([0.99, 0.99, 0.99, 0.2])
    pages = policy.page_actions(kinds, probability).to_pylist()
    assert pages[1] == pages[3] == "keep"
    assert pages[2] == ("keep" if name == "block" else "drop")
    sites = policy.site_actions(kinds, probability, np.array([True] * 4)).to_pylist()
    assert sites[0] == ("review" if name == "corpus" else "block")
    assert policy.site_actions(kinds, probability, np.array([False] * 4)).to_pylist()[0] == "review"


@pytest.mark.parametrize(
    "text", ["[pages]\nreal = { delete = 0.5 }", "[pages]\nreal = { drop = 1.5 }", "[pges]\n", "[pages]\nreal = 3"]
)
def test_a_bad_policy_is_one_sentence(tmp_path: Path, text: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=r"mine\.toml"):
        read_policy(str(file))


def test_a_misspelt_policy_names_the_right_one() -> None:
    with pytest.raises(SettingsError, match="did you mean corpus"):
        read_policy("corpse")


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_isotonic_rises_and_keeps_the_mean(values: list[float]) -> None:
    found = isotonic(np.array(values), np.ones(len(values)))
    assert (np.diff(found) >= -1e-12).all()
    assert found.mean() == pytest.approx(np.mean(values))


def test_a_hand_counts_once() -> None:
    assert hand_weights(np.array(["a", "a", "b"], object)).tolist() == [0.5, 0.5, 1.0]


def test_a_fit_finds_the_evidence_and_stays_near_what_is_known() -> None:
    rng = np.random.default_rng(1)
    column = rng.integers(0, 2, 400).astype(float)
    matrix = np.stack([np.ones(400), column, rng.integers(0, 2, 400)], axis=1)
    labels = rng.random(400) < 1 / (1 + np.exp(2 - 4 * column))
    towards = np.zeros(3)
    weak = fit_ridge(matrix, labels, np.ones(400), towards, np.array([0.01, 0.5, 0.5]))
    strong = fit_ridge(matrix, labels, np.ones(400), towards, np.array([0.01, 1e6, 1e6]))
    assert weak[1] > 3
    assert abs(weak[2]) < 0.8
    assert np.abs(strong[1:]).max() < 0.01
    curve = calibrate(matrix @ weak, labels, np.ones(400))
    assert (np.diff(curve.probability) >= 0).all()
    assert curve.probability[-1] > 0.7 > 0.3 > curve.probability[0]


def test_wilson_intervals() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(50, 100)
    assert (round(low, 3), round(high, 3)) == (0.404, 0.596)
