"""Sites of one owner, and farms: what the method says of labelled home pages, by pairs and by sites."""

from collections.abc import Sequence
from itertools import combinations

from evaluation.sites_truth import Home
from samehand.methods.sites.providers import share_bounds
from samehand.methods.sites.verdicts import COPIES, FARM, NETWORK, Verdicts

OWNED = (COPIES, NETWORK)


def print_owners(homes: Sequence[Home], verdicts: Verdicts) -> None:
    """Precision and recall of one owner by sites, and by pairs of sites of one hand."""
    rows = verdicts.sites.sort_by("page_id").select(["kind", "owner_group", "reason"]).to_pylist()
    said = [row["kind"] in OWNED for row in rows]
    mates = _mates(homes)
    truth = [number in mates for number in range(len(homes))]
    right = sum(a and b for a, b in zip(truth, said, strict=True))
    print("\none owner (copies, network), by sites of which another of the same owner is there")
    print(f"  said {sum(said)}, right {right}, in truth {sum(truth)}")
    print(f"  P {_share(right, sum(said))}, R {_share(right, sum(truth))}")
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
    print(f"farm: {len(found)} of {len(farms)} found; said of others: {others}")


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
