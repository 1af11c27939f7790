"""Name servers out of files: every kind of file, hostile ones, and the two ways to read a zone held equal."""

import gzip
import io
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.errors import InputError
from samehand.cli.demo import DemoFiles
from samehand.methods.sites.nameservers import NameServers, canonical_name, files, provider_of, read_nameservers, zone
from samehand.methods.sites.nameservers.pairs import Taker

EXPECTED = [("example.com", "ns1.park.net"), ("example.com", "ns2.park.net"), ("other.org", "a.host.co.uk")]


def rows(servers: NameServers) -> list[tuple[str, str]]:
    return list(zip(servers.pairs["domain"].to_pylist(), servers.pairs["ns"].to_pylist(), strict=True))


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., NameServers]:
    def read_content(content: str | bytes, **options: object) -> NameServers:
        path = tmp_path / "input"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_nameservers([path], **options)  # type: ignore[arg-type]

    return read_content


MASSDNS = """\
{"name":"example.com.","type":"NS","class":"IN","status":"NOERROR","rx_ts":1,"data":{"answers":[\
{"ttl":1,"type":"NS","class":"IN","name":"example.com.","data":"ns2.park.net."},\
{"ttl":1,"type":"NS","class":"IN","name":"EXAMPLE.com.","data":"NS1.park.net."}]},"resolver":"192.0.2.1:53","proto":"UDP"}
{"name":"other.org.","type":"NS","class":"IN","status":"NOERROR","data":{"authorities":[\
{"ttl":1,"type":"NS","class":"IN","name":"other.org.","data":"a.host.co.uk."}]}}
{"name":"gone.org.","type":"NS","class":"IN","status":"NXDOMAIN","data":{"authorities":[\
{"ttl":1,"type":"SOA","class":"IN","name":"org.","data":"x. y. 1 2 3 4 5"}]}}
"""
ZDNS_1 = """\
{"name":"example.com","class":"IN","status":"NOERROR","data":{"answers":[\
{"ttl":1,"type":"NS","class":"IN","name":"example.com","answer":"ns1.park.net."},\
{"ttl":1,"type":"NS","class":"IN","name":"example.com","answer":"ns2.park.net."}],"resolver":"192.0.2.1:53"}}
{"name":"other.org","status":"NOERROR","data":{"servers":[\
{"name":"a.host.co.uk","type":"NS","ttl":1,"ipv4_addresses":["192.0.2.9"]}]}}
"""
ZDNS_2 = """\
{"name":"example.com","results":{"NS":{"data":{"answers":[\
{"type":"NS","name":"example.com","answer":"ns1.park.net"},\
{"type":"NS","name":"example.com","answer":"ns2.park.net"}]},"status":"NOERROR","timestamp":"x"}}}
{"name":"other.org","results":{"ALOOKUP":{"data":{"ipv4_addresses":["192.0.2.1"],"authorities":[\
{"type":"NS","name":"other.org","answer":"a.host.co.uk"}]},"status":"NOERROR"}}}
"""
JC_DIG = json.dumps(
    [
        {
            "status": "NOERROR",
            "question": {"name": "example.com.", "class": "IN", "type": "NS"},
            "answer": [
                {"name": "example.com.", "class": "IN", "type": "NS", "ttl": 1, "data": f"ns{n}.park.net."}
                for n in (1, 2)
            ],
        },
        {
            "status": "NOERROR",
            "question": {"name": "www.other.org.", "class": "IN", "type": "NS"},
            "authority": [{"name": "other.org.", "class": "IN", "type": "NS", "data": "evil.example."}],
        },
        {
            "status": "NOERROR",
            "question": {"name": "other.org.", "class": "IN", "type": "NS"},
            "answer": [{"name": "other.org.", "class": "IN", "type": "NS", "data": "a.host.co.uk."}],
        },
    ],
    indent=1,
)
HTTPS_RESOLVER = "\n".join(
    json.dumps({"Status": 0, "Question": [{"name": name, "type": 2}], "Answer": answer})
    for name, answer in [
        ("example.com.", [{"name": "example.com.", "type": 2, "TTL": 1, "data": f"ns{n}.park.net."} for n in (1, 2)]),
        ("other.org.", [{"name": "other.org.", "type": 2, "TTL": 1, "data": "a.host.co.uk."}]),
    ]
)
RFC_8427 = json.dumps(
    [
        {
            "responseMessage": {
                "QNAME": owner,
                "QTYPE": 2,
                "RCODE": 0,
                "answerRRs": [
                    {"NAME": owner, "TYPE": 2, "TYPEname": "NS", "CLASS": 1, "TTL": 1, "rdataNS": ns} for ns in targets
                ],
            }
        }
        for owner, targets in [
            ("example.com.", ["ns1.park.net.", "ns2.park.net."]),
            ("other.org.", ["a.host.co.uk."]),
        ]
    ],
    indent=2,
)
DNSX = """\
{"host":"example.com","resolver":["192.0.2.1:53"],"ns":["ns1.park.net","ns2.park.net"],"status_code":"NOERROR"}
{"host":"other.org","ns":["a.host.co.uk"],"status_code":"NOERROR"}
"""
DIG_YAML = """\
-
  type: MESSAGE
  message:
    type: RECURSIVE_RESPONSE
    response_message_data:
      opcode: QUERY
      status: NOERROR
      QUESTION_SECTION:
        - example.com. IN NS
      ANSWER_SECTION:
        - 'example.com. 86400 IN NS ns1.park.net.'
        - example.com. 86400 IN NS ns2.park.net.
      ADDITIONAL_SECTION:
        - ns1.park.net. 60 IN A 192.0.2.1
        - other.org. 60 IN NS a.host.co.uk.
"""
DIG_TEXT = """\
; <<>> DiG 9.18 <<>> NS example.com other.org
;; ->>HEADER<<- opcode: QUERY, status: NOERROR, id: 1
;; QUESTION SECTION:
;example.com.\t\t\tIN\tNS

;; ANSWER SECTION:
example.com.\t\t86400\tIN\tNS\tns1.park.net.
example.com.\t\t86400\tIN\tNS\tns2.park.net.
other.org.\t\t86400\tIN\tNS\ta.host.co.uk.

;; Query time: 1 msec
"""
TLD_ZONE = """\
example.com.\t172800\tin\tns\tns1.park.net.
example.com.\t172800\tin\tns\tns2.park.net.
example.com.\t86400\tin\tds\t370 13 2 be74359954660069d5c63d200c39f5603827d7dd02b56f120ee9f3a86764247c
other.org.\t172800\tin\tns\ta.host.co.uk.
"""
HAND_ZONE = """\
$ORIGIN COM.
$TTL 2d
@ IN SOA a.gtld.example. hostmaster.gtld.example. ( ; a comment with a ( in it
    2024010101 1800 900
    604800 86400 )
   TXT "a ; b ( c" ( "and \\" more" )
EXAMPLE 1h30m IN NS NS1.PARK.NET. ; parked
        IN 60 NS  NS2.PARK.NET.
        A 192.0.2.1
$ORIGIN org.
other ( NS
   a.host.co.uk. )
$INCLUDE /etc/passwd
$GENERATE 1-100000000 host$ NS ns.evil.example.
"""
TABLES = [
    "domain,ns\nexample.com,ns1.park.net\nexample.com,ns2.park.net\nother.org,a.host.co.uk\n",
    "domain,ns\nExample.COM.,ns1.park.net; NS2.park.net.\nother.org,a.host.co.uk",
    '\ufeffrank,"Domain",NameServers\r\n1,example.com,"ns1.park.net ns2.park.net"\r\n2,other.org,a.host.co.uk\r\n',
    "ns\tdomain\nns1.park.net\texample.com\nns2.park.net\texample.com\na.host.co.uk\tother.org\n",
    "example.com,ns1.park.net,ns2.park.net\nother.org,a.host.co.uk\n",
]
ALL_KINDS = {
    **{f"table{number}": text for number, text in enumerate(TABLES)},
    "massdns": MASSDNS,
    "massdns_simple": "example.com. NS ns1.park.net.\nexample.com. NS ns2.park.net.\nother.org. NS a.host.co.uk.\n",
    "zdns1": ZDNS_1,
    "zdns2": ZDNS_2,
    "jc": JC_DIG,
    "https": HTTPS_RESOLVER,
    "rfc8427": RFC_8427,
    "dnsx": DNSX,
    "yaml": DIG_YAML,
    "dig": DIG_TEXT,
    "tld": TLD_ZONE,
    "zone": HAND_ZONE,
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_every_kind_of_file_gives_the_same(kind: str, packed: bool, read: Callable[..., NameServers]) -> None:
    content = ALL_KINDS[kind].encode()
    servers = read(gzip.compress(content) if packed else content)
    assert rows(servers) == EXPECTED


@pytest.mark.parametrize(
    "tool", [("dig", "+yaml"), ("dig",), ("dig", "+noall", "+answer"), ("kdig", "+json"), ("kdig",)]
)
def test_what_real_tools_print_is_read(tool: tuple[str, ...], tmp_path: Path) -> None:
    dns_server = pytest.importorskip("dns_server", reason="dnspython is not installed").dns_server
    if shutil.which(tool[0]) is None:
        pytest.skip(f"{tool[0]} is not installed: apt-get install bind9-dnsutils knot-dnsutils")
    path = tmp_path / "printed"
    with dns_server({"example.com": ["ns1.park.net", "ns2.park.net"]}) as server, path.open("wb") as file:
        command = [tool[0], "@127.0.0.1", "-p", str(server.port), "NS", "example.com", *tool[1:]]
        subprocess.run(command, stdout=file, timeout=60, check=True)
    assert rows(read_nameservers([path])) == EXPECTED[:2]


def test_what_is_passed_over_is_counted(read: Callable[..., NameServers]) -> None:
    assert read(HAND_ZONE).bad == {"include": 1, "directive": 1}
    assert read(HAND_ZONE).first_bad["include"] == "$INCLUDE /etc/passwd"
    assert read(JC_DIG).bad == {"other_owner": 1}
    assert read(MASSDNS).outcomes == {"noerror": 2, "nxdomain": 1}
    assert read(HTTPS_RESOLVER).outcomes == {"noerror": 2}
    assert read(ZDNS_2).outcomes == {"noerror": 2}
    assert (read(TLD_ZONE).lines, read(TLD_ZONE).other, read(TLD_ZONE).bad) == (4, 1, {})


def test_bad_names_are_counted_with_the_first_of_each(read: Callable[..., NameServers]) -> None:
    table = (
        "domain,ns\na.com,192.0.2.1\nb.com,\nc.com,ns$.x.net\nd.com,-a.net\ne.com,ns.good.net\n,ns.good.net\nf.com\n"
    )
    servers = read(table + f"{'a' * 64}.com,ns.good.net\n" + "b\u00fccher.de,ns.good.net\n")
    assert rows(servers) == [("e.com", "ns.good.net"), ("xn--bcher-kva.de", "ns.good.net")]
    assert servers.bad == {"address": 1, "bad_name": 3, "bad_row": 1, "no_name": 2}
    assert servers.first_bad["bad_name"] == "ns$.x.net"


def test_a_relative_name_without_an_origin_is_refused(read: Callable[..., NameServers]) -> None:
    servers = read("a.com. NS ns.b.net.\nfoo NS ns.b.net.\nc.com. NS bar\n")
    assert (rows(servers), servers.bad) == ([("a.com", "ns.b.net")], {"no_origin": 2})


def test_only_the_wanted_domains_are_kept(read: Callable[..., NameServers]) -> None:
    servers = read(TLD_ZONE, wanted=["www.shop.example.com", "absent.org"])
    assert rows(servers) == EXPECTED[:2]
    assert servers.servers_of("www.shop.example.com") == ("ns1.park.net", "ns2.park.net")
    assert servers.servers_of("com") == servers.servers_of("") == servers.servers_of("absent.org") == ()


def test_a_site_with_several_providers_counts_for_each() -> None:
    servers = NameServers.from_pairs(
        [("a.com", "ns1.x.co.uk"), ("a.com", "ns2.y.net"), ("b.com", "ns9.x.co.uk"), ("b.com", "ns1.x.co.uk")]
    )
    assert servers.providers_of("a.com") == ("x.co.uk", "y.net")
    assert servers.providers_of("www.b.com") == ("x.co.uk",)
    assert servers.servers_of_providers() == {"x.co.uk": ("ns1.x.co.uk", "ns9.x.co.uk"), "y.net": ("ns2.y.net",)}
    assert NameServers.from_pairs([]).providers_of("a.com") == ()


def test_provider_is_the_registered_domain_whatever_the_private_suffixes_say() -> None:
    assert provider_of("ns1.parkingcrew.net") == "parkingcrew.net"
    assert provider_of("ns-1.awsdns-02.co.uk") == "awsdns-02.co.uk"
    assert provider_of("ns.foo.blogspot.com") == "blogspot.com"
    assert provider_of("_dns.a_b.example.net") == "example.net"
    assert provider_of("com") is None


def test_the_name_servers_of_the_demo_are_read(demo: DemoFiles) -> None:
    servers = read_nameservers([demo.nameservers])
    assert servers.bad == {}
    assert servers.pairs.num_rows == demo.nameservers.read_text().count("\n") - 1
    domain = servers.pairs["domain"][0].as_py()
    assert servers.servers_of(f"www.{domain}") == servers.servers_of(domain) != ()


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\1\2", b"<html> <p>no", b"justaword\n", b"{}", b"[", b'"a,b'])
def test_a_file_without_name_servers_is_an_error(content: bytes, read: Callable[..., NameServers]) -> None:
    with pytest.raises(InputError, match="No name server"):
        read(content)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be read \(No such file"):
        read_nameservers([tmp_path / "absent"])


def test_damage_costs_what_is_damaged(read: Callable[..., NameServers]) -> None:
    text = "".join(f"d{number}.com. 1 in ns ns.x.net.\n" for number in range(50_000)).encode()
    servers = read(gzip.compress(text)[:-2000])
    assert servers.bad["damaged"] == 1
    assert 0 < servers.pairs.num_rows < 50_000


def test_lines_and_parentheses_that_never_end(read: Callable[..., NameServers]) -> None:
    long = b"a" * (3 * files.LONGEST_LINE)
    servers = read(b"a.com. NS ns.x.net.\n" + long + b" NS ns.x.net.\nb.com. NS ns.x.net.\n")
    assert (rows(servers), servers.bad) == ([("a.com", "ns.x.net"), ("b.com", "ns.x.net")], {"too_long": 1})
    lines = b"x.com. NS ns.x.net.\n" * (zone.MOST_OPEN_LINES + 5)
    servers = read(b"a.com. TXT ( never\n" + lines + b"b.com. NS ns.x.net.\n")
    assert rows(servers) == [("b.com", "ns.x.net"), ("x.com", "ns.x.net")]
    assert servers.bad == {"unclosed": 1}
    assert read(b"a.com. NS ns.x.net.\nb.com. NS (").bad == {"unclosed": 1}


def test_hostile_json_is_one_bad_line(read: Callable[..., NameServers]) -> None:
    good = '{"host":"a.com","ns":"ns.x.net"}\n'
    deep = "[" * 100_000 + "]" * 100_000 + "\n"
    servers = read(
        good + deep + '{"host":1}]\n' + '{"n":' + "9" * 5000 + "}\n" + '[1]\n"a"\n{"name":"\\ud800","ns":["b.c"]}\n'
    )
    assert rows(servers) == [("a.com", "ns.x.net")]
    assert servers.bad == {"bad_json": 5, "bad_name": 1}
    wide = json.dumps({"name": "b.com", "x": [{} for _ in range(200_000)]}) + "\n"
    assert read(good + wide).bad == {"too_long": 1}


def test_a_reply_speaks_for_no_other_domain(read: Callable[..., NameServers]) -> None:
    reply = {
        "name": "mine.com",
        "status": "NOERROR",
        "data": {
            "answers": [{"name": "bank.com", "type": "NS", "data": "ns.park.net"}],
            "authorities": [{"name": "MINE.com.", "type": "NS", "data": "ns.park.net"}],
        },
    }
    servers = read(json.dumps(reply))
    assert (rows(servers), servers.bad) == ([("mine.com", "ns.park.net")], {"other_owner": 1})


def test_clean_name() -> None:
    assert canonical_name("WWW.Example.COM.") == ("www.example.com", "")
    assert canonical_name("_dmarc.a_b.example") == ("_dmarc.a_b.example", "")
    assert canonical_name("m\u00fcnchen.de") == ("xn--mnchen-3ya.de", "")
    assert canonical_name(".".join(["a" * 49] * 5) + ".abc") == (".".join(["a" * 49] * 5) + ".abc", "")
    for bad in (
        "a..b",
        ".a",
        "a b",
        "a;b",
        "a\n",
        "*.a",
        "a-.b",
        "\ud800",
        "a\u3002\u3002b",
        "x" * 64,
        "a." * 127 + "a",
        "$a",
        "@",
    ):
        assert canonical_name(bad) == ("", "bad_name"), bad
    assert canonical_name("") == canonical_name(".") == ("", "no_name")
    assert canonical_name("127.0.0.1") == ("", "address")


@given(st.text(max_size=30) | st.text(alphabet="ab-._\u00fc\u3002A ", max_size=12))
def test_a_clean_name_stays_as_it_is(text: str) -> None:
    name, reason = canonical_name(text)
    assert bool(name) != bool(reason)
    if name:
        assert canonical_name(name) == (name, "")
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.")


TOKENS = st.sampled_from(
    [
        "a.com.",
        "b",
        "@",
        "ns",
        "NS",
        "IN",
        "in",
        "60",
        "1h",
        "A",
        "(",
        ")",
        ";",
        '"',
        "\\",
        "$ORIGIN",
        "org.",
        " ",
        "\t",
        "\r",
    ]
)
LINES = st.lists(TOKENS, max_size=7).map(" ".join) | st.sampled_from(
    ["a.com. 60 IN NS x.net.", "b in ns y.net.", "\tNS z.net.", "$ORIGIN net.", "c.com. 1 in ds 1 2 3", ""]
)


@given(st.lists(LINES, max_size=12), st.integers(1, 4))
def test_blocks_and_lines_give_the_same(lines: list[str], size: int) -> None:
    text = [line.encode() + b"\n" for line in lines]

    def taken(blocks: list[bytes], special: bool) -> NameServers:
        taker = Taker(None)
        reader = zone.ZoneReader(taker)
        for block in blocks:
            if special:
                for line in block.removesuffix(b"\n").split(b"\n"):
                    taker.lines += 1
                    reader._read_line(line)
            else:
                reader.read(block)
        reader.end()
        return taker.done()

    one = taken([b"".join(text[first : first + size]) for first in range(0, len(text), size)], special=False)
    other = taken(text, special=True)
    assert rows(one) == rows(other)
    assert (one.lines, one.other, one.bad) == (other.lines, other.other, other.bad)


NAMES = st.lists(st.sampled_from(["a", "b1", "c-d", "_e", "ns", "in"]), min_size=1, max_size=3).map(".".join)


@given(st.lists(st.tuples(NAMES, st.booleans(), NAMES, st.booleans(), st.integers(0, 5)), min_size=1, max_size=12))
def test_a_zone_is_read_as_dnspython_reads_it(records: list[tuple[str, bool, str, bool, int]]) -> None:
    zonefile = pytest.importorskip("dns.zonefile", reason="dnspython is not installed")
    forms = ("{} 60 IN NS {}", "{} IN 60 NS {}", "{} NS {} ; x", "{}\tns\t(\n {} )", "{} in ns {}", "{} 1h ns {}")
    lines = []
    for owner, owner_whole, ns, ns_whole, form in records:
        owner, ns = owner + ".example." * owner_whole, ns + ".net." * ns_whole
        lines.append(forms[form].format(owner, ns))
    text = "\n".join(lines) + "\n"
    rrsets = zonefile.read_rrsets(text, origin="example.", relativize=False, rdclass=None, default_ttl=60)
    expected = {(str(rrset.name)[:-1], str(rdata.target)[:-1]) for rrset in rrsets for rdata in rrset}
    taker = Taker(None)
    zone.read_zone(iter([b"$ORIGIN example.\n", text.encode()]), taker)
    assert rows(taker.done()) == sorted(expected)


@given(st.binary(max_size=400))
def test_no_bytes_stop_the_reading(content: bytes) -> None:
    taker = Taker(None)
    files.kind_of(content)
    zone.read_zone(iter([content]), taker)
    lines = files._Lines(io.BytesIO(b"domain,ns\n" + content), taker)
    files._read_table(lines, taker)
    assert taker.done().pairs.num_rows >= 0


def test_absurdly_many_name_servers_of_a_domain_are_cut_and_counted(tmp_path: Path) -> None:
    lines = [f"a.com,ns{number:03}.x.net" for number in range(100)] + ["b.com,ns.x.net"]
    (tmp_path / "ns.csv").write_text("\n".join(["domain,ns", *lines]))
    found = read_nameservers([tmp_path / "ns.csv"])
    assert found.servers_of("a.com") == tuple(f"ns{number:03}.x.net" for number in range(64))
    assert found.servers_of("b.com") == ("ns.x.net",)
    assert found.bad == {"too_many": 36}
