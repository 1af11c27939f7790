"""Classes of clusters: the figures equal a plain count, and each class is told from its own figures."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.classes import classes
from samehand.methods.classes.classes import classify
from samehand.methods.classes.members import read_members
from samehand.store.page_ids import PageIds
from samehand.store.table import Table

HOSTS = ["a.com", "b.com", "c.com", "d.com", "www.e.com"]
OTHERS = ["x.org", "y.org", "z.org", "u.org", "v.org", "w.org"]
PATHS = ["", "/", "/index.html", "/Home/", "/a", "/a?b=c", "/a#d", "/?q"]


def number_of(host: str) -> int:
    return int(hash_hosts(*text_buffers(pa.array([host])))[0])


NUMBERS = {host: number_of(host) for host in (*HOSTS, *OTHERS)}
PAGE = st.fixed_dictionaries(
    {
        "cluster": st.integers(0, 2),
        "host": st.sampled_from(HOSTS),
        "path": st.sampled_from(PATHS),
        "replica": st.sampled_from([None, 7, 8]),
        "words": st.sampled_from([[], [91], [91, 92], list(range(9)), list(range(120))]),
        "links": st.sets(st.sampled_from([*HOSTS, *OTHERS])),
        "made": st.sampled_from([0.0, 1.0, None]),
        "similarity": st.sampled_from([0.5, 0.99]),
    }
)

ALONE = {"cluster": -1, "host": "a.com", "path": "/", "replica": None, "words": [], "links": set(), "made": None}
ALONE["similarity"] = 1.0
NAMED = ("cluster", "replica")
MADE = {0.0: "natural", 1.0: "fake", None: "too short"}


class Tables:
    """A run folder of one unit that is in memory, as `read_members` reads it: two batches of each table."""

    path: None = None

    def __init__(self, pages: int, tables: dict[str, pa.Table]) -> None:
        self.page_ids, self.done, self._tables = PageIds.of({0: pages}), self, tables

    def get(self, _: str) -> dict[str, str]:
        return {}

    def part_numbers(self, _: Table) -> list[int]:
        return [0]

    def iterate(self, table: Table, columns: list[str]) -> list[pa.RecordBatch]:
        rows = self._tables[table.name].select(columns)
        half = rows.num_rows // 2
        return [*rows.slice(0, half).to_batches(), *rows.slice(half).to_batches()]

    def iterate_part(self, table: Table, _number: int, columns: list[str], _rows: int) -> list[pa.RecordBatch]:
        return self.iterate(table, columns)


def classified(pages: list[dict]) -> list[dict]:
    """The rows of the table, with figures. A page that is alone stands first, and clusters in reverse order."""
    pages = [ALONE, *pages]
    first_of = {(kind, page[kind]): number for number, page in reversed([*enumerate(pages)]) for kind in NAMED}
    ids = {kind: [first_of[kind, page[kind]] for page in pages] for kind in NAMED}
    grouped = [number for number, page in enumerate(pages) if page["replica"] is not None]
    links = [sorted(NUMBERS[host] for host in page["links"]) for page in pages]
    tables = {
        "style/members": {
            "page_id": range(len(pages)),
            "style_cluster_id": ids["cluster"],
            "similarity": pa.array([page["similarity"] for page in pages], pa.float32()),
        },
        "replica/members": {"page_id": grouped, "replica_group_id": [ids["replica"][number] for number in grouped]},
        "replica/signatures": {
            "distinct_words": [len(page["words"]) for page in pages],
            "status": ["few words" if len(page["words"]) < 5 else "signed" for page in pages],
            "word_set": pa.array([page["words"] for page in pages], pa.large_list(pa.uint32())),
            "link_hosts": pa.array(links, pa.large_list(pa.uint64())),
        },
        "pages": {
            "url": [f"http://{page['host']}{page['path']}" for page in pages],
            "url_host_name": [page["host"] for page in pages],
        },
        "language/pages": {"verdict": [MADE[page["made"]] for page in pages]},
    }
    folder = Tables(len(pages), {name: pa.table(columns) for name, columns in tables.items()})
    cluster_ids = np.array(sorted(set(ids["cluster"][1:]), reverse=True), np.int64)
    found = classify(cluster_ids, read_members(folder, cluster_ids)).to_pylist()
    names = {number: cluster for (kind, cluster), number in first_of.items() if kind == "cluster"}
    return [{**row, "style_cluster_id": 1000 + names[row["style_cluster_id"]]} for row in found]


def text_of(page: dict) -> object:
    if len(page["words"]) < 5:
        return tuple(page["words"]) if page["similarity"] >= 0.95 else page["replica"]
    return page["replica"]


def path_of(page: dict) -> str:
    path = page["path"].partition("#")[0]
    return "" if path in ("", "/", "/index.html", "/Home/") else path


def figures_of(pages: list[dict]) -> dict[str, float]:
    """The figures of one cluster, counted one page at a time."""
    hosts, in_place, targets = defaultdict(set), defaultdict(set), defaultdict(set)
    inside = {page["host"] for page in pages}
    for page in pages:
        if text_of(page) is not None:
            hosts[text_of(page)].add(page["host"])
            in_place[text_of(page), path_of(page)].add(page["host"])
            for link in page["links"] - inside:
                targets[text_of(page), link].add(page["host"])
    copied = [page for page in pages if text_of(page) is not None and len(hosts[text_of(page)]) > 1]
    placed = [page for page in copied if path_of(page) and len(in_place[text_of(page), path_of(page)]) > 1]
    same = []
    for page in copied:
        outside = page["links"] - inside
        shared = [link for link in outside if len(targets[text_of(page), link]) > 1]
        same.append(len(shared) / len(outside) if outside else 1.0)
    inner = []
    for page in pages:
        others = page["links"] - {page["host"]}
        inner.append(len(others & inside) / len(others) if others else 0.0)
    judged = [page["made"] for page in pages if page["made"] is not None]
    return {
        "same_text": len(copied) / len(pages),
        "same_path": len(placed) / len(copied) if copied else 0.0,
        "same_links": sum(same) / len(copied) if copied else 0.0,
        "inner_links": sum(inner) / len(pages),
        "made_text": sum(judged) / len(judged) if judged else 0.0,
    }


@pytest.mark.parametrize("at_once", [1, 5, 1000])
@given(pages=st.lists(PAGE, min_size=1, max_size=12))
def test_figures_equal_counting(pages: list[dict], at_once: int) -> None:
    """However many members are counted at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes, "_AT_ONCE", at_once)
        found = classified(pages)
    assert {row["style_cluster_id"] for row in found} == {1000 + page["cluster"] for page in pages}
    for row in found:
        own = [page for page in pages if 1000 + page["cluster"] == row["style_cluster_id"]]
        for name, wanted in figures_of(own).items():
            assert row[name] == pytest.approx(wanted, abs=1e-4), name


def page(host: str, path: str = "/", *, words: int = 200, links: tuple[str, ...] = (), **more: object) -> dict:
    usual = {"cluster": 0, "replica": 7, "made": None, "similarity": 0.99}
    return {**usual, "host": host, "path": path, "words": list(range(words)), "links": set(links), **more}


@pytest.mark.parametrize(
    ("wanted", "pages"),
    [
        ("mirror", [page("a.com", "/a"), page("b.com", "/a")]),
        ("mirror", [page("a.com", links=("x.org", "a.com")), page("b.com", links=("x.org", "a.com"))]),
        ("mirror", [page("a.com", words=20, links=tuple(OTHERS)), page("b.com", words=20, links=tuple(OTHERS))]),
        ("identical", [page("a.com", words=0, replica=None), page("b.com", words=0, replica=None)]),
        ("identical", [page("a.com", words=20, links=("x.org",)), page("b.com", words=20, links=("x.org",))]),
        ("copy", [page("a.com", "/a", links=("x.org",)), page("b.com", "/?q", links=("x.org",))]),
        ("copy", [page("a.com", links=("x.org",)), page("b.com", links=("y.org",))]),
        ("link farm", [page("a.com", replica=None, links=("b.com",)), page("b.com", replica=None, links=("a.com",))]),
        ("link farm", [page("a.com", replica=None, made=1.0), page("b.com", replica=None, made=1.0)]),
        ("template", [page("a.com", replica=None, made=0.0), page("b.com", replica=None)]),
        ("template", [page("a.com", words=0, replica=None, similarity=0.7), page("b.com", words=0, replica=None)]),
    ],
)
def test_each_class(wanted: str, pages: list[dict]) -> None:
    assert [row["class"] for row in classified(pages)] == [wanted]


def test_no_clusters() -> None:
    assert classified([]) == []
