"""Three small charts of the overview, as places in a box that the template draws: no script, no chart library."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from samehand.store.tables import STYLE_CLUSTERS, STYLE_EDGES, VERDICT_CLUSTERS

if TYPE_CHECKING:
    from samehand.review.review import Review

WIDTH, HEIGHT = 300, 150
_BINS, _MOST_POINTS = 40, 400


def charts(review: "Review") -> list[dict[str, Any]]:
    """Sizes of clusters, similarities of links, clusters by sites and similarity. Read when the server starts."""
    folder, settings = review.run.folder, review.run.settings
    clusters = folder.read(STYLE_CLUSTERS, ["pages", "sites", "mean_similarity"])
    pages, sites, means = (clusters.column(name).to_numpy() for name in ("pages", "sites", "mean_similarity"))
    if not pages.size:
        return []
    actions = folder.read(VERDICT_CLUSTERS, ["action"]).column("action")
    shown = np.unique(np.linspace(0, pages.size - 1, min(pages.size, _MOST_POINTS)).astype(int))
    sizes, counts = np.unique(pages, return_counts=True)
    links = folder.read(STYLE_EDGES, ["similarity"]).column("similarity").to_numpy()
    cuts = {"family": settings.family_threshold, "cluster": settings.cluster_threshold}
    return [
        {
            "title": "Sizes of clusters",
            "about": f"{pages.size:,} clusters; the largest has {int(sizes[-1]):,} pages.",
            "across": "pages in a cluster (log)",
            "up": "clusters (log)",
            "points": _points(_log(sizes), _log(counts), [""] * sizes.size),
            "bars": [],
            "cuts": [],
        },
        {
            "title": "Similarity of linked pages",
            "about": f"{links.size:,} links of the spanning forest, with the thresholds of family and cluster.",
            "across": "similarity",
            "up": "links",
            "points": [],
            "bars": _bars(np.histogram(links, _BINS, (0, 1))[0]),
            "cuts": [{"name": name, "x": round(WIDTH * cut, 1)} for name, cut in cuts.items()],
        },
        {
            "title": "Clusters by sites and similarity",
            "about": "Each point is a cluster: the more sites, the farther right; its colour is the action.",
            "across": "sites (log)",
            "up": "mean similarity",
            "points": _points(_log(sites[shown]), means[shown], actions.take(shown).to_pylist()),
            "bars": [],
            "cuts": [],
        },
    ]


def _log(values: Any) -> Any:
    """Logarithms, stretched to 0 to 1."""
    logs = np.log10(np.maximum(1, values))
    return logs / max(math.log10(2), float(logs.max()))


def _points(across: Any, up: Any, kinds: list[str]) -> list[dict[str, Any]]:
    return [
        {"x": round(WIDTH * float(x), 1), "y": round(HEIGHT * (1 - float(y)), 1), "kind": kind}
        for x, y, kind in zip(across[:_MOST_POINTS], up, kinds, strict=False)
    ]


def _bars(counts: Any) -> list[dict[str, Any]]:
    width, most = WIDTH / len(counts), max(1, int(counts.max()))
    return [
        {"x": round(place * width, 1), "width": round(width, 1), "height": round(HEIGHT * number / most, 1)}
        for place, number in enumerate(counts.tolist())
    ]
