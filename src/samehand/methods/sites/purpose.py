"""Signs of what a page is for, one bit each. Sameness shows who made a page; these show why.

A page has a purpose that can accuse it if it loads a feed of parked domains, offers its domain, says that it is parked
or only registered, tells another site its own name, or is a list of keywords under its own name.
"""

import numpy as np
from numpy.typing import NDArray

from samehand.methods.sites.signs import Signs, keyword_lists, told_lists

FEED, OFFER, PARKED, REGISTERED, TOLD_NAME, KEYWORDS, NAME_TITLE, NO_TITLE = (1 << place for place in range(8))
NAMES = {
    FEED: "loads a feed of parked domains or leads to a domain market",
    OFFER: "offers its domain for sale",
    PARKED: "says what parked pages say",
    REGISTERED: "says that the domain is registered",
    TOLD_NAME: "tells another site its own name",
    KEYWORDS: "most links are keywords for one place",
    NAME_TITLE: "its title is its own name",
    NO_TITLE: "it has no title",
}
STRONG = FEED | OFFER | PARKED | REGISTERED | TOLD_NAME


def has_purpose(bits: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether pages show a purpose that can accuse them."""
    nameless_list: NDArray[np.bool_] = ((bits & KEYWORDS) > 0) & ((bits & (NAME_TITLE | NO_TITLE)) > 0)
    return ((bits & STRONG) > 0) | nameless_list


def named(bits: int) -> list[str]:
    """The signs of a page in words."""
    return [name for bit, name in NAMES.items() if bits & bit]


def purpose_bits(signs: Signs) -> NDArray[np.uint8]:
    """The signs of purpose of each page."""
    asked = (signs.said("offer") > 0) & (signs.said("offer") + signs.said("offer-weak") > 1)
    spoken = (signs.said("this-domain") > 0) & asked & signs.about_name & (signs.words < 160)
    offers = (signs.said("sale") > 0) | ((signs.said("sale-weak") > 0) & signs.named) | spoken
    registered = (signs.said("registrar") > 0) | ((signs.said("registrar-weak") > 0) & signs.named)
    signed = {
        FEED: signs.feeds,
        OFFER: offers,
        PARKED: signs.said("parked") + signs.said("parked-weak") > 0,
        REGISTERED: registered,
        TOLD_NAME: signs.told_name | told_lists(signs),
        KEYWORDS: keyword_lists(signs),
        NAME_TITLE: signs.title_is_name,
        NO_TITLE: signs.title_bytes == 0,
    }
    bits = np.zeros(len(signs), np.uint8)
    for bit, found in signed.items():
        bits |= np.where(found, bit, 0).astype(np.uint8)
    return bits
