"""Classes of clusters: the figures equal a plain count, and each class is told from its own figures."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.classes.classes import classify, read_members

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
        "made": st.sampled_from([0.0, 1.0, np.nan]),
        "similarity": st.sampled_from([0.5, 0.99]),
    }
)


def classified(pages: list[dict]) -> list[dict]:
    """The rows of the table, with figures."""
    ids = np.arange(len(pages)) + 100
    members = pa.table(
        {
            "page_id": ids,
            "style_cluster_id": pa.array([1000 + page["cluster"] for page in pages], pa.int64()),
            "similarity": pa.array([page["similarity"] for page in pages], pa.float32()),
            "made": pa.array([page["made"] for page in pages], pa.float64()),
        }
    )
    named = [(int(page_id), page["replica"]) for page_id, page in zip(ids, pages, strict=True) if page["replica"]]
    replicas = pa.table(
        {
            "page_id": pa.array([page_id for page_id, _ in named], pa.int64()),
            "replica_group_id": pa.array([group for _, group in named], pa.int64()),
        }
    )
    signatures = pa.table(
        {
            "distinct_words": pa.array([len(page["words"]) for page in pages], pa.int64()),
            "status": pa.array(["few words" if len(page["words"]) < 5 else "signed" for page in pages], pa.string()),
            "word_set": pa.array([page["words"] for page in pages], pa.large_list(pa.uint32())),
            "link_hosts": pa.array(
                [sorted(NUMBERS[host] for host in page["links"]) for page in pages], pa.large_list(pa.uint64())
            ),
        }
    )
    urls = pa.table(
        {
            "url": pa.array([f"http://{page['host']}{page['path']}" for page in pages], pa.string()),
            "url_host_name": pa.array([page["host"] for page in pages], pa.string()),
        }
    )
    ids_of = sorted({1000 + page["cluster"] for page in pages}, reverse=True)
    clusters = pa.table({"style_cluster_id": pa.array(ids_of, pa.int64())})
    halves = len(pages) // 2, len(pages) - len(pages) // 2
    parts = [
        [
            batch
            for first, rows in zip((0, halves[0]), halves, strict=True)
            for batch in table.slice(first, rows).to_batches()
        ]
        for table in (urls, signatures)
    ]
    return classify(clusters, read_members(members, parts[0], replicas, parts[1], clusters)).to_pylist()


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
    judged = [page["made"] for page in pages if not np.isnan(page["made"])]
    return {
        "same_text": len(copied) / len(pages),
        "same_path": len(placed) / len(copied) if copied else 0.0,
        "same_links": sum(same) / len(copied) if copied else 0.0,
        "inner_links": sum(inner) / len(pages),
        "made_text": sum(judged) / len(judged) if judged else 0.0,
    }


@given(st.lists(PAGE, min_size=1, max_size=12))
def test_figures_equal_counting(pages: list[dict]) -> None:
    for row in classified(pages):
        own = [page for page in pages if 1000 + page["cluster"] == row["style_cluster_id"]]
        for name, wanted in figures_of(own).items():
            assert row[name] == pytest.approx(wanted, abs=1e-4), name


def page(host: str, path: str = "/", *, words: int = 200, links: tuple[str, ...] = (), **more: object) -> dict:
    usual = {"cluster": 0, "replica": 7, "made": np.nan, "similarity": 0.99}
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
