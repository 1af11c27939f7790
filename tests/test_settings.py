"""One table of settings: ranges, presets, digests."""

import dataclasses

import pytest

from samehand.base.errors import SettingsError
from samehand.base.presets import PRESETS
from samehand.base.setting import GROUPS
from samehand.base.settings import Settings, fields_of


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shingle_bytes": 64}, "shingle_bytes is 64"),
        ({"dimensions": 100}, "power of two"),
        ({"estimator": "guess"}, "filled, paper"),
        ({"family_threshold": 0.7, "cluster_threshold": 0.5}, "families hold clusters"),
        ({"key": ""}, "key is empty"),
        ({"probes": 60_000}, "more than 128 dimensions"),
        ({"max_compression_ratio": 0}, "choose a value from 10"),
    ],
)
def test_wrong_values_are_refused_with_the_next_step(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        Settings(**changes)


def test_every_setting_has_help_and_a_group() -> None:
    for field in fields_of():
        assert field.metadata["help"].endswith(".")
        assert field.metadata["group"] in GROUPS


def test_paper_preset_is_section_4_2_of_the_paper() -> None:
    paper = Settings.preset("paper")
    assert (paper.shingle_bytes, paper.dimensions, paper.probe_dimensions, paper.probes) == (32, 128, 1, 20)
    assert paper.family_threshold == paper.cluster_threshold == 35 / 128
    assert (paper.fold_spaces, paper.estimator) == (False, "paper")


def test_presets_can_be_changed_and_unknown_ones_are_named() -> None:
    assert Settings.preset("paper", probes=5).probes == 5
    assert Settings.preset("default") == Settings()
    with pytest.raises(SettingsError, match=", ".join(PRESETS)):
        Settings.preset("papper")


def test_round_trip_and_unknown_names() -> None:
    settings = Settings(key="secret", cluster_threshold=0.5)
    assert Settings.from_dict(settings.as_dict()) == settings
    with pytest.raises(SettingsError, match="tihgt"):
        Settings.from_dict({"tihgt": 1})


def test_digest_follows_its_group_alone() -> None:
    default, changed = Settings(), Settings(cluster_threshold=0.7)
    assert default.digest("read", "style") == changed.digest("read", "style")
    assert default.digest("grouping") != changed.digest("grouping")
    assert Settings(key="other").digest("style") != default.digest("style")


def test_settings_cannot_change_under_a_run() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().cluster_threshold = 0.1  # type: ignore[misc]
