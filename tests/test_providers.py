"""Verdicts: what makes a cluster, a site and a provider spam, and what must not."""

import numpy as np
import pyarrow as pa
import pytest

from samehand.base.errors import SettingsError
from samehand.html import parse_pages
from samehand.methods.sites.features import Features, page_features
from samehand.methods.sites.home import home_page, home_pages
from samehand.methods.sites.providers import (
    CLUSTER_SCHEMA,
    NO_PROVIDER,
    OK,
    POOL,
    PROVIDER_SCHEMA,
    SITE_SCHEMA,
    SPAM,
    UNKNOWN,
    Rules,
    Verdicts,
    judge,
)
from samehand.methods.sites.tags import tag_sequences

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
    columns = ["page_id", "url_host_name", "url_host_registered_domain", "fetch_status"]
    pages = pa.table([ids, names, names, pa.array([200] * len(sites), pa.int16())], names=columns)
    features = Features(page_features(pages, found, data=data, offsets=offsets))
    table = pa.table(
        {
            "domain": names,
            "page_id": ids,
            "url": [f"http://{name}/" for name, _, _ in sites],
            "providers": pa.array([list(providers) for _, providers, _ in sites], pa.list_(pa.string())),
        }
    )
    return judge(table, tag_sequences(found), features, rules, **more)  # type: ignore[arg-type]


def verdicts(found: Verdicts) -> dict[str, str]:
    return {row["domain"]: row["verdict"] for row in found.sites.to_pylist()}


def provider(found: Verdicts, name: str) -> dict[str, object]:
    return next(row for row in found.providers.to_pylist() if row["provider"] == name)


MIXED = [parked(n, "park.test") for n in range(12)] + [unlike(n, "park.test") for n in range(3)]
HOSTED = [themed(n, "host.test") for n in range(10)] + [unlike(n, "host.test") for n in range(50, 60)]


def test_a_parking_provider_and_a_hoster_are_told_apart() -> None:
    found = judged(MIXED + HOSTED, nameservers={"park.test": ["ns2.park.test", "ns1.park.test"]})
    for domain, verdict in verdicts(found).items():
        assert verdict == (SPAM if domain.startswith("parked") else OK), domain
    park, host = provider(found, "park.test"), provider(found, "host.test")
    assert (park["verdict"], park["sites"], park["spam_sites"], park["ok_sites"]) == (SPAM, 15, 12, 3)
    assert park["nameservers"] == ["ns1.park.test", "ns2.park.test"]
    assert host["verdict"] == OK
    assert park["spam_share"] == 12 / 15
    assert found.sites.schema == SITE_SCHEMA
    assert found.clusters.schema == CLUSTER_SCHEMA
    assert found.providers.schema == PROVIDER_SCHEMA


def test_every_verdict_has_its_figures() -> None:
    found = judged(MIXED)
    clusters = {row["cluster_id"]: row for row in found.clusters.to_pylist()}
    for row in found.sites.to_pylist():
        cluster = clusters[row["cluster_id"]]
        assert row["reason"] == cluster["reason"]
        assert row["distance"] <= cluster["radius"]
    spam = next(row for row in clusters.values() if row["verdict"] == SPAM)
    assert spam["cluster_id"] == 100
    assert f"{spam['points']:.1f} points" in spam["reason"]
    assert sum(row["sites"] for row in clusters.values()) == len(MIXED)


def test_the_papers_rule_takes_a_theme_for_spam() -> None:
    found = judged([themed(n, "host.test") for n in range(10)], Rules.paper())
    assert set(verdicts(found).values()) == {SPAM}
    assert provider(found, "host.test")["verdict"] == SPAM


def test_the_papers_rule_calls_a_lone_site_spam_and_ours_does_not() -> None:
    sites = [unlike(n, "host.test") for n in range(6)]
    assert set(verdicts(judged(sites, Rules.paper())).values()) == {SPAM}
    assert set(verdicts(judged(sites)).values()) == {OK}


@pytest.mark.parametrize("k", [2, 8, 64])
def test_the_number_of_clusters_does_not_matter(k: int) -> None:
    assert verdicts(judged(MIXED + HOSTED, Rules(k=k))) == verdicts(judged(MIXED + HOSTED))


def test_a_few_parked_pages_at_a_hoster_are_found() -> None:
    found = judged(HOSTED + [parked(n, "host.test") for n in range(4)])
    assert {domain for domain, verdict in verdicts(found).items() if verdict == SPAM} == {
        f"parked{n}.example" for n in range(4)
    }
    assert provider(found, "host.test")["verdict"] == OK


def test_a_lone_parked_page_is_known_by_a_cluster_elsewhere() -> None:
    lone = parked(77, "host.test")
    assert verdicts(judged([*HOSTED, lone]))["parked77.example"] == OK
    found = judged([*MIXED, *HOSTED, lone])
    assert verdicts(found)["parked77.example"] == SPAM
    reason = next(row["reason"] for row in found.sites.to_pylist() if row["domain"] == "parked77.example")
    assert reason.startswith("at distance")


def test_plain_pages_are_reported_apart_and_condemn_nobody() -> None:
    pages = ["<html></html>", "<h1>It works!</h1>", "<title>404 Not Found</title><h1>Not Found</h1>"]
    sites: list[Site] = [(f"plain{n}.example", ("host.test",), pages[n % 3]) for n in range(30)]
    found = judged([*sites, *(parked(n, "host.test") for n in range(4))])
    plain = [row for row in found.sites.to_pylist() if row["plain"]]
    assert len(plain) == 30
    assert {row["plain"] for row in plain} == {"near empty", "default page", "http error"}
    assert {(row["verdict"], row["cluster_id"]) for row in plain} == {(UNKNOWN, None)}
    row = provider(found, "host.test")
    assert (row["verdict"], row["plain_sites"], row["spam_sites"]) == (OK, 30, 4)


def test_only_errors_leave_the_verdict_to_the_others() -> None:
    error = "<title>404 Not Found</title><h1>Not Found</h1>"
    sites: list[Site] = [(f"plain{n}.example", ("park.test",), error) for n in range(30)]
    assert provider(judged([*sites, *MIXED]), "park.test")["verdict"] == SPAM
    assert provider(judged(sites), "park.test")["verdict"] == UNKNOWN


def test_small_providers_have_no_verdict_but_their_sites_have() -> None:
    found = judged([parked(n, f"own{n}.test") for n in range(6)])
    assert set(verdicts(found).values()) == {SPAM}
    assert {row["verdict"] for row in found.providers.to_pylist()} == {UNKNOWN}
    assert {row["provider"] for row in found.clusters.to_pylist()} == {POOL}


def test_clusters_are_named_after_their_smallest_page() -> None:
    sites = [parked(n + 20, f"own{9 - n}.test") for n in range(6)] + MIXED + HOSTED
    found = judged(sites)
    members: dict[tuple[str, int], list[int]] = {}
    for row in found.sites.to_pylist():
        home = row["provider"] if row["provider"] in ("park.test", "host.test") else POOL
        members.setdefault((home, row["cluster_id"]), []).append(row["page_id"])
    assert all(cluster == min(ids) for (_, cluster), ids in members.items())
    assert {(row["provider"], row["cluster_id"]) for row in found.clusters.to_pylist()} == set(members)


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


def test_the_rival_is_judged_in_the_same_table() -> None:
    found = judged(MIXED, style_clusters=np.array([7] * 5 + [8] * 2 + [-1] * 8))
    assert [row["style_verdict"] for row in found.sites.to_pylist()] == [SPAM] * 5 + [OK] * 10
    assert {row["style_verdict"] for row in judged(MIXED).sites.to_pylist()} == {""}


def test_no_sites_no_verdicts() -> None:
    found = judged([])
    assert (found.sites.num_rows, found.clusters.num_rows, found.providers.num_rows) == (0, 0, 0)


@pytest.mark.parametrize("wrong", [{"delta": 0.0}, {"delta": 1.5}, {"k": 0}, {"min_sites": 0}, {"rounds": 0}])
def test_rules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Rules(**wrong)  # type: ignore[arg-type]


def chosen(*pages: tuple[str, int | None]) -> str:
    urls = [url for url, _ in pages]
    hosts = [url.split("/")[2] for url in urls]
    return urls[home_page(list(range(len(urls))), urls, hosts, [status for _, status in pages])]


def test_the_home_page_is_the_shortest_way_in() -> None:
    assert chosen(("http://a.test/x", 200), ("http://a.test/index.php", 200), ("http://a.test/", 200)).endswith("test/")
    assert chosen(("http://a.test/x", 200), ("http://a.test/index.php", 200)).endswith("index.php")
    assert chosen(("http://a.test/", 404), ("http://a.test/about", 200)).endswith("about")
    assert chosen(("http://shop.a.test/", 200), ("http://www.a.test/", 200)) == "http://www.a.test/"
    assert chosen(("http://www.a.test/", 200), ("http://a.test/", None)) == "http://a.test/"
    assert chosen(("http://a.test/?p=2", 200), ("http://a.test/", 200)) == "http://a.test/"


def test_each_domain_has_one_home_page() -> None:
    pages = pa.table(
        {
            "page_id": pa.array([5, 6, 7, 8], pa.int64()),
            "url": ["http://b.test/x", "http://b.test/", "http://[::1", "http://1.2.3.4/"],
            "url_host_name": ["b.test", "b.test", None, "1.2.3.4"],
            "url_host_registered_domain": ["b.test", "b.test", None, None],
            "fetch_status": pa.array([200, 200, None, 200], pa.int16()),
        }
    )
    found = home_pages(pages)
    assert found.column("domain").to_pylist() == ["b.test", "1.2.3.4"]
    assert found.column("page_id").to_pylist() == [6, 8]
    assert found.column("row").to_pylist() == [1, 3]
