"""Sites that pretend: wording never decides on a long page, hidden wording is no wording, and size costs little."""

import numpy as np
import pyarrow as pa
import pytest

from samehand.base.buffers import end_to_end
from samehand.html import parse_pages
from samehand.methods.sites.features import page_features
from samehand.methods.sites.phrases import SOURCE, shipped_phrases
from samehand.methods.sites.signs import MAX_TEXT_BYTES

PROSE = "The ferry leaves at noon and comes back when the wind allows it, which nobody in the harbour can foretell. "
CLASSES = sorted({name for name, _ in shipped_phrases() if not name.startswith(SOURCE)})


def kinds(*pages: str) -> list[str]:
    data, offsets = end_to_end([page.encode() for page in pages])
    rows = pa.table(
        {
            "page_id": np.arange(len(pages)),
            "url_host_name": ["ferry.example"] * len(pages),
            "url_host_private_domain": ["ferry.example"] * len(pages),
            "fetch_status": pa.nulls(len(pages), pa.int16()),
        }
    )
    found = page_features(rows, parse_pages(data, offsets), data=data, offsets=offsets)
    kinds: list[str] = found.column("kind").to_pylist()
    return kinds


@pytest.mark.parametrize("name", CLASSES)
def test_wording_decides_on_no_long_page(name: str) -> None:
    phrases = ". ".join(phrase for one, phrase in shipped_phrases() if one == name)
    title = next(phrase for one, phrase in shipped_phrases() if one == name)
    page = f"<title>{title} ferry.example</title><p>{phrases}</p>" + f"<p>{PROSE * 20}</p>" * 8
    assert kinds(page) == [""]


def test_all_wording_at_once_decides_nothing() -> None:
    every = " ".join(phrase for name, phrase in shipped_phrases() if not name.startswith(SOURCE))
    assert kinds(f"<p>{every}</p>" * 2) == [""]


def test_hidden_wording_is_no_wording() -> None:
    sale = "<h1>ferry.example</h1><p>This domain is for sale. Make an offer.</p>"
    shown, hidden, lettered = kinds(
        f"<title>ferry.example</title>{sale}",
        f"<title>Ferries</title><p>{PROSE}</p><div style='display:none'>{sale}</div>",
        f"<title>Ferries</title><p>{PROSE}</p><!-- {sale} --><script>var x = '{sale}'</script>",
    )
    assert shown == "for-sale"
    assert (hidden, lettered) == ("", "")


def test_what_lies_beyond_the_limits_is_not_read() -> None:
    far = f"<p>{PROSE * (MAX_TEXT_BYTES // len(PROSE) + 1)}</p>"
    assert kinds(far + "<p>This domain is for sale.</p>") == kinds(far) == [""]
