"""Questions about the text of a run: every page's judgement, and sums by host and by style cluster."""

import math

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.errors import RunError
from samehand.methods.language.verdicts import FAKE, NATURAL
from samehand.store.folder import RunFolder
from samehand.store.tables import LANGUAGE_PAGES, STYLE_MEMBERS

NATURAL_SHARE, LEAST_JUDGED = 0.99, 200
"""The share of natural pages that a bar leaves alone, and how many pages it takes to say so."""


def worst_first(folder: RunFolder) -> pa.Table:
    """Every page of a run: the likeliest fakes first, those without an answer last."""
    return folder.read(LANGUAGE_PAGES).sort_by([("fake_probability", "descending"), ("page_id", "ascending")])


def natural_bar(folder: RunFolder) -> float:
    """The fake probability that 99 % of the judged pages of a run stay below.

    It is the bar for pages like these, if most of them are natural. More fakes among them raise the bar.
    """
    judged = folder.read(LANGUAGE_PAGES, ["fake_probability"]).column("fake_probability").drop_null()
    if len(judged) < LEAST_JUDGED:
        raise RunError(f"{folder.path} has {len(judged)} judged pages: a bar needs {LEAST_JUDGED} natural ones.")
    highest = float(pc.quantile(judged, NATURAL_SHARE, interpolation="higher")[0].as_py())
    return min(1.0, math.nextafter(highest, 2.0))


def sums_by_host(folder: RunFolder) -> pa.Table:
    """Hosts with their pages, how many were judged, how many are fake, and their share: the worst first."""
    return _summed(folder.read(LANGUAGE_PAGES), ["host", "site"])


def sums_by_cluster(folder: RunFolder) -> pa.Table:
    """The same for style clusters, with the URL of a page of each."""
    if folder.done.get("style") is None:
        raise RunError(f"{folder.path} has no style clusters: scan the inputs again with --signals style,language.")
    members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "cluster_number"])
    members = members.filter(pc.is_valid(members.column("cluster_number")))
    scores = folder.read(LANGUAGE_PAGES)
    rows = pc.index_in(scores.column("page_id"), members.column("page_id").combine_chunks())
    for name in ("cluster_number", "style_cluster_id"):
        scores = scores.append_column(name, members.column(name).take(rows))
    clustered = scores.filter(pc.is_valid(scores.column("cluster_number")))
    return _summed(clustered, ["cluster_number", "style_cluster_id"])


def _summed(scores: pa.Table, keys: list[str]) -> pa.Table:
    verdicts = scores.column("verdict")
    is_fake = pc.equal(verdicts, FAKE)
    is_judged = pc.or_(is_fake, pc.equal(verdicts, NATURAL))
    rows = scores.select([*keys, "judged_words", "fake_probability", "url", *(["host"] if "host" not in keys else [])])
    rows = rows.append_column("is_fake", pc.cast(is_fake, pa.int64()))
    rows = rows.append_column("is_judged", pc.cast(is_judged, pa.int64()))
    totals = [
        ("url", "count", "pages", pc.CountOptions(mode="all")),
        ("is_judged", "sum", "judged", None),
        ("is_fake", "sum", "fake_pages", None),
        ("fake_probability", "mean", "mean_fake_probability", None),
        ("judged_words", "sum", "judged_words", None),
        ("url", "min", "example", None),
    ]
    if "host" not in keys:
        totals.insert(1, ("host", "count_distinct", "hosts", None))
    summed = rows.group_by(keys).aggregate([(column, kind, options) for column, kind, _, options in totals])
    found = {f"{column}_{kind}": name for column, kind, name, _ in totals}
    summed = summed.rename_columns([found.get(name, name) for name in summed.column_names])
    share = pc.divide(
        pc.cast(summed.column("fake_pages"), pa.float64()), pc.cast(summed.column("judged"), pa.float64())
    )
    share = pc.if_else(pc.equal(summed.column("judged"), 0), pa.scalar(None, pa.float64()), share)
    names = [*keys, *(name for _, _, name, _ in totals)]
    summed = summed.select(names).add_column(len(keys) + 3 + ("host" not in keys), "fake_share", share)
    order = [("fake_pages", "descending"), ("mean_fake_probability", "descending"), (keys[0], "ascending")]
    return summed.sort_by(order)
