"""What the executors do, without Spark: however rows are cut into batches and chunks, the answer is the same."""

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.fingerprints import planted, write_run
from samehand.base.errors import RunWriteError, SamehandError
from samehand.base.settings import Settings
from samehand.engine.spark import stages
from samehand.grouping.edges import cut, spanning_forest
from samehand.grouping.forest import find_forest, join_equal
from samehand.grouping.probes import Buckets
from samehand.methods.style.clusters import group_rows
from samehand.methods.style.sketches import check_rule, probe_plan, searched

PRESETS = {"default": Settings(), "paper": Settings.preset("paper")}


def cut_up(table: pa.Table, rows: int) -> Iterator[pa.RecordBatch]:
    return iter(table.combine_chunks().to_batches(rows))


def whole(batches: Iterator[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(batches)


class Case:
    """A run and all that grouping finds in it at once."""

    def __init__(self, folder, settings: Settings) -> None:
        self.common, self.settings = stages.Common.of(folder, settings), settings
        units = tuple(int(path.stem[5:]) for path in folder.part_paths("style/fingerprints"))
        places = pa.record_batch({"id": pa.array(range(len(units)))})
        self.read = whole(stages.read_parts(self.common, units, iter([places])))
        with searched(folder, settings, probe_plan(settings)) as (self.sketches, buckets):
            self.columns = np.stack(list(buckets.columns))
            self.identity = np.array(buckets.identity)
            kept = Buckets(list(self.columns), self.identity)
            self.forest, self.counts = find_forest(self.sketches, kept, rule=check_rule(settings), threads=1)
        self.joined, self.is_alone = join_equal(self.sketches, self.identity, settings.family_threshold)
        self.grouped = group_rows(self.sketches, self.sketches.page_ids, self.forest, settings)
        self.loose = self.sketches.page_ids[cut(self.forest, len(self.sketches), 0.0)]
        self.tight = self.sketches.page_ids[cut(self.forest, len(self.sketches), settings.cluster_threshold)]

    def rows(self, components: NDArray[np.int64], least: float) -> pa.Table:
        """Pages and the forest's edges that reach `least`, by component."""
        words = self.read.sort_by("page_id").select(["comparable", "filled", "words"])
        pages = pa.table({"component": components, "is_edge": np.zeros(len(components), bool)})
        pages = pages.append_column("left", pa.array(self.sketches.page_ids)).append_column("label", [self.tight])
        for name in words.column_names:
            pages = pages.append_column(name, words.column(name))
        forest = self.forest.above(least)
        left, right = self.sketches.page_ids[forest.pairs].T
        ends = {"component": components[forest.pairs[:, 0]], "is_edge": np.ones(len(forest), bool)}
        edges = pa.table({**ends, "left": left, "right": right, "similarity": forest.similarities})
        both = pa.concat_tables([edges, pages], promote_options="default")
        return both.take(np.random.default_rng(2).permutation(len(both))).sort_by("component")


@pytest.fixture(scope="module", params=list(PRESETS))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    values = planted(9, crowd=150, worm=20)
    folder = write_run(tmp_path_factory.mktemp("stages") / "run", np.array_split(values, 2))
    return Case(folder, PRESETS[request.param])


@pytest.fixture(params=[1, 50, 1 << 20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Chunks of single groups, of several, and all in one."""
    monkeypatch.setattr(stages, "CHUNK_ROWS", request.param)
    return int(request.param)


@pytest.mark.parametrize("batch", [1, 7, 5000])
def test_twins(case: Case, batch: int) -> None:
    met = case.read.sort_by([("identity", "ascending"), ("page_id", "ascending")])
    pages = whole(stages.join_twins(case.common, cut_up(met, batch))).sort_by("page_id")
    assert pages.column("page_id").to_numpy().tolist() == case.sketches.page_ids.tolist()
    assert (pages.column("twin_of").to_numpy() == -1).tolist() == case.is_alone.tolist()
    found = pages.filter(pa.compute.is_valid(pages.column("similarity")))
    expected = {
        int(right): (int(left), float(similarity))
        for (left, right), similarity in zip(
            case.sketches.page_ids[case.joined.pairs], case.joined.similarities, strict=True
        )
    }
    pairs = zip(found.column("twin_of").to_pylist(), found.column("similarity").to_pylist(), strict=True)
    assert dict(zip(found.column("page_id").to_pylist(), pairs, strict=True)) == expected
    assert len(expected) == case.counts.equal > 0


def entries(case: Case) -> pa.Table:
    """All pages that are searched for, by probe and bucket."""
    chosen = np.flatnonzero(case.is_alone & case.sketches.comparable)
    probes = np.repeat(np.arange(len(case.columns), dtype=np.int32), len(chosen))
    table = pa.table({"probe": probes, "bucket": case.columns[:, chosen].view(np.int32).ravel()})
    rows = np.tile(chosen, len(case.columns))
    read = case.read.sort_by("page_id")
    for name in ("page_id", "filled", "words"):
        table = table.append_column(name, read.column(name).take(pa.array(rows)))
    table = table.filter(pa.compute.field("bucket") != stages.EMPTY_BUCKET)
    return table.sort_by([(name, "ascending") for name in ("probe", "bucket", "page_id")])


def test_buckets(case: Case, chunk: int) -> None:
    checked = whole(stages.check_met(case.common, cut_up(entries(case), 61)))
    edges = checked.filter(pa.compute.is_null(checked.column("counts")))
    ids, found = stages.numbered(*(edges.column(name).to_numpy() for name in ("left", "right", "similarity")))
    rows = np.searchsorted(case.sketches.page_ids, ids).astype(np.int32)
    found = type(found).of(rows[found.pairs[:, 0]], rows[found.pairs[:, 1]], found.similarities)
    forest = spanning_forest([case.joined, found], len(case.sketches))
    assert np.array_equal(forest.packed, case.forest.packed)
    assert np.array_equal(forest.similarities, case.forest.similarities)
    counts = checked.column("counts")[-1].as_py()
    wanted = case.counts
    assert counts == [wanted.buckets, wanted.large_buckets, wanted.checks, wanted.leader_cap_hits]
    assert wanted.large_buckets > 0


def test_forests(case: Case, chunk: int) -> None:
    left, right = case.sketches.page_ids[case.forest.pairs].T
    extra = {"left": left, "right": right, "similarity": case.forest.similarities}
    edges = pa.table({"component": case.loose[case.forest.pairs[:, 0]], **extra})
    twice = pa.concat_tables([edges, edges]).sort_by("component")
    found = whole(stages.make_forests(cut_up(twice, 13)))
    order = [(name, "ascending") for name in ("left", "right")]
    assert found.sort_by(order).equals(edges.sort_by(order))


def test_clusters(case: Case, chunk: int) -> None:
    found = whole(stages.find_clusters(case.common, cut_up(case.rows(case.tight, case.settings.cluster_threshold), 17)))
    found = found.sort_by("page_id")
    grouped, page_ids = case.grouped, case.sketches.page_ids
    similarities = np.ones(len(page_ids), np.float32)
    similarities[grouped.clusters.members] = grouped.clusters.similarities
    assert found.column("label").to_pylist() == page_ids[grouped.labels].tolist()
    assert found.column("similarity").to_pylist() == similarities.tolist()
    centres = found.filter(found.column("is_centre")).column("page_id").to_pylist()
    assert centres == sorted(page_ids[grouped.clusters.medoids].tolist())


def test_families(case: Case, chunk: int) -> None:
    rows = case.rows(case.loose, 0.0)
    found = whole(stages.find_families(case.common, cut_up(rows, 17))).sort_by("page_id")
    in_forest = np.unique(case.forest.pairs)
    assert found.column("page_id").to_pylist() == case.sketches.page_ids[in_forest].tolist()
    assert found.column("family").to_pylist() == case.sketches.page_ids[case.grouped.families[in_forest]].tolist()


@given(st.lists(st.integers(1, 9), max_size=20), st.integers(1, 12), st.integers(1, 12))
def test_groups_stay_whole(sizes: list[int], batch: int, chunk: int) -> None:
    keys = np.repeat(np.arange(len(sizes)), sizes)
    rows = pa.table({"key": keys, "at": np.arange(len(keys))})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "CHUNK_ROWS", chunk)
        chunks = list(stages.whole_groups(cut_up(rows, batch), ["key"]))
    assert [at for found, _ in chunks for at in found.column("at").to_pylist()] == list(range(len(keys)))
    starts = [found.column("at")[place].as_py() for found, places in chunks for place in places.tolist()]
    assert starts == [0, *np.cumsum(sizes).tolist()][: len(sizes)]


def test_an_executor_that_is_not_fit_says_so(tmp_path) -> None:
    fit = stages.Common(str(tmp_path), json.dumps(Settings().as_dict()), stages.__version__)
    assert fit.unpacked()[1] == Settings()
    with pytest.raises(RunWriteError, match="share"):
        stages.Common(str(tmp_path / "nowhere"), fit.settings, fit.version).unpacked()
    with pytest.raises(SamehandError, match="install one"):
        stages.Common(fit.folder, fit.settings, "0.0").unpacked()
