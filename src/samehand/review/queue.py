"""The order in which clusters are asked about, what of it is answered, and what the random sample says.

The cluster whose answer is expected to change most comes first: p (1 - p) × sites, where p is the probability that
nobody needs it. A random tenth is taken out before that and comes as every tenth card. It alone estimates how often
verdicts are right, because the other cards are those that samehand is least sure of.
"""

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from samehand.answers.run import Run
from samehand.methods.verdicts.fitting import wilson
from samehand.review.members import ClusterMembers
from samehand.store.labels import CLUSTER, PAIR, UNWANTED, WANTED, Label
from samehand.store.tables import VERDICT_CLUSTERS

SAMPLE = 10
"""Every tenth cluster is in the random sample."""
_COLUMNS = ["cluster_number", "style_cluster_id", "sites", "probability", "probability_low", "probability_high"]


@dataclasses.dataclass(frozen=True, slots=True)
class Precision:
    """What the answers to the random sample say of the verdicts: of `called` clusters more likely unwanted than not
    and answered, `right` are unwanted; the interval is Wilson's, at 95 %."""

    size: int
    answered: int
    called: int
    right: int
    low: float
    high: float


class Queue:
    """The clusters of a run by what their answer is worth."""

    def __init__(self, run: Run, members: ClusterMembers) -> None:
        table = run.folder.read(VERDICT_CLUSTERS, _COLUMNS)
        self.ids, self.sites, self.probability = (
            table.column(name).to_numpy() for name in ("style_cluster_id", "sites", "probability")
        )
        width = table.column("probability_high").to_numpy() - table.column("probability_low").to_numpy()
        self.worth = self.probability * (1 - self.probability) * self.sites
        self._members = members
        self._by_id = np.argsort(self.ids)
        self.is_sample = np.zeros(self.ids.size, np.bool_)
        sample = _random(run, self.ids.size)[: math.ceil(self.ids.size / SAMPLE)]
        self.is_sample[sample] = True
        rest = np.flatnonzero(~self.is_sample)
        rest = rest[np.lexsort((rest, -width[rest], -self.worth[rest]))]
        self.order = _every_tenth(rest, sample)

    def __len__(self) -> int:
        return int(self.ids.size)

    def number_of(self, cluster_id: int) -> int | None:
        """The number of a cluster by its stable id; None if the run has none such now."""
        place = int(np.searchsorted(self.ids, cluster_id, sorter=self._by_id))
        found = int(self._by_id[place]) if place < len(self) else -1
        return found + 1 if found >= 0 and self.ids[found] == cluster_id else None

    def answered(self, labels: list[Label]) -> dict[int, Label]:
        """The clusters that somebody answered or skipped, by number. An answer about two pages of a cluster counts."""
        found: dict[int, Label] = {}
        for label in labels:
            number = self._cluster_of(label)
            if number is not None:
                found[number] = label
        return found

    def _cluster_of(self, label: Label) -> int | None:
        if label.unit == CLUSTER:
            return self.number_of(label.page_ids[0])
        if label.unit != PAIR or not all(map(self._members.folder.page_ids.has, label.page_ids)):
            return None
        left, right = (self._members.cluster_of(page_id) for page_id in label.page_ids)
        return left if left == right else None

    def still_open(self, answered: dict[int, Label], count: int) -> list[int]:
        """The numbers of the next clusters to ask about."""
        found: list[int] = []
        for place in self.order.tolist() if len(answered) * 4 > len(self) else _lazily(self.order):
            if place + 1 not in answered:
                found.append(place + 1)
            if len(found) == count:
                break
        return found

    def precision(self, answered: dict[int, Label]) -> Precision:
        """How often samehand is right where it calls a cluster unwanted, by the random sample alone."""
        said = {
            number: label.answer
            for number, label in answered.items()
            if self.is_sample[number - 1] and label.answer in (WANTED, UNWANTED)
        }
        called = [number for number in said if self.probability[number - 1] >= 0.5]
        right = sum(said[number] == UNWANTED for number in called)
        return Precision(int(self.is_sample.sum()), len(said), len(called), right, *wilson(right, len(called)))


def _random(run: Run, size: int) -> NDArray[np.int64]:
    """A random order that depends on the inputs and settings of the run alone."""
    manifest = run.manifest
    source = json.dumps([manifest["inputs"], manifest["read_settings"]], sort_keys=True)
    seed = int.from_bytes(hashlib.sha256(source.encode()).digest()[:8], "little")
    return np.random.Generator(np.random.PCG64(seed)).permutation(size)


def _every_tenth(rest: NDArray[np.int64], sample: NDArray[np.int64]) -> NDArray[np.int64]:
    """Both in one order: the sample as every tenth."""
    places = np.concatenate([np.arange(rest.size) / (SAMPLE - 1), np.arange(sample.size) + 0.99])
    return np.concatenate([rest, sample])[np.argsort(places, kind="stable")]


def _lazily(order: NDArray[np.int64]) -> Iterator[int]:
    for start in range(0, order.size, 1024):
        yield from order[start : start + 1024].tolist()
