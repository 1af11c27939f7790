"""Name servers by live DNS: only when asked for, several at a time, at a bounded rate, each outcome kept in a file.

What is asked is the NS of a site's registered domain, once for all its hosts: that is where a delegation lies. The
outcomes are appended to a file as they come, one JSON object per line; a look-up that was stopped goes on where it was,
and asks nothing twice. The result does not depend on the order in which the answers came.
"""

import asyncio
import collections
import dataclasses
import ipaddress
import json
import os
import time
import zlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import pyarrow as pa

from samehand.base.errors import RunWriteError, SettingsError, UsageError
from samehand.base.page import host_of
from samehand.methods.sites.nameservers import NameServers, clean_name

if TYPE_CHECKING:
    import dns.message

OK, NXDOMAIN, NO_ANSWER = "ok", "nxdomain", "no_answer"
TIMEOUT, REFUSED, SERVFAIL, MALFORMED, UNREACHABLE = "timeout", "refused", "servfail", "malformed", "unreachable"
BAD_NAME = "bad_name"
FINAL = frozenset({OK, NXDOMAIN, NO_ANSWER})
"""Outcomes that another resolver would only repeat; after the others it is asked, too."""

OUTCOMES = (OK, NXDOMAIN, NO_ANSWER, TIMEOUT, REFUSED, SERVFAIL, MALFORMED, UNREACHABLE, BAD_NAME)
DNS_PORT = 53
_PAYLOAD = 1232
_SYNC_EVERY = 1000
_OUTCOME_SCHEMA = pa.schema([("domain", pa.string()), ("outcome", pa.string()), ("queries", pa.int64())])


@dataclasses.dataclass(frozen=True, slots=True)
class Resolver:
    """Address and port of a server that answers for all domains."""

    address: str
    port: int = DNS_PORT

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`."""
        host, _, port = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", str(DNS_PORT))
        try:
            address = ipaddress.ip_address(host[1:-1] if host[:1] + host[-1:] == "[]" else host)
            number = int(port)
        except ValueError:
            number = 0
        if not 0 < number < 1 << 16:
            raise SettingsError(f"{text!r} is no resolver: give an address, or address:port ([address]:port for IPv6).")
        return cls(str(address), number)


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What DNS said of a domain, after how many queries; `refused` of its name servers have no proper name."""

    domain: str
    outcome: str
    ns: tuple[str, ...] = ()
    queries: int = 0
    refused: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class ResolveProgress:
    """How far a look-up is: domains done of all, and how many queries were sent."""

    done: int
    total: int
    queries: int


@dataclasses.dataclass(frozen=True, slots=True)
class ResolveResult:
    """Name servers found and the outcome of each registered domain; `asked` of them now, the rest before."""

    servers: NameServers
    outcomes: pa.Table
    asked: int
    queries: int
    lost_lines: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRule:
    """How DNS is asked: queries per second and at once, seconds to wait, queries per domain before giving up."""

    rate: float = 50.0
    at_once: int = 20
    timeout: float = 5.0
    tries: int = 3

    def __post_init__(self) -> None:
        for name, low, high in (("rate", 0.1, 1e5), ("at_once", 1, 1000), ("timeout", 0.01, 120), ("tries", 1, 10)):
            value = getattr(self, name)
            if not low <= value <= high:
                raise SettingsError(f"{name} is {value}: choose a value from {low:g} to {high:g}.")


class TokenBucket:
    """Lets `rate` takers pass per second, evenly: what was not used in a quiet second is not made up for later."""

    def __init__(
        self,
        rate: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._gap, self._clock, self._sleep = 1 / rate, clock, sleep
        self._next = clock()

    async def take(self) -> None:
        """Returns when it is one's turn."""
        now = self._clock()
        turn = max(self._next, now)
        self._next = turn + self._gap
        if turn > now:
            await self._sleep(turn - now)


def resolve_nameservers(
    domains: Iterable[str],
    *,
    cache: Path,
    resolvers: Sequence[str] = (),
    rule: ResolveRule | None = None,
    again: Collection[str] = (),
    tell: Callable[[ResolveProgress], None] = lambda _: None,
) -> ResolveResult:
    """Asks DNS for the name servers of the registered domains of `domains`, those in `cache` excepted.

    The system's resolvers are asked unless others are given. Domains whose outcome in the cache is among `again` are
    asked once more: after a night without a network, the time-outs.
    """
    rule = rule or ResolveRule()
    names = {domain: _registered(domain) for domain in set(domains)}
    wanted = sorted({name for name in names.values() if name})
    with _OutcomeFile(cache) as known:
        missing = [name for name in wanted if known.outcome_of(name) in (None, *again)]
        if missing:
            servers = [Resolver.parse(text) for text in resolvers] or _system_resolvers()
            asker = _Asker(servers, rule, known, lambda done, sent: tell(_progress(wanted, missing, done, sent)))
            asyncio.run(asker.ask_all(missing))
        found = [known.outcomes[name] for name in wanted]
        found += [Outcome(domain, BAD_NAME) for domain, name in sorted(names.items()) if not name]
        lost = known.lost_lines
    queries = sum(known.outcomes[name].queries for name in missing)
    rows = [{"domain": one.domain, "outcome": one.outcome, "queries": one.queries} for one in found]
    table = pa.Table.from_pylist(rows, schema=_OUTCOME_SCHEMA)
    return ResolveResult(_servers(found), table, len(missing), queries, lost)


def _servers(found: Sequence[Outcome]) -> NameServers:
    counts = collections.Counter(one.outcome for one in found)
    refused = sum(one.refused for one in found)
    servers = NameServers.from_pairs((one.domain, ns) for one in found for ns in one.ns)
    outcomes = {name: counts[name] for name in OUTCOMES if counts[name]}
    return dataclasses.replace(servers, outcomes=outcomes, bad={BAD_NAME: refused} if refused else {})


def _progress(wanted: Sequence[str], missing: Sequence[str], done: int, sent: int) -> ResolveProgress:
    return ResolveProgress(len(wanted) - len(missing) + done, len(wanted), sent)


def _registered(domain: str) -> str | None:
    name, _ = clean_name(domain)
    return host_of(f"http://{name}/").registered_domain if name else None


def _system_resolvers() -> list[Resolver]:
    _require_dns()
    import dns.resolver

    try:
        servers = dns.resolver.Resolver(configure=True).nameservers
    except dns.resolver.NoResolverConfiguration:
        servers = []
    if not servers:
        raise UsageError("The system names no DNS resolver: give one as address:port.")
    return [Resolver(str(server)) for server in servers]


def _require_dns() -> None:
    try:
        import dns.asyncquery  # noqa: F401 - only whether it is there
    except ImportError:
        raise UsageError("Live DNS needs dnspython: install it with pip install 'samehand[dns]'.") from None


class _Asker:
    """Asks for many domains, so many at once, and writes each outcome down before the next is begun."""

    def __init__(
        self, resolvers: Sequence[Resolver], rule: ResolveRule, known: "_OutcomeFile", tell: Callable[[int, int], None]
    ) -> None:
        _require_dns()
        self._resolvers, self._rule, self._known, self._tell = resolvers, rule, known, tell
        self._bucket = TokenBucket(rule.rate)
        self._done = self._sent = 0

    async def ask_all(self, domains: Sequence[str]) -> None:
        waiting = iter(domains)
        await asyncio.gather(*(self._ask_from(waiting) for _ in range(min(self._rule.at_once, len(domains)))))

    async def _ask_from(self, waiting: Iterator[str]) -> None:
        for domain in waiting:
            self._known.add(await self._ask(domain))
            self._done += 1
            self._tell(self._done, self._sent)

    async def _ask(self, domain: str) -> Outcome:
        """Each domain begins with a resolver of its own, by its name, and goes to the next when one fails."""
        first, answer = zlib.crc32(domain.encode()), Outcome(domain, TIMEOUT)
        for query in range(self._rule.tries):
            await self._bucket.take()
            self._sent += 1
            resolver = self._resolvers[(first + query) % len(self._resolvers)]
            answer = await _query(domain, resolver, self._rule.timeout)
            if answer.outcome in FINAL:
                break
        return dataclasses.replace(answer, queries=query + 1)


async def _query(domain: str, resolver: Resolver, timeout: float) -> Outcome:
    """One question to one resolver, by TCP if the answer was cut; a reply from elsewhere is not listened to."""
    import dns.asyncquery
    import dns.exception
    import dns.message

    question = dns.message.make_query(domain, "NS", use_edns=0, payload=_PAYLOAD)
    try:
        reply, _ = await dns.asyncquery.udp_with_fallback(
            question, resolver.address, timeout, resolver.port, ignore_unexpected=True
        )
    except dns.exception.Timeout:
        return Outcome(domain, TIMEOUT)
    except (dns.exception.DNSException, EOFError, ValueError):
        return Outcome(domain, MALFORMED)
    except OSError:
        return Outcome(domain, UNREACHABLE)
    return _read_reply(domain, reply)


def _read_reply(domain: str, reply: "dns.message.Message") -> Outcome:
    """Only what a reply says of the domain that was asked for counts: in the answer, or else in a referral."""
    import dns.name
    import dns.rcode
    import dns.rdatatype

    code = reply.rcode()
    if code != dns.rcode.NOERROR:
        said = {dns.rcode.NXDOMAIN: NXDOMAIN, dns.rcode.REFUSED: REFUSED, dns.rcode.SERVFAIL: SERVFAIL}
        return Outcome(domain, said.get(code, MALFORMED))
    owner = dns.name.from_text(domain)
    for section in (reply.answer, reply.authority):
        records = [
            record for rrset in section if rrset.name == owner and rrset.rdtype == dns.rdatatype.NS for record in rrset
        ]
        if records:
            names = [clean_name(record.target.to_text())[0] for record in records]
            servers = tuple(sorted(set(filter(None, names))))
            return Outcome(domain, OK if servers else MALFORMED, servers, refused=names.count(""))
    return Outcome(domain, NO_ANSWER)


class _OutcomeFile:
    """Outcomes in a file, one JSON object per line, appended as they come; the last of a domain counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._unsynced = 0
        self.outcomes: dict[str, Outcome] = {}
        self.lost_lines = 0

    def outcome_of(self, domain: str) -> str | None:
        """What was said of `domain` before, None if it was not asked for."""
        known = self.outcomes.get(domain)
        return known.outcome if known else None

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("ab+")
            self._file.seek(0)
            end = 0
            for line in self._file:
                if not line.endswith(b"\n"):
                    break  # killed while writing: the domain is asked for again
                end += len(line)
                self._read(line)
            self._file.truncate(end)
        except OSError as error:
            raise self._unwritable(error) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with self._file:
                self._sync()

    def add(self, outcome: Outcome) -> None:
        """Writes an outcome down; it outlives this process at once, and a power cut after the next thousand."""
        self.outcomes[outcome.domain] = outcome
        line = json.dumps(dataclasses.asdict(outcome), separators=(",", ":")) + "\n"
        if self._file is None:
            raise RunWriteError(f"{self._path} is not open. Use it within a with statement.")
        try:
            self._file.write(line.encode())
            self._file.flush()
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                self._sync()
        except OSError as error:
            raise self._unwritable(error) from None

    def _sync(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._unsynced = 0

    def _unwritable(self, error: OSError) -> RunWriteError:
        return RunWriteError(f"{self._path} cannot be written ({error.strerror}). Free some space or check the path.")

    def _read(self, line: bytes) -> None:
        outcome = _outcome_of(line)
        if outcome is None:
            self.lost_lines += 1
        else:
            self.outcomes[outcome.domain] = outcome


def _outcome_of(line: bytes) -> Outcome | None:
    """None for a line that nobody here wrote."""
    try:
        row: Any = json.loads(line)
        known = Outcome(row["domain"], row["outcome"], tuple(row["ns"]), row["queries"], row["refused"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    names = (known.domain, *known.ns)
    plain = all(isinstance(name, str) and clean_name(name) == (name, "") for name in names)
    numbers = isinstance(known.queries, int) and isinstance(known.refused, int)
    return known if plain and numbers and known.outcome in OUTCOMES else None
