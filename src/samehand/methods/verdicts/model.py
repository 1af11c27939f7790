"""The weights behind verdicts: a readable file that says how much each piece of evidence counts, and why.

A verdict is a sum of weights of evidence in natural-log odds. Evidence comes in groups. The items of a group are
correlated, so what a group adds is bounded (`low`, `high`). One monotone calibration turns the sum into a probability.
"""

import dataclasses
import functools
import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import SettingsError
from samehand.store.files import WEIGHTS
from samehand.store.folder import RunFolder
from samehand.store.shape import fits

SHIPPED_WEIGHTS = Path(__file__).parents[2] / "data" / "verdict.toml"

MOST_WEIGHT = 20.0
"""The largest weight that a run may have: log-odds beyond this say no more."""
_AGAIN = "Remove it: then the shipped weights count, and samehand verdicts --refit fits new ones."
_CURVES = ("log_odds", "probability", "low", "high")
_SHAPE = {
    "prior": float,
    "groups": {str: {"low": float, "high": float}},
    "symbols": {str: {"group": str, "weight": float, "sentence": str}},
    "calibration": {name: [float] for name in _CURVES},
}


@dataclasses.dataclass(frozen=True, slots=True)
class Symbol:
    """One kind of evidence. `{value}` in its sentence stands for what was found."""

    name: str
    group: str
    weight: float
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True)
class Calibration:
    """Knots of a monotone curve from log-odds to probability, with the interval around it."""

    log_odds: NDArray[np.float64]
    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def at(self, log_odds: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Probability and its lower and upper bound, linear between the knots."""
        return tuple(np.interp(log_odds, self.log_odds, curve) for curve in (self.probability, self.low, self.high))


@dataclasses.dataclass(frozen=True, slots=True)
class Weights:
    """Everything that turns evidence into a probability."""

    prior: float
    groups: dict[str, tuple[float, float]]
    symbols: dict[str, Symbol]
    calibration: Calibration
    digest: str

    @property
    def group_names(self) -> list[str]:
        """The groups, in the order of the file."""
        return list(self.groups)


@functools.lru_cache(maxsize=4)
def read_weights(path: Path = SHIPPED_WEIGHTS) -> Weights:
    """The weights in a file. SettingsError if the file is not what it must be."""
    try:
        raw = path.read_bytes()
        stored = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError as error:
        raise SettingsError(f"{path} is not valid TOML ({error}).") from None
    if not fits(stored, _SHAPE):
        raise SettingsError(f"{path} is no file of weights: it needs prior, groups, symbols and calibration.")
    return _checked(path, stored, hashlib.sha256(raw).hexdigest()[:16])


def run_weights(folder: RunFolder) -> Weights:
    """The weights of a run: the shipped ones, with those that were fitted to its labels in their place."""
    shipped, path = read_weights(), folder.own_file(WEIGHTS)
    if not path.is_file():
        return shipped
    try:
        raw = path.read_bytes()
        stored = tomllib.loads(raw.decode("utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be used ({error}). {_AGAIN}") from None
    weights: dict[str, float] = stored.get("weights", {})
    if not fits(stored, {"prior": float, "weights": {str: float}}) or not set(weights) <= set(shipped.symbols):
        raise SettingsError(f"{path} is no file of weights. {_AGAIN}")
    if any(abs(value) > MOST_WEIGHT for value in (stored["prior"], *weights.values())):
        raise SettingsError(f"{path} has a weight beyond {MOST_WEIGHT}. {_AGAIN}")
    return with_weights(shipped, stored["prior"], weights, hashlib.sha256(raw).hexdigest()[:16])


def with_weights(known: Weights, prior: float, weights: Mapping[str, float], digest: str = "") -> Weights:
    """The same symbols, groups and calibration with other weights."""
    symbols = {
        name: dataclasses.replace(symbol, weight=float(weights.get(name, symbol.weight)))
        for name, symbol in known.symbols.items()
    }
    return dataclasses.replace(known, prior=float(prior), symbols=symbols, digest=f"{known.digest} {digest}")


def weights_text(weights: Weights, known: Weights) -> str:
    """The file of a run: the prior, and the weights that differ from the known ones."""
    changed = [one for name, one in weights.symbols.items() if one.weight != known.symbols[name].weight]
    lines = [f"prior = {weights.prior}", "", "[weights]", *(f"{one.name} = {one.weight}" for one in changed)]
    return "\n".join(lines) + "\n"


def _checked(path: Path, stored: dict[str, Any], digest: str) -> Weights:
    groups = {name: (float(group["low"]), float(group["high"])) for name, group in stored["groups"].items()}
    symbols = {
        name: Symbol(name, item["group"], float(item["weight"]), item["sentence"])
        for name, item in stored["symbols"].items()
    }
    curves = [np.array(stored["calibration"][name], np.float64) for name in _CURVES]
    calibration = Calibration(*curves)
    unknown = sorted({symbol.group for symbol in symbols.values()} - set(groups))
    if unknown:
        raise SettingsError(f"{path} names the groups {', '.join(unknown)} that it does not define.")
    if any(low > 0 or high < 0 for low, high in groups.values()):
        raise SettingsError(f"{path}: the bounds of a group must hold 0 between them.")
    if not _is_calibration(calibration):
        raise SettingsError(f"{path}: the calibration must rise, from 0 to 1, with low ≤ probability ≤ high.")
    return Weights(float(stored["prior"]), groups, symbols, calibration, digest)


def _is_calibration(curve: Calibration) -> bool:
    sizes = {part.size for part in (curve.log_odds, curve.probability, curve.low, curve.high)}
    if len(sizes) != 1 or min(sizes) < 2:
        return False
    rises = (np.diff(curve.log_odds) > 0).all() and (np.diff(curve.probability) >= 0).all()
    within = (curve.low >= 0).all() and (curve.low <= curve.probability).all()
    return bool(rises and within and (curve.probability <= curve.high).all() and (curve.high <= 1).all())
