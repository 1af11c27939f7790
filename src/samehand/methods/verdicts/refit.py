"""Weights fitted to the labels of a run: what people said about sites moves the weights a little.

Only sites that a person was asked about count: labels that spread are our own guess. Sites of one style cluster are one
hand, and each hand is one voice, however many sites it made. Each weight is pulled towards the one that it had, as much
as by STRENGTH hands.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import RunError
from samehand.methods.verdicts.facts import NONE, cluster_classes, page_facts
from samehand.methods.verdicts.fitting import fit_ridge, hand_weights
from samehand.methods.verdicts.groups import cluster_sites
from samehand.methods.verdicts.model import Weights, read_weights, run_weights, weights_text, with_weights
from samehand.methods.verdicts.scoring import PURPOSE, Evidence, design_matrix
from samehand.methods.verdicts.sites import site_evidence, site_facts
from samehand.store.files import WEIGHTS
from samehand.store.folder import RunFolder
from samehand.store.labels import SITE, UNWANTED, WANTED, LabelFile

STRENGTH = 20.0


@dataclasses.dataclass(frozen=True, slots=True)
class Refit:
    """Weights before and after, and what they were fitted to."""

    before: Weights
    after: Weights
    wanted: int
    unwanted: int
    hands: int

    def changed(self) -> list[tuple[str, float, float]]:
        """Name, old and new weight of all that changed, the prior first."""
        pairs = [("prior", self.before.prior, self.after.prior)]
        pairs += [(name, one.weight, self.after.symbols[name].weight) for name, one in self.before.symbols.items()]
        return [pair for pair in pairs if pair[1] != pair[2]]


def refit(folder: RunFolder) -> Refit:
    """Fits the weights of a run to its labels. Nothing is written."""
    said = {label.name: label.answer for label in LabelFile.of(folder).labels() if label.unit == SITE}
    facts, before = page_facts(folder), run_weights(folder)
    sites, classes = site_facts(folder, facts), cluster_classes(folder)
    rows = [
        (row, said[name] == UNWANTED)
        for row, name in enumerate(sites.names.to_pylist())
        if said.get(name) in (WANTED, UNWANTED)
    ]
    if not rows:
        raise RunError(f"{folder.path} has no labels of sites to fit weights to. Give some with samehand label.")
    units, truth = np.array([row for row, _ in rows]), np.array([bad for _, bad in rows])
    clusters = cluster_sites(facts, len(classes))
    evidence = site_evidence(facts, sites, classes, clusters.sizes(), before)
    cluster = facts.cluster[sites.home_rows[units]]
    hands = np.where(cluster == NONE, -1 - units, cluster)
    after = _fitted(before, read_weights(), _only(evidence, units), truth, hand_weights(hands))
    return Refit(before, after, int((~truth).sum()), int(truth.sum()), np.unique(hands).size)


def _only(evidence: Evidence, units: NDArray[np.int64]) -> Evidence:
    """The evidence on some units, numbered from 0 in their order, which rises."""
    place = np.minimum(np.searchsorted(units, evidence.unit), units.size - 1)
    inside = units[place] == evidence.unit
    return Evidence(units.size, place[inside], evidence.symbol[inside], evidence.value[inside])


def _fitted(
    before: Weights, shipped: Weights, evidence: Evidence, truth: NDArray[np.bool_], voices: NDArray[np.float64]
) -> Weights:
    """Pulled towards the shipped weights, so that fitting twice gives the same. Purpose never speaks for a site."""
    names = list(shipped.symbols)
    matrix = np.concatenate([np.ones((truth.size, 1)), design_matrix(evidence, len(names))], axis=1)
    towards = np.array([shipped.prior, *(shipped.symbols[name].weight for name in names)])
    found = fit_ridge(matrix, truth, voices, towards, np.full(towards.size, STRENGTH)).round(4)
    least = [0.0 if shipped.symbols[name].group == PURPOSE else -np.inf for name in names]
    weights = dict(zip(names, np.maximum(found[1:], least).tolist(), strict=True))
    return with_weights(before, float(found[0]), weights)


def write_refit(folder: RunFolder, found: Refit) -> None:
    """Makes the fitted weights those of the run."""
    folder.write_text(WEIGHTS, weights_text(found.after, read_weights()))
