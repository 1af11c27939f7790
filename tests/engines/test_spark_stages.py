"""What the executors do, without Spark: however rows are cut into batches and chunks, the answer is the same."""

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.planted import planted, write_run
from samehand.base.errors import RunWriteError, SamehandError
from samehand.base.settings import Settings
from samehand.engine.spark import chunks, stages
from samehand.engine.spark.common import Common, __version__
from samehand.engine.spark.kinds import KINDS
from samehand.grouping.edges import Edges, cut, spanning_forest
from samehand.grouping.forest import find_forest, join_equal
from samehand.grouping.probes import Buckets
from samehand.methods.replica.groups import find_replicas, signature_buckets
from samehand.methods.replica.pairs import PairSketches, pair_buckets
from samehand.methods.replica.signatures import Signed
from samehand.methods.style.channels import probe_plan
from samehand.methods.style.clusters import cluster_figures, group_rows
from samehand.methods.style.sketches import searched
from samehand.store.folder import RunFolder
from samehand.store.tables import REPLICA_GROUPS, REPLICA_SIGNATURES

PRESETS = {"default": Settings(), "paper": Settings.preset("paper")}


def cut_up(table: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    return iter(table.combine_chunks().to_batches(rows))


def whole(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches)


class Case:
    """The pages of a run as they are read, and what the search finds among all of them at once."""

    def __init__(self, name: str, folder: RunFolder, settings: Settings) -> None:
        self.name, self.common, self.settings = name, Common.of(folder, settings), settings
        parts = tuple(zip(folder.page_ids.units.tolist(), folder.page_ids.starts.tolist(), strict=False))
        places = pa.record_batch({"id": pa.array(range(len(parts)))})
        self.read = whole(stages.read_pages(self.common, name, parts, iter([places]))).sort_by("page_id")
        self.page_ids = folder.page_ids.ids()
        self.things, buckets = self.search(folder)
        self.columns, self.identity = np.stack(list(buckets.columns)), np.array(buckets.identity)
        kept = Buckets(list(self.columns), self.identity)
        rule = KINDS[name].rule(settings)
        self.forest, self.counts = find_forest(self.things, kept, rule=rule, threads=1)
        self.joined, self.is_alone = join_equal(self.things, self.identity, rule.edge_threshold)

    def search(self, folder: RunFolder):
        """What is searched, and its buckets, as the local engine has them."""
        if self.name == "style":
            with searched(folder, self.settings, probe_plan(self.settings)) as (sketches, buckets):
                return sketches, Buckets(list(buckets.columns), np.array(buckets.identity))
        self.signed = Signed.of(folder.read(REPLICA_SIGNATURES))
        sketches, sizes = self.signed.sketches, self.signed.pairs
        if self.name == "pairs":
            return PairSketches(sketches, sizes, self.settings.shared_text), pair_buckets(sketches, sizes)
        return self.signed.sets, signature_buckets(self.signed)

    def rows(self, components: NDArray[np.int64], least: float, **labels: NDArray[np.int64]) -> pa.Table:
        """Pages and the forest's edges that reach `least`, by component."""
        pages = self.read.append_column("component", [components])
        for name, values in labels.items():
            pages = pages.append_column(name, [values])
        forest = self.forest.above(least)
        left, right = self.page_ids[forest.pairs].T
        edges = {"left": left, "right": right, "similarity": forest.similarities}
        found = pa.table({"component": components[forest.pairs[:, 0]], **edges})
        return pa.concat_tables([pages, found], promote_options="default").sort_by("component")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> RunFolder:
    values = planted(2, crowd=300, worm=30)
    return write_run(tmp_path_factory.mktemp("stages") / "run", values, (len(values) // 2,))


@pytest.fixture(
    scope="module",
    params=[("style", "default"), ("style", "paper"), ("replica", "default"), ("pairs", "default")],
    ids="-".join,
)
def case(request, folder: RunFolder) -> Case:
    name, preset = request.param
    return Case(name, folder, PRESETS[preset])


@pytest.fixture(scope="module", params=list(PRESETS))
def style(request, folder: RunFolder) -> Case:
    """Style, with the groups that it finds."""
    case = Case("style", folder, PRESETS[request.param])
    case.grouped = group_rows(case.things, case.page_ids, case.forest, case.settings)
    case.loose = case.page_ids[cut(case.forest, len(case.page_ids), 0.0)]
    case.tight = case.page_ids[cut(case.forest, len(case.page_ids), case.settings.cluster_threshold)]
    return case


@pytest.fixture(params=[1, 50, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Chunks of single groups, of several, and all in one."""
    monkeypatch.setattr(chunks, "CHUNK_ROWS", request.param)
    return int(request.param)


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_twins(case: Case, batch: int) -> None:
    assert case.read.column("page_id").to_pylist() == case.page_ids.tolist()
    met = case.read.filter(pc.is_valid(case.read.column("identity")))
    met = met.sort_by([("identity", "ascending"), ("page_id", "ascending")])
    twins = whole(stages.join_twins(case.common, case.name, cut_up(met, batch))).sort_by("page_id")
    assert twins.column("page_id").to_pylist() == case.page_ids[~case.is_alone].tolist()
    found = twins.filter(pc.is_valid(twins.column("similarity")))
    ends, similarities = case.page_ids[case.joined.pairs].tolist(), case.joined.similarities.tolist()
    expected = {right: (left, found) for (left, right), found in zip(ends, similarities, strict=True)}
    pairs = zip(found.column("twin_of").to_pylist(), found.column("similarity").to_pylist(), strict=True)
    assert dict(zip(found.column("page_id").to_pylist(), pairs, strict=True)) == expected
    assert len(expected) == case.counts.equal > 0


def entries(case: Case) -> pa.Table:
    """All pages that are searched for, by probe and bucket."""
    alone = case.read.filter(pa.array(case.is_alone))
    buckets = alone.column("buckets").combine_chunks()
    rows = pc.list_parent_indices(buckets).to_numpy()
    count = len(case.columns)
    table = alone.drop_columns(["buckets", "identity"]).take(pa.array(rows))
    table = table.append_column("probe", pa.array(np.tile(np.arange(count, dtype=np.int32), len(alone))))
    table = table.append_column("bucket", buckets.flatten())
    table = table.filter(pc.is_valid(table.column("bucket")))
    return table.sort_by([(name, "ascending") for name in ("probe", "bucket", "page_id")])


def test_buckets(case: Case, chunk: int) -> None:
    checked = whole(stages.check_met(case.common, case.name, cut_up(entries(case), 61)))
    edges = checked.filter(pc.is_null(checked.column("counts")))
    ids, found = chunks.numbered(*(edges.column(name).to_numpy() for name in ("left", "right", "similarity")))
    rows = np.searchsorted(case.page_ids, ids).astype(np.int32)
    found = type(found).of(rows[found.pairs[:, 0]], rows[found.pairs[:, 1]], found.similarities)
    forest = spanning_forest([case.joined, found], len(case.page_ids))
    assert np.array_equal(forest.packed, case.forest.packed)
    assert np.array_equal(forest.similarities, case.forest.similarities)
    counts = checked.column("counts")[-1].as_py()
    wanted = case.counts
    assert counts[:4] == [wanted.buckets, wanted.large_buckets, wanted.checks, wanted.leader_cap_hits]
    assert (wanted.large_buckets > 0) == (case.settings.exhaustive_bucket_size < len(case.page_ids))


def test_forests(style: Case, chunk: int) -> None:
    pairs = style.forest.pairs
    left, right = style.page_ids[pairs].T
    ends = {"left": left, "right": right, "similarity": style.forest.similarities}
    edges = pa.table({"component": style.loose[pairs[:, 0]], **ends})
    twice = pa.concat_tables([edges, edges]).sort_by("component")
    found = whole(stages.make_forests(style.common, cut_up(twice, 13)))
    order = [(name, "ascending") for name in ("left", "right")]
    between = style.tight[pairs[:, 0]] != style.tight[pairs[:, 1]]
    edges = edges.append_column("label", pa.array(style.tight[pairs[:, 0]], mask=between))
    speaks, found = found.column("speaks"), found.drop_columns(["speaks"])
    assert speaks.null_count == len(edges)
    assert found.filter(pc.is_valid(found.column("right"))).sort_by(order).equals(edges.sort_by(order))
    pages = found.filter(pc.is_null(found.column("right"))).sort_by("left")
    rows = np.unique(pairs)
    assert pages.column("left").to_pylist() == style.page_ids[rows].tolist()
    assert pages.column("component").to_pylist() == style.loose[rows].tolist()
    _, places, sizes = np.unique(style.tight, return_inverse=True, return_counts=True)
    alone = sizes[places] == 1
    assert pages.column("label").to_pylist() == pa.array(style.tight[rows], mask=alone[rows]).to_pylist()
    ends = np.unique(pairs[style.forest.similarities < style.settings.weak_link_below])
    told = dict(zip(found.column("left").to_pylist(), speaks.to_pylist(), strict=True))
    assert all(told[page] for page in style.page_ids[ends].tolist())
    assert between.any() == (style.settings.cluster_threshold > style.settings.family_threshold)


def test_clusters(style: Case, chunk: int) -> None:
    rows = style.rows(style.tight, style.settings.cluster_threshold)
    found = whole(stages.find_clusters(style.common, cut_up(rows, 17))).sort_by("page_id")
    grouped, page_ids = style.grouped, style.page_ids
    groups = grouped.clusters
    similarities = np.ones(len(page_ids), np.float32)
    similarities[groups.members] = groups.similarities
    assert found.column("label").to_pylist() == page_ids[grouped.labels].tolist()
    assert found.column("similarity").to_pylist() == similarities.tolist()
    centres = found.filter(pc.is_valid(found.column("pages")))
    order = np.argsort(groups.medoids)
    assert centres.column("page_id").to_pylist() == page_ids[groups.medoids[order]].tolist()
    for name, figures in cluster_figures(groups, grouped.labels, grouped.forest).items():
        assert centres.column(name).to_pylist() == figures[order].tolist()


@pytest.mark.parametrize("every", [True, False])
def test_families(style: Case, chunk: int, every: bool) -> None:
    """The pages that speak for weak links are enough: all pages say the same."""
    rows = style.rows(style.loose, 0.0, label=style.tight)
    forests = whole(stages.make_forests(style.common, cut_up(rows.filter(pc.is_valid(rows.column("right"))), 61)))
    speaking = forests.filter(pc.fill_null(forests.column("speaks"), False)).column("left")
    if every:
        assert len(speaking) < len(np.unique(style.forest.pairs))
        assert bool(len(speaking)) == (style.settings.weak_link_below > style.settings.family_threshold)
    else:
        chosen = pc.is_in(rows.column("page_id"), speaking)
        rows = rows.filter(pc.or_(chosen, pc.is_valid(rows.column("right"))))
    found = whole(stages.find_families(style.common, cut_up(rows, 17))).sort_by("page_id")
    in_forest = np.unique(style.forest.pairs)
    families = style.grouped.families
    assert found.column("page_id").to_pylist() == style.page_ids[in_forest].tolist()
    assert found.column("style_family_id").to_pylist() == style.page_ids[families[in_forest]].tolist()
    assert found.column("in_family").to_pylist() == (np.bincount(families)[families] > 1)[in_forest].tolist()


def test_documents_and_shared_text(folder: RunFolder, chunk: int) -> None:
    words, pairs = (Case(name, folder, Settings()) for name in ("replica", "pairs"))
    settings, page_ids = words.settings, words.page_ids
    near = pairs.forest.above(settings.replica_jaccard)
    both = Edges(np.concatenate([words.forest.packed, near.packed]), np.ones(len(words.forest) + len(near), np.float32))
    components = page_ids[cut(spanning_forest([both], len(page_ids)), len(page_ids), 0.0)]
    sketches = pairs.read.select(["page_id", "words"]).rename_columns(["page_id", "sketch"])
    rows = words.rows(components, 0.0)
    edges = pairs.rows(components, settings.replica_jaccard)
    edges = edges.filter(pc.is_valid(edges.column("right"))).select(["component", "left", "right", "similarity"])
    is_cosine = pa.array([True] * rows.num_rows, mask=np.asarray(rows.column("right").is_null()))
    rows = pa.concat_tables(
        [rows.append_column("is_cosine", is_cosine), edges.append_column("is_cosine", [[False] * len(edges)])],
        promote_options="default",
    )
    places = pc.index_in(rows.column("page_id"), sketches.column("page_id").combine_chunks())
    rows = rows.append_column("sketch", sketches.column("sketch").take(places)).sort_by("component")
    found = whole(stages.find_documents(words.common, cut_up(rows, 17)))
    wanted = find_replicas(page_ids, words.signed, settings, threads=1)
    order = [("replica_group_id", "ascending"), ("page_id", "ascending")]
    assert found.select(wanted.members.column_names).sort_by(order).equals(wanted.members)
    centres = found.filter(pc.is_valid(found.column("documents"))).sort_by("replica_group_id")
    assert centres.column("page_id").to_pylist() == wanted.groups.column("centre_page_id").to_pylist()
    for name in ("documents", "weakest_cosine", "mean_cosine"):
        assert centres.column(name).to_pylist() == wanted.groups.column(name).to_pylist()
    loose = pairs.rows(page_ids[cut(pairs.forest, len(page_ids), 0.0)], 0.0)
    shares = whole(stages.find_shares(words.common, cut_up(loose, 17))).sort_by("page_id")
    told = pc.is_in(shares.column("page_id"), wanted.shares.column("page_id").combine_chunks())
    assert shares.filter(told).equals(wanted.shares.cast(shares.schema))
    assert shares.num_rows > wanted.shares.num_rows > 0


def test_a_table_is_written_in_the_order_of_its_parts_and_ranked(folder: RunFolder, chunk: int, tmp_path) -> None:
    page_ids = folder.page_ids.ids()[:90]
    rows = pa.table(
        {
            "replica_group_id": page_ids,
            "documents": np.arange(90)[::-1],
            "hosts": np.arange(90),
            "sites": np.arange(90),
            "weakest_cosine": np.ones(90, np.float32),
            "mean_cosine": np.ones(90, np.float32),
            "centre_page_id": page_ids,
            "centre_url": [f"http://a.com/{row}" for row in range(90)],
        }
    )
    for part, name in enumerate(("part-00000-x", "part-99999-x", "part-100000-x")):
        pq.write_table(rows.slice(30 * part, 30), tmp_path / f"{name}.parquet")
    one = iter([pa.record_batch({"id": [0]})])
    (answer,) = stages.write_table(Common.of(folder, Settings()), REPLICA_GROUPS.name, str(tmp_path), one)
    assert json.loads(answer.column(0)[0].as_py()) == ["done", {"rows": 90}]
    found = folder.read(REPLICA_GROUPS)
    assert found.select(rows.column_names).equals(rows.cast(found.select(rows.column_names).schema))
    assert found.column("group_number").to_pylist() == list(range(1, 91))


def test_a_method_that_fails_says_its_sentence(tmp_path) -> None:
    common = Common.of(RunFolder(tmp_path), Settings())
    one = iter([pa.record_batch({"id": [0]})])
    (answer,) = stages.group_whole(common, "classes", one)
    ended, sentence = json.loads(answer.column(0)[0].as_py())
    assert ended == "failed"
    assert "clusters.parquet is missing" in sentence


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 12), st.integers(1, 12))
def test_groups_stay_whole(sizes: list[int], batch: int, chunk: int) -> None:
    keys = np.repeat(np.arange(len(sizes)), sizes)
    rows = pa.table({"key": keys, "at": np.arange(len(keys))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunks, "CHUNK_ROWS", chunk)
        found_chunks = list(chunks.whole_groups(cut_up(rows, batch), ["key"]))
    assert [at for found, _ in found_chunks for at in found.column("at").to_pylist()] == list(range(len(keys)))
    starts = [found.column("at")[place].as_py() for found, places in found_chunks for place in places.tolist()]
    assert starts == [0, *np.cumsum(sizes).tolist()][: len(sizes)]


def test_a_component_that_is_too_large_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_ROWS", 4)
    monkeypatch.setattr(chunks, "MOST_ROWS", 9)
    rows = pa.table({"key": np.zeros(40, np.int64)})
    with pytest.raises(SamehandError, match="hang together"):
        list(chunks.whole_groups(cut_up(rows, 3), ["key"]))


def test_an_executor_that_is_not_fit_says_so(tmp_path) -> None:
    fit = Common(str(tmp_path), json.dumps(Settings().as_dict()), __version__)
    assert fit.unpacked()[1] == Settings()
    with pytest.raises(RunWriteError, match="share"):
        Common(str(tmp_path / "nowhere"), fit.settings, fit.version).unpacked()
    with pytest.raises(SamehandError, match="install one"):
        Common(fit.folder, fit.settings, "0.0").unpacked()
