"""Style similarity: exact figures, estimates, shared noise, and what small pages are grouped by."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from samehand import Settings, compare
from samehand.methods.style import noise as style
from samehand.methods.style.fingerprints import Stored, style_batch
from samehand.store.tables import STYLE_FINGERPRINTS
from style_pages import estimate, fingerprint, pages_batch

TEMPLATE = b"<div class='row' id=\"%d\"><a href='/item?id=%d&x=%d'>%s</a> (%d) - <b>%s</b>;</div>\n"


def page(seed: int, rows: int = 40) -> bytes:
    """Same template, other words and numbers."""
    return b"<!doctype html>\n<title>x</title>\n" + b"".join(
        TEMPLATE % (seed + i, seed * i, i, b"word" * (i % 3), seed, b"n" * (1 + i % 5)) for i in range(rows)
    )


def other(seed: int) -> bytes:
    return b"<HTML><BODY BGCOLOR=#FFFFFF>" + b"".join(
        b"<P ALIGN=LEFT>%d, %d; <I>x</I>!</P>\r\n<HR>" % (seed, i) for i in range(60)
    )


PARTS = st.lists(st.sampled_from([b"<a>", b"<b c='d'>", b"</a>;", b" x\n", b"{}[]"]), max_size=40).map(b"".join)


@given(PARTS, PARTS, st.sampled_from([4, 16]))
def test_exact_similarities_equal_set_arithmetic(left: bytes, right: bytes, width: int) -> None:
    found = compare(left, right, settings=Settings(shingle_bytes=width))
    a, b = (set(reference.parts(reference.noise(content, fold=True), width)) for content in (left, right))
    assert (found.left_shingles, found.right_shingles, found.shared_shingles) == (len(a), len(b), len(a & b))
    if a | b:
        assert found.jaccard == pytest.approx(len(a & b) / len(a | b))
        assert found.dice == pytest.approx(2 * len(a & b) / (len(a) + len(b)))


@given(PARTS, PARTS)
def test_shared_runs_hold_the_same_noise_in_both_sources(left: bytes, right: bytes) -> None:
    found = compare(left, right)
    for run in found.runs:
        for content, (start, end) in ((left, run.left), (right, run.right)):
            kept = reference.noise(content[start:end], fold=True)
            assert kept == run.noise
    assert sum(run.shingles for run in found.runs) >= found.shared_shingles


def test_same_template_other_words() -> None:
    found = compare(page(3), page(70_000))
    assert found.jaccard == 1.0
    assert found.estimate == 1.0
    assert compare(page(3), other(3)).jaccard < 0.05


def test_text_and_bytes_are_the_same_page() -> None:
    assert compare(page(1).decode(), page(2)).jaccard == 1.0


def test_estimate_is_near_exact_jaccard() -> None:
    """A statistical check beside the exact ones: 128 samples of a share have a deviation of at most 0.045."""
    errors = []
    for rows in range(2, 40, 3):
        left, right = page(1) + other(1)[: 90 * rows], page(2) + b"[%d|{}]" % rows * rows
        found = compare(left, right)
        errors.append(found.estimate - found.jaccard)
    assert abs(float(np.mean(errors))) < 0.04
    assert max(abs(error) for error in errors) < 0.2


def test_identical_small_pages_look_identical_unless_the_paper_is_asked() -> None:
    small = b"<html><frameset rows='100%,*'><frame src='http://x/?a=b'></frameset></html>"
    default, paper = Settings(), Settings.preset("paper")
    ours, papers = fingerprint(small, default), fingerprint(small, paper)
    assert estimate(ours, ours, default) == 1.0
    assert estimate(papers, papers, paper) < 0.3


def test_white_space_is_no_disguise() -> None:
    disguised = page(1).replace(b"\n", b"\n\t \r\n").replace(b" ", b"   ")
    assert compare(page(1), disguised).jaccard == 1.0
    assert compare(page(1), disguised, settings=Settings.preset("paper")).jaccard < 0.5


def test_style_batch_is_a_row_for_each_page() -> None:
    contents = (page(1), b"", b"words only", other(1), b"<p>")
    settings = Settings()
    batch = style_batch(pages_batch(*contents), settings)
    assert batch.schema == STYLE_FINGERPRINTS.schema(settings)
    for row, content in zip(batch.to_pylist(), contents, strict=True):
        values = fingerprint(content, settings)
        assert np.frombuffer(row["fingerprint"], "<u4").tolist() == values.tolist()
        assert row["noise_bytes"] == len(style.noise_of(content, settings))
        assert row["filled"] == np.count_nonzero(values != reference.EMPTY)


def test_a_slice_of_a_batch_gives_the_rows_of_the_slice() -> None:
    whole = pages_batch(page(1), other(2), page(3))
    sliced = style_batch(whole.slice(1, 2), Settings())
    assert sliced.to_pylist() == style_batch(whole, Settings()).to_pylist()[1:]


def parked(domain: str, words: int) -> bytes:
    links = "".join(f"<li><a href='/?k={n}'>word</a></li>" for n in range(words))
    text = f"<title>{domain}</title><h1>{domain.capitalize()}</h1><p>Buy <a href='//sale.example/{domain}'>it</a>!</p>"
    return f"<!doctype html><script>var d='{domain}';</script>{text}<ul>{links}</ul>".encode()


@pytest.mark.parametrize("limit", [0, 8_192])
def test_the_name_of_its_own_host_is_content(limit: int) -> None:
    """One template under names with and without hyphens and dots: the same noise once the names are left out."""
    domains = ["bluewater.com", "my-blue-water.co.uk", "old.blue.water.org.uk"]
    batch = pa.record_batch(
        {
            "page_id": pa.array([0, 1, 2], pa.int64()),
            "url_host_name": [f"www.{domain}" for domain in domains],
            "url_host_private_domain": [None, *domains[1:]],
            "content": pa.array([parked(domain, 6) for domain in domains], pa.large_binary()),
        }
    )
    rows = style_batch(batch, Settings(host_mask_max_page_bytes=limit)).to_pylist()
    assert (len({row["noise_bytes"] for row in rows}) == 1) == (limit > 0)
    assert (len({row["fingerprint"] for row in rows}) == 1) == (limit > 0)


def test_what_small_pages_must_have_in_common() -> None:
    frame = (
        b"<html><head><title>%s</title></head><frameset rows='100%%,*' border='0'>"
        b"<frame src='http://a/?d=%s' scrolling='auto'></frameset></html>"
    )
    lander = b"<script>location='/lander'</script>"
    rows = style_batch(
        pages_batch(
            frame % (b"a", b"a"),
            frame % (b"b", b"b"),
            lander,
            lander,
            lander.replace(b"lander", b"other"),
            b"a",
            (frame % (b"a", b"a")).replace(b"title>", b"style>"),
        ),
        Settings(),
    ).to_pylist()
    keys = [row["exact_match_key"] for row in rows]
    assert keys[0] == keys[1]  # enough noise: equal noise and equal tags are enough
    assert keys[0] != keys[6]  # the same noise with other tags is not
    assert keys[2] == keys[3] != keys[4]  # next to no noise: every byte must be equal
    assert keys[5] == 0  # no noise at all: equal to nothing
    stored = Stored.of(pa.RecordBatch.from_pylist(rows, STYLE_FINGERPRINTS.schema(Settings())), Settings())
    assert not stored.comparable.any()
    assert stored.identity.tolist() == keys
