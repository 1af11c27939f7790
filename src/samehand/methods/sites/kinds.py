"""The kind of a site by its home page alone: an ordered list of rules, each with a name and its evidence.

The first rule that holds decides. A rule reads signs (signs.py) of all pages of a batch at once. Wording never decides
on a long page: every rule that trusts wording bounds words, prose or links. Kinds that accuse need purpose: a feed or
a market behind the page, a sale offer, or keywords for sale under the site's own name, and no prose of its own.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from samehand.methods.sites.leads import FORM, FRAME, REFRESH, SCRIPT
from samehand.methods.sites.signs import Signs, keyword_lists, told_lists
from samehand.methods.sites.verdicts import (
    CHALLENGE,
    CMS,
    EMPTY,
    ERROR,
    FOR_SALE,
    HOSTING,
    LOGIN,
    PARKED_ADS,
    REDIRECT,
    REGISTRAR,
    SHELL,
    SOON,
    SUSPENDED,
)

BARE = ("refresh", "script that leads on", "form that leads on", "frame", "built by script")
"""Rules of pages that something else fills: they are clustered, because parked pages are made like this, too."""

_SHOWN = {
    REDIRECT: ("moved", "moved-weak", "source-refresh", "source-leads-on"),
    ERROR: ("error", "error-weak"),
    CHALLENGE: ("wall", "wall-weak", "age", "source-wall", "source-captcha", "source-cookie"),
    EMPTY: (),
    SHELL: ("source-app",),
    LOGIN: ("login", "source-password"),
    HOSTING: ("hosting", "hosting-weak", "server", "source-default"),
    REGISTRAR: (
        "registrar",
        "registrar-weak",
        "this-domain",
        "taken",
        "source-feed",
        "source-feed-weak",
        "source-parking-host",
    ),
    CMS: ("cms", "cms-weak"),
    SOON: ("soon", "soon-weak"),
    SUSPENDED: ("suspended", "suspended-weak", "source-suspended"),
    FOR_SALE: (
        "sale",
        "sale-weak",
        "this-domain",
        "offer",
        "offer-weak",
        "source-feed",
        "source-feed-weak",
        "source-parking-host",
    ),
    PARKED_ADS: (
        "parked",
        "parked-weak",
        "sale",
        "sale-weak",
        "source-feed",
        "source-feed-weak",
        "source-parking-host",
    ),
}
"""Classes of phrases that are evidence of a kind."""

Test = Callable[[Signs], NDArray[np.bool_]]


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """A kind, the name of the evidence for it, and the test of a batch of pages."""

    kind: str
    name: str
    test: Test

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of phrases that are shown as evidence of the kind."""
        return _SHOWN[self.kind]


def _thin(s: Signs, words: int, prose: int, links: int = 1 << 20) -> NDArray[np.bool_]:
    """Has few words, little prose and few links within the site."""
    return (s.words < words) & (s.prose < prose) & (s.own_links < links)


def _sale(s: Signs) -> NDArray[np.bool_]:
    """Says that the domain is for sale, and names it or says so twice."""
    twice = s.said("sale") + s.said("sale-weak") > 1
    found: NDArray[np.bool_] = (
        (s.said("sale") > 0) & (s.named | (s.title("sale") > 0) | twice) & (s.said("not-sale") == 0)
    )
    return found


def _sale_title(s: Signs) -> NDArray[np.bool_]:
    """Says in its title that its own name is for sale. A page of pictures sells something else, unless it says so."""
    domain = s.text("sale") + s.text("sale-weak") + s.said("this-domain") + s.shows("source-parking-host")
    few = _thin(s, 400, 300, 10) & ((domain > 0) | (s.tags["img"] < 2))
    found: NDArray[np.bool_] = (
        (s.title("sale") > 0) & s.named_in_title & _sale(s) & (few | ((s.text("sale") > 2) & _thin(s, 1200, 400, 10)))
    )
    return found & ~s.is_market


def _offers_name(s: Signs) -> NDArray[np.bool_]:
    """Is about its own name, and speaks of this domain and of an offer, in whatever words and language."""
    offers = s.said("offer")
    more = offers + s.said("offer-weak")
    spoken = (s.said("this-domain") > 0) | ((s.telling_links > 0) & (s.links < 8))
    asked = (offers > 0) & ((more > 1) | (s.words < 40)) | (more > 2) | ((more > 1) & (s.words < 40))
    few = _thin(s, 160, 120, 6) & (s.foreign_links < 12) & (s.tags["img"] < 8)
    named = s.about_name & s.named_in_text & (s.said("not-sale") == 0) & ~s.is_market
    found: NDArray[np.bool_] = named & spoken & asked & few
    return found


def _taken_name(s: Signs) -> NDArray[np.bool_]:
    """Is about its own name, and says that this domain is registered, in whatever words and language."""
    taken = s.said("taken")
    few = _thin(s, 160, 120, 8) & (s.foreign_links < 16) & (s.shows("source-password") == 0)
    found: NDArray[np.bool_] = (
        s.named & (s.said("this-domain") > 0) & ((taken > 1) | ((taken > 0) & (s.words < 40))) & few
    )
    return found


def _keywords(s: Signs) -> NDArray[np.bool_]:
    """Is a list of keywords for one place under its own name, and nothing else.

    A shop or a chooser of countries may be one, too, so that without another sign the links must ask for words, and no
    other links may be there. The texts of advertisements may stand between links that all lead away, if the title is
    about the name: under a title of its own such text is the site's.
    """
    bare = s.title_is_name | ((s.title_bytes == 0) & s.named)
    signed = (s.said("parked") + s.said("this-domain") + s.said("sale-weak") > 0) | s.feeds
    hinted = signed | ((s.said("parked-weak") > 0) & (s.prose < 20))
    words = 2 * s.wordy_links >= s.keyword_links
    only = (s.links - s.keyword_links <= 2) & words & (s.shows("source-chooser") == 0)
    alone = only & (s.prose < 20)
    few = _thin(s, 200, 40, 40) & (s.tags["img"] < 6) & (s.tags["form"] < 3) & (s.source_bytes < 60_000)
    found: NDArray[np.bool_] = few & (
        (keyword_lists(s) & ((bare & (hinted | alone)) | (s.about_name & signed))) | (told_lists(s) & s.named)
    )
    said = (s.said("parked") + s.said("parked-weak") > 0) & s.named_in_title
    away = s.site_links.target_links[:, 0] > s.query_links
    between = _thin(s, 400, 260, 6) & (s.tags["img"] < 4) & (s.tags["form"] < 3)
    ads: NDArray[np.bool_] = between & keyword_lists(s) & away & (said | (s.title_is_name & only))
    return found | ads


def _parks(s: Signs) -> NDArray[np.bool_]:
    """Has nothing but a feed: no words at all, its own name as title, or the words of parked pages."""
    own = s.title_is_name | (s.named & (s.words < 60))
    said = s.said("parked") + s.said("parked-weak") + s.said("sale") + s.said("sale-weak")
    return (s.words < 8) | own | (said > 0)


def _tells_name(s: Signs) -> NDArray[np.bool_]:
    """Has nothing of its own, and tells its name to the other site that fills it or that it leads to."""
    led = s.lead_tells_name & (s.words < 12) & ((s.how == FRAME) | (s.how == SCRIPT))
    filled = s.told_name & s.title_is_name & (s.words < 30) & (s.links < 3)
    found: NDArray[np.bool_] = (led | filled) & (s.source_bytes < 20_000) & ~s.is_market
    return found


def _moved(s: Signs) -> NDArray[np.bool_]:
    said = (s.said("moved") > 0) | ((s.whole("moved-weak") > 0.6) & (s.words < 4))
    return said & (s.words < 60) & (s.links <= 6) & (s.source_bytes < 30_000) & ~s.feeds


def _loads(s: Signs) -> NDArray[np.int64]:
    """Scripts, frames and objects."""
    tags = s.tags
    return tags["script"] + tags["iframe"] + tags["frame"] + tags["object"] + tags["embed"]


def _wall(s: Signs) -> NDArray[np.bool_]:
    strong = ((s.title("wall") > 0) & (s.words < 260)) | ((s.said("wall") > 0) & (s.words < 120))
    weak = ((s.said("wall-weak") > 1) & (s.words < 120)) | ((s.said("wall-weak") > 0) & (s.words < 60))
    captcha = (s.said("wall") > 0) & (s.shows("source-captcha") > 0) & (s.words < 260) & (s.prose < 100)
    return ((strong | weak) & (s.links < 14)) | captcha


def _error(s: Signs) -> NDArray[np.bool_]:
    return (
        ((s.title("error") > 0) & (s.words < 260) & (s.own_links < 30))
        | ((s.title("error-weak") > 0) & (s.words < 100) & (s.links < 12) & (s.titled("error-weak") > 0.2))
        | ((s.title("error-weak") > 0) & (s.text("error-weak") > 1) & (s.words < 200) & (s.links < 8))
        | ((s.text("error") > 0) & (s.words < 60) & (s.links < 4))
        | ((s.text("error-weak") > 0) & (s.words < 30) & (s.links < 3) & (s.tags["script"] < 6))
    )


RULES: tuple[Rule, ...] = (
    Rule(REDIRECT, "redirect status", lambda s: (s.status >= 300) & (s.status < 400)),
    Rule(
        CHALLENGE,
        "script of a bot wall",
        lambda s: (s.shows("source-wall") > 0) & (s.words < 16) & (s.links < 4) & (s.tags["img"] < 4),
    ),
    Rule(REDIRECT, "redirect title", lambda s: _moved(s) & (s.titled("moved") > 0.5)),
    Rule(FOR_SALE, "sale title", _sale_title),
    Rule(
        FOR_SALE,
        "sale offer over a feed",
        lambda s: s.feeds & _thin(s, 300, 120, 40) & _sale(s) & (s.said("parked") + s.said("parked-weak") == 0),
    ),
    Rule(
        REGISTRAR,
        "registrar's page over a feed",
        lambda s: s.feeds & _thin(s, 300, 120, 40) & (s.title("registrar") + s.title("registrar-weak") > 0),
    ),
    Rule(PARKED_ADS, "feed of parked domains", lambda s: s.feeds & _thin(s, 300, 120, 40) & _parks(s)),
    Rule(PARKED_ADS, "tells another site its own name", _tells_name),
    Rule(
        HOSTING,
        "leads to a panel's default page",
        lambda s: (s.shows("source-default") > 0) & (s.how == REFRESH) & (s.words < 30),
    ),
    Rule(
        SUSPENDED, "leads to a panel's page of suspension", lambda s: (s.shows("source-suspended") > 0) & (s.words < 30)
    ),
    Rule(
        CHALLENGE,
        "cookie and reload",
        lambda s: (
            (s.shows("source-cookie") > 0)
            & ((s.shows("source-reload") > 0) | (s.how == SCRIPT) | (s.how == FORM))
            & (s.words < 12)
            & (s.links == 0)
            & (s.title_bytes == 0)
        ),
    ),
    Rule(REDIRECT, "moved wording", _moved),
    Rule(REDIRECT, "refresh", lambda s: (s.how == REFRESH) & (s.words < 60) & (s.said("soon") == 0)),
    Rule(REDIRECT, "script that leads on", lambda s: (s.how == SCRIPT) & (s.words < 12) & (s.source_bytes < 6_000)),
    Rule(REDIRECT, "form that leads on", lambda s: (s.how == FORM) & (s.words < 12) & (s.source_bytes < 6_000)),
    Rule(
        REDIRECT,
        "frame",
        lambda s: (
            (s.how == FRAME)
            & (s.words < 12)
            & (s.source_bytes < 6_000)
            & (s.tags["frame"] + s.tags["iframe"] == 1)
            & (s.leads_away | (s.title_bytes == 0))
        ),
    ),
    Rule(
        CHALLENGE,
        "nothing but one script",
        lambda s: (
            (s.words == 0)
            & (s.title_bytes == 0)
            & (s.links == 0)
            & (s.tags["script"] > 0)
            & (s.tags["script"] < 3)
            & (s.shows("source-loads") == 0)
            & (s.source_bytes > 1000)
        ),
    ),
    Rule(
        HOSTING,
        "title of a default page",
        lambda s: (
            ((s.title("hosting") > 0) & (s.titled("hosting") > 0.3) & _thin(s, 600, 600, 12))
            | ((s.titled("hosting-weak") > 0.6) & _thin(s, 200, 200, 1) & (s.links < 2))
        ),
    ),
    Rule(
        SUSPENDED,
        "suspension",
        lambda s: (
            ((s.title("suspended") > 0) | ((s.text("suspended") > 0) & (s.words < 60)))
            & _thin(s, 200, 150)
            & (s.links < 12)
            & (s.said("wall") == 0)
        ),
    ),
    Rule(
        ERROR,
        "error title",
        lambda s: (s.titled("error") > 0.3) & (s.words < 260) & (s.own_links < 30) & (s.said("wall") == 0),
    ),
    Rule(CHALLENGE, "wall wording", _wall),
    Rule(
        FOR_SALE,
        "sale offer",
        lambda s: (
            _sale(s) & (_thin(s, 300, 200, 8) | ((s.said("this-domain") > 0) & _thin(s, 300, 200, 20))) & ~s.is_market
        ),
    ),
    Rule(PARKED_ADS, "keywords under its own name", _keywords),
    Rule(
        PARKED_ADS,
        "parking wording",
        lambda s: (s.said("parked") > 0) & s.named & _thin(s, 200, 120, 20),
    ),
    Rule(
        FOR_SALE,
        "offers its own name",
        lambda s: _offers_name(s) & ((s.said("offer") + s.said("offer-weak") > s.said("taken")) | ~_taken_name(s)),
    ),
    Rule(
        HOSTING,
        "wording of a default page",
        lambda s: ((s.said("hosting") > 1) & _thin(s, 300, 250, 8)) | ((s.said("hosting") > 0) & _thin(s, 80, 80, 4)),
    ),
    Rule(
        HOSTING,
        "speaks of its server alone",
        lambda s: (
            ((s.said("hosting") > 0) & (s.said("server") > 3) | (s.said("server") > 6))
            & (_thin(s, 600, 600, 4) | ((s.said("server") > 9) & _thin(s, 600, 600, 8)))
            & (s.foreign_links < 16)
            & (s.tags["img"] < 6)
            & (s.shows("source-password") == 0)
        ),
    ),
    Rule(ERROR, "error wording", _error),
    Rule(ERROR, "error status", lambda s: s.status >= 400),
    Rule(CHALLENGE, "age wall", lambda s: (s.said("age") > 0) & (s.words < 200) & (s.links < 12)),
    Rule(
        REGISTRAR,
        "registration wording",
        lambda s: (
            (s.said("registrar") + s.said("registrar-weak") > 0)
            & (s.named | (s.title("registrar") > 0))
            & _thin(s, 200, 120)
            & (s.links < 30)
        ),
    ),
    Rule(REGISTRAR, "says that this domain is taken", _taken_name),
    Rule(
        SOON,
        "coming soon",
        lambda s: (
            ((s.said("soon") > 0) | ((s.said("soon-weak") > 0) & (s.words < 40))) & _thin(s, 75, 40, 5) & (s.links < 12)
        ),
    ),
    Rule(
        CMS,
        "wording of an unfilled content system",
        lambda s: (
            ((s.said("cms") > 0) & _thin(s, 400, 300, 25))
            | ((s.said("cms") > 1) & _thin(s, 400, 300))
            | ((s.text("cms-weak") > 2) & _thin(s, 400, 300, 25))
            | ((s.text("cms-weak") > 0) & (s.links < 5) & (s.words > 60) & _thin(s, 800, 800))
        ),
    ),
    Rule(
        LOGIN,
        "login form",
        lambda s: (
            (s.shows("source-password") > 0)
            & (s.links < 16)
            & ((s.words < 60) | ((s.title("login") > 0) & (s.words < 260)))
        ),
    ),
    Rule(EMPTY, "nothing", lambda s: (s.words <= 3) & (_loads(s) + s.tags["img"] + s.links == 0)),
    Rule(
        SHELL,
        "built by script",
        lambda s: (
            (
                ((s.words < 12) & (s.tags["img"] < 8))
                | (
                    (s.words < 30)
                    & (s.prose == 0)
                    & (s.own_links < 20)
                    & (s.shows("source-app") > 0)
                    & (s.tags["img"] < 12)
                )
            )
            & (s.tags["script"] > 0)
            & (s.tags["frame"] == 0)
        ),
    ),
)


def page_rules(signs: Signs) -> NDArray[np.int64]:
    """The number of the first rule that holds for each page; -1 if none does."""
    decided = np.full(len(signs), -1, np.int64)
    for number, rule in enumerate(RULES):
        decided[(decided < 0) & rule.test(signs)] = number
    return decided
