"""Evidence on pages and sites: from facts to named items. One list of symbols serves both."""

import dataclasses

import numpy as np
from numpy.typing import NDArray

from samehand.methods.verdicts.scoring import Collector

REAL, UNSURE, GENERATED, MIRROR, REPLICA, TEMPLATE = "real", "unsure", "generated", "mirror", "replica", "template"
PARKED = ("parked-ads", "for-sale")
FARM = "farm"
PLACEHOLDERS = ("hosting-default", "registrar-default", "cms-default", "coming-soon", "suspended")
NOTHING = ("redirect", "error", "challenge", "empty", "shell")
"""Kinds of pages that show nothing of their site."""
ONE_OWNER = ("copies", "network")
UNWANTED_KINDS = (*PARKED, FARM, *PLACEHOLDERS, *NOTHING)
BLOCKABLE = (*PARKED, FARM)
"""Kinds that accuse a site."""
PURPOSES = ("FEED", "OFFER", "PARKED_WORDING", "REGISTERED_WORDING", "TELLS_NAME", "KEYWORD_LIST")
"""Evidence of purpose, in the order of the bits of the column `purpose` of the table sites/pages."""
MOST_PROSE = 300
"""Words of prose beyond which more prose says no more."""
LINK_FARM = "link farm"


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What pages (or the home pages of sites) show: their kind, how sure it is, signs of purpose, words of prose."""

    kind: NDArray[np.object_]
    probability: NDArray[np.float64]
    purpose: NDArray[np.uint8]
    prose: NDArray[np.int32]


def add_shown(found: Collector, shown: Shown, *, is_own: NDArray[np.bool_]) -> None:
    """A page that shows nothing has no purpose and no prose. Prose counts where it `is_own`: not made, not copied."""
    found.add("NOTHING_TO_READ", np.isin(shown.kind, NOTHING), shown.probability)
    found.add("PLACEHOLDER", np.isin(shown.kind, PLACEHOLDERS), shown.probability)
    found.add("PARKED", np.isin(shown.kind, PARKED), shown.probability)
    found.add("FARM", shown.kind == FARM, shown.probability)
    found.add("ONE_OWNER", np.isin(shown.kind, ONE_OWNER), shown.probability)
    is_site = ~np.isin(shown.kind, NOTHING)
    for bit, symbol in enumerate(PURPOSES):
        found.add(symbol, is_site & ((shown.purpose >> bit) & 1 > 0))
    prose = np.minimum(shown.prose, MOST_PROSE) / 100
    found.add("OWN_PROSE", is_site & (prose > 0) & is_own, prose)
