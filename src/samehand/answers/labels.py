"""What a label would do, before it is given: how many pages and sites it touches, and which actions it changes."""

import dataclasses
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.methods.verdicts.facts import page_facts
from samehand.methods.verdicts.labels import Given, Ground
from samehand.methods.verdicts.policy import Policy, read_policy
from samehand.methods.verdicts.rows import actions_of, with_label
from samehand.methods.verdicts.sites import site_facts
from samehand.store.folder import RunFolder
from samehand.store.labels import PAIR, SKIP, Label, LabelFile
from samehand.store.table import Table
from samehand.store.tables import VERDICT_PAGES, VERDICT_SITES

_COLUMNS = ["action", "kind", "probability", "evidence", "label", "label_how", "guard"]
MOST_NAMED = 10


@dataclasses.dataclass(frozen=True, slots=True)
class Touched:
    """What a label would do.

    Attributes:
        pages: Pages that it names or spreads to, and that no stronger label decides.
        sites: Sites likewise.
        page_flips: How many pages change from which action to which.
        site_flips: How many sites do.
        guarded: Sites among them that are under the guard, so that they are never blocked: the first few by name.
        guarded_count: How many there are.
        is_known: Whether the run has the unit at all.
    """

    pages: int
    sites: int
    page_flips: Mapping[tuple[str, str], int]
    site_flips: Mapping[tuple[str, str], int]
    guarded: tuple[str, ...]
    guarded_count: int
    is_known: bool


class LabelEffects:
    """Answers for one run. It keeps what it reads: make one, ask it often, and make a new one after new verdicts."""

    def __init__(self, folder: RunFolder) -> None:
        """Goes through the tables of the run once."""
        self._folder = folder
        self._policy: Policy = read_policy(folder.settings().policy)
        self._facts = page_facts(folder)
        self._sites = site_facts(folder, self._facts)
        self._labels = LabelFile.of(folder).labels()
        self._ground = Ground(folder, self._facts, self._sites, self._labels)
        self._held = self._ground.applied(self._labels)

    def touched(self, label: Label) -> Touched:
        """What the label would do, in addition to those that the run had when this was opened."""
        if label.unit == PAIR or label.answer == SKIP:
            return Touched(0, 0, {}, {}, (), 0, self._has_pair(label))
        others = [one for one in self._labels if (one.unit, one.name) != (label.unit, label.name)]
        found = self._ground.applied([label])
        groups = self._ground.groups([*others, label])
        pages = _news(found.pages, self._held.pages)
        sites = _news(Given.merged([found.sites, groups]), self._held.sites)
        guarded = self._guarded(sites)
        return Touched(
            pages.unit.size,
            sites.unit.size,
            self._flips(VERDICT_PAGES, "pages", pages),
            self._flips(VERDICT_SITES, "sites", sites),
            tuple(guarded[:MOST_NAMED]),
            len(guarded),
            found.unknown == 0,
        )

    def _has_pair(self, label: Label) -> bool:
        return label.unit != PAIR or all(self._folder.page_ids.has(page_id) for page_id in label.page_ids)

    def _flips(self, table: Table, unit: str, given: Given) -> dict[tuple[str, str], int]:
        rows = self._folder.read(table, _COLUMNS).take(pa.array(given.unit))
        after = actions_of(with_label(rows, given), unit, self._policy)
        pairs = zip(rows.column("action").to_pylist(), after.to_pylist(), strict=True)
        return dict(sorted(Counter(pair for pair in pairs if pair[0] != pair[1]).items()))

    def _guarded(self, sites: Given) -> list[str]:
        rows = self._folder.read(VERDICT_SITES, ["site", "guard"]).take(pa.array(sites.unit))
        names: list[str] = rows.filter(pc.is_valid(rows.column("guard"))).column("site").to_pylist()
        return names


def _news(found: Given, held: Given) -> Given:
    """The labels that would be new, or stronger than those that the units have, or another answer as strong."""
    place = np.minimum(np.searchsorted(held.unit, found.unit), max(0, held.unit.size - 1))
    if not held.unit.size:
        return found
    same = held.unit[place] == found.unit
    weaker = same & (held.how[place] < found.how)
    equal = same & (held.how[place] == found.how) & (held.answer[place] == found.answer)
    return found.chosen(np.flatnonzero(~weaker & ~equal))
