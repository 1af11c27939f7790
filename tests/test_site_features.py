"""What is kept of a page, and what a cluster of pages shows."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.html import parse_pages
from samehand.methods.sites.evidence import Evidence, _together, cluster_evidence, evidence_of_clusters
from samehand.methods.sites.features import FEATURE_SCHEMA, MAX_TITLE, SKETCH_SIZE, Features, page_features
from samehand.methods.sites.purpose import named
from samehand.methods.sites.verdicts import EMPTY, ERROR, REDIRECT

PARKED = "<title>{0}</title><h1>{0}</h1><p>Related searches</p><ul>" + "".join(
    f"<li><a href='http://click.example/?q={{{number}}}'>{{{number}}} {{1}}</a></li>" for number in range(1, 6)
)


def stored(*pages: tuple[str, str], status: int = 200) -> pa.Table:
    """The features of (domain, page)."""
    contents = [content.encode() for _, content in pages]
    data = np.frombuffer(b"".join(contents) + b" ", np.uint8)
    offsets = np.cumsum([0, *map(len, contents)]).astype(np.int64)
    names = [domain for domain, _ in pages]
    table = pa.table(
        {
            "page_id": pa.array(range(len(pages)), pa.int64()),
            "url_host_name": names,
            "url_host_private_domain": names,
            "fetch_status": pa.array([status] * len(pages), pa.int16()),
        }
    )
    return pa.Table.from_batches([page_features(table, parse_pages(data, offsets), data=data, offsets=offsets)])


def evidence(*pages: tuple[str, str]) -> Evidence:
    return cluster_evidence(Features(stored(*pages)), np.arange(len(pages)))


def parked(domain: str, *words: str) -> tuple[str, str]:
    return domain, PARKED.format(domain, *words)


def test_a_site_is_compared_without_its_own_name() -> None:
    ours, theirs = (
        stored((name, f"<title>Welcome</title><p>{name} is for sale today")).to_pylist()[0]
        for name in ("bakery.example", "bridge.test")
    )
    assert ours["text_sketch"] == theirs["text_sketch"]
    assert (ours["words"], ours["own_name"]) == (4, True)
    assert ours["title_key"] == theirs["title_key"] != 0


def test_a_title_that_spells_out_the_domain_is_none() -> None:
    rows = stored(
        ("shop.example", "<title>Shop.Example - cheap shoes</title>"),
        ("shop.example", "<title>Anna's shoes</title>"),
        ("xn--mller-kva.example", "<title>müller.example zu verkaufen</title>"),
    ).to_pylist()
    assert [row["title_key"] == 0 for row in rows] == [True, False, True]
    assert rows[2]["title"] == "müller.example zu verkaufen"


def test_the_title_is_kept_as_text() -> None:
    title = "Caf\u00e9 &amp;\n  Bar\t\u2013 <b>" + "x" * 400
    row = stored(("a.example", f"<title>{title}</title>")).to_pylist()[0]
    assert row["title"].startswith("Caf\u00e9 & Bar \u2013 <b>xxx")
    assert len(row["title"]) == MAX_TITLE
    assert stored(("a.example", "<p>none")).to_pylist()[0]["title"] == ""


def test_links_are_counted_by_where_they_lead() -> None:
    page = (
        "<a href='http://www.shop.example/a'>a</a><a href=/b>b</a><a href='//click.example/1'>c</a>"
        "<a href='https://click.example/2'>d</a><a href='http://other.test'>e</a>"
    )
    row = stored(("shop.example", page)).to_pylist()[0]
    assert (row["links"], row["target_links"], row["query_links"]) == (5, [2, 1], 0)
    asked = "".join(f"<a href='/?q={n}'>x</a>" for n in range(4)) + "<a href='/p?a=1'>y</a>"
    assert stored(("shop.example", asked)).to_pylist()[0]["query_links"] == 4


@pytest.mark.parametrize(
    "page",
    [
        "<frameset><frame src='http://lander.example/{0}?d={0}'></frameset>",
        "<meta http-equiv=refresh content='0; url=http://lander.example/{0}'>",
        '<script>window.location.href="http://lander.example/{0}"</script>',
        "<script>top.location.replace('//lander.example/x')</script>",
        "<iframe width=1 src=https://lander.example></iframe>",
    ],
)
def test_redirects_are_known_by_their_host(page: str) -> None:
    first, second = stored(("a1.example", page.format("a1")), ("b2.test", page.format("b2"))).to_pylist()
    assert first["redirect_target"] == second["redirect_target"] != 0
    assert first["kind"] == REDIRECT


def test_redirects_within_the_site_are_known_by_their_path() -> None:
    script = "<script>window.onload=function(){{window.location.href='{0}'}}</script>"
    pages = [("a1.example", "/lander"), ("b2.test", "http://www.b2.test/lander?x=1"), ("c3.test", "/cms/")]
    rows = stored(*((name, script.format(path)) for name, path in pages)).to_pylist()
    targets = [row["redirect_target"] for row in rows]
    assert targets[0] == targets[1] != targets[2]
    assert 0 not in targets


def test_pages_that_show_no_site_are_named() -> None:
    assert stored(("a.example", "<html></html>")).to_pylist()[0]["kind"] == EMPTY
    assert stored(("a.example", "<p>All is well here today"), status=503).to_pylist()[0]["kind"] == ERROR


def test_purpose_and_account_ids_are_kept() -> None:
    page = "<title>a.example</title><script>ga('create', 'UA-1234567-3'); var x = 'UA-0000000'</script>"
    other = page.replace("-3", "-9")
    first, second = stored(("a.example", page), ("a.example", other)).to_pylist()
    assert first["owner_ids"] != second["owner_ids"]
    assert [one >> 16 for one in first["owner_ids"]] == [one >> 16 for one in second["owner_ids"]]
    assert len(first["owner_ids"]) == 1
    assert named(first["purpose"]) == ["its title is its own name"]


def test_parked_pages_have_everything_in_common() -> None:
    words = ("loans", "cars", "shoes", "hotels", "flights", "films", "bikes", "lamps", "tents", "boats")
    found = evidence(*(parked(f"site{n}.example", *words[n : n + 5], "online") for n in range(5)))
    assert found.same_title == 1.0
    assert found.shared_targets == 1.0
    assert found.prose == 0.0
    assert found.score(0.05, 0.25) > 5


def test_honest_sites_of_one_theme_have_little() -> None:
    draw = np.random.default_rng(1)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    pages = []
    for number in range(6):
        words = ["".join(draw.choice(letters, 6)) for _ in range(150)]
        text = f"<title>{words[0]} {words[1]}</title><p>{' '.join(words)}</p><p>made with a theme</p>"
        pages.append((f"honest{number}.example", text + "<a href=/about>about</a>"))
    found = evidence(*pages)
    assert found.same_title == 0.0
    assert found.prose > 100
    assert found.score(0.0, 0.25) < 1


def test_forwarding_to_different_places_speaks_against_one_hand() -> None:
    page = "<html><head><script>window.location='http://{}.test/'</script></head></html>"
    same = evidence(*((f"f{n}.example", page.format("lander")) for n in range(4)))
    different = evidence(*((f"f{n}.example", page.format(f"place{n}")) for n in range(4)))
    assert (same.shared_targets, different.shared_targets) == (1.0, -1.0)
    assert same.score(0.0, 0.25) == 7.0
    assert different.score(0.0, 0.25) == 3.0


def test_one_owners_copies_speak_once() -> None:
    text = "We repair all that drips and leaks in the town of Pisa"
    page = f"<title>Rossi plumbing</title><p>{text}</p><a href=/contact>mail</a>"
    found = evidence(*((f"name{n}x{n}.example", page) for n in range(5)))
    assert found.distinct_owners == 1
    assert found.pages.own_title.tolist() == [True] * 5
    many = evidence(*((f"{n:05}.example", page) for n in range(100, 125)))
    assert many.distinct_owners == 25
    sold = evidence(*((f"name{n}.example", page.replace("/contact", "http://registrar.test/")) for n in range(5)))
    assert sold.distinct_owners == 5


def test_findings_say_what_the_sites_share() -> None:
    words = ("loans", "cars", "shoes", "hotels", "flights", "films", "bikes", "lamps", "tents", "boats")
    found = evidence(*(parked(f"site{n}.example", *words[n : n + 5], "online") for n in range(5)))
    assert found.findings(in_common=True) == (
        "5 of 5 have no title of their own, 5 of 5 lead to the same places, a typical one has no prose of its own"
    )
    assert found.findings(in_common=False) == "0 of 5 show mostly the same text"
    copies = evidence(*((f"n{n}.example", "<p>We move to another place soon, see you there") for n in range(4)))
    assert copies.findings(in_common=True).startswith("4 of 4 show mostly the same text, 4 of 4 have no title")


def test_pages_are_judged_one_by_one_as_the_cluster_is() -> None:
    found = evidence(*(parked(f"site{n}.example", "a", "b", "c", "d", "e", "f") for n in range(4)))
    scores = found.page_scores(np.zeros(4), 0.25)
    assert scores.tolist() == pytest.approx([found.score(0.0, 0.25)] * 4)


@given(st.lists(st.binary(max_size=200), min_size=1, max_size=4))
def test_any_bytes_have_features(contents: list[bytes]) -> None:
    data = np.frombuffer(b"".join(contents) + b" ", np.uint8)
    offsets = np.cumsum([0, *map(len, contents)]).astype(np.int64)
    nothing = pa.nulls(len(contents), pa.string())
    table = pa.table(
        [pa.array(range(len(contents)), pa.int64()), nothing, nothing, pa.nulls(len(contents), pa.int16())],
        names=["page_id", "url_host_name", "url_host_private_domain", "fetch_status"],
    )
    found = page_features(table, parse_pages(data, offsets), data=data, offsets=offsets)
    assert found.schema == FEATURE_SCHEMA
    features = Features(pa.Table.from_batches([found]))
    assert features.sketches.shape == (len(contents), SKETCH_SIZE)
    assert np.isfinite(cluster_evidence(features, np.arange(len(contents))).score(0.1, 0.25))


def test_a_page_alone_has_the_figures_of_a_cluster_of_one() -> None:
    pages = (
        "",
        "<title>A</title>some words",
        "<title>Baker</title><a href=/?q=a>x</a><a href=//b.test>y</a> one two three",
    )
    features = Features(stored(*((f"site{number}.test", page) for number, page in enumerate(pages))))
    clusters = [np.arange(2), *(np.array([row]) for row in range(len(pages))), np.arange(len(pages))]
    for rows, alone in zip(clusters, evidence_of_clusters(features, clusters), strict=True):
        together = _together(features, rows)
        for field in dataclasses.fields(Evidence):
            if field.name != "pages":
                assert getattr(alone, field.name) == getattr(together, field.name)
        for field in dataclasses.fields(alone.pages):
            np.testing.assert_array_equal(getattr(alone.pages, field.name), getattr(together.pages, field.name))
