"""Lists that leave samehand: the real checker of each format takes them, and the guard holds whatever clusters say."""

import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import InputError, UsageError
from samehand.base.page import is_shared_domain
from samehand.exports.choose import Chosen, choose
from samehand.exports.entries import HOST, NAME_SERVER, SITE, Entry, with_until
from samehand.exports.formats import FORMATS, fitting, keys_in
from samehand.exports.stamp import Stamp, newest_day
from samehand.methods import guard as guard_module
from samehand.methods.guard import NEVER, REVIEW, Guard, NameList, load_guard, names_in_file

WRITTEN = [form for form in FORMATS if form != "parquet"]
DAY = date(2026, 11, 17)
SEEN = datetime(2026, 11, 1, 12, 30, tzinfo=UTC)
OPEN = Guard([], [], [], [])
"""A guard that knows only the suffix list."""
HOSTILE = [
    "a.com\n$INCLUDE /etc/passwd",
    "a.com\r\n@ NS evil.com.",
    "a.com CNAME evil.com. ;",
    "a b.com",
    'a".com',
    "a;b.com",
    "$ORIGIN.com",
    "$INCLUDE",
    "@",
    "*",
    "*.com",
    "*.a.com",
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
    "x." * 150 + "com",
    "192.0.2.1",
    "a'] OR [domain-name:value = 'b.com",
    "||a.com^$document",
    "a.com#@#x",
    "<script>.com",
]
LINES = {
    "rpz": r"(?:\*\.)?[a-z0-9_.-]+ CNAME (?:\.(?: ; [ -~]*)?|rpz-passthru\.)|\$TTL 300|@ NS localhost\."
    r"|@ SOA localhost\. root\.localhost\. [0-9]+ 3600 600 604800 300",
    "hosts": r"# [ -~]*|0\.0\.0\.0 [a-z0-9_.-]+",
    "adblock": r"\[Adblock Plus 2\.0\]|! [ -~]*|(?:@@)?\|\|[a-z0-9_.-]+\^",
    "domains": r"[a-z0-9_.-]+",
}
"""What a line of each format may be."""


@pytest.fixture(autouse=True)
def _no_lists_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "_misp_list", lambda name: frozenset())


def site(name: str, **about: object) -> Entry:
    facts = {"unit": SITE, "kind": "parked-ads", "evidence": "12 sites show it", "fetched": SEEN} | about
    return Entry(name=name, **facts)


def server(name: str) -> Entry:
    return Entry(NAME_SERVER, name, "parked-ads", "50 of 50 sites are parked")


def written(form: str, chosen: Chosen, **stamp: object) -> str:
    made = Stamp(DAY, **stamp)
    text = FORMATS[form].write(fitting(chosen, form, made), made)
    assert isinstance(text, str)
    return text


def chosen(*names: str, guard: Guard = OPEN) -> Chosen:
    return choose([site(name) for name in names], guard)


SOME = choose(
    [
        site("bad.com", probability=0.987, until=date(2027, 1, 1), evidence="71 of 80 lines; on \u00fc\n23 sites"),
        site("foo.weebly.com", unit=HOST, kind="farm", cluster=3, fetched=None),
        site("b\u00fccher.de"),
        server("ns1.park.net"),
    ],
    Guard([], [], [], ["good.com"]),
    honest=["shop.com"],
)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_any_time_in_an_archive_makes_a_list(moment: datetime, tmp_path: Path) -> None:
    entries = list(with_until([site("a.com", fetched=moment)], None, 90))
    assert entries[0].until is not None
    found, stamp = choose(entries, OPEN), Stamp(newest_day(entries))
    for form in FORMATS:
        made = FORMATS[form].write(found, stamp)
        assert keys_in(form, made.encode() if isinstance(made, str) else made) == {"a.com"}
        if form == "rpz":
            check_zone(str(made), tmp_path)
    pytest.importorskip("stix2", reason="stix2 is not installed").parse(FORMATS["stix"].write(found, stamp))


def run_checker(name: str, *arguments: object) -> str:
    checker = shutil.which(name, path="/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin")
    if checker is None:
        pytest.skip(f"{name} is not installed: apt-get install bind9-utils")
    command = [checker, *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def check_zone(text: str, folder: Path, zone: str = "rpz.samehand") -> None:
    (folder / "zone").write_text(text)
    said = run_checker("named-checkzone", "-k", "fail", zone, folder / "zone")
    assert said.endswith("OK\n")
    assert len(said.splitlines()) == 2  # loaded, OK: no warnings


def test_rpz(tmp_path: Path) -> None:
    text = written("rpz", SOME)
    assert text.splitlines()[1:] == [
        "@ SOA localhost. root.localhost. 2026111700 3600 600 604800 300",
        "@ NS localhost.",
        "good.com CNAME rpz-passthru.",
        "*.good.com CNAME rpz-passthru.",
        "shop.com CNAME rpz-passthru.",
        "*.shop.com CNAME rpz-passthru.",
        "ns1.park.net.rpz-nsdname CNAME . ; parked-ads: 50 of 50 sites are parked",
        "bad.com CNAME . ; parked-ads 0.99: 71 of 80 lines; on \\xfc\\n23 sites (until 2027-01-01)",
        "*.bad.com CNAME .",
        "xn--bcher-kva.de CNAME . ; parked-ads: 12 sites show it",
        "*.xn--bcher-kva.de CNAME .",
        "foo.weebly.com CNAME . ; farm: 12 sites show it",
    ]
    check_zone(text, tmp_path)
    check_zone(written("rpz", chosen(), serial=2**32 - 1, zone="policy.example"), tmp_path, "policy.example")


def test_bind_takes_the_zone_as_a_policy(tmp_path: Path) -> None:
    (tmp_path / "zone").write_text(written("rpz", SOME))
    (tmp_path / "named.conf").write_text(
        f'options {{ directory "{tmp_path}"; response-policy {{ zone "rpz.samehand"; }}; }};\n'
        f'zone "rpz.samehand" {{ type primary; file "{tmp_path}/zone"; }};\n'
    )
    assert "loaded serial 2026111700" in run_checker("named-checkconf", "-z", tmp_path / "named.conf")


def test_names_too_long_for_the_zone_are_counted(tmp_path: Path) -> None:
    longest = 253 - len(".rpz-nsdname.rpz.samehand")
    names = [("a" * 59 + ".") * 3 + "b" * (length - 184) + ".com" for length in (longest, longest + 1)]
    for entry in (server, site):
        found = choose([entry(name) for name in names], OPEN)
        text = written("rpz", found)
        assert [names[0] in text, names[1] in text] == [True, False]
        assert fitting(found, "rpz", Stamp(DAY)).reasons() == {"name too long": 1}
        check_zone(text, tmp_path)


@pytest.mark.parametrize(("zone", "serial"), [("a b", 1), ("x\n$INCLUDE y", 1), ("", 1), ("a.b", -1), ("a.b", 2**32)])
def test_a_zone_has_a_name_and_a_serial(zone: str, serial: int) -> None:
    with pytest.raises(UsageError, match="makes no zone"):
        written("rpz", SOME, zone=zone, serial=serial)


def test_adblock() -> None:
    adblock = pytest.importorskip("adblock", reason="adblock is not installed")
    text = written("adblock", SOME)
    filters = adblock.FilterSet()
    filters.add_filter_list(text)
    engine = adblock.Engine(filters)

    def blocked(host: str) -> bool:
        found = engine.check_network_urls(f"https://{host}/x.js", "https://elsewhere.example/", "script")
        return bool(found.matched and not found.exception)

    assert [blocked(name) for name in ("bad.com", "www.bad.com", "foo.weebly.com", "xn--bcher-kva.de")] == [True] * 4
    others = ("notbad.com", "bad.com.example", "weebly.com", "bar.weebly.com", "good.com", "shop.com", "ns1.park.net")
    assert not any(blocked(name) for name in others)


def test_hosts_and_domains() -> None:
    lines = written("hosts", SOME).splitlines()
    assert "0.0.0.0 www.bad.com" in lines
    assert "0.0.0.0 www.foo.weebly.com" not in lines
    assert all(re.fullmatch(r"#.*|0\.0\.0\.0 [a-z0-9.-]+", line) for line in lines)
    assert written("domains", SOME) == "bad.com\nfoo.weebly.com\nxn--bcher-kva.de\n"
    assert written("domains", chosen()) == ""


REQUIRED = {
    "identity": {"name"},
    "indicator": {"pattern", "pattern_type", "valid_from"},
    "relationship": {"relationship_type", "source_ref", "target_ref"},
    "grouping": {"context", "object_refs"},
    "note": {"content", "object_refs"},
}
"""Properties that the specification of STIX 2.1 requires. stix2 fills in a `valid_from` that is missing."""


def test_stix() -> None:
    stix2 = pytest.importorskip("stix2", reason="stix2 is not installed")
    text = written("stix", SOME)
    stix2.parse(text, allow_custom=False)
    objects = json.loads(text)["objects"]
    ids = [made["id"] for made in objects]
    assert len(ids) == len(set(ids))
    for made in objects:
        assert made["spec_version"] == "2.1"
        assert re.fullmatch(rf"{made['type']}--[0-9a-f-]{{36}}", made["id"])
        if made["type"] == "domain-name":
            assert made["id"] == stix2.DomainName(value=made["value"]).id
            continue
        assert {"created", "modified", *REQUIRED[made["type"]]} <= set(made)
        references = [made[name] for name in ("source_ref", "target_ref", "created_by_ref") if name in made]
        assert {*references, *made.get("object_refs", [])} <= set(ids)
    first = next(made for made in objects if made["type"] == "indicator")
    assert (first["valid_from"], first["confidence"]) == ("2026-11-01T12:30:00.000Z", 99)
    assert first["valid_until"] > first["valid_from"]
    with pytest.raises(UsageError, match="--date"):
        FORMATS["stix"].write(SOME, Stamp(None))


def test_misp() -> None:
    pymisp = pytest.importorskip("pymisp", reason="pymisp is not installed")
    found = choose([site("bad.com"), site("seen.com")], OPEN, reviewed=["seen.com"])
    event = pymisp.MISPEvent()
    event.from_json(written("misp", found))
    assert [(one.value, one.type, one.to_ids) for one in event.attributes] == [
        ("bad.com", "domain", False),
        ("seen.com", "domain", True),
    ]
    assert (event.published, str(event.date)) == (False, "2026-11-17")


def test_misp_warninglist() -> None:
    listed = json.loads(written("misp-warninglist", SOME))
    kinds = {"name": str, "version": int, "description": str, "type": str, "matching_attributes": list, "list": list}
    assert {name: type(value) for name, value in listed.items()} == kinds
    assert (listed["version"], listed["type"]) == (20261117, "hostname")
    assert listed["list"] == ["bad.com", "foo.weebly.com", "xn--bcher-kva.de"]
    warninglists = pytest.importorskip("pymispwarninglists", reason="pymispwarninglists is not installed")
    assert "bad.com" in warninglists.WarningList(listed)
    assert "notbad.com" not in warninglists.WarningList(listed)


@pytest.mark.parametrize("form", WRITTEN)
def test_a_list_can_be_read_again(form: str) -> None:
    held = {entry.key for entry in fitting(SOME, form, Stamp(DAY)).entries}
    assert keys_in(form, written(form, SOME).encode()) == held
    assert ("ns1.park.net (name server)" in held) == (form in ("rpz", "csv", "jsonl"))
    assert keys_in(form, written(form, chosen()).encode()) == set()


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in ("rpz", "hosts", "adblock", "domains")])
@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{}", b"[1]", b"[" * 100_000, b"a\nb"])
def test_what_is_no_list_is_refused(form: str, data: bytes) -> None:
    if form in ("csv", "jsonl") and not data:
        assert keys_in(form, data) == set()
        return
    with pytest.raises(ValueError, match="no list"):
        keys_in(form, data)


@pytest.mark.parametrize("form", WRITTEN)
def test_the_order_of_entries_does_not_matter(form: str) -> None:
    entries = [site("a.com"), site("a.com", probability=0.9), site("www.a.com", unit=HOST), server("ns1.a.com")]
    assert len({written(form, choose(order, OPEN)) for order in itertools.permutations(entries)}) == 1


# The guard.

GUARD = Guard(
    [
        NameList("bank list", NEVER, frozenset({"bank.com", "shop.example.net"})),
        NameList("popular", REVIEW, frozenset({"popular.com"})),
    ],
    shared=["weebly.com", "hosting.com"],
    dns=["bigdns.net", "awsdns-*"],
    own=["mine.com"],
)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("bank.com", "guarded"),
        ("www.bank.com", "guarded"),
        ("login.secure.bank.com", "guarded"),
        ("BANK.com.", "guarded"),
        ("\uff42ank.com", "guarded"),  # a full-width b
        ("example.net", "guarded"),  # a guarded name stands below it
        ("notbank.com", None),
        ("xn--bnk-5cd.com", None),  # a look-alike is another domain
        ("popular.com", "needs review"),
        ("hosting.com", "shared host"),
        ("www.hosting.com", "shared host"),
        ("evil.hosting.com", None),
        ("com", "shared host"),
        ("co.uk", "shared host"),
        ("github.io", "shared host"),
        ("amazonaws.com", "shared host"),
        ("evil.github.io", None),
        ("some.edu", "guarded"),
        ("uni.ac.uk", "guarded"),
        ("ministry.gov.br", "guarded"),
        ("8.0.0.0.10.rpz-ip", "reserved name"),
    ],
)
def test_what_the_guard_says_of_sites(name: str, reason: str | None) -> None:
    found = chosen(name, guard=GUARD)
    assert [left.reason for left in found.left_out] == ([reason] if reason else [])
    assert len(found.entries) == (reason is None)


def test_reviewed_names_pass_the_second_tier_only() -> None:
    names = ["popular.com", "bank.com"]
    found = choose(map(site, names), GUARD, reviewed=names)
    assert [entry.name for entry in found.entries] == ["popular.com"]


def test_a_popular_shop_does_not_protect_its_name_servers() -> None:
    served = {"ns1.popular.com": ["a.com"], "ns2.popular.com": ["b.com", "bank.com"]}
    entries = [
        server("ns1.popular.com"),
        server("ns2.popular.com"),
        server("ns1.bigdns.net"),
        server("ns.awsdns-01.com"),
    ]
    found = choose([*entries, server("ns.mine.com"), site("popular.com")], GUARD, served=served)
    assert [entry.name for entry in found.entries] == ["ns1.popular.com"]
    assert {(left.name, left.detail) for left in found.left_out} == {
        ("ns2.popular.com", "serves a guarded site"),
        ("ns1.bigdns.net", "name servers of many sites"),
        ("ns.awsdns-01.com", "name servers of many sites"),
        ("ns.mine.com", "own list"),
        ("popular.com", "popular"),
    }


def test_what_is_let_through_wins() -> None:
    found = choose([site("shop.com"), server("ns1.park.net")], OPEN, honest=["shop.com"])
    assert ([entry.name for entry in found.entries], found.let_through) == (["ns1.park.net"], ("shop.com",))


def test_a_copied_bank_is_in_the_cluster_and_never_in_a_list() -> None:
    """A guarded bank's template on thirty bad domains."""
    cluster = [site("bank.com"), site("www.bank.com"), *(site(f"bank-login-{number}.com") for number in range(30))]
    found = choose(cluster, GUARD)
    assert len(found.entries) == 30
    assert found.reasons() == {"guarded": 2}
    for form in WRITTEN:
        names = keys_in(form, written(form, found).encode())
        assert len(names) == 30
        assert "bank.com" not in names


@pytest.mark.parametrize("form", WRITTEN)
def test_hostile_names_never_reach_a_list(form: str, tmp_path: Path) -> None:
    entries = [make(name) for name in HOSTILE for make in (site, server)]
    found = choose([*entries, site("fine.com", evidence="\n".join(HOSTILE), kind="x\n$INCLUDE y")], OPEN)
    text = written(form, found)
    assert keys_in(form, text.encode()) == {"fine.com"}
    assert len({left.name for left in found.left_out}) == len(HOSTILE)
    if form in LINES:
        assert all(re.fullmatch(LINES[form], line) for line in text.split("\n")[:-1])
    if form == "rpz":
        check_zone(text, tmp_path)


NASTY = st.text(max_size=20) | st.lists(
    st.sampled_from(
        [
            "a",
            "bank",
            "com",
            "weebly",
            ".",
            " ",
            "\n",
            "$TTL",
            ";",
            "@",
            "*",
            '"',
            "\\",
            "\u00fc",
            "-",
            "rpz-ip",
            "\r",
            "||",
            "^",
        ]
    ),
    max_size=8,
).map("".join)
NAMES = NASTY | st.sampled_from(
    ["bank.com", "x.bank.com", "weebly.com", "a.weebly.com", "co.uk", "popular.com", "mine.com"]
)
ENTRIES = st.builds(
    Entry,
    unit=st.sampled_from([SITE, HOST, NAME_SERVER]),
    name=NAMES,
    kind=NASTY,
    evidence=NASTY,
    probability=st.none() | st.floats(0, 1),
    url=NASTY,
    until=st.none() | st.dates(),
    fetched=st.none() | st.datetimes(timezones=st.just(UTC), min_value=datetime(1990, 1, 1)),
)


def forbidden(name: str) -> bool:
    """Whether a list must not block a name, told without the code under test."""
    upward = {name.split(".", step)[-1] for step in range(name.count(".") + 1)}
    return bool(
        {"bank.com", "mine.com", "shop.example.net"} & upward
        or name in ("popular.com", "weebly.com", "hosting.com", "www.weebly.com", "example.net")
        or "." not in name
        or is_shared_domain(name)
    )


@given(st.lists(ENTRIES, max_size=8), st.lists(NAMES, max_size=3))
def test_no_export_holds_a_guarded_name(entries: list[Entry], honest: list[str]) -> None:
    guard = Guard(
        [*GUARD.lists, NameList("own", NEVER, frozenset(GUARD.own))], ["weebly.com", "hosting.com"], [], GUARD.own
    )
    found = choose(entries, guard, honest=honest)
    for form in WRITTEN:
        text = written(form, found)
        held = fitting(found, form, Stamp(DAY))
        assert keys_in(form, text.encode()) == {entry.key for entry in held.entries}
        sites = [entry.name for entry in held.entries if entry.unit != NAME_SERVER]
        assert not [name for name in sites if forbidden(name)]
        if form in LINES:
            assert all(re.fullmatch(LINES[form], line) for line in text.split("\n")[:-1])
    given_names = {entry.name for entry in entries}
    assert {left.name for left in found.left_out} | {entry.name for entry in found.entries} or not given_names


def test_the_shipped_guard() -> None:
    guard = load_guard()
    for name in ("google.com", "mail.google.com", "bbc.co.uk", "wikipedia.org", "chase.com", "europa.eu"):
        assert guard.site_hit(name) == (NEVER, "shipped list")
    for name in ("weebly.com", "wordpress.com", "blogspot.com", "sites.google.com", "github.io", "tinyurl.com"):
        assert guard.is_shared(name)
    for name in ("foo.weebly.com", "foo.wordpress.com", "foo.blogspot.com", "unknown-parked-name.com"):
        assert guard.site_hit(name) is None
        assert not guard.is_shared(name)
    assert guard.server_hit("ns-12.awsdns-34.com", ()) is not None
    assert guard.server_hit("ns1.domaincontrol.com", ()) is not None
    assert guard.server_hit("ns1.bodis.com", ()) is None


def shipped_names() -> Iterable[tuple[str, str]]:
    lines = guard_module.SHIPPED.read_text().splitlines()
    return (tuple(line.split(",")) for line in lines if not line.startswith("#"))  # type: ignore[misc]


def test_the_shipped_list_is_clean() -> None:
    rows = list(shipped_names())
    assert rows.pop(0) == ("name", "what")
    assert len(rows) == len(set(rows))
    assert all(re.fullmatch(r"[a-z0-9-]+\*?(?:\.[a-z0-9-]+)*", name) for name, _ in rows)
    assert {what for _, what in rows} == {"site", "shared", "dns"}


def test_no_shipped_name_is_ever_listed() -> None:
    names = [name for name, what in shipped_names() if what in ("site", "shared")]
    found = choose([site(prefix + name) for name in names for prefix in ("", "www.")], load_guard())
    assert found.entries == ()


def test_lists_of_misp_are_used_where_they_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    lists = {
        "tranco10k": frozenset({"ten.com"}),
        "tranco": frozenset({"million.com"}),
        "dynamic-dns": frozenset({"dyn.com"}),
    }
    monkeypatch.setattr(guard_module, "_misp_list", lambda name: lists.get(name, frozenset()))
    found = choose(map(site, ["ten.com", "million.com", "dyn.com", "x.dyn.com"]), load_guard())
    assert [entry.name for entry in found.entries] == ["x.dyn.com"]
    assert {(left.name, left.reason, left.detail) for left in found.left_out} == {
        ("ten.com", "guarded", "MISP tranco10k"),
        ("million.com", "needs review", "MISP tranco"),
        ("dyn.com", "shared host", ""),
    }


def test_files_of_names(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_text("# ours\nBank.COM\n\n*.below.net\n.dotted.org\n")
    assert names_in_file(path) == ["bank.com", "below.net", "dotted.org"]
    guard = load_guard([path])
    assert guard.own == ("bank.com", "below.net", "dotted.org")
    assert guard.site_hit("x.below.net") == (NEVER, "own list")
    path.write_text("bank.com\na b\n")
    with pytest.raises(InputError, match="'a b', which is no name"):
        names_in_file(path)
    with pytest.raises(InputError, match="cannot be read"):
        names_in_file(tmp_path / "none")
