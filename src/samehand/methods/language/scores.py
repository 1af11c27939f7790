"""From judged texts to the language answers of a run: every page's score, and sums by host and by style cluster."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from samehand.base.errors import RunError
from samehand.methods.language.detector import FAKE, NATURAL
from samehand.methods.language.signal import LANGUAGE_SCHEMA, LanguageSignal
from samehand.methods.style.clusters import MEMBERS
from samehand.store.folder import RunFolder, TableWriter

SCORES = "language/scores.parquet"
SCORES_SCHEMA = pa.schema(
    [
        pa.field("url", pa.string()),
        LANGUAGE_SCHEMA.field("page_id"),
        *(field for field in LANGUAGE_SCHEMA if field.name != "page_id"),
        pa.field("host", pa.string()),
        pa.field("domain", pa.string()),
    ]
)
_PAGE_COLUMNS = ["page_id", "url", "url_host_name", "url_host_private_domain"]


def write_scores(folder: RunFolder) -> dict[str, Any]:
    """Writes the score of every page, in page_id order and a part at a time; returns how often each verdict fell."""
    verdicts: Counter[str] = Counter()
    cut = 0
    with TableWriter(folder.path / SCORES, SCORES_SCHEMA) as writer:
        for path in folder.part_paths(LanguageSignal.table):
            judged = pq.read_table(path, partitioning=None)
            named = pq.read_table(folder.path / "pages" / path.name, columns=_PAGE_COLUMNS, partitioning=None)
            if not named.column("page_id").equals(judged.column("page_id")):
                raise RunError(f"{path} is not of the pages beside it: run the same scan again with --force.")
            hosts = named.column("url_host_name")
            columns = {name: judged.column(name) for name in judged.column_names}
            columns |= {"url": named.column("url"), "host": hosts}
            columns["domain"] = pc.coalesce(named.column("url_host_private_domain"), hosts)
            writer.write_table(pa.table([columns[name] for name in SCORES_SCHEMA.names], schema=SCORES_SCHEMA))
            verdicts.update(judged.column("verdict").to_pylist())
            cut += pc.sum(judged.column("is_cut")).as_py() or 0
    return {"verdicts": dict(sorted(verdicts.items())), "pages": verdicts.total(), "texts_cut": cut}


def worst_first(folder: RunFolder) -> pa.Table:
    """Every page of a run: the likeliest fakes first, those without an answer last."""
    scores = folder.read_table(SCORES)
    return scores.sort_by([("fake_probability", "descending"), ("page_id", "ascending")])


def sums_by_host(folder: RunFolder) -> pa.Table:
    """Hosts with their pages, how many were judged, how many are fake, and their share: the worst first."""
    return _summed(folder.read_table(SCORES), ["host", "domain"])


def sums_by_cluster(folder: RunFolder) -> pa.Table:
    """Style clusters, likewise, with the address of a page of each."""
    if not (folder.path / MEMBERS).is_file():
        raise RunError(f"{folder.path} has no style clusters: scan the inputs with --signals style,language.")
    members = folder.read_table(MEMBERS, ["page_id", "cluster_id"])
    members = members.filter(pc.is_valid(members.column("cluster_id")))
    rows = pc.index_in(folder.read_table(SCORES, ["page_id"]).column("page_id"), members.column("page_id"))
    scores = folder.read_table(SCORES).append_column("cluster_id", members.column("cluster_id").take(rows))
    return _summed(scores.filter(pc.is_valid(scores.column("cluster_id"))), ["cluster_id"])


def _summed(scores: pa.Table, keys: list[str]) -> pa.Table:
    verdicts = scores.column("verdict")
    is_fake = pc.equal(verdicts, FAKE)
    is_judged = pc.or_(is_fake, pc.equal(verdicts, NATURAL))
    rows = scores.select([*keys, "tokens", "fake_probability", "url", *(["host"] if "host" not in keys else [])])
    rows = rows.append_column("is_fake", pc.cast(is_fake, pa.int64()))
    rows = rows.append_column("is_judged", pc.cast(is_judged, pa.int64()))
    totals = [
        ("url", "count", "pages", pc.CountOptions(mode="all")),
        ("is_judged", "sum", "judged", None),
        ("is_fake", "sum", "fake_pages", None),
        ("fake_probability", "mean", "mean_fake", None),
        ("tokens", "sum", "tokens", None),
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
    order = [("fake_pages", "descending"), ("mean_fake", "descending"), (keys[0], "ascending")]
    return summed.sort_by(order)
