"""Sites of one owner: what joins two sites, and what only a platform or a theme gives them."""

import numpy as np
import pyarrow as pa
import pytest

from samehand.base.buffers import end_to_end
from samehand.html import parse_pages
from samehand.methods.sites.features import Features, page_features
from samehand.methods.sites.owners import find_owners

PROSE = "We make and repair {} for everyone who asks us to, in our own shop, since the first year of the town."


def joined(
    first: str, second: str, *, same_style: bool = True, names: tuple[str, str] = ("one.example", "two.example")
) -> bool:
    """Whether two sites with this in their sources, and texts of their own, are taken for one owner's."""
    pages = [f"<title>{a} shop</title><p>{PROSE.format(a)}</p>{b}" for a, b in (("boats", first), ("kites", second))]
    data, offsets = end_to_end([page.encode() for page in pages])
    rows = pa.table(
        {
            "page_id": [0, 1],
            "url_host_name": list(names),
            "url_host_private_domain": list(names),
            "fetch_status": pa.nulls(2, pa.int16()),
        }
    )
    found = page_features(rows, parse_pages(data, offsets), data=data, offsets=offsets)
    styles = np.zeros(2, np.int64) if same_style else np.array([0, 1])
    return bool(find_owners(Features(pa.Table.from_batches([found])), names, styles, styles).group_of)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        ("", "", False),  # a theme alone
        ("UA-1234567-1", "UA-1234567-2", True),  # one account, a number for each site
        ("UA-1234567-1", "UA-1234567-1", False),  # one number: the platform counts its sites
        ("UA-1234567-1 GTM-ABC123", "UA-1234567-1 GTM-ABC123", False),
        ("UA-1234567-1 UA-7654321-1", "UA-1234567-1 UA-7654321-2", True),
        ("GTM-ABC123", "GTM-ABC123", True),
        ("pub-123456789012345", "pub-123456789012345", True),
        ("pub-123456789012345 pub-987654321098765", "pub-123456789012345", False),  # an agency's
        ("UA-1234567-1", "UA-7654321-1", False),
        ("<a href=http://two.example/>two</a>", "", False),  # a theme, and a link to a friend
        ("<a href=http://two.example/>two</a>", "<a href=http://one.example/>one</a>", True),
    ],
)
def test_what_joins_two_sites_with_one_style(first: str, second: str, wanted: bool) -> None:
    assert joined(first, second) is wanted


def test_one_sign_is_not_enough() -> None:
    assert not joined("UA-1234567-1", "UA-1234567-2", same_style=False)
    assert joined("UA-1234567-1 <a href=http://two.example/>two</a>", "UA-1234567-2", same_style=False)
    assert joined("", "", names=("boatshop.example", "boatshop.test"))
    assert not joined("", "", same_style=False, names=("boatshop.example", "boatshop.test"))
