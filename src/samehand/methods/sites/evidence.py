"""How much sites that look alike are the same, and how many of them show a purpose (purpose.py).

The paper compares structure alone. Honest sites of one theme, site builder or framework share a structure as well, but
not a purpose: their words, titles and links differ. So these figures are taken of the pages of a cluster:

* same_text_share  share of a page's word bigrams that other sites of the cluster have too; site names are left out
* prose            words that only this site has, beyond the keywords of its links
* same_title       share of sites without a title of their own: none, one that spells out the domain, or one that other
                   sites have; a site with its own title counts half if its text starts with the bare domain
* shared_targets   share of links that go to hosts that many of the sites link to, or that ask the same page for another
                   keyword; for a page that only redirects, whether others redirect to the same place

The score is made of sameness alone. It accuses nobody: clusters.py asks for purpose, too.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from samehand.methods.sites.features import NO_PAIR, Features
from samehand.methods.sites.purpose import has_purpose

SHARED = 0.15
"""A bigram, title or target is shared if this part of the sites has it, and at least two: one language of several."""
SAMPLE = 512
"""Sites of a cluster whose texts decide which bigrams are shared."""
LINK_WORDS = 4
"""Words of its own that a page may have for each link before they count as prose: keywords are two or three."""
AD_WORDS = 16
"""The same for each link to a shared target: the text of an advertisement."""
ENOUGH_PROSE = 60.0
"""A site with so many words of prose has something to say."""
FEW_WORDS = 5
"""The texts of pages with fewer words are not compared."""
SAME_BIGRAMS, MAX_TEXTS = 0.7, 8
"""Texts are copies if they share this part of their bigrams. Under one title, so many texts are told apart."""
MUCH_TEXT = 40
"""Copies without a title belong to one owner if they have so many words."""
MANY_NAMES = 20
"""So many sites with one text have more than one owner, unless half of their names begin alike."""
MOSTLY = 0.5
"""From this share on, users are told that a page shows mostly the same text or leads to the same places."""


@dataclasses.dataclass(frozen=True, slots=True)
class PageFigures:
    """The figures of each page of a cluster.

    `no_title` is what the page adds to same_title. `shared_targets` is not a number for a page without any links.
    """

    words: NDArray[np.float64]
    same_text_share: NDArray[np.float64]
    prose: NDArray[np.float64]
    own_title: NDArray[np.bool_]
    no_title: NDArray[np.float64]
    shared_targets: NDArray[np.float64]

    def at(self, places: NDArray[np.int64] | slice) -> "PageFigures":
        """The figures of the pages at these places."""
        return PageFigures(
            self.words[places],
            self.same_text_share[places],
            self.prose[places],
            self.own_title[places],
            self.no_title[places],
            self.shared_targets[places],
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The figures of a cluster: medians of words, means of shares, over `distinct_owners` sites.

    The copies of one owner count as one site. `pages` has the figures of every page.
    """

    same_text_share: float
    own_words: float
    prose: float
    same_title: float
    shared_targets: float
    words: float
    own_name: float
    purpose: float
    distinct_owners: int
    pages: PageFigures

    def findings(self, *, in_common: bool) -> str:
        """What the sites have in common, or else what tells them apart, for users."""
        pages = self.pages
        sites = pages.words.size
        counts = {
            "show mostly the same text": (pages.same_text_share >= MOSTLY) & (pages.words >= FEW_WORDS),
            "have no title of their own": ~pages.own_title,
            "lead to the same places": np.nan_to_num(pages.shared_targets) >= MOSTLY,
        }
        found = {f"{which.sum()} of {sites} {what}": bool(2 * which.sum() >= sites) for what, which in counts.items()}
        prose = f"{self.prose:.0f} words of" if self.prose >= 1 else "no"
        found[f"a typical one has {prose} prose of its own"] = 2 * self.prose < ENOUGH_PROSE
        return ", ".join([sentence for sentence, is_common in found.items() if is_common == in_common] or found)

    def score(self, mean_distance: float, max_mean_distance: float) -> float:
        """How much speaks for parked sites, from about -5 to 8.

        Up to two points each for a small distance (two at half of the maximum, none at the maximum, less beyond), for
        the same text, for missing titles and for shared targets. Prose of their own takes up to two points away. Sites
        with too few words to compare get one of the two points for the same text.
        """
        closeness = min(1.0, max(-1.0, 2.0 - 2.0 * mean_distance / max_mean_distance))
        text = self.same_text_share if self.words >= FEW_WORDS else 0.5
        prose = min(1.0, self.prose / ENOUGH_PROSE)
        return 2.0 * (closeness + text + self.same_title + self.shared_targets - prose)

    def page_scores(self, distances: NDArray[np.float64], max_mean_distance: float) -> NDArray[np.float64]:
        """The score of each page, from its own figures and its own distance."""
        pages = self.pages
        text = np.where(pages.words >= FEW_WORDS, pages.same_text_share, 0.5)
        prose = np.minimum(1.0, pages.prose / ENOUGH_PROSE)
        targets = np.nan_to_num(pages.shared_targets)
        closeness = np.clip(2.0 - 2.0 * distances / max_mean_distance, -1.0, 1.0)
        scores: NDArray[np.float64] = 2.0 * (closeness + text + pages.no_title + targets - prose)
        return scores


def cluster_evidence(features: Features, rows: NDArray[np.int64]) -> Evidence:
    """The figures of the pages in `rows`, which form a cluster."""
    return evidence_of_clusters(features, [rows])[0]


def evidence_of_clusters(features: Features, clusters: Sequence[NDArray[np.int64]]) -> list[Evidence]:
    """The figures of the pages of each cluster. Most clusters of real pages are one page: they are measured at once."""
    alone = [rows for rows in clusters if rows.size == 1]
    found = iter(_each_alone(features, np.concatenate(alone)) if alone else ())
    return [next(found) if rows.size == 1 else _together(features, rows) for rows in clusters]


def _each_alone(features: Features, rows: NDArray[np.int64]) -> list[Evidence]:
    """The same for each of these pages, with which nothing is shared."""
    words, links = features.words[rows].astype(np.float64), features.links[rows].astype(np.float64)
    own_title = features.title_keys[rows] != 0
    no_title = np.where(own_title, 0.5 * features.starts_with_domain[rows], 1.0)
    asked = 0.5 * features.query_links[rows]
    unlinked = np.where(features.redirect_targets[rows] != 0, -1.0, np.nan)
    targets = np.where(links > 0, np.minimum(1.0, asked / np.maximum(1.0, links)), unlinked)
    prose = np.maximum(0.0, words - LINK_WORDS * links - AD_WORDS * asked)
    pages = PageFigures(words, np.zeros(rows.size), prose, own_title, no_title, targets)
    figures = (words, prose, no_title, np.nan_to_num(targets), features.own_names[rows] * 1.0)
    purposes = has_purpose(features.purposes[rows]) * 1.0
    return [
        Evidence(
            same_text_share=0.0 if words_here else 1.0,
            own_words=words_here,
            prose=prose_here,
            same_title=same_title,
            shared_targets=shared_targets,
            words=words_here,
            own_name=own_name,
            purpose=purpose,
            distinct_owners=1,
            pages=pages.at(slice(place, place + 1)),
        )
        for place, (words_here, prose_here, same_title, shared_targets, own_name, purpose) in enumerate(
            zip(*(values.tolist() for values in (*figures, purposes)), strict=True)
        )
    ]


def _together(features: Features, rows: NDArray[np.int64]) -> Evidence:
    owners, owner_of = _distinct_owners(features, rows)
    words = features.words[owners].astype(np.float64)
    same_text = _same_text_shares(features.sketches, owners)
    own = words * (1.0 - same_text)
    own_title = _own_titles(features.title_keys[owners])
    no_title = np.where(own_title, 0.5 * features.starts_with_domain[owners], 1.0)
    targets, shared_links = _shared_targets(features, owners)
    prose = np.maximum(0.0, own - LINK_WORDS * features.links[owners] - AD_WORDS * shared_links)
    has_text, has_targets = words > 0, ~np.isnan(targets)
    return Evidence(
        same_text_share=float(same_text[has_text].mean()) if has_text.any() else 1.0,
        own_words=float(np.median(own)),
        prose=float(np.median(prose)),
        same_title=float(no_title.mean()),
        shared_targets=float(targets[has_targets].mean()) if has_targets.any() else 0.0,
        words=float(np.median(words)),
        own_name=float(features.own_names[owners].mean()),
        purpose=float(has_purpose(features.purposes[owners]).mean()),
        distinct_owners=owners.size,
        pages=PageFigures(words, same_text, prose, own_title, no_title, targets).at(owner_of),
    )


def _distinct_owners(features: Features, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One row per owner, and for each row the place of its owner among them.

    Companies show one page under all the names they own: it has a title or much text, contains none of the names and
    leads nowhere else. Parked pages print their name, have no title, or lead to one place. Very many names with one
    text are parked, unless the names are alike too.
    """
    away = np.array([max(features.target_links[row], default=0) for row in rows.tolist()])
    least = np.where(features.title_keys[rows] != 0, FEW_WORDS, MUCH_TEXT)
    is_company = (features.words[rows] >= least) & ~features.own_names[rows] & (2 * away <= features.links[rows])
    owners = np.arange(rows.size)
    for places in _copies(features, rows, np.flatnonzero(is_company)):
        prefixes = np.unique(features.domain_prefixes[rows[places]]).size
        if len(places) < MANY_NAMES or 2 * prefixes <= len(places):
            owners[places] = places[0]
    first, owner_of = np.unique(owners, return_inverse=True)
    return rows[first], owner_of


def _copies(features: Features, rows: NDArray[np.int64], places: NDArray[np.int64]) -> list[list[int]]:
    """Places of pages with one title and nearly one text. A page is compared with the first page of each text."""
    texts: dict[int, list[tuple[set[int], list[int]]]] = {}
    for place in places.tolist():
        row = int(rows[place])
        bigrams = set(features.sketches[row].tolist()) - {int(NO_PAIR)}
        known = texts.setdefault(int(features.title_keys[row]), [])
        for first, copies in known[:MAX_TEXTS]:
            if len(first & bigrams) >= SAME_BIGRAMS * len(first | bigrams):
                copies.append(place)
                break
        else:
            known.append((bigrams, [place]))
    return [copies for known in texts.values() for _, copies in known if len(copies) > 1]


def _min_support(sites: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """How many of so many sites must have a thing for it to be shared."""
    return np.maximum(2.0, np.ceil(SHARED * np.asarray(sites)))


def _same_text_shares(sketches: NDArray[np.uint32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each row the share of its word bigrams that other sites of the cluster have too."""
    sample = rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, SAMPLE)).astype(np.int64))]
    values, counts = np.unique(sketches[sample], return_counts=True)
    # A full sketch says nothing about bigrams beyond its largest hash: only sites that could show a bigram are counted.
    reach = np.sort(sketches[sample, -1])
    could = sample.size - np.searchsorted(reach, values, side="left")
    shared = values[(counts >= _min_support(could)) & (values != NO_PAIR)]
    chosen = sketches[rows]
    there = chosen != NO_PAIR
    inside = np.isin(chosen, shared) & there
    shares: NDArray[np.float64] = inside.sum(axis=1) / np.maximum(1, there.sum(axis=1))
    return shares


def _own_titles(title_keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each site has a title that few or no other sites have."""
    _, inverse, counts = np.unique(title_keys, return_inverse=True, return_counts=True)
    own: NDArray[np.bool_] = (title_keys != 0) & (counts[inverse] < _min_support(title_keys.size))
    return own


def _shared_targets(features: Features, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each site the share of its links that go to shared targets, and the number of those links.

    A link that asks the same page for another keyword counts half. A page that only redirects has 1 if others redirect
    to the same place, else -1. The share is not a number for a page without links and redirect.
    """
    hosts = np.array([host for row in rows.tolist() for host in features.targets[row]], np.uint64)
    names, counts = np.unique(hosts, return_counts=True)
    shared = set(names[counts >= _min_support(rows.size)].tolist())
    redirects = features.redirect_targets[rows]
    _, inverse, together = np.unique(redirects, return_inverse=True, return_counts=True)
    is_shared = (together >= _min_support(rows.size))[inverse]
    shares = np.where(redirects == 0, np.nan, np.where(is_shared, 1.0, -1.0))
    shared_links = np.zeros(rows.size)
    for place, row in enumerate(rows.tolist()):
        linked = zip(features.targets[row], features.target_links[row], strict=True)
        shared_links[place] = sum(count for host, count in linked if host in shared)
    shared_links += 0.5 * features.query_links[rows]
    links = features.links[rows]
    with_links = links > 0
    shares[with_links] = np.minimum(1.0, shared_links[with_links] / links[with_links])
    return shares, shared_links
