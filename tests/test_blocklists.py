"""Block lists: a real checker accepts the zone, and no hostile name gets into any list."""

import itertools
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import UsageError
from samehand.exports.blocklists import BlockList, JudgedProvider, JudgedSite, to_csv, to_domains, to_jsonl, to_rpz

PROVIDERS = [
    JudgedProvider("park.net", "spam", ("ns2.park.net", "ns1.park.net")),
    JudgedProvider("honest.net", "ok", ("ns1.honest.net",)),
    JudgedProvider("small.net", "unknown", ("ns1.small.net",)),
]
SITES = [
    JudgedSite("b.com", "spam", "park.net"),
    JudgedSite("a.com", "spam", "park.net"),
    JudgedSite("a.com", "spam", "other.net"),
    JudgedSite("shop.com", "ok", "park.net"),
    JudgedSite("fine.com", "ok", "honest.net"),
    JudgedSite("small.com", "unknown", "park.net"),
]
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
    made = to_rpz(PROVIDERS, SITES, serial=7)
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
    made = to_rpz(PROVIDERS, SITES, serial=2**32 - 1, zone="policy.example", whole=True, block_sites=True)
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
    sites = [*SITES[1:3], JudgedSite("a.com", "ok", "park.net"), JudgedSite("ns1.park.net", "ok", "park.net")]
    orders = list(itertools.permutations(sites))
    zones = {to_rpz(PROVIDERS, order, serial=1, block_sites=True).text for order in orders}
    assert len(zones) == len({to_csv(PROVIDERS, order).text for order in orders}) == 1
    assert "a.com CNAME rpz-passthru." in min(zones)
    assert "ns1.park.net.rpz-nsdname CNAME ." in min(zones)


def test_hostile_names_never_reach_a_list(tmp_path: Path) -> None:
    providers = [JudgedProvider(name, "spam", tuple(HOSTILE)) for name in HOSTILE]
    providers.append(JudgedProvider("park.net", "spam", ("ns.park.net",)))
    sites = [JudgedSite(name, verdict, name) for name in HOSTILE for verdict in ("spam", "ok")]
    sites.append(JudgedSite("good.com", "spam", "p.net\n$INCLUDE x"))
    made = to_rpz(providers, sites, serial=1, block_sites=True)
    assert rules(made) == ["ns.park.net.rpz-nsdname CNAME .", "good.com CNAME .", "*.good.com CNAME ."]
    assert sum(made.left_out.values()) == len(HOSTILE) ** 2 + 2 * len(HOSTILE)
    check_zone(made, tmp_path)
    assert sum(to_rpz(providers, serial=1, whole=True).written.values()) == 1
    assert to_domains(sites).text == "good.com\n"
    assert to_csv(providers, sites).text == "kind,name,provider\nname_server,ns.park.net,park.net\nsite,good.com,\n"


def test_other_scripts_become_punycode(tmp_path: Path) -> None:
    made = to_rpz([], [JudgedSite("b\u00fccher.de", "spam")], serial=1, block_sites=True)
    assert rules(made)[0] == "xn--bcher-kva.de CNAME ."
    check_zone(made, tmp_path)


def test_names_too_long_for_the_zone_are_counted(tmp_path: Path) -> None:
    def name(length: int) -> str:
        return ("a" * 59 + ".") * 3 + "b" * (length - 180 - 4) + ".com"

    longest = 253 - len(".rpz-nsdname.rpz.samehand")
    servers = (name(longest), name(longest + 1))
    made = to_rpz([JudgedProvider("x.com", "spam", servers)], serial=1)
    assert (made.written, made.left_out) == ({"name_server": 1}, {"too_long": 1})
    check_zone(made, tmp_path)
    longest = 253 - len("*..rpz.samehand")
    sites = [JudgedSite(name(length), "spam") for length in (longest, longest + 1)]
    made = to_rpz([], sites, serial=1, block_sites=True)
    assert (made.written, made.left_out) == ({"site": 1}, {"too_long": 1})
    check_zone(made, tmp_path)


def test_what_would_block_too_much_is_left_out() -> None:
    suffixes = [JudgedSite(name, "spam") for name in ("com", "co.uk", "blogspot.com", "github.io", "a.blogspot.com")]
    made = to_domains(suffixes)
    assert (made.text, made.left_out) == ("a.blogspot.com\n", {"suffix": 4})
    made = to_rpz([JudgedProvider("co.uk", "spam", ("co.uk",))], serial=1, whole=True)
    assert (rules(made), made.left_out) == ([], {"suffix": 1})
    triggers = [JudgedSite("8.0.0.0.10.rpz-ip", "spam"), JudgedSite("ns.bank.com.rpz-nsdname", "spam")]
    made = to_rpz([], triggers, serial=1, block_sites=True)
    assert (rules(made), made.left_out) == ([], {"reserved": 2})


def test_what_is_allowed_is_let_through(tmp_path: Path) -> None:
    providers = [
        JudgedProvider("park.net", "spam", ("ns1.park.net",)),
        JudgedProvider("big.net", "spam", ("ns.big.net",)),
    ]
    sites = [JudgedSite("a.com", "spam"), JudgedSite("www.bank.com", "spam")]
    made = to_rpz(providers, sites, serial=1, block_sites=True, allow=["Bank.com", "big.net"])
    assert "bank.com CNAME rpz-passthru." in rules(made)
    assert [rule for rule in rules(made) if rule.endswith("CNAME .")] == [
        "ns1.park.net.rpz-nsdname CNAME .",
        "a.com CNAME .",
        "*.a.com CNAME .",
    ]
    assert made.left_out == {"allowed": 2}
    assert to_domains(sites, allow=["bank.com"]).text == "a.com\n"
    check_zone(made, tmp_path)


@pytest.mark.parametrize(("zone", "serial"), [("a b", 1), ("x\n$INCLUDE y", 1), ("", 1), ("a.b", -1), ("a.b", 2**32)])
def test_a_zone_has_a_name_and_a_serial(zone: str, serial: int) -> None:
    with pytest.raises(UsageError, match="makes no zone"):
        to_rpz(PROVIDERS, serial=serial, zone=zone)


def test_lines_of_json() -> None:
    made = to_jsonl(PROVIDERS, SITES)
    assert [json.loads(line) for line in made.text.splitlines()] == [
        {"kind": "name_server", "name": "ns1.park.net", "provider": "park.net"},
        {"kind": "name_server", "name": "ns2.park.net", "provider": "park.net"},
        {"kind": "site", "name": "a.com", "provider": "other.net"},
        {"kind": "site", "name": "b.com", "provider": "park.net"},
    ]


def test_nothing_to_block_is_still_a_zone(tmp_path: Path) -> None:
    check_zone(to_rpz([], serial=0), tmp_path)
    assert to_domains([]).text == ""


NASTY = st.text(max_size=20) | st.lists(
    st.sampled_from(["a", "com", ".", " ", "\n", "$TTL", ";", "@", "*", "(", '"', "\\", "\u00fc", "-", "rpz-ip", "\r"]),
    max_size=8,
).map("".join)


@given(st.lists(st.tuples(NASTY, NASTY, st.sampled_from(["spam", "ok", "unknown"])), max_size=8), st.booleans())
def test_every_line_is_one_of_ours(names: list[tuple[str, str, str]], whole: bool) -> None:
    providers = [JudgedProvider(provider, verdict, (name,)) for name, provider, verdict in names]
    sites = [JudgedSite(name, verdict, provider) for name, provider, verdict in names]
    made = to_rpz(providers, sites, serial=1, whole=whole, block_sites=True, allow=[names[0][0]] if names else [])
    lines = made.text.split("\n")
    assert lines.pop() == ""
    assert all(LINE.fullmatch(line) for line in lines)
    owners = [line.split(" ")[0] for line in lines[3:]]
    assert len(owners) == len(set(owners))
    assert all(re.fullmatch(r"[a-z0-9_.-]+", line) for line in to_domains(sites).text.splitlines())
