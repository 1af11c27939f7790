"""What labels by hand say about the pages and sites of a run: those they name, and those they spread to.

A label decides the unit that it names. A label of a site is one of its pages, too, and that of a cluster one of its
pages and of the sites that it makes up. Beyond that a label spreads: to pages with the same bytes, to the rest of a
cluster of sites in which two looks agree (`samehand label`), and along tight links of style, page by page. Each unit
that a label spreads to says how, from which page, by which page, and how weak the weakest link on the way is.
"""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import text_buffers
from samehand.kernels.html.links import hash_hosts
from samehand.methods.labelling import GROUP, SiteLabelling
from samehand.methods.verdicts.facts import NONE, PageFacts, numbered
from samehand.methods.verdicts.given import (
    ANSWERS,
    ASKED,
    BAD,
    BY_GROUP,
    BY_PATH,
    GOOD,
    IDENTICAL,
    OF_CLUSTER,
    OF_SITE,
    Given,
)
from samehand.methods.verdicts.links import Links, tight_links
from samehand.methods.verdicts.sites import MOST_OF, SiteFacts
from samehand.store.folder import RunFolder
from samehand.store.labels import CLUSTER, PAGE, PROVIDER, SITE, UNWANTED, WANTED, Label
from samehand.store.tables import PAGES, STYLE_CLUSTERS

NOBODY = Given.made(np.zeros(0, np.int64), 0, 0)


@dataclasses.dataclass(frozen=True, slots=True)
class Applied:
    """What some labels say. `clusters` and `providers` are by row of the table and by name, `kinds` by site."""

    pages: Given
    sites: Given
    clusters: dict[int, int]
    providers: dict[str, int]
    kinds: dict[int, str]
    unknown: int
    """Labels of units that the run does not have."""


class Ground:
    """The pages, sites and links of a run that labels are applied to."""

    def __init__(self, folder: RunFolder, facts: PageFacts, sites: SiteFacts, labels: Sequence[Label]) -> None:
        """`labels` are all labels of the run: what they say about pairs makes links, and cuts them."""
        self._folder, self._facts, self._sites = folder, facts, sites
        self._labels = labels

    @functools.cached_property
    def _links(self) -> Links:
        return tight_links(self._folder, self._facts.cluster, self._labels)

    @functools.cached_property
    def _site_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self._sites.names.to_pylist())}

    @functools.cached_property
    def _providers(self) -> frozenset[str]:
        return frozenset(self._sites.provider.tolist())

    @functools.cached_property
    def _site_pages(self) -> NDArray[np.int64]:
        """Pages of each site."""
        return self._facts.per_site(np.ones(self._facts.site.size, np.bool_))

    @functools.cached_property
    def _by_cluster(self) -> NDArray[np.int64]:
        """The rows of all pages, those of one cluster together, in order of the clusters."""
        return np.argsort(self._facts.cluster, kind="stable")

    @functools.cached_property
    def _clusters_sorted(self) -> NDArray[np.int32]:
        return self._facts.cluster[self._by_cluster]

    @functools.cached_property
    def _cluster_rows(self) -> dict[int, int]:
        if self._folder.done.get("style") is None:
            return {}
        ids = self._folder.read(STYLE_CLUSTERS, ["style_cluster_id"]).column("style_cluster_id").to_pylist()
        return {style_cluster_id: row for row, style_cluster_id in enumerate(ids)}

    @functools.cached_property
    def _contents(self) -> NDArray[np.uint64]:
        """A hash of the content of each page."""
        found = np.zeros(len(self._folder.page_ids), np.uint64)
        for rows, batch in numbered(self._folder, PAGES, ["content_digest"]):
            found[rows] = hash_hosts(*text_buffers(batch.column("content_digest")))
        return found

    def applied(self, labels: Sequence[Label]) -> Applied:
        """What some of the labels say about pages and sites, by themselves and where they spread."""
        said = [label for label in labels if label.answer in (WANTED, UNWANTED)]
        pages = self._named(said, PAGE, self._page_row)
        sites = self._named(said, SITE, self._site_number)
        clusters = self._named(said, CLUSTER, self._cluster_row)
        of_providers = [label for label in said if label.unit == PROVIDER]
        providers = {label.name: _code(label) for label in of_providers if label.name in self._providers}
        found = len(pages) + len(sites) + len(clusters) + len(providers)
        asked = Given.made(np.array(list(pages), np.int64), _codes(pages), ASKED)
        of_site = Given.made(np.array(list(sites), np.int64), _codes(sites), ASKED)
        spread_pages, spread_sites = self._spread(asked, of_site)
        cluster_pages, cluster_sites = self._of_clusters(clusters)
        return Applied(
            Given.merged([asked, self._pages_of(of_site), cluster_pages, *spread_pages]),
            Given.merged([of_site, cluster_sites, *spread_sites, self.groups(said)]),
            clusters,
            providers,
            {self._site_numbers[label.name]: label.kind for label in said if label.kind and self._is_site(label)},
            sum(label.unit in (PAGE, SITE, CLUSTER, PROVIDER) for label in said) - found,
        )

    def _is_site(self, label: Label) -> bool:
        return label.unit == SITE and label.name in self._site_numbers

    def _site_number(self, name: str) -> int | None:
        return self._site_numbers.get(name)

    def _page_row(self, name: str) -> int | None:
        ids = self._folder.page_ids
        return int(ids.rows(np.array([int(name)]))[0]) if ids.has(int(name)) else None

    def _cluster_row(self, name: str) -> int | None:
        return self._cluster_rows.get(int(name))

    @staticmethod
    def _named(labels: Sequence[Label], unit: str, find: Callable[[str], int | None]) -> dict[int, int]:
        """The answers about units of a sort, by their numbers."""
        found = ((find(label.name), _code(label)) for label in labels if label.unit == unit)
        return {number: code for number, code in found if number is not None}

    def _pages_of(self, sites: Given) -> Given:
        """The pages of labelled sites."""
        if not sites.unit.size:
            return NOBODY
        all_sites = sites.merged([sites]).all_of(0, self._facts.sites + 1)  # the last is for pages of no site
        answer = all_sites.answer[self._facts.site]
        rows = np.flatnonzero(answer)
        return Given.made(rows, answer[rows], OF_SITE, self._sites.home_rows[self._facts.site[rows]])

    def _of_clusters(self, clusters: dict[int, int]) -> tuple[Given, Given]:
        """The pages of labelled clusters, and the sites that have most of their pages there."""
        if not clusters:
            return NOBODY, NOBODY
        parts = []
        for cluster, code in clusters.items():
            start, stop = np.searchsorted(self._clusters_sorted, [cluster, cluster + 1])
            parts.append(Given.made(self._by_cluster[start:stop], code, OF_CLUSTER))
        pages = Given.merged(parts)
        sites = []
        for code in (GOOD, BAD):
            site = self._facts.site[pages.unit[pages.answer == code]]
            found, count = np.unique(site[site != NONE], return_counts=True)
            sites.append(Given.made(found[count / self._site_pages[found] > MOST_OF], code, OF_CLUSTER))
        return pages, Given.merged(sites)

    def _spread(self, pages: Given, sites: Given) -> tuple[list[Given], list[Given]]:
        """Pages with the same bytes, and pages along links. From a site they reach sites by their home pages, too."""
        homes = self._sites.home_rows
        seeds = Given.merged([pages, Given.made(homes[sites.unit], sites.answer, ASKED)])
        if not seeds.unit.size:
            return [], []
        is_of_site = np.isin(seeds.unit, homes[sites.unit])
        spread_pages, spread_sites = [], []
        for part, label in ((self._identical(seeds)), self._along_links(seeds)):
            spread_pages.append(part)
            site = self._facts.site[part.unit]
            is_home = (site != NONE) & (homes[site] == part.unit) & is_of_site[label]
            reached = part.chosen(is_home)
            spread_sites.append(reached._replace(unit=site[is_home].astype(np.int64)))
        return spread_pages, spread_sites

    def _identical(self, seeds: Given) -> tuple[Given, NDArray[np.int64]]:
        """Pages with the bytes of a labelled one. Where two labels differ, the good one counts."""
        contents = self._contents[seeds.unit]
        order = np.lexsort((seeds.unit, -seeds.answer, contents))
        known, first = np.unique(contents[order], return_index=True)
        place = np.minimum(np.searchsorted(known, self._contents), known.size - 1)
        rows = np.flatnonzero(known[place] == self._contents)
        label = order[first][place[rows]]
        is_other = seeds.unit[label] != rows
        rows, label = rows[is_other], label[is_other]
        source = seeds.unit[label]
        return Given.made(rows, seeds.answer[label], IDENTICAL, source, source), label

    def _along_links(self, seeds: Given) -> tuple[Given, NDArray[np.int64]]:
        way = self._links.reached(seeds.unit, first=seeds.answer == GOOD)
        way = way.chosen(np.argsort(way.row))
        source = seeds.unit[way.label]
        return Given.made(way.row, seeds.answer[way.label], BY_PATH, source, way.via, way.similarity), way.label

    def groups(self, labels: Sequence[Label]) -> Given:
        """The rest of the clusters of sites in which looks agree."""
        if self._folder.done.get("sites") is None or not any(label.unit == SITE for label in labels):
            return NOBODY
        found = SiteLabelling(self._folder, seed=0, labels=labels).labelling.labels().to_pylist()
        rest = [row for row in found if row["how"] == GROUP]
        rows = self._folder.page_ids.rows(np.array([row["page_id"] for row in rest], np.int64))
        return Given.made(self._facts.site[rows], np.array([ANSWERS.index(row["label"]) for row in rest]), BY_GROUP)


def _code(label: Label) -> int:
    return ANSWERS.index(label.answer)


def _codes(answers: dict[int, int]) -> NDArray[np.int8]:
    return np.array(list(answers.values()), np.int8)
