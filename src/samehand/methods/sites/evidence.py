"""What tells a provider's parked pages from honest sites that merely look alike.

The paper looks at structure alone, and honest sites of one theme, one site builder or one framework have one
structure too. What they do not have in common is what they are for: their words, their titles, where they lead. So the
pages of a cluster are asked:

* same_text     how much of a page's text stands on the other sites too, each site's own name left out
* prose         how many words a site has for itself alone, beyond the keywords of its links
* same_title    how many sites have no title of their own: none, one that spells out their domain, or that of others;
                half as many are counted that have one and begin their text with their bare domain
* targets       how many links go to hosts that many of the sites link to, or ask the same page for another keyword;
                for a page that only sends visitors on, whether it sends them where the others do

No list of phrases, registrars or advertisers is involved: sites are compared with each other only.
"""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.methods.sites.features import NO_PAIR, Features

SHARED = 0.15
"""A word pair, title or target is shared when so many of the sites have it, two at least: one language of several."""
SAMPLE = 512
"""Sites of a cluster whose texts are compared."""
LINK_WORDS = 4
"""Words of its own that a page may have for each link before they count as prose: keywords are two or three."""
AD_WORDS = 16
"""As many more for each link to a shared place: the text of an ad."""
ENOUGH_PROSE = 60.0
"""From so many words of its own on, a site has something to say."""
FEW_WORDS = 5
"""Pages of fewer words are not compared by their text."""
SAME_PAIRS, TEXTS = 0.7, 8
"""Texts are one when they share so much of their word pairs; of one title, so many texts are told apart."""
MUCH_TEXT = 40
"""Copies without a title are one owner's when they have so many words."""
MANY_NAMES = 20
"""So many sites with one text are more than one owner's, unless half of their names begin alike."""


@dataclasses.dataclass(frozen=True, slots=True)
class Members:
    """The figures of each page of a cluster: see `Evidence`. `ways` is not a number where no way leads anywhere."""

    words: NDArray[np.float64]
    same_text: NDArray[np.float64]
    prose: NDArray[np.float64]
    own_title: NDArray[np.bool_]
    ways: NDArray[np.float64]
    untitled: NDArray[np.float64]

    def of(self, places: NDArray[np.int64]) -> "Members":
        """Those at these places."""
        return Members(
            self.words[places],
            self.same_text[places],
            self.prose[places],
            self.own_title[places],
            self.ways[places],
            self.untitled[places],
        )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The figures of a cluster, see above: medians of words, means of shares.

    `voices` is how many sites there are, one owner's copies counted once.
    """

    same_text: float
    own_words: float
    prose: float
    same_title: float
    targets: float
    words: float
    own_name: float
    voices: int
    members: Members

    def summary(self) -> str:
        """The figures as a sentence says them."""
        return (
            f"{self.same_text:.0%} of their text is shared, {self.own_words:.0f} words are a site's own,"
            f" {self.same_title:.0%} have no title of their own, {max(0.0, self.targets):.0%} of their ways lead to"
            " shared places"
        )

    def points(self, mean_distance: float, delta: float) -> float:
        """How much speaks for one hand behind the sites of a cluster, from about -5 to 8.

        Two points each for being near to the centre (both at half of δ, none at δ, less beyond), for text that is the
        same on the other sites, for titles that say nothing, for links that lead where the others do; two less when the
        sites have a good paragraph of their own to say. Sites without text leave that question open: one point.
        """
        tightness = min(1.0, max(-1.0, 2.0 - 2.0 * mean_distance / delta))
        text = self.same_text if self.words >= FEW_WORDS else 0.5
        prose = min(1.0, self.prose / ENOUGH_PROSE)
        return 2.0 * (tightness + text + self.same_title + self.targets - prose)

    def member_points(self, distances: NDArray[np.float64], delta: float) -> NDArray[np.float64]:
        """The same of each page by its own distance, as if all others were like it."""
        pages = self.members
        text = np.where(pages.words >= FEW_WORDS, pages.same_text, 0.5)
        prose = np.minimum(1.0, pages.prose / ENOUGH_PROSE)
        ways = np.nan_to_num(pages.ways)
        tightness = np.clip(2.0 - 2.0 * distances / delta, -1.0, 1.0)
        points: NDArray[np.float64] = 2.0 * (tightness + text + pages.untitled + ways - prose)
        return points


def cluster_evidence(features: Features, rows: NDArray[np.int64]) -> Evidence:
    """What the pages of a cluster have in common, and what each has for itself. One owner's copies speak once."""
    speakers, voice_of = _voices(features, rows)
    words = features.words[speakers].astype(np.float64)
    same_text = _shared_text(features.sketches, speakers)
    own = words * (1.0 - same_text)
    own_title = _own_titles(features.titles[speakers])
    untitled = np.where(own_title, 0.5 * features.headed[speakers], 1.0)
    ways, shared_links = _shared_ways(features, speakers)
    prose = np.maximum(0.0, own - LINK_WORDS * features.links[speakers] - AD_WORDS * shared_links)
    spoken, led = words > 0, ~np.isnan(ways)
    return Evidence(
        same_text=float(same_text[spoken].mean()) if spoken.any() else 1.0,
        own_words=float(np.median(own)),
        prose=float(np.median(prose)),
        same_title=float(untitled.mean()),
        targets=float(ways[led].mean()) if led.any() else 0.0,
        words=float(np.median(words)),
        own_name=float(features.own_names[speakers].mean()),
        voices=speakers.size,
        members=Members(words, same_text, prose, own_title, ways, untitled).of(voice_of),
    )


def _voices(features: Features, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that speak for all, and which of them speaks for each row.

    Companies show one site under all the names they own: it has a title or much text, names none of the names and leads
    nowhere else. Parked pages name themselves, have no title, or lead to one place. What is all the same and still has
    very many names is parked, unless the names are alike too.
    """
    away = np.array([max(features.target_links[row], default=0) for row in rows.tolist()])
    least = np.where(features.titles[rows] != 0, FEW_WORDS, MUCH_TEXT)
    speaks = (features.words[rows] >= least) & ~features.own_names[rows] & (2 * away <= features.links[rows])
    voices = np.arange(rows.size)
    for places in _copies(features, rows, np.flatnonzero(speaks)):
        stems = np.unique(features.stems[rows[places]]).size
        if len(places) < MANY_NAMES or 2 * stems <= len(places):
            voices[places] = places[0]
    first, voice_of = np.unique(voices, return_inverse=True)
    return rows[first], voice_of


def _copies(features: Features, rows: NDArray[np.int64], places: NDArray[np.int64]) -> list[list[int]]:
    """Places of pages with one title and nearly one text. A page is compared with the first page of each text."""
    texts: dict[int, list[tuple[set[int], list[int]]]] = {}
    for place in places.tolist():
        row = int(rows[place])
        pairs = set(features.sketches[row].tolist()) - {int(NO_PAIR)}
        known = texts.setdefault(int(features.titles[row]), [])
        for first, copies in known[:TEXTS]:
            if len(first & pairs) >= SAME_PAIRS * len(first | pairs):
                copies.append(place)
                break
        else:
            known.append((pairs, [place]))
    return [copies for known in texts.values() for _, copies in known if len(copies) > 1]


def _needed(sites: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Of so many sites, how many must have a thing for it to be shared."""
    return np.maximum(2.0, np.ceil(SHARED * np.asarray(sites)))


def _shared_text(sketches: NDArray[np.uint32], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """For each row the share of its word pairs that other sites of the cluster have too."""
    sample = rows[np.unique(np.linspace(0, rows.size - 1, min(rows.size, SAMPLE)).astype(np.int64))]
    values, counts = np.unique(sketches[sample], return_counts=True)
    # A full sketch says nothing of pairs beyond its largest: only sites that could have shown a pair are counted.
    reach = np.sort(np.where(sketches[sample, -1] == NO_PAIR, NO_PAIR, sketches[sample, -1]))
    could = sample.size - np.searchsorted(reach, values, side="left")
    common = values[(counts >= _needed(could)) & (values != NO_PAIR)]
    chosen = sketches[rows]
    there = chosen != NO_PAIR
    inside = np.isin(chosen, common) & there
    shares: NDArray[np.float64] = inside.sum(axis=1) / np.maximum(1, there.sum(axis=1))
    return shares


def _own_titles(titles: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Whether each site has a title that few or no others have."""
    _, inverse, counts = np.unique(titles, return_inverse=True, return_counts=True)
    own: NDArray[np.bool_] = (titles != 0) & (counts[inverse] < _needed(titles.size))
    return own


def _shared_ways(features: Features, rows: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each site: the share of its ways that lead to shared places, and how many links those are.

    A page that only sends visitors on has 1 if others send theirs to the same place, or else -1. Not a number where no
    way leads anywhere. A link that asks the same page for another keyword is half a sign.
    """
    hosts = np.array([host for row in rows.tolist() for host in features.targets[row]], np.uint64)
    names, counts = np.unique(hosts, return_counts=True)
    shared = set(names[counts >= _needed(rows.size)].tolist())
    _, inverse, together = np.unique(features.leads[rows], return_inverse=True, return_counts=True)
    led_alike = (together >= _needed(rows.size))[inverse]
    ways = np.where(features.leads[rows] == 0, np.nan, np.where(led_alike, 1.0, -1.0))
    shared_links = np.zeros(rows.size)
    for place, row in enumerate(rows.tolist()):
        there = zip(features.targets[row], features.target_links[row], strict=True)
        shared_links[place] = sum(count for host, count in there if host in shared)
    shared_links += 0.5 * features.query_links[rows]
    links = features.links[rows]
    with_links = links > 0
    ways[with_links] = np.minimum(1.0, shared_links[with_links] / links[with_links])
    return ways, shared_links
