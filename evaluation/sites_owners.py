"""Sites of one owner, and farms: what the method says of labelled home pages, by pairs and by sites."""

import json
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import samehand
from evaluation.sites_truth import Home
from evaluation.style import Floor
from samehand.methods.sites.providers import share_bounds
from samehand.methods.sites.verdicts import COPIES, FARM, NETWORK, Verdicts
from samehand.sources.http.charset import as_utf8, to_ascii_compatible
from samehand.store.tables import STYLE_MEMBERS

OWNED = (COPIES, NETWORK)


def styles_of(homes: Sequence[Home]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Style cluster and family of each page by a scan; -1 for those in none."""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "homes.jsonl"
        with table.open("w") as file:
            for home in homes:
                content = as_utf8(*to_ascii_compatible(home.content, None)).decode("utf-8", "replace")
                file.write(json.dumps({"url": f"http://{home.domain}/", "html": content}) + "\n")
        members = samehand.scan(str(table), Path(folder) / "run", workers=1).folder.read(STYLE_MEMBERS)
    rows = {row["url"]: row for row in members.to_pylist()}
    found = [rows.get(f"http://{home.domain}/", {}) for home in homes]
    clusters, families = ([row.get(name, -1) for row in found] for name in ("style_cluster_id", "style_family_id"))
    return np.array(clusters, np.int64), np.array(families, np.int64)


def print_owners(homes: Sequence[Home], verdicts: Verdicts) -> list[Floor]:
    """Precision and recall of one owner by sites, and by pairs of sites of one hand."""
    rows = verdicts.sites.sort_by("page_id").select(["kind", "owner_group", "reason"]).to_pylist()
    said = [row["kind"] in OWNED for row in rows]
    mates = _mates(homes)
    truth = [number in mates for number in range(len(homes))]
    right = sum(a and b for a, b in zip(truth, said, strict=True))
    print("\none owner (copies, network), by sites of which another of the same owner is there")
    print(f"  said {sum(said)}, right {right}, in truth {sum(truth)}")
    print(f"  P {_share(right, sum(said))}, R {_share(right, sum(truth))}")
    hands: dict[str, list[bool]] = {}
    for number in mates:
        hands.setdefault(homes[number].hand, []).append(said[number])
    found_hands = sum(2 * sum(calls) >= len(calls) for calls in hands.values())
    print(f"  owners found {_share(found_hands, len(hands))} of {len(hands)}")
    groups: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        if row["owner_group"] is not None:
            groups.setdefault(row["owner_group"], []).append(number)
    pairs = [pair for members in groups.values() for pair in combinations(members, 2)]
    good = sum(_same_hand(homes[a], homes[b]) for a, b in pairs)
    print(f"  pairs said {len(pairs)}, of one labelled hand {good}")
    for members in groups.values():
        named = [f"{homes[n].domain} ({homes[n].kind} {homes[n].hand})" for n in members]
        print(f"    {', '.join(named)}: {rows[members[0]]['reason'][:90]}")
    farms = [home.domain for home in homes if home.kind == FARM]
    found = [home.domain for home, row in zip(homes, rows, strict=True) if home.kind == FARM and row["kind"] == FARM]
    others = sum(row["kind"] == FARM for row in rows) - len(found)
    print(f"farm: {len(found)} of {len(farms)} found (each is a page without others of its hand); of others: {others}")
    return [
        Floor("one owner: precision", right / max(1, sum(said)), 0.95),
        Floor("one owner: recall", right / max(1, sum(truth)), 0.65),
    ]


def _mates(homes: Sequence[Home]) -> set[int]:
    """Sites labelled as of one owner whose hand has another site here."""
    owned: dict[str, list[int]] = {}
    for number, home in enumerate(homes):
        if home.kind in OWNED or home.hand.startswith("owner:"):
            owned.setdefault(home.hand, []).append(number)
    return {number for numbers in owned.values() if len(numbers) > 1 for number in numbers}


def _same_hand(left: Home, right: Home) -> bool:
    return left.hand == right.hand


def _share(count: int, total: int) -> str:
    low, high = share_bounds(count, total)
    return f"{count / max(1, total):.3f} [{low:.3f}, {high:.3f}]"
