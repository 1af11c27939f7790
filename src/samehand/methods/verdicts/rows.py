"""The columns that every table of verdicts has, and the labels by hand that decide."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import NONE
from samehand.methods.verdicts.scoring import Scored

GOOD_LABELS = frozenset({"ok", "good", "real", "keep", "network", "copies", "login"})
"""Labels that say that somebody needs the site. Every other label says that nobody does."""
Actions = Callable[[pa.Array, NDArray[np.float64]], pa.Array]
"""What a policy does with kinds and probabilities."""


@dataclasses.dataclass(frozen=True, slots=True)
class Labels:
    """The label of each site; empty for none."""

    by_site: NDArray[np.object_]

    def of(self, sites: NDArray[np.integer]) -> NDArray[np.object_]:
        """The labels of the sites with these numbers."""
        return np.where(sites == NONE, "", np.append(self.by_site, "")[sites])


def verdict_columns(
    scored: Scored, kinds: pa.Array, labels: NDArray[np.object_], actions: Actions
) -> dict[str, pa.Array]:
    """Action, kind, probability with its interval, log-odds, evidence and label. A label decides its unit."""
    has_label = labels != ""
    said = np.where(np.isin(labels, list(GOOD_LABELS)), 0.0, 1.0)
    curves = (scored.probability, scored.low, scored.high)
    probability, low, high = (np.where(has_label, said, part).round(6) for part in curves)
    return {
        "action": actions(kinds, probability),
        "kind": kinds,
        "probability": pa.array(probability),
        "probability_low": pa.array(low),
        "probability_high": pa.array(high),
        "log_odds": pa.array(scored.log_odds),
        "evidence": scored.items,
        "label": pa.array(labels, pa.string(), mask=~has_label),
    }
