"""Block lists: a real checker accepts the zone, and no hostile name gets into any list."""

import itertools
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import UsageError
from samehand.base.page import is_shared_domain
from samehand.exports.blocklists import BlockList, to_domains, to_rpz
from samehand.methods.sites.verdicts import Verdicts
from samehand.store.tables import SITE_CLUSTERS

Provider = tuple[str, str, tuple[str, ...]]
"""Name, verdict and name servers."""
Site = tuple[str, str, str]
"""Name, verdict and provider."""
KIND_OF = {"parked": "parked-ads", "ok": "real", "unknown": "registrar-default"}

PROVIDERS: list[Provider] = [
    ("park.net", "parked", ("ns2.park.net", "ns1.park.net")),
    ("honest.net", "ok", ("ns1.honest.net",)),
    ("small.net", "unknown", ("ns1.small.net",)),
]
SITES: list[Site] = [
    ("b.com", "parked", "park.net"),
    ("a.com", "parked", "park.net"),
    ("a.com", "parked", "other.net"),
    ("shop.com", "ok", "park.net"),
    ("fine.com", "ok", "honest.net"),
    ("small.com", "unknown", "park.net"),
]


def judged(providers: Iterable[Provider] = (), sites: Iterable[Site] = (), *, host: str = "{}") -> Verdicts:
    """Verdicts on sites whose home pages are at `host`, and on providers."""
    text, names = pa.string(), pa.list_(pa.string())
    found = [{"site": n, "url": f"http://{host.format(n)}/", "kind": KIND_OF[v], "provider": p} for n, v, p in sites]
    site_schema = pa.schema([(name, text) for name in ("site", "url", "kind", "provider")])
    rows = [{"provider": name, "verdict": verdict, "nameservers": list(ns)} for name, verdict, ns in providers]
    provider_schema = pa.schema([("provider", text), ("verdict", text), ("nameservers", names)])
    return Verdicts(
        pa.Table.from_pylist(found, site_schema),
        SITE_CLUSTERS.fixed_schema.empty_table(),
        pa.Table.from_pylist(rows, provider_schema),
    )


def parked(*names: str) -> list[Site]:
    return [(name, "parked", "") for name in names]


HOSTILE = [
    "a.com\n$INCLUDE /etc/passwd",
    "a.com\r\n@ NS evil.com.",
    "a.com CNAME evil.com. ;",
    "a b.com",
    'a".com',
    "a;b.com",
    "$ORIGIN.com",
    "@",
    "*",
    "*.com",
    "(",
    "a\\.com",
    "a\\010b.com",
    "a..com",
    "-a.com",
    "\u2028.com",
    "a\0.com",
    "",
    ".",
    "x" * 64 + ".com",
    "192.0.2.1",
]
LINE = re.compile(
    r"[a-z0-9_*.-]+ CNAME (?:\.|rpz-passthru\.)|\$TTL 300|@ NS localhost\."
    r"|@ SOA localhost\. root\.localhost\. [0-9]+ 3600 600 604800 300"
)


def rules(block_list: BlockList) -> list[str]:
    return block_list.text.splitlines()[3:]


def check_zone(block_list: BlockList, folder: Path, zone: str = "rpz.samehand") -> None:
    checker = shutil.which("named-checkzone", path="/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin")
    if checker is None:
        pytest.skip("named-checkzone is not installed: apt-get install bind9-utils")
    path = folder / "zone"
    path.write_text(block_list.text)
    ended = subprocess.run([checker, zone, str(path)], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.endswith("OK\n")
    assert len(ended.stdout.splitlines()) == 2  # loaded, OK: no warnings


def test_a_provider_is_blocked_by_its_name_servers(tmp_path: Path) -> None:
    made = to_rpz(judged(PROVIDERS, SITES), serial=7)
    assert rules(made) == [
        "shop.com CNAME rpz-passthru.",
        "*.shop.com CNAME rpz-passthru.",
        "ns1.park.net.rpz-nsdname CNAME .",
        "ns2.park.net.rpz-nsdname CNAME .",
    ]
    assert "root.localhost. 7 3600" in made.text
    assert (made.written, made.left_out) == ({"let_through": 1, "name_server": 2}, {})
    check_zone(made, tmp_path)


def test_the_whole_provider_and_the_sites(tmp_path: Path) -> None:
    made = to_rpz(judged(PROVIDERS, SITES), serial=2**32 - 1, zone="policy.example", whole=True, block_sites=True)
    assert rules(made)[2:] == [
        "park.net.rpz-nsdname CNAME .",
        "*.park.net.rpz-nsdname CNAME .",
        "a.com CNAME .",
        "*.a.com CNAME .",
        "b.com CNAME .",
        "*.b.com CNAME .",
    ]
    check_zone(made, tmp_path, "policy.example")


def test_the_order_of_the_verdicts_does_not_matter() -> None:
    sites = [*SITES[1:3], ("a.com", "ok", "park.net"), ("ns1.park.net", "ok", "park.net")]
    orders = [judged(PROVIDERS, order) for order in itertools.permutations(sites)]
    zones = {to_rpz(order, serial=1, block_sites=True).text for order in orders}
    assert len(zones) == len({to_domains(order).text for order in orders}) == 1
    assert "a.com CNAME rpz-passthru." in min(zones)
    assert "ns1.park.net.rpz-nsdname CNAME ." in min(zones)


def test_hostile_names_never_reach_a_list(tmp_path: Path) -> None:
    providers: list[Provider] = [(name, "parked", tuple(HOSTILE)) for name in HOSTILE]
    providers.append(("park.net", "parked", ("ns.park.net",)))
    sites = [(name, verdict, name) for name in HOSTILE for verdict in ("parked", "ok")]
    found = judged(providers, [*sites, ("good.com", "parked", "p.net\n$INCLUDE x")])
    made = to_rpz(found, serial=1, block_sites=True)
    assert rules(made) == ["ns.park.net.rpz-nsdname CNAME .", "good.com CNAME .", "*.good.com CNAME ."]
    assert sum(made.left_out.values()) == len(HOSTILE) ** 2 + 2 * len(HOSTILE)
    check_zone(made, tmp_path)
    assert sum(to_rpz(judged(providers), serial=1, whole=True).written.values()) == 1
    assert to_domains(found).text == "good.com\n"


def test_hostile_urls_never_reach_a_list() -> None:
    found = judged(sites=parked("a.com"))
    for host in HOSTILE:
        rows = found.sites.set_column(1, "url", pa.array([f"http://{host}/"]))
        made = to_rpz(Verdicts(rows, found.clusters, found.providers), serial=1, block_sites=True)
        assert all(LINE.fullmatch(line) for line in made.text.splitlines()), host


def test_other_scripts_become_punycode(tmp_path: Path) -> None:
    made = to_rpz(judged(sites=parked("b\u00fccher.de")), serial=1, block_sites=True)
    assert rules(made) == ["xn--bcher-kva.de CNAME .", "*.xn--bcher-kva.de CNAME ."]
    check_zone(made, tmp_path)


def test_names_too_long_for_the_zone_are_counted(tmp_path: Path) -> None:
    def name(length: int) -> str:
        return ("a" * 59 + ".") * 3 + "b" * (length - 180 - 4) + ".com"

    longest = 253 - len(".rpz-nsdname.rpz.samehand")
    servers = (name(longest), name(longest + 1))
    made = to_rpz(judged([("x.com", "parked", servers)]), serial=1)
    assert (made.written, made.left_out) == ({"name_server": 1}, {"too_long": 1})
    check_zone(made, tmp_path)
    longest = 253 - len(".rpz.samehand")
    sites = parked(name(longest), name(longest + 1))
    made = to_rpz(judged(sites=sites), serial=1, block_sites=True)
    assert (made.written, made.left_out) == ({"site": 1}, {"too_long": 1})
    check_zone(made, tmp_path)


def test_domains_of_many_owners_are_never_blocked() -> None:
    shared = ["com", "co.uk", "blogspot.com", "github.io", "amazonaws.com", "s3.amazonaws.com"]
    made = to_domains(judged(sites=parked(*shared, "a.blogspot.com")))
    assert (made.text, made.left_out) == ("a.blogspot.com\n", {"shared_domain": len(shared)})
    made = to_rpz(judged([(name, "parked", (name,)) for name in shared]), serial=1, whole=True)
    assert (rules(made), made.left_out) == ([], {"shared_domain": len(shared)})
    made = to_rpz(judged([(name, "parked", (name,)) for name in shared]), serial=1)
    assert (rules(made), made.left_out) == ([], {"shared_domain": len(shared)})
    triggers = parked("8.0.0.0.10.rpz-ip", "ns.bank.com.rpz-nsdname")
    made = to_rpz(judged(sites=triggers), serial=1, block_sites=True)
    assert (rules(made), made.left_out) == ([], {"reserved": 2})


def test_a_list_names_the_host_that_was_judged_and_no_more(tmp_path: Path) -> None:
    """The suffix list does not know weebly.com, so foo.weebly.com is judged as a page of the site weebly.com."""
    sites = parked("weebly.com", "wordpress.com", "amazonaws.com")
    made = to_rpz(judged(sites=sites, host="foo.{}"), serial=1, block_sites=True)
    assert rules(made) == ["foo.amazonaws.com CNAME .", "foo.weebly.com CNAME .", "foo.wordpress.com CNAME ."]
    check_zone(made, tmp_path)
    made = to_rpz(judged(sites=parked("foo.github.io", "a.com"), host="www.{}"), serial=1, block_sites=True)
    assert rules(made) == [
        "a.com CNAME .",
        "*.a.com CNAME .",
        "foo.github.io CNAME .",
        "*.foo.github.io CNAME .",
    ]


def test_honest_sites_of_a_blocked_provider_are_let_through_as_a_whole() -> None:
    sites = [("shop.com", "ok", "park.net"), ("github.io", "ok", "park.net")]
    made = to_rpz(judged(PROVIDERS, sites, host="en.{}"), serial=1)
    assert rules(made)[:3] == [
        "github.io CNAME rpz-passthru.",
        "shop.com CNAME rpz-passthru.",
        "*.shop.com CNAME rpz-passthru.",
    ]


@pytest.mark.parametrize("name", ["a.com", "foo.github.io", "foo.s3.amazonaws.com", "ns1.park.net", "bbc.co.uk"])
def test_domains_of_one_owner(name: str) -> None:
    assert not is_shared_domain(name)


def test_what_is_allowed_is_let_through(tmp_path: Path) -> None:
    providers: list[Provider] = [("park.net", "parked", ("ns1.park.net",)), ("big.net", "parked", ("ns.big.net",))]
    found = judged(providers, parked("a.com", "www.bank.com", "foo.github.io"))
    made = to_rpz(found, serial=1, block_sites=True, allow=["Bank.com", "big.net", "github.io"])
    assert [rule for rule in rules(made) if rule.endswith("CNAME rpz-passthru.")] == [
        f"{below}{name} CNAME rpz-passthru." for name in ("bank.com", "big.net", "github.io") for below in ("", "*.")
    ]
    assert [rule for rule in rules(made) if rule.endswith("CNAME .")] == [
        "ns1.park.net.rpz-nsdname CNAME .",
        "a.com CNAME .",
        "*.a.com CNAME .",
    ]
    assert made.left_out == {"allowed": 3}
    assert to_domains(found, allow=["bank.com"]).text == "a.com\nfoo.github.io\n"
    check_zone(made, tmp_path)


@pytest.mark.parametrize(("zone", "serial"), [("a b", 1), ("x\n$INCLUDE y", 1), ("", 1), ("a.b", -1), ("a.b", 2**32)])
def test_a_zone_has_a_name_and_a_serial(zone: str, serial: int) -> None:
    with pytest.raises(UsageError, match="makes no zone"):
        to_rpz(judged(PROVIDERS), serial=serial, zone=zone)


def test_nothing_to_block_is_still_a_zone(tmp_path: Path) -> None:
    check_zone(to_rpz(judged(), serial=0), tmp_path)
    assert to_domains(judged()).text == ""


NASTY = st.text(max_size=20) | st.lists(
    st.sampled_from(["a", "com", ".", " ", "\n", "$TTL", ";", "@", "*", "(", '"', "\\", "\u00fc", "-", "rpz-ip", "\r"]),
    max_size=8,
).map("".join)


@given(st.lists(st.tuples(NASTY, NASTY, st.sampled_from(["parked", "ok", "unknown"])), max_size=8), st.booleans())
def test_every_line_is_one_of_ours(names: list[tuple[str, str, str]], whole: bool) -> None:
    providers = [(provider, verdict, (name,)) for name, provider, verdict in names]
    found = judged(providers, [(name, verdict, provider) for name, provider, verdict in names])
    made = to_rpz(found, serial=1, whole=whole, block_sites=True, allow=[names[0][0]] if names else [])
    lines = made.text.split("\n")
    assert lines.pop() == ""
    assert all(LINE.fullmatch(line) for line in lines)
    owners = [line.split(" ")[0] for line in lines[3:]]
    assert len(owners) == len(set(owners))
    assert all(re.fullmatch(r"[a-z0-9_.-]+", line) for line in to_domains(found).text.splitlines())
