"""Components on Spark: equal to union-find on every kind of graph, in a logarithmic number of rounds on chains."""

import itertools
import math
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from samehand.engine.spark.components import components, components_and_rounds

CHAIN = 128
APART = 1_000_000
Edge = tuple[int, int]


def by_union_find(edges: Iterable[Edge]) -> dict[int, int]:
    """The smallest node of each node's component, the plain way."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in edges:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    return {node: root(node) for node in list(parent)}


def chain(nodes: list[int]) -> list[Edge]:
    return list(itertools.pairwise(nodes))


def shuffled(count: int, rng: random.Random) -> list[int]:
    return rng.sample(range(count), count)


def graphs() -> Iterator[list[Edge]]:
    """Small graphs of every kind; each gets nodes of its own, so that one run of Spark proves them all."""
    rng = random.Random(3)
    yield [(node, 0) for node in range(1, 500)]  # a star, its hub the smallest
    yield [(499, node) for node in range(499)]  # a star, its hub the largest
    yield [(5, 5)]
    yield [(5, 5), (5, 7), (7, 5), (5, 7), (9, 9)]
    yield [(-3, 2), (2, -(1 << 40))]
    yield chain([*range(0, 200, 2), *range(199, 0, -2)])  # up and down again
    yield [(low, high) for low in range(20) for high in range(low, 20)]
    for _ in range(40):
        count = rng.randrange(2, 60)
        yield [(rng.randrange(count), rng.randrange(count)) for _ in range(rng.randrange(1, 2 * count))]


def all_graphs() -> list[Edge]:
    rng = random.Random(5)
    edges = [
        (left + number * APART, right + number * APART)
        for number, graph in enumerate(graphs())
        for left, right in graph
    ]
    first, second = shuffled(CHAIN, rng), shuffled(CHAIN, rng)
    edges += chain(list(range(600 * APART, 600 * APART + CHAIN)))  # in order: the worst there is
    edges += chain([2 * node + 500 * APART for node in first]) + chain([2 * node + 1 + 500 * APART for node in second])
    rng.shuffle(edges)
    return edges


def frame_of(spark, edges: list[Edge]):
    columns = zip(*edges, strict=True) if edges else ([], [])
    names = ("left", "right")
    return spark.createDataFrame(
        pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})
    )


def as_dict(found) -> dict[int, int]:
    rows = [(row["node"], row["component"]) for row in found.collect()]
    assert len(rows) == len(dict(rows)), "a node has one component"
    return dict(rows)


def test_equal_to_union_find_in_a_logarithmic_number_of_rounds(spark, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("samehand.engine.spark.components.FEW_LINKS", 0)
    edges = all_graphs()
    found, rounds = components_and_rounds(frame_of(spark, edges), scratch=tmp_path)
    assert as_dict(found) == by_union_find(edges)
    assert rounds <= math.log2(CHAIN) + 1
    assert len(list(tmp_path.glob("round-*"))) == 1, "only the last round is kept"


def test_few_edges_need_no_round(spark, tmp_path: Path) -> None:
    edges = [*chain(shuffled(300, random.Random(7))), (1000, 1000)]
    found, rounds = components_and_rounds(frame_of(spark, edges), scratch=tmp_path)
    assert as_dict(found) == by_union_find(edges)
    assert rounds == 0


def test_no_edges_no_components(spark, tmp_path: Path) -> None:
    assert as_dict(components(frame_of(spark, []), scratch=tmp_path)) == {}


@pytest.mark.parametrize("graph", list(graphs())[:7])
def test_the_plain_way_is_right(graph: list[Edge]) -> None:
    found = by_union_find(graph)
    assert all(found[left] == found[right] for left, right in graph)
    assert all(found[component] == component <= node for node, component in found.items())
