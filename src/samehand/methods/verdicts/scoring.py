"""Evidence on many units at once, and the one function that turns it into log-odds and a probability."""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.methods.verdicts.model import Weights
from samehand.store.tables.verdicts import EVIDENCE_ITEM

PURPOSE = "purpose"
"""The group without which nothing is blocked."""


@dataclasses.dataclass(frozen=True, slots=True)
class Evidence:
    """Items of evidence: what was found (`symbol`, `value`) about which unit (`unit`, from 0)."""

    units: int
    unit: NDArray[np.int64]
    symbol: NDArray[np.int16]
    value: NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True)
class Scored:
    """The verdict on each unit as numbers, and the items it is made of, those of a unit together, strongest first."""

    log_odds: NDArray[np.float64]
    probability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    group_sums: NDArray[np.float64]
    """What each group adds to each unit, within its bounds."""
    items: pa.ListArray


class Collector:
    """Gathers evidence on units. Symbols are those of the weights."""

    def __init__(self, weights: Weights, units: int) -> None:
        self._numbers = {name: number for number, name in enumerate(weights.symbols)}
        self._units = units
        self._found: list[tuple[NDArray[np.int64], int, NDArray[np.float32]]] = []

    def add(self, symbol: str, where: NDArray[np.bool_], value: NDArray[np.floating] | float = 1.0) -> None:
        """`symbol` was found on the units of the mask `where`, with a value each or one for all."""
        units = np.flatnonzero(where)
        if units.size:
            values = np.full(units.size, value, np.float32) if np.isscalar(value) else np.asarray(value)[units]
            self._found.append((units, self._numbers[symbol], values.astype(np.float32)))

    def evidence(self) -> Evidence:
        """Everything that was found."""
        found = self._found
        units = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _, _ in found)])
        symbols = np.concatenate(
            [np.zeros(0, np.int16), *(np.full(rows.size, code, np.int16) for rows, code, _ in found)]
        )
        values = np.concatenate([np.zeros(0, np.float32), *(value for _, _, value in found)])
        return Evidence(self._units, units, symbols, values)


def design_matrix(evidence: Evidence, symbols: int) -> NDArray[np.float64]:
    """One row per unit, one column per symbol: what weights are fitted on."""
    matrix = np.zeros((evidence.units, symbols))
    np.add.at(matrix, (evidence.unit, evidence.symbol), evidence.value)
    return matrix


def score(evidence: Evidence, weights: Weights) -> Scored:
    """log-odds = prior + Σ over groups of (Σ weight × value, within the bounds of the group), then the calibration."""
    names = weights.group_names
    symbols = list(weights.symbols.values())
    weight_of = np.array([symbol.weight for symbol in symbols], np.float64)
    group_of = np.array([names.index(symbol.group) for symbol in symbols], np.int64)
    contribution = weight_of[evidence.symbol] * evidence.value
    sums = np.zeros(evidence.units * len(names))
    np.add.at(sums, evidence.unit * len(names) + group_of[evidence.symbol], contribution)
    bounds = np.array([weights.groups[name] for name in names])
    capped = np.clip(sums.reshape(-1, len(names)), bounds[:, 0], bounds[:, 1])
    total = weights.prior + capped.sum(axis=1)
    probability, low, high = weights.calibration.at(total)
    items = _items(evidence, weights, contribution)
    return Scored(np.round(total, 6), probability, low, high, capped, items)


def _items(evidence: Evidence, weights: Weights, contribution: NDArray[np.float64]) -> pa.ListArray:
    """The items of each unit as a list of structs, the largest contribution first, equal ones by symbol."""
    order = np.lexsort((evidence.symbol, -np.abs(contribution), evidence.unit))
    symbol = evidence.symbol[order]
    counts = np.bincount(evidence.unit, minlength=evidence.units)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    names = pa.array(list(weights.symbols))
    groups = pa.array([item.group for item in weights.symbols.values()])
    columns = [
        names.take(pa.array(symbol)),
        groups.take(pa.array(symbol)),
        pa.array(evidence.value[order], pa.float32()),
        pa.array(np.round(contribution[order], 4), pa.float32()),
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(EVIDENCE_ITEM))
    return pa.ListArray.from_arrays(pa.array(offsets), structs)


def may_block(evidence: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Whether evidence of purpose, and of a second group, speaks against each unit. Nothing is blocked without both."""
    lists = evidence.combine_chunks()
    parents = pc.list_parent_indices(lists).to_numpy()
    items = pc.list_flatten(lists)
    sums: dict[tuple[int, str], float] = {}
    groups, added = (pc.struct_field(items, name).to_pylist() for name in ("group", "log_odds"))
    for row, group, value in zip(parents.tolist(), groups, added, strict=True):
        sums[row, group] = sums.get((row, group), 0.0) + value
    speaking = [key for key, total in sums.items() if total > 0]
    counts = np.bincount(np.array([row for row, _ in speaking], np.int64), minlength=len(lists))
    has_purpose = np.zeros(len(lists), np.bool_)
    has_purpose[[row for row, group in speaking if group == PURPOSE]] = True
    return np.asarray(has_purpose & (counts >= 2))
