"""What a label would do, before it is given: how many pages and sites it touches, and which actions it changes."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from samehand.methods.verdicts.facts import page_facts
from samehand.methods.verdicts.given import BAD, DECIDING, GOOD, Given
from samehand.methods.verdicts.labels import NOBODY, Ground
from samehand.methods.verdicts.policy import BLOCK, REVIEW, Policy, read_policy
from samehand.methods.verdicts.rows import actions_of, decided_action, with_label
from samehand.methods.verdicts.sites import site_facts
from samehand.store.folder import RunFolder
from samehand.store.labels import PAIR, SITE, SKIP, Label, LabelFile
from samehand.store.tables import VERDICT_PAGES, VERDICT_SITES

_COLUMNS = ["action", "kind", "probability", "evidence", "label", "label_how", "guard"]
_TABLES = {"pages": VERDICT_PAGES, "sites": VERDICT_SITES}
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
        found = self._ground.applied([label])
        groups = self._groups_with(label)
        pages = _news(found.pages, self._held.pages)
        sites = _news(Given.merged([found.sites, groups]), self._held.sites)
        guarded = sites.unit[self._is_guarded[sites.unit]]
        return Touched(
            pages.unit.size,
            sites.unit.size,
            self._flips("pages", pages),
            self._flips("sites", sites),
            self._names(guarded[:MOST_NAMED]),
            guarded.size,
            found.unknown == 0,
        )

    def served(self, provider: str) -> tuple[int, int]:
        """How many sites a block of a provider's name servers would hit, and how many of them are under the guard."""
        sites = np.flatnonzero(self._sites.provider == provider)
        return int(sites.size), int(self._is_guarded[sites].sum())

    def _has_pair(self, label: Label) -> bool:
        return label.unit != PAIR or all(self._folder.page_ids.has(page_id) for page_id in label.page_ids)

    def _groups_with(self, label: Label) -> Given:
        """What the label makes of clusters of sites, together with the labels that the run has."""
        if label.unit != SITE:
            return NOBODY
        others = [one for one in self._labels if (one.unit, one.name) != (label.unit, label.name)]
        return self._ground.groups([*others, label])

    def _flips(self, unit: str, given: Given) -> dict[tuple[str, str], int]:
        """How many units change from which action to which. What a person named needs no evidence, and few reads."""
        is_decided = np.isin(given.how, DECIDING)
        changed = self._decided_flips(unit, given.chosen(is_decided))
        spread = given.chosen(~is_decided)
        if spread.unit.size:
            rows = self._folder.read_rows(_TABLES[unit], spread.unit, _COLUMNS)
            after = actions_of(with_label(rows, spread), unit, self._policy)
            changed.update(zip(rows.column("action").to_pylist(), after.to_pylist(), strict=True))
        return dict(sorted((pair, number) for pair, number in changed.items() if pair[0] != pair[1]))

    def _decided_flips(self, unit: str, given: Given) -> Counter[tuple[str, str]]:
        names, codes = self._site_actions if unit == "sites" else self._page_actions
        found: Counter[tuple[str, str]] = Counter()
        for answer in (GOOD, BAD):
            action = decided_action(answer, self._policy.strongest(unit))
            units = given.unit[given.answer == answer]
            is_block = unit == "sites" and action == BLOCK
            guarded = self._is_guarded[units] if is_block else np.zeros(units.size, np.bool_)
            for after, rows in ((action, units[~guarded]), (REVIEW, units[guarded])):
                counts = np.bincount(codes[rows], minlength=len(names)).tolist()
                found.update({(name, after): number for name, number in zip(names, counts, strict=True) if number})
        return found

    @functools.cached_property
    def _page_actions(self) -> tuple[list[str], NDArray[np.uint8]]:
        return _encoded(self._folder.read(VERDICT_PAGES, ["action"]).column("action"))

    @functools.cached_property
    def _site_actions(self) -> tuple[list[str], NDArray[np.uint8]]:
        return _encoded(self._folder.read(VERDICT_SITES, ["action"]).column("action"))

    @functools.cached_property
    def _is_guarded(self) -> NDArray[np.bool_]:
        is_guarded: NDArray[np.bool_] = (
            self._folder.read(VERDICT_SITES, ["guard"]).column("guard").is_valid().to_numpy()
        )
        return is_guarded

    def _names(self, sites: NDArray[np.int64]) -> tuple[str, ...]:
        return tuple(self._folder.read_rows(VERDICT_SITES, sites, ["site"]).column("site").to_pylist())


def _encoded(column: pa.ChunkedArray) -> tuple[list[str], NDArray[np.uint8]]:
    """The different texts of a column, and the place of each row's text among them."""
    names = pc.unique(column)
    return names.to_pylist(), pc.index_in(column, names).to_numpy().astype(np.uint8)


def _news(found: Given, held: Given) -> Given:
    """The labels that would be new, or stronger than those that the units have, or another answer as strong."""
    place = np.minimum(np.searchsorted(held.unit, found.unit), max(0, held.unit.size - 1))
    if not held.unit.size:
        return found
    same = held.unit[place] == found.unit
    weaker = same & (held.how[place] < found.how)
    equal = same & (held.how[place] == found.how) & (held.answer[place] == found.answer)
    return found.chosen(np.flatnonzero(~weaker & ~equal))
