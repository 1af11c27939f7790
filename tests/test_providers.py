"""Verdicts: what makes a cluster, a site and a provider parked, and what must not."""

from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import SettingsError
from samehand.base.page import Page
from samehand.base.page_rows import pages_to_batch
from samehand.base.settings import Settings
from samehand.html import parse_pages
from samehand.methods.sites.clusters import Rules
from samehand.methods.sites.features import Features, page_features
from samehand.methods.sites.homes import INDEX, INSIDE, ROOT, home_pages, path_kind, split_path
from samehand.methods.sites.providers import judge, share_bounds
from samehand.methods.sites.tags import tag_sequences
from samehand.methods.sites.verdicts import (
    HOSTING,
    NO_PROVIDER,
    OK,
    PARKED,
    PARKED_ADS,
    PARKED_KINDS,
    POOL,
    UNKNOWN,
    Verdicts,
)
from samehand.store.tables import PROVIDERS, SITE_CLUSTERS, SITES

WORDS = [f"{a}{b}{c}o" for a in "bdfgklmnprstvz" for b in "aeiou" for c in "lmnrst"]
Site = tuple[str, tuple[str, ...], str]


def text(seed: int, count: int) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, count))


def parked(seed: int, *providers: str) -> Site:
    words = (text(seed * 50 + number, 2) for number in range(6 + seed % 3))
    links = "".join(f"<li><a href='http://click.test/?{seed}'>{keyword}</a></li>" for keyword in words)
    name = f"parked{seed}.example"
    return (
        name,
        providers,
        f"<title>{name}</title><h1>{name}</h1><p>Related searches</p><ul>{links}</ul><p>Buy this one",
    )


def themed(seed: int, *providers: str) -> Site:
    """Honest sites of one theme: one structure, other words."""
    body = f"<div><div><h1>{text(seed, 2)}</h1><p>{text(seed + 1000, 120)}</p><a href=/about>About</a></div></div>"
    return f"theme{seed}.example", providers, f"<title>{text(seed + 500, 3)}</title>{body}"


def unlike(seed: int, *providers: str) -> Site:
    tags = np.random.default_rng(seed).choice(["b", "i", "div", "p", "table", "h2", "ul", "em", "span"], 60)
    body = "".join(f"<{tag}>{text(seed + n, 3)}</{tag}>" for n, tag in enumerate(tags))
    return f"unlike{seed}.example", providers, f"<title>{text(seed, 3)}</title>{body}"


def judged(sites: list[Site], rules: Rules | None = None, **more: object) -> Verdicts:
    contents = [content.encode() for _, _, content in sites]
    data = np.frombuffer(b"".join(contents), np.uint8)
    offsets = np.cumsum([0, *map(len, contents)]).astype(np.int64)
    found = parse_pages(data, offsets)
    ids = pa.array(range(100, 100 + len(sites)), pa.int64())
    names = pa.array([name for name, _, _ in sites])
    columns = ["page_id", "url_host_name", "url_host_private_domain", "fetch_status"]
    pages = pa.table([ids, names, names, pa.array([200] * len(sites), pa.int16())], names=columns)
    features = Features(pa.Table.from_batches([page_features(pages, found, data=data, offsets=offsets)]))
    table = pa.table(
        {
            "site": names,
            "page_id": ids,
            "url": [f"http://{name}/" for name, _, _ in sites],
            "providers": pa.array([list(providers) for _, providers, _ in sites], pa.list_(pa.string())),
        }
    )
    return judge(table, tag_sequences(found), features, rules, **more)  # type: ignore[arg-type]


def verdicts(found: Verdicts) -> dict[str, str]:
    """Whether each site is parked."""
    return {row["site"]: PARKED if row["kind"] in PARKED_KINDS else OK for row in found.sites.to_pylist()}


def provider(found: Verdicts, name: str) -> dict[str, object]:
    return next(row for row in found.providers.to_pylist() if row["provider"] == name)


MIXED = [parked(n, "park.test") for n in range(12)] + [unlike(n, "park.test") for n in range(3)]
HOSTED = [themed(n, "host.test") for n in range(10)] + [unlike(n, "host.test") for n in range(50, 60)]


def test_a_parking_provider_and_a_hoster_are_told_apart() -> None:
    found = judged(MIXED + HOSTED, nameservers={"park.test": ["ns2.park.test", "ns1.park.test"]})
    for site, verdict in verdicts(found).items():
        assert verdict == (PARKED if site.startswith("parked") else OK), site
    park, host = provider(found, "park.test"), provider(found, "host.test")
    assert (park["verdict"], park["sites"], park["parked_sites"], park["voices"]) == (PARKED, 15, 12, 15)
    assert park["nameservers"] == ["ns1.park.test", "ns2.park.test"]
    assert host["verdict"] == OK
    assert park["parked_share"] == 12 / 15
    assert 0.5 < park["parked_share_low"] < 12 / 15
    assert park["kinds"] == [{"name": "parked-ads", "value": "12"}, {"name": "real", "value": "3"}]
    assert found.sites.schema == SITES.fixed_schema
    assert found.clusters.schema == SITE_CLUSTERS.fixed_schema
    assert found.providers.schema == PROVIDERS.fixed_schema


def test_every_verdict_has_its_figures() -> None:
    found = judged(MIXED)
    clusters = {row["site_cluster_id"]: row for row in found.clusters.to_pylist()}
    for row in found.sites.to_pylist():
        cluster = clusters[row["site_cluster_id"]]
        assert row["distance"] <= cluster["radius"]
        assert row["evidence"]
    parked = next(row for row in clusters.values() if row["kind"] == PARKED_ADS)
    assert parked["site_cluster_id"] == 100
    assert parked["score"] >= Rules().min_score
    assert parked["reason"] == (
        "12 sites with nearly the same page structure: 12 of 12 have no title of their own, 12 of 12 lead to the same"
        " places, a typical one has no prose of its own"
    )
    assert {row["reason"] for row in clusters.values() if row["sites"] == 1} == {"no other site has a similar page"}
    assert sum(row["sites"] for row in clusters.values()) == len(MIXED)


def test_the_papers_rule_takes_a_theme_for_parked() -> None:
    found = judged([themed(n, "host.test") for n in range(10)], Rules.paper())
    assert set(verdicts(found).values()) == {PARKED}
    assert {row["reason"] for row in found.clusters.to_pylist()} == {
        "10 sites at a mean distance of 0.00 from the centre, below 0.25"
    }
    assert provider(found, "host.test")["verdict"] == PARKED


def test_the_papers_rule_calls_a_lone_site_parked_and_ours_does_not() -> None:
    sites = [unlike(n, "host.test") for n in range(6)]
    assert set(verdicts(judged(sites, Rules.paper())).values()) == {PARKED}
    assert set(verdicts(judged(sites)).values()) == {OK}


@pytest.mark.parametrize("k", [2, 8, 64])
def test_the_number_of_clusters_does_not_matter(k: int) -> None:
    assert verdicts(judged(MIXED + HOSTED, Rules(k=k))) == verdicts(judged(MIXED + HOSTED))


def test_a_few_parked_pages_at_a_hoster_are_found() -> None:
    found = judged(HOSTED + [parked(n, "host.test") for n in range(4)])
    assert {site for site, verdict in verdicts(found).items() if verdict == PARKED} == {
        f"parked{n}.example" for n in range(4)
    }
    assert provider(found, "host.test")["verdict"] == OK


def test_a_lone_page_is_known_by_a_cluster_elsewhere() -> None:
    name, providers, content = parked(77, "host.test")
    said, shown = "<p>Related searches</p>", "<p>Choose one</p>" + "<img>" * 6  # no rule knows the page by itself
    lone = (name, providers, content.replace(said, shown))
    others = [(site, given, page.replace(said, shown)) for site, given, page in MIXED]
    assert verdicts(judged([*HOSTED, lone]))[name] == OK
    found = judged([*others, *HOSTED, lone])
    assert verdicts(found)[name] == PARKED
    reason = next(row["reason"] for row in found.sites.to_pylist() if row["site"] == name)
    assert reason.startswith("the page resembles 12 parked sites: 12 of 12 have no title of their own, ")


def shell(seed: int, title: str, *providers: str) -> Site:
    name = f"shell{seed}.example"
    head = f"<title>{title.format(name)}</title>" if title else ""
    return (
        name,
        providers,
        f"<html><head>{head}</head><body><div id=x></div><script src=/{seed}.js></script></body></html>",
    )


def test_sites_that_look_the_same_are_not_accused_without_purpose() -> None:
    """Bot walls and applications are bare pages that look the same everywhere."""
    for title in ("", "Welcome"):
        found = judged([shell(n, title, "host.test") for n in range(12)])
        assert {row["kind"] for row in found.sites.to_pylist()} == {"shell"}, title


def test_bare_pages_are_parked_by_their_names_or_by_their_provider() -> None:
    found = judged([shell(n, "{}", "host.test") for n in range(12)])
    assert {row["kind"] for row in found.sites.to_pylist()} == {PARKED_ADS}
    found = judged([*MIXED, *(shell(n, "", "park.test") for n in range(6))])
    assert verdicts(found)["shell3.example"] == PARKED
    reason = next(row["reason"] for row in found.sites.to_pylist() if row["site"] == "shell3.example")
    assert reason.endswith("12 of 15 other sites on their name servers are parked")
    known = judged([shell(n, "", "bodis.com") for n in range(6)])
    assert set(verdicts(known).values()) == {PARKED}


def test_sites_of_one_owner_are_one_voice() -> None:
    about = text(5, 60)
    copies: list[Site] = [
        (f"name{n}x{n}.example", ("park.test",), f"<title>Rossi plumbing</title><p>{about}</p><a href=/mail>mail</a>")
        for n in range(6)
    ]
    found = judged([*copies, *(parked(n, "park.test") for n in range(8))])
    rows = {row["site"]: row for row in found.sites.to_pylist()}
    assert {rows[name]["kind"] for name, _, _ in copies} == {"copies"}
    assert len({rows[name]["owner_group"] for name, _, _ in copies}) == 1
    assert provider(found, "park.test")["voices"] == 9


def test_the_lower_bound_of_a_share() -> None:
    low, high = share_bounds(16, 20)
    assert (round(low, 3), round(high, 3)) == (0.584, 0.919)
    assert share_bounds(0, 0) == (0.0, 1.0)
    found = judged([parked(n, "host.test") for n in range(4)] + [unlike(n, "host.test") for n in range(3)])
    row = provider(found, "host.test")
    assert (row["verdict"], row["reason"]) == (UNKNOWN, "4 of 7 sites are parked, but that may be chance: at least 25%")


def test_a_site_with_something_to_say_is_not_parked_with_its_cluster() -> None:
    name, providers, content = parked(40, "park.test")
    blog = content.replace(f"<title>{name}</title>", "<title>Anna bakes bread</title>")
    blog = blog.replace("Buy this one", text(9, 200))
    found = judged([*MIXED, (name, providers, blog)])
    row = next(row for row in found.sites.to_pylist() if row["site"] == name)
    assert row["kind"] == "real"
    assert row["site_cluster_id"] == 100


def test_pages_that_show_no_site_condemn_nobody() -> None:
    pages = ["<html></html>", "<h1>It works!</h1>", "<title>404 Not Found</title><h1>Not Found</h1>"]
    sites: list[Site] = [(f"empty{n}.example", ("host.test",), pages[n % 3]) for n in range(30)]
    found = judged([*sites, *(parked(n, "host.test") for n in range(4))])
    rows = [row for row in found.sites.to_pylist() if row["site"].startswith("empty")]
    assert {(row["kind"], row["site_cluster_id"]) for row in rows} == {
        ("empty", None),
        (HOSTING, None),
        ("error", None),
    }
    row = provider(found, "host.test")
    assert (row["verdict"], row["voices"], row["parked_sites"]) == (OK, 14, 4)
    assert row["reason"] == "4 of 14 sites are parked"


def test_only_errors_leave_the_verdict_to_the_others() -> None:
    error = "<title>404 Not Found</title><h1>Not Found</h1>"
    sites: list[Site] = [(f"error{n}.example", ("park.test",), error) for n in range(30)]
    assert provider(judged([*sites, *MIXED]), "park.test")["verdict"] == PARKED
    alone = provider(judged(sites), "park.test")
    assert alone["verdict"] == UNKNOWN
    assert alone["reason"] == "too few sites show anything to judge the provider: 0 of 5"


def test_small_providers_have_no_verdict_but_their_sites_have() -> None:
    found = judged([parked(n, f"own{n}.test") for n in range(6)])
    assert set(verdicts(found).values()) == {PARKED}
    assert {row["verdict"] for row in found.providers.to_pylist()} == {UNKNOWN}
    assert {row["provider"] for row in found.clusters.to_pylist()} == {POOL}


def test_clusters_are_named_after_their_smallest_page() -> None:
    sites = [parked(n + 20, f"own{9 - n}.test") for n in range(6)] + MIXED + HOSTED
    found = judged(sites)
    members: dict[tuple[str, int], list[int]] = {}
    for row in found.sites.to_pylist():
        home = row["provider"] if row["provider"] in ("park.test", "host.test") else POOL
        members.setdefault((home, row["site_cluster_id"]), []).append(row["page_id"])
    assert all(cluster == min(ids) for (_, cluster), ids in members.items())
    assert {(row["provider"], row["site_cluster_id"]) for row in found.clusters.to_pylist()} == set(members)


def test_sites_are_judged_without_any_name_servers() -> None:
    found = judged([(name, (), content) for name, _, content in MIXED + HOSTED])
    assert verdicts(found) == verdicts(judged(MIXED + HOSTED))
    assert [(row["provider"], row["verdict"]) for row in found.providers.to_pylist()] == [(NO_PROVIDER, UNKNOWN)]


def test_a_site_counts_for_each_of_its_providers() -> None:
    found = judged([parked(n, "one.test", "two.test", "two.test") for n in range(6)])
    assert found.sites.num_rows == 12
    assert [(row["provider"], row["sites"]) for row in found.providers.to_pylist()] == [
        ("one.test", 6),
        ("two.test", 6),
    ]


def test_the_order_of_rows_and_the_threads_change_nothing() -> None:
    sites = MIXED + HOSTED
    one, other = judged(sites, threads=1), judged(sites, threads=3)
    assert one.sites.equals(other.sites)
    assert one.clusters.equals(other.clusters)
    assert verdicts(judged(sites[::-1])) == verdicts(one)


def all_calls(found: Verdicts) -> int:
    rows = found.providers.to_pylist()
    return sum(int(row[f"calls_{name}"]) for row in rows for name in ("r", "f", "b", "d", "skipped"))


def test_the_calls_of_all_clusterings_are_counted() -> None:
    """The sites of a provider that are not alike are clustered again, and those calls count too."""
    once, again = (all_calls(judged(HOSTED, Rules(k=4, rounds=rounds))) for rounds in (1, 6))
    assert 0 < once < again


def test_no_sites_no_verdicts() -> None:
    found = judged([])
    assert (found.sites.num_rows, found.clusters.num_rows, found.providers.num_rows) == (0, 0, 0)


@pytest.mark.parametrize(
    "wrong", [{"max_mean_distance": 0.0}, {"max_mean_distance": 1.5}, {"clusters_per_provider": 0}, {"min_sites": 0}]
)
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


def chosen(*pages: tuple[str, int | None]) -> str:
    """The home page of a site that has these pages, one batch each."""
    urls = [url for url, _ in pages]
    batches = [
        pa.record_batch(
            {
                "page_id": pa.array([number], pa.int64()),
                "url": [url],
                "url_host_name": [url.split("/")[2]],
                "url_host_registered_domain": ["a.test"],
                "url_host_private_domain": ["a.test"],
                "fetch_status": pa.array([status], pa.int16()),
            }
        )
        for number, (url, status) in enumerate(pages)
    ]
    (home,) = home_pages(batches).to_pylist()
    assert home["url"] == urls[home["page_id"]]
    return str(home["url"])


def test_the_home_page_is_the_shortest_way_in() -> None:
    assert chosen(("http://a.test/x", 200), ("http://a.test/index.php", 200), ("http://a.test/", 200)).endswith("test/")
    assert chosen(("http://a.test/x", 200), ("http://a.test/index.php", 200)).endswith("index.php")
    assert chosen(("http://a.test/", 404), ("http://a.test/about", 200)).endswith("about")
    assert chosen(("http://shop.a.test/", 200), ("http://www.a.test/", 200)) == "http://www.a.test/"
    assert chosen(("http://www.a.test/", 200), ("http://a.test/", None)) == "http://a.test/"
    assert chosen(("http://a.test/?p=2", 200), ("http://a.test/", 200)) == "http://a.test/"


@pytest.mark.parametrize("path", ["", "/", "/index.html", "/Index.PHP", "/default.aspx", "/home/", "/welcome.htm"])
def test_paths_of_home_pages(path: str) -> None:
    assert path_kind(path) == (ROOT if len(path) < 2 else INDEX)


@pytest.mark.parametrize("path", ["/about", "/index/2", "/blog/index.html", "/homes.html", "//"])
def test_paths_of_other_pages(path: str) -> None:
    assert path_kind(path) == INSIDE


@given(st.text("http:/?#[]@.a \n\u00e9;", max_size=12))
def test_paths_are_those_of_the_standard_library(rest: str) -> None:
    for url in (f"http://a.test{rest}", f"http://{rest}", rest):
        try:
            parts = urlsplit(url)
        except ValueError:
            assert split_path(url) == (url, "")
        else:
            assert split_path(url) == (parts.path, parts.query)


def test_sites_are_private_domains_and_keep_their_registered_domain() -> None:
    names = ["a.github.io/", "b.github.io/x", "www.shop.co.uk/", "github.io/", "b.github.io/"]
    pages = pages_to_batch([Page(f"http://{name}", b"", "x", n) for n, name in enumerate(names)], 0)
    found = home_pages([pages])
    assert found.select(["site", "page_id", "url_host_registered_domain"]).to_pylist() == [
        {"site": "a.github.io", "page_id": 0, "url_host_registered_domain": "github.io"},
        {"site": "shop.co.uk", "page_id": 2, "url_host_registered_domain": "shop.co.uk"},
        {"site": "github.io", "page_id": 3, "url_host_registered_domain": "github.io"},
        {"site": "b.github.io", "page_id": 4, "url_host_registered_domain": "github.io"},
    ]


def test_each_site_has_one_home_page() -> None:
    pages = pa.table(
        {
            "page_id": pa.array([5, 6, 7, 8], pa.int64()),
            "url": ["http://b.test/x", "http://b.test/", "http://[::1", "http://1.2.3.4/"],
            "url_host_name": ["b.test", "b.test", None, "1.2.3.4"],
            "url_host_registered_domain": ["b.test", "b.test", None, None],
            "url_host_private_domain": ["b.test", "b.test", None, None],
            "fetch_status": pa.array([200, 200, None, 200], pa.int16()),
        }
    )
    found = home_pages(pages.to_batches())
    assert found.column("site").to_pylist() == ["b.test", "1.2.3.4"]
    assert found.column("page_id").to_pylist() == [6, 8]
    assert found.column("url").to_pylist() == ["http://b.test/", "http://1.2.3.4/"]
