"""Live DNS against servers on loopback: outcomes, several at once, the rate, TCP, and going on after a kill."""

import asyncio
import dataclasses
import itertools
import json
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from samehand.base.errors import RunWriteError, SettingsError, UsageError
from samehand.base.settings import Settings
from samehand.methods.sites.nameservers import NameServers
from samehand.methods.sites.nameservers import dns as resolver
from samehand.methods.sites.nameservers.dns import Outcome, Resolver, TokenBucket, resolve_nameservers

pytest.importorskip("dns.asyncquery", reason="dnspython is not installed: pip install 'samehand[dns]'")

from dns_server import BIG, HUGE, DnsServer, dns_server

FAST = Settings(dns_rate=10_000, dns_timeout=10, dns_tries=2)
HASTY = Settings(dns_rate=10_000, dns_timeout=0.1, dns_tries=2)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "dns.jsonl"


def ask(server: DnsServer, domains: list[str], cache: Path, settings: Settings = FAST, **more: Any) -> NameServers:
    settings = dataclasses.replace(settings, dns_resolvers=server.address)
    return resolve_nameservers(domains, cache=cache, settings=settings, **more)


def test_every_outcome_is_counted(cache: Path) -> None:
    plan = {
        "good.com": ["ns2.park.net", "NS1.park.net"],
        "empty.com": "empty",
        "refused.com": "refused",
        "broken.com": "servfail",
        "other.com": "other",
        "odd.com": "odd",
    }
    domains = ["www.good.com", "good.com", "gone.com", *plan, "192.0.2.1", "com", "no name"]
    with dns_server(plan) as server:
        result = ask(server, domains, cache)
    assert result.pairs.to_pylist() == [
        {"domain": "good.com", "ns": "ns1.park.net"},
        {"domain": "good.com", "ns": "ns2.park.net"},
        {"domain": "odd.com", "ns": "ns.good.net"},
    ]
    assert result.bad == {"bad_name": 3}
    assert result.providers_of("www.good.com") == ("park.net",)
    assert result.outcomes == {
        "ok": 2,
        "nxdomain": 1,
        "no_answer": 2,
        "refused": 1,
        "servfail": 1,
        "bad_name": 3,
    }
    said = {row["domain"]: (row["outcome"], row["queries"]) for row in map(json.loads, cache.read_text().splitlines())}
    assert said["broken.com"] == ("servfail", 2)
    assert said["other.com"] == ("no_answer", 1)
    assert server.asked().count("good.com") == 1
    assert len(said) == 7
    assert sum(queries for _, queries in said.values()) == len(server.log)


def test_what_does_not_answer_the_question_is_ignored_until_the_answer_comes(cache: Path) -> None:
    """RFC 5452, section 9: a wrong id, question or sender must not end the wait."""
    names = [f"d{number}.com" for number in range(5)]
    with dns_server({name: ["ns.right.net"] for name in names}, is_lying=True) as server:
        result = ask(server, names, cache)
    assert result.outcomes == {"ok": 5}
    assert {row["ns"] for row in result.pairs.to_pylist()} == {"ns.right.net"}
    assert server.asked() == names
    assert len(set(server.ids)) > 1
    assert len(set(server.ports)) > 1


@pytest.mark.parametrize("plan", ["never", "garbage"])
def test_lies_alone_are_no_answer(plan: str, cache: Path) -> None:
    with dns_server({"silent.com": plan}, is_lying=True) as server:
        result = ask(server, ["silent.com"], cache, HASTY)
    assert result.outcomes == {"timeout": 1}
    assert result.pairs.num_rows == 0


def test_absurdly_many_name_servers_are_cut_and_counted(cache: Path) -> None:
    with dns_server({"huge.com": "huge"}) as server:
        result = ask(server, ["huge.com"], cache)
        again = ask(server, ["huge.com"], cache)
    assert result.servers_of("huge.com") == tuple(HUGE[:64])
    assert result.bad == again.bad == {"too_many": len(HUGE) - 64}
    assert server.log == [("huge.com", "udp"), ("huge.com", "tcp")]


def test_a_name_that_is_never_answered_times_out(cache: Path) -> None:
    with dns_server({"silent.com": "never"}) as server:
        result = ask(server, ["silent.com"], cache, HASTY)
        wait_for(lambda: len(server.log) == 2)
    assert result.outcomes == {"timeout": 1}
    assert server.asked() == ["silent.com"] * 2


def test_after_a_failure_another_resolver_is_asked(cache: Path) -> None:
    names = [f"d{number}.com" for number in range(12)]
    with (
        dns_server(dict.fromkeys(names, "refused")) as lame,
        dns_server({name: ["ns.x.net"] for name in names}) as good,
    ):
        settings = dataclasses.replace(FAST, dns_resolvers=f"{lame.address}, {good.address}")
        result = resolve_nameservers(names, cache=cache, settings=settings)
    assert result.outcomes == {"ok": 12}
    assert good.asked() == sorted(names)
    assert 0 < len(lame.log) < 12  # each name begins with a resolver of its own


def test_an_answer_that_was_cut_comes_by_tcp(cache: Path) -> None:
    with dns_server({"big.com": "big"}) as server:
        result = ask(server, ["big.com"], cache)
    assert result.servers_of("big.com") == tuple(sorted(BIG))
    assert server.log == [("big.com", "udp"), ("big.com", "tcp")]


def test_a_resolver_with_an_address_of_ipv6(cache: Path) -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
    with dns_server({"a.com": ["ns.x.net"]}, host="::1") as server:
        assert ask(server, ["a.com"], cache).outcomes == {"ok": 1}


def test_several_are_asked_at_once(cache: Path) -> None:
    """The server answers only when four questions are there: one by one, none would be answered."""
    names = [f"d{number}.com" for number in range(12)]
    with dns_server({name: ["ns.x.net"] for name in names}, gate=4) as server:
        result = ask(server, names, cache, Settings(dns_rate=10_000, dns_timeout=20, dns_tries=1, dns_concurrency=4))
    assert result.outcomes == {"ok": 12}


def test_never_more_at_once_than_allowed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flying, most = 0, 0

    async def query(domain: str, _: Resolver, __: float) -> Outcome:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0)
        flying -= 1
        return Outcome(domain, "ok", ("ns.x.net",))

    monkeypatch.setattr(resolver, "_query", query)
    names = [f"d{number}.com" for number in range(30)]
    settings = Settings(dns_resolvers="192.0.2.1", dns_rate=1e5, dns_concurrency=7)
    resolve_nameservers(names, cache=cache, settings=settings)
    assert most == 7


class FakeTime:
    """A clock that moves only by sleeping."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = self.now + seconds
        await asyncio.sleep(0)
        self.now = max(self.now, until)


def test_the_rate_is_kept() -> None:
    times = FakeTime()
    passed: list[float] = []

    async def run() -> None:
        bucket = TokenBucket(10, clock=times.clock, sleep=times.sleep)
        for _ in range(21):
            await bucket.take()
            passed.append(times.now)
        times.now += 50  # a quiet time is not made up for
        for _ in range(11):
            await bucket.take()
            passed.append(times.now)

    asyncio.run(run())
    assert passed[20] - passed[0] == pytest.approx(2.0)
    assert passed[31] - passed[21] == pytest.approx(1.0)
    gaps = [late - early for early, late in itertools.pairwise(passed)]
    assert min(gaps) == pytest.approx(0.1)


def test_every_query_waits_its_turn(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = 0
    take = TokenBucket.take

    async def counted(bucket: TokenBucket) -> None:
        nonlocal turns
        turns += 1
        await take(bucket)

    monkeypatch.setattr(TokenBucket, "take", counted)
    with dns_server({"a.com": "servfail", "b.com": ["ns.x.net"]}) as server:
        ask(server, ["a.com", "b.com", "c.com"], cache)
    assert turns == len(server.log) == 4


def test_nothing_is_asked_twice(cache: Path) -> None:
    with dns_server({"a.com": ["ns.x.net"], "b.com": "servfail"}) as server:
        first = ask(server, ["a.com", "b.com", "c.com"], cache)
        server.log.clear()
        second = ask(server, ["c.com", "www.a.com", "b.com"], cache)
        assert server.log == []
        assert second.pairs.equals(first.pairs)
        assert second.outcomes == first.outcomes
        ask(server, ["a.com", "b.com", "d.com"], cache, retry=True)
        assert server.asked() == ["b.com", "b.com", "d.com"]


def test_a_cache_that_answers_all_needs_neither_resolver_nor_dnspython(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write_text('{"domain":"a.com","outcome":"ok","ns":["ns.x.net"],"queries":1,"refused":0}\n')
    monkeypatch.setitem(sys.modules, "dns.asyncquery", None)
    assert resolve_nameservers(["a.com"], cache=cache).servers_of("a.com") == ("ns.x.net",)
    with pytest.raises(UsageError, match=r"pip install 'samehand\[dns\]'"):
        resolve_nameservers(["b.com"], cache=cache)


def test_lines_of_strangers_in_the_cache_are_asked_again(cache: Path) -> None:
    cache.write_text(
        '{"domain":"a.com","outcome":"ok","ns":["ns.x.net\\n$INCLUDE"],"queries":1,"refused":0}\n'
        '{"domain":"a.com","outcome":"mine","ns":[],"queries":1,"refused":0}\n[]\n\nnonsense\n{"domain":["a.com"]}\n'
        '{"domain":"b.com","outcome":"nxdomain","ns":[],"queries":1,"refused":0}\n{"domain":"c.com","outc'
    )
    with dns_server({"a.com": ["ns.x.net"], "c.com": ["ns.x.net"]}) as server:
        result = ask(server, ["a.com", "b.com", "c.com"], cache)
    assert server.asked() == ["a.com", "c.com"]
    assert result.bad == {"bad_line": 6}
    assert result.outcomes == {"ok": 2, "nxdomain": 1}
    assert len(cache.read_text().splitlines()) == 9


def test_a_killed_look_up_goes_on_where_it_was(cache: Path) -> None:
    names = [f"d{number}.com" for number in range(30)]
    program = """
        import sys
        from pathlib import Path
        from samehand.base.settings import Settings
        from samehand.methods.sites.nameservers.dns import resolve_nameservers
        settings = Settings(
            dns_resolvers=sys.argv[2], dns_rate=10_000, dns_timeout=100, dns_tries=1, dns_concurrency=3
        )
        resolve_nameservers(sys.argv[3:], cache=Path(sys.argv[1]), settings=settings)
    """
    with dns_server({name: [f"ns.{name}"] for name in names}, most=12) as server:
        command = [sys.executable, "-c", textwrap.dedent(program), str(cache), server.address, *names]
        with subprocess.Popen(command) as process:
            wait_for(lambda: len(server.log) == 15 and cache.read_bytes().count(b"\n") == 12, process)
            process.send_signal(signal.SIGKILL)
        with cache.open("ab") as file:
            file.write(b'{"domain":"d0.com","outcome":"nxdom')
        known = {json.loads(line)["domain"] for line in cache.read_bytes().splitlines()[:12]}
        server.log.clear()
        server.most = 1 << 30
        result = ask(server, names, cache)
        assert set(server.asked()) == set(names) - known
        assert len(server.log) == 18
    assert result.outcomes == {"ok": 30}


def wait_for(happened: Callable[[], bool], process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(3000):
        if happened():
            return
        if process is not None and process.poll() is not None:
            break
        time.sleep(0.02)
    if process is not None:
        process.kill()
    pytest.fail("the others did not get where they should")


def test_progress_is_told(cache: Path) -> None:
    told = []
    with dns_server({"a.com": ["ns.x.net"]}) as server:
        ask(server, ["a.com"], cache)
        ask(server, ["a.com", "b.com", "c.com"], cache, on_progress=told.append)
    assert [(progress.done, progress.total) for progress in told] == [(2, 3), (3, 3)]
    assert told[-1].queries == 2


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunWriteError, match=r"Cannot write to .*dns\.jsonl"):
        resolve_nameservers(["a.com"], cache=tmp_path / "absent" / "dns.jsonl")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("192.0.2.1", ("192.0.2.1", 53)),
        ("192.0.2.1:5353", ("192.0.2.1", 5353)),
        ("2001:db8::1", ("2001:db8::1", 53)),
        ("[2001:db8::1]:5353", ("2001:db8::1", 5353)),
        ("[::1]", ("::1", 53)),
    ],
)
def test_addresses_of_resolvers(text: str, expected: tuple[str, int]) -> None:
    assert Resolver.parse(text) == Resolver(*expected)


@pytest.mark.parametrize("text", ["", "dns.example", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:70000", "::1:x", "[::1"])
def test_what_is_no_resolver(text: str) -> None:
    with pytest.raises(SettingsError, match="is no resolver"):
        Resolver.parse(text)


@pytest.mark.parametrize("wrong", [{"dns_rate": 0}, {"dns_concurrency": 0}, {"dns_timeout": 1000}, {"dns_tries": 99}])
def test_settings_have_bounds(wrong: dict[str, int]) -> None:
    with pytest.raises(SettingsError, match="choose a value from"):
        Settings(**wrong)


ZONES = {
    "com": """\
        $ORIGIN com.
        @ 60 IN SOA ns.nic.example. x.nic.example. 1 2 3 4 5
        @ 60 IN NS ns.nic.example.
        parked 60 IN NS ns1.park.net.
        parked 60 IN NS ns2.park.net.
        txt 60 IN TXT "nothing here"
    """,
    "site.org": """\
        $ORIGIN site.org.
        @ 60 IN SOA ns.host.net. x.host.net. 1 2 3 4 5
        @ 60 IN NS ns.host.net.
    """,
}


@pytest.fixture
def nsd(tmp_path: Path) -> Iterator[str]:
    """Debian's authoritative server with two zones; it delegates, answers, denies and refuses for real."""
    program = shutil.which("nsd", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("nsd is not installed: apt-get install nsd")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = [
        "server:",
        f"  ip-address: 127.0.0.1@{port}",
        '  username: ""',
        '  chroot: ""',
        f'  zonesdir: "{tmp_path}"',
    ]
    lines += [f'  {name}: "{tmp_path / name}"' for name in ("pidfile", "xfrdfile", "zonelistfile")]
    lines += [f'  xfrdir: "{tmp_path}"', "  server-count: 1", "remote-control:", "  control-enable: no"]
    for name, text in ZONES.items():
        (tmp_path / name).write_text(textwrap.dedent(text))
        lines += ["zone:", f'  name: "{name}"', f'  zonefile: "{name}"']
    (tmp_path / "nsd.conf").write_text("\n".join(lines) + "\n")
    with subprocess.Popen(
        [program, "-d", "-c", str(tmp_path / "nsd.conf")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            wait_for(lambda: accepts(port), process)
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_real_server(nsd: str, cache: Path) -> None:
    domains = ["www.parked.com", "site.org", "absent.com", "txt.com", "elsewhere.net"]
    result = resolve_nameservers(domains, cache=cache, settings=dataclasses.replace(FAST, dns_resolvers=nsd))
    said = {row["domain"]: row["outcome"] for row in map(json.loads, cache.read_text().splitlines())}
    assert said == {
        "parked.com": "ok",
        "site.org": "ok",
        "absent.com": "nxdomain",
        "txt.com": "no_answer",
        "elsewhere.net": "refused",
    }
    assert result.servers_of("www.parked.com") == ("ns1.park.net", "ns2.park.net")
    assert result.providers_of("site.org") == ("host.net",)
