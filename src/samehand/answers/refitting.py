"""Weights fitted to the labels of a run, and what that changes."""

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING

from samehand.base.wording import count
from samehand.methods.verdicts.refit import Refit, refit, write_refit

if TYPE_CHECKING:
    from samehand.answers.run_verdicts import RunVerdicts

Flips = dict[tuple[str, str], int]


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Refitted:
    """What fitting the weights to labels changed: the answer of `Run.refit`.

    Attributes:
        weights: Old and new weight by name, of those that changed. `prior` is the log-odds before any evidence.
        site_flips: How many sites change from which action to which.
        page_flips: How many pages do.
        flipped_sites: The sites that change, by name.
        about: What the weights were fitted to, in words.
    """

    weights: dict[str, tuple[float, float]]
    site_flips: Flips
    page_flips: Flips
    flipped_sites: tuple[str, ...]
    about: str

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The weights that changed, and the actions that flip."""
        lines = [self.about]
        lines += [f"{name:20} {old:+.2f} -> {new:+.2f}" for name, (old, new) in self.weights.items()]
        for unit, flips in (("site", self.site_flips), ("page", self.page_flips)):
            told = [f"{number:,} from {old} to {new}" for (old, new), number in flips.items()]
            lines.append(f"{unit}s that flip: {', '.join(told) or 'none'}")
        return lines


def refitted(run: "RunVerdicts") -> Refitted:
    """Fits, writes the weights, judges anew and compares."""
    before = _actions(run)
    found = refit(run.folder)
    with run.folder.locked():
        write_refit(run.folder, found)
    run._judge_again()
    after = _actions(run)
    sites = sorted(str(name) for name, action in before["sites"].items() if after["sites"][name] != action)
    return Refitted(
        {name: (old, new) for name, old, new in found.changed()},
        _flips(before["sites"], after["sites"]),
        _flips(before["pages"], after["pages"]),
        tuple(sites),
        _about(found),
    )


def _about(found: Refit) -> str:
    return (
        f"Fitted to {count(found.unwanted, 'unwanted site')} and {count(found.wanted, 'wanted site')} "
        f"of {count(found.hands, 'hand')}."
    )


def _actions(run: "RunVerdicts") -> dict[str, dict[object, str]]:
    found = {}
    for unit, key in (("sites", "site"), ("pages", "page_id")):
        rows = run.verdicts(unit).table
        found[unit] = dict(zip(rows.column(key).to_pylist(), rows.column("action").to_pylist(), strict=True))
    return found


def _flips(before: dict[object, str], after: dict[object, str]) -> Flips:
    pairs = Counter((action, after[name]) for name, action in before.items())
    return {pair: number for pair, number in sorted(pairs.items()) if pair[0] != pair[1]}
