"""Verdicts of a run: what to do with pages, sites, clusters and providers, and the sum behind each."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.arguments import told
from samehand.answers.result import Result
from samehand.base.errors import UsageError
from samehand.base.neutral import neutral
from samehand.base.setting import nearest
from samehand.methods.verdicts.given import DECIDING, HOW
from samehand.methods.verdicts.model import Weights, run_weights
from samehand.methods.verdicts.policy import STRONGEST_FIRST, read_policy
from samehand.methods.verdicts.rows import actions_of
from samehand.store.folder import RunFolder
from samehand.store.table import Table
from samehand.store.tables import VERDICT_CLUSTERS, VERDICT_PAGES, VERDICT_PROVIDERS, VERDICT_SITES

UNITS: dict[str, Table] = {
    "pages": VERDICT_PAGES,
    "sites": VERDICT_SITES,
    "clusters": VERDICT_CLUSTERS,
    "providers": VERDICT_PROVIDERS,
}
SHOWN = ("action", "kind", "probability", "site", "url", "cluster_number", "provider")
_NAMED_BY = {"pages": "url", "sites": "site", "providers": "provider"}


def verdict_rows(folder: RunFolder, unit: str, policy: str | None, kind: str | None) -> Result:
    """The verdicts on all units of a sort, strongest action and likeliest first; another policy's if one is named."""
    if not isinstance(unit, str) or unit not in UNITS:
        raise UsageError(f"There are no verdicts on {told(unit)}{nearest(str(unit), UNITS)}")
    table = folder.read(UNITS[unit])
    if policy is not None:
        actions = actions_of(table, unit, read_policy(policy))
        table = table.set_column(table.column_names.index("action"), "action", actions)
    if kind is not None:
        known = sorted(set(table.column("kind").to_pylist()))
        if kind not in known:
            raise UsageError(f"No verdict on {unit} is of the kind {told(kind)}{nearest(str(kind), known)}")
        table = table.filter(pc.equal(table.column("kind"), kind))
    if unit != "clusters":
        strength = pc.index_in(table.column("action"), value_set=pa.array(STRONGEST_FIRST))
        order = [("strength", "ascending"), ("probability", "descending")]
        table = table.append_column("strength", strength).sort_by(order).drop_columns("strength")
    return Result(table, shown_first=SHOWN)


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One item of evidence.

    Attributes:
        symbol: Its name.
        group: Its group. What a group adds is bounded.
        log_odds: What it adds to the natural-log odds, before the bounds of its group.
        sentence: What was found.
    """

    symbol: str
    group: str
    log_odds: float
    sentence: str


@dataclasses.dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """What one page, site, cluster or provider is, and why: the answer of `Run.verdict`.

    Attributes:
        name: The URL, the site, the number of the cluster, or the provider.
        action: keep, review, drop or block.
        kind: What it is.
        probability: Probability that nobody needs it.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
        prior: Log-odds before any evidence.
        groups: What each group adds, within its bounds.
        log_odds: The prior and all groups together.
        items: The evidence, strongest first.
        label: wanted or unwanted, if a label by hand names the unit or spread to it; else None.
        label_how: asked, site or cluster if that label decides; identical, group or path if it spread.
        label_way: URLs from the labelled page to this one, if the label spread along links or to the same bytes.
        guard: Why it is never blocked, or None.
    """

    name: str
    action: str
    kind: str
    probability: float
    low: float
    high: float
    prior: float
    groups: dict[str, float]
    log_odds: float
    items: tuple[Item, ...]
    label: str | None
    label_how: str | None
    label_way: tuple[str, ...]
    guard: str | None

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The sum as lines of text: one step for each group, with the items in it."""
        span = f"{self.probability:.3f} ({self.low:.3f} to {self.high:.3f})"
        lines = [f"{neutral(self.name)}: {self.action}, {self.kind}, probability {span}"]
        lines += self._about_label()
        if self.guard is not None:
            lines.append(f"It is under the guard and never blocked: {neutral(self.guard)}.")
        lines.append(f"{self.prior:+6.2f}  prior")
        for group, added in self.groups.items():
            lines.append(f"{added:+6.2f}  {group}")
            inside = [item for item in self.items if item.group == group]
            lines += [f"        {item.log_odds:+.2f} {item.symbol}: {item.sentence}" for item in inside]
        lines.append(f"{self.log_odds:+6.2f}  log-odds that nobody needs it")
        return lines

    def _about_label(self) -> list[str]:
        if self.label is None or self.label_how is None:
            return []
        if self.label_how in [HOW[how] for how in DECIDING]:
            of = "" if self.label_how == "asked" else f" of its {self.label_how}"
            return [f"A label by hand{of} decides: {neutral(self.label)}."]
        how = {"identical": "it has the same bytes", "group": "two sites of its cluster have it"}
        told = how.get(self.label_how, "links of style lead to it")
        lines = [f"A label by hand spread to it: {neutral(self.label)}; {told}."]
        return lines + [f"        from {neutral(url)}" for url in self.label_way]


def verdict_of(folder: RunFolder, name: str | int) -> Verdict | None:
    """The verdict on a cluster by its number, or on a page, site or provider by its name; None if there is none."""
    if isinstance(name, int):
        return verdict_where(folder, "clusters", "cluster_number", name)
    verdicts = (verdict_where(folder, unit, column, name) for unit, column in _NAMED_BY.items())
    return next((verdict for verdict in verdicts if verdict is not None), None)


def verdict_where(folder: RunFolder, unit: str, column: str, value: str | int) -> Verdict | None:
    """The verdict on the unit whose `column` has `value`."""
    found = folder.find(UNITS[unit], column, value)
    if not len(found):
        return None
    row = found.to_pylist()[0]
    name = f"cluster {value}" if unit == "clusters" else row[_NAMED_BY[unit]]
    return _verdict(folder, row, name, run_weights(folder))


def _label_way(folder: RunFolder, row: dict[str, Any]) -> tuple[str, ...]:
    """URLs from the labelled page on, up to the page before this one."""
    way: dict[int, str] = {}
    page_id = row["label_via_page_id"]
    while page_id is not None and page_id not in way:  # a stranger may have written a circle
        place = folder.page_ids.rows(np.array([page_id]))
        here = folder.read_rows(VERDICT_PAGES, place, ["url", "label_via_page_id"]).to_pylist()[0]
        way[page_id] = here["url"]
        page_id = here["label_via_page_id"] if page_id != row["label_page_id"] else None
    return tuple(reversed(way.values()))


def _verdict(folder: RunFolder, row: dict[str, Any], name: str, weights: Weights) -> Verdict:
    sums: dict[str, float] = {}
    for item in row["evidence"]:
        sums[item["group"]] = sums.get(item["group"], 0.0) + item["log_odds"]
    bounds = {group: weights.groups.get(group, (-99.0, 99.0)) for group in sums}
    groups = {group: min(max(sums[group], low), high) for group, (low, high) in bounds.items()}
    items = tuple(
        Item(item["symbol"], item["group"], item["log_odds"], _sentence(weights, item["symbol"], item["value"]))
        for item in row["evidence"]
    )
    return Verdict(
        name=name,
        action=row["action"],
        kind=row["kind"],
        probability=row["probability"],
        low=row["probability_low"],
        high=row["probability_high"],
        prior=weights.prior,
        groups=dict(sorted(groups.items(), key=lambda pair: -abs(pair[1]))),
        log_odds=row["log_odds"],
        items=items,
        label=row["label"],
        label_how=row["label_how"],
        label_way=_label_way(folder, row) if row["label_via_page_id"] is not None else (),
        guard=row["guard"],
    )


def _sentence(weights: Weights, symbol: str, value: float) -> str:
    known = weights.symbols.get(symbol)
    return known.sentence.format(value=value) if known else ""
