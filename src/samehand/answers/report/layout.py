"""Where to draw the nodes of a forest: each tree as circles around its root, trees side by side. No randomness."""

import numpy as np
from numpy.typing import NDArray


def tree_layout(nodes: int, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Places of nodes in the plane. A child stands outside its parent, within the angle that its subtree needs."""
    near: list[list[int]] = [[] for _ in range(nodes)]
    for left, right in pairs.tolist():
        near[left].append(right)
        near[right].append(left)
    places = np.zeros((nodes, 2))
    seen = np.zeros(nodes, np.bool_)
    offset = 0.0
    for root in sorted(range(nodes), key=lambda node: (-len(near[node]), node)):
        if seen[root]:
            continue
        order, parent, depth = _walk(root, near, seen)
        weight = _leaves(order, parent)
        radius = max(depth.values()) + 1.0
        _place(order, parent, depth, weight, places)
        places[order, 0] += offset + radius
        offset += 2 * radius + 0.5
    return np.round(places, 3)


def _walk(
    root: int, near: list[list[int]], seen: NDArray[np.bool_]
) -> tuple[list[int], dict[int, int], dict[int, int]]:
    """The nodes of a tree, parents before children, with parent and depth of each."""
    order, parent, depth = [root], {root: root}, {root: 0}
    seen[root] = True
    for node in order:
        for child in near[node]:
            if not seen[child]:
                seen[child] = True
                parent[child], depth[child] = node, depth[node] + 1
                order.append(child)
    return order, parent, depth


def _leaves(order: list[int], parent: dict[int, int]) -> dict[int, int]:
    """How many leaves hang below each node."""
    weight = dict.fromkeys(order, 0)
    for node in reversed(order):
        weight[node] = max(1, weight[node])
        if parent[node] != node:
            weight[parent[node]] += weight[node]
    return weight


def _place(
    order: list[int],
    parent: dict[int, int],
    depth: dict[int, int],
    weight: dict[int, int],
    places: NDArray[np.float64],
) -> None:
    start = {order[0]: 0.0}
    used = dict.fromkeys(order, 0.0)
    width = {order[0]: 2 * np.pi}
    for node in order:
        above = parent[node]
        if above != node:
            width[node] = width[above] * weight[node] / weight[above]
            start[node] = start[above] + used[above]
            used[above] += width[node]
        angle = start[node] + width[node] / 2
        places[node] = depth[node] * np.cos(angle), depth[node] * np.sin(angle)
