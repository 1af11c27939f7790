"""The columns that every table of verdicts has, and the labels by hand that decide."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import NONE
from samehand.methods.verdicts.scoring import Scored

GOOD_LABELS = frozenset({"ok", "good", "real", "keep", "network", "copies", "login"})
"""Labels that say that somebody needs the site. Every other label says that nobody does, and names the kind."""


@dataclasses.dataclass(frozen=True, slots=True)
class Labels:
    """The label of each site; empty for none."""

    by_site: NDArray[np.object_]

    def of_sites(self, sites: NDArray[np.integer]) -> NDArray[np.object_]:
        """The labels of the sites with these numbers."""
        return np.where(sites == NONE, "", self.by_site[sites])


Actions = Callable[[pa.Array, NDArray[np.float64]], pa.Array]
"""What a policy does with kinds and probabilities."""


def verdict_columns(
    scored: Scored, kinds: pa.Array, labels: NDArray[np.object_], actions: Actions
) -> dict[str, pa.Array]:
    """Action, kind, probability with its interval, log-odds, evidence and label. A label decides its unit."""
    probability, low, high = (np.array(part) for part in (scored.probability, scored.low, scored.high))
    has_label = labels != ""
    is_good = np.isin(labels, list(GOOD_LABELS))
    for part in (probability, low, high):
        part[has_label] = np.where(is_good[has_label], 0.0, 1.0)
    action = np.asarray(actions(kinds, probability).to_numpy(zero_copy_only=False))
    return {
        "action": pa.array(action, pa.string()),
        "kind": kinds,
        "probability": pa.array(np.round(probability, 6)),
        "probability_low": pa.array(np.round(low, 6)),
        "probability_high": pa.array(np.round(high, 6)),
        "log_odds": pa.array(scored.log_odds),
        "evidence": scored.items,
        "label": pa.array(labels, pa.string(), mask=~has_label),
    }
