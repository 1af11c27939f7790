"""The figures of a report: what a run holds, as numbers for charts. Each figure is bounded, whatever the run's size."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.answers.report import charts
from samehand.answers.report.layout import tree_layout
from samehand.answers.run import Run
from samehand.base.errors import InputError, UsageError
from samehand.base.wording import count
from samehand.store.tables import LANGUAGE_PAGES, SITES, STYLE_CLUSTERS, STYLE_EDGES, STYLE_MEMBERS

_BINS = 40
_MOST_POINTS = 400
_MOST_NODES = 150
_MOST_BARS = 12


@dataclasses.dataclass(frozen=True, slots=True)
class Figure:
    """A chart, its title, and what it shows in words: the caption, and the text for who cannot see it."""

    name: str
    title: str
    caption: str
    spec: charts.Spec


def figures(run: Run, cluster: int = 1) -> list[Figure]:
    """The figures that the run has data for. Two of them are about one cluster."""
    made: list[tuple[str, Callable[[Run], Iterator[Figure]]]] = [
        ("style", _cluster_sizes),
        ("style", _edge_similarities),
        ("style", lambda run: one_against_all(run, cluster)),
        ("style", lambda run: family_graph(run, cluster)),
        ("style", estimate_against_exact),
        ("language", _fake_by_length),
        ("sites", _kinds_by_provider),
    ]
    return [figure for method, make in made if method in run.methods for figure in make(run)]


def _cluster_sizes(run: Run) -> Iterator[Figure]:
    pages = run.folder.read(STYLE_CLUSTERS, ["pages"]).column("pages").to_numpy()
    if not pages.size:
        return
    sizes, counts = np.unique(pages, return_counts=True)
    chosen = _spread(sizes.size, _MOST_POINTS)
    rows = [{"x": int(sizes[place]), "y": int(counts[place])} for place in chosen]
    log = {"scale": {"type": "log"}}
    yield Figure(
        "cluster-sizes",
        "Sizes of clusters",
        f"{pages.size:,} clusters. The largest has {int(sizes[-1]):,} pages; half of them have "
        f"{int(np.median(pages)):,} or fewer.",
        charts.points(rows, x={"title": "pages in a cluster", **log}, y={"title": "clusters of that size", **log}),
    )


def _edge_similarities(run: Run) -> Iterator[Figure]:
    similarities = run.folder.read(STYLE_EDGES, ["similarity"]).column("similarity").to_numpy()
    if not similarities.size:
        return
    counts, edges = np.histogram(similarities, _BINS, (0, 1))
    rows = [
        {"start": float(edges[place]), "end": float(edges[place + 1]), "count": int(counts[place])}
        for place in range(_BINS)
    ]
    cuts = {"family": run.settings.family_threshold, "cluster": run.settings.cluster_threshold}
    share = float(np.mean(similarities >= run.settings.cluster_threshold))
    yield Figure(
        "edges",
        "Similarity of linked pages",
        f"{similarities.size:,} links of the spanning forest; {share:.0%} of them reach the cluster threshold of "
        f"{run.settings.cluster_threshold:.2f}.",
        charts.histogram(rows, cuts=cuts, title="similarity"),
    )


def _chosen(run: Run, cluster: int) -> dict[str, Any] | None:
    """The cluster that figures are about; None if the run has no cluster at all."""
    found = run.folder.find(STYLE_CLUSTERS, "cluster_number", cluster).to_pylist()
    if not found and run.counts("style")["clusters"]:
        raise UsageError(f"There is no cluster {cluster}: the numbers are 1 to {run.counts('style')['clusters']:,}.")
    return found[0] if found else None


def one_against_all(run: Run, cluster: int) -> Iterator[Figure]:
    """One page against all, with the gaps (the paper's figure 4)."""
    chosen = _chosen(run, cluster)
    if chosen is None:
        return
    found = run.like(chosen["centre_page_id"])
    curve = found.pages.table.column("similarity").to_numpy()
    ranks = np.unique(np.geomspace(1, curve.size, _MOST_POINTS).astype(int)) if curve.size else np.zeros(0, int)
    rows = [{"x": int(rank), "y": round(float(curve[rank - 1]), 4)} for rank in ranks]
    gaps = [
        {"x": gap.pages, "above": gap.above, "below": gap.below, "name": gap.name} for gap in found.gaps[:_MOST_BARS]
    ]
    said = "; ".join(f"{gap.name} after {gap.pages:,} pages" for gap in found.gaps[:3]) or "no gap"
    yield Figure(
        "one-to-all",
        f"The medoid of cluster {cluster} against all pages",
        f"{len(found.pages):,} of {found.compared:,} pages share something with it: {said}.",
        charts.falling_curve(rows, gaps),
    )


def family_graph(run: Run, cluster: int) -> Iterator[Figure]:
    """The family of a cluster: its pages, drawn along the links that hold them together (the paper's figure 3)."""
    row = _chosen(run, cluster)
    if row is None:
        return
    members = run.folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "style_family_id"])
    chosen = members.filter(pc.equal(members.column("style_family_id"), row["style_family_id"]))
    total = chosen.num_rows
    chosen = chosen.slice(0, _MOST_NODES)
    ids = chosen.column("page_id").to_numpy()
    edges = run.folder.read(STYLE_EDGES, ["left_page_id", "right_page_id"])
    left, right = (edges.column(name).to_numpy() for name in ("left_page_id", "right_page_id"))
    inside = np.isin(left, ids) & np.isin(right, ids)
    order = np.argsort(ids)
    pairs = np.stack([order[np.searchsorted(ids[order], side[inside])] for side in (left, right)], axis=1)
    places = tree_layout(len(ids), pairs)
    names = _ranked_names(chosen.column("style_cluster_id").to_numpy())
    nodes = [{"x": float(x), "y": float(y), "group": name} for (x, y), name in zip(places, names, strict=True)]
    links = [
        {"x": float(places[a, 0]), "y": float(places[a, 1]), "x2": float(places[b, 0]), "y2": float(places[b, 1])}
        for a, b in pairs.tolist()
    ]
    part = f" The first {_MOST_NODES} are drawn." if total > _MOST_NODES else ""
    yield Figure(
        "family",
        "The family of cluster 1",
        f"{total:,} pages, linked along the spanning forest; colours are clusters.{part}",
        charts.network(nodes, links),
    )


def _ranked_names(ids: NDArray[np.int64]) -> list[str]:
    """Names of the largest clusters; the small ones are "other"."""
    found, counts = np.unique(ids, return_counts=True)
    largest = found[np.lexsort((found, -counts))][:6].tolist()
    return [str(largest.index(number) + 1) if number in largest else "other" for number in ids.tolist()]


def estimate_against_exact(run: Run) -> Iterator[Figure]:
    """Links of all strengths, compared in full (the paper's figure 1). Nothing is drawn if pages are gone."""
    edges = run.folder.read(STYLE_EDGES)
    if not edges.num_rows:
        return
    rows = []
    try:
        for place in _spread(edges.num_rows, 60):
            edge = edges.slice(int(place), 1).to_pylist()[0]
            pair = edge["left_page_id"], edge["right_page_id"]
            style, link = run.explain(*pair).style, run.weakest_link(pair)
            if style is not None and link is not None:
                rows.append({"x": round(style.jaccard, 4), "y": round(link.noise, 4)})
    except InputError:
        return
    error = float(np.mean([abs(row["x"] - row["y"]) for row in rows])) if rows else 0.0
    yield Figure(
        "estimate",
        "Estimated against exact similarity",
        f"The noise of {len(rows)} linked pairs, by fingerprints and shingle by shingle: the mean difference is "
        f"{error:.3f}.",
        charts.points(
            rows, x={"title": "exact Jaccard similarity"}, y={"title": "estimate from fingerprints"}, diagonal=True
        ),
    )


def _fake_by_length(run: Run) -> Iterator[Figure]:
    table = run.folder.read(LANGUAGE_PAGES, ["judged_words", "fake_probability", "verdict"])
    judged = table.filter(pc.is_valid(table.column("fake_probability")))
    if not judged.num_rows:
        return
    order = np.argsort(judged.column("fake_probability").to_numpy(), kind="stable")[::-1]
    chosen = judged.take(order[_spread(order.size, _MOST_POINTS)])
    rows = [
        {"x": max(1, row["judged_words"]), "y": round(row["fake_probability"], 4), "verdict": row["verdict"]}
        for row in chosen.to_pylist()
    ]
    fakes = pc.sum(pc.equal(judged.column("verdict"), "fake")).as_py()
    yield Figure(
        "fake-by-length",
        "Machine-made text by length",
        f"{judged.num_rows:,} of {table.num_rows:,} pages have text that can be judged; {fakes:,} are called fake.",
        charts.points(
            rows,
            x={"title": "judged words", "scale": {"type": "log"}},
            y={"title": "probability of machine-made text"},
            colour="verdict",
        ),
    )


def _kinds_by_provider(run: Run) -> Iterator[Figure]:
    table = run.folder.read(SITES, ["provider", "kind"])
    counted = table.group_by(["provider", "kind"]).aggregate([([], "count_all")]).to_pylist()
    sizes: dict[str, int] = {}
    for row in counted:
        sizes[row["provider"]] = sizes.get(row["provider"], 0) + row["count_all"]
    largest = sorted(sizes, key=lambda name: (-sizes[name], name))[:_MOST_BARS]
    rows = [
        {"provider": row["provider"], "kind": row["kind"], "sites": row["count_all"]}
        for provider in largest
        for row in sorted(counted, key=lambda row: str(row["kind"]))
        if row["provider"] == provider
    ]
    if rows:
        yield Figure(
            "kinds",
            "Kinds of sites by provider",
            f"{count(table.num_rows, 'site')} at {count(len(sizes), 'provider')} of name servers.",
            charts.stacked_bars(rows, label="provider", value="sites", colour="kind", title="sites"),
        )


def _spread(size: int, most: int) -> NDArray[np.int64]:
    """At most `most` places, evenly spread over `size`, the first and the last among them."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))
