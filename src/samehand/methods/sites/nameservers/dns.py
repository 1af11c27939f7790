"""Name servers by live DNS, only on request: several queries at once, a limited rate, every outcome kept in a file.

The NS records of a registered domain are looked up once for all its hosts, because that is where the delegation is.
Each outcome is appended to a file, one JSON object per line. A look-up that was stopped goes on where it stopped and
asks nothing twice. The result does not depend on the order of the answers.

Each query has a random id and a port of its own. Datagrams that do not answer it (another sender, id or question, or no
DNS message at all) are ignored until the time-out: RFC 5452, section 9.
"""

import asyncio
import collections
import dataclasses
import ipaddress
import json
import os
import time
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from samehand.base.errors import SettingsError, UsageError
from samehand.base.files import writing
from samehand.base.names import BAD_NAME, canonical_name
from samehand.base.page import host_of
from samehand.base.settings import Settings
from samehand.methods.sites.nameservers.names import MOST_SERVERS, TOO_MANY
from samehand.methods.sites.nameservers.pairs import NameServers

if TYPE_CHECKING:
    import dns.message

OK, NXDOMAIN, NO_ANSWER = "ok", "nxdomain", "no_answer"
TIMEOUT, REFUSED, SERVFAIL, MALFORMED, UNREACHABLE = "timeout", "refused", "servfail", "malformed", "unreachable"
BAD_LINE = "bad_line"
FINAL = frozenset({OK, NXDOMAIN, NO_ANSWER})
"""Outcomes that another resolver would only repeat. After any other outcome, the next resolver is asked."""

OUTCOMES = (OK, NXDOMAIN, NO_ANSWER, TIMEOUT, REFUSED, SERVFAIL, MALFORMED, UNREACHABLE, BAD_NAME)
DNS_PORT = 53
_PAYLOAD = 1232
_SYNC_EVERY = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class Resolver:
    """Address and port of a DNS resolver."""

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
    """What DNS answered for a domain, and after how many queries.

    `refused` counts name servers with a bad name, `left_out` those beyond the most that are kept.
    """

    domain: str
    outcome: str
    ns: tuple[str, ...] = ()
    queries: int = 0
    refused: int = 0
    left_out: int = 0


@dataclasses.dataclass(frozen=True, slots=True)
class ResolveProgress:
    """How far a look-up is: domains done, domains in total, and queries sent."""

    done: int
    total: int
    queries: int


OnDnsProgress = Callable[[ResolveProgress], None]


class TokenBucket:
    """Lets `rate` takers pass per second, evenly spaced. Unused turns are not saved up."""

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
        """Returns when it is the caller's turn."""
        now = self._clock()
        turn = max(self._next, now)
        self._next = turn + self._gap
        if turn > now:
            await self._sleep(turn - now)


def resolve_nameservers(
    domains: Iterable[str],
    *,
    cache: Path,
    settings: Settings | None = None,
    retry: bool = False,
    on_progress: OnDnsProgress = lambda _: None,
) -> NameServers:
    """Looks up the name servers of the registered domains of `domains`, except those that `cache` knows.

    With `retry`, domains whose look-up failed before are looked up again. The resolvers are those of the settings, or
    those of the system.
    """
    settings = settings or Settings()
    names = {domain: _registered(domain) for domain in set(domains)}
    wanted = sorted({name for name in names.values() if name})
    with _OutcomeFile(cache) as known:
        done = FINAL if retry else OUTCOMES
        missing = [name for name in wanted if known.outcome_of(name) not in done]
        if missing:
            asker = _Asker(settings, known, lambda done, sent: on_progress(_progress(wanted, missing, done, sent)))
            asyncio.run(asker.ask_all(missing))
        found = [known.outcomes[name] for name in wanted]
        found += [Outcome(domain, BAD_NAME) for domain, name in sorted(names.items()) if not name]
        bad = {BAD_LINE: known.bad_lines, BAD_NAME: sum(one.refused for one in found)}
        bad[TOO_MANY] = sum(one.left_out for one in found)
    counts = collections.Counter(one.outcome for one in found)
    return dataclasses.replace(
        NameServers.from_pairs((one.domain, ns) for one in found for ns in one.ns),
        outcomes={name: counts[name] for name in OUTCOMES if counts[name]},
        bad={reason: count for reason, count in bad.items() if count},
    )


def _progress(wanted: Sequence[str], missing: Sequence[str], done: int, sent: int) -> ResolveProgress:
    return ResolveProgress(len(wanted) - len(missing) + done, len(wanted), sent)


def _registered(domain: str) -> str | None:
    name, _ = canonical_name(domain)
    return host_of(f"http://{name}/").registered_domain if name else None


def _resolvers(settings: Settings) -> list[Resolver]:
    _require_dns()
    if chosen := [text.strip() for text in settings.dns_resolvers.split(",") if text.strip()]:
        return [Resolver.parse(text) for text in chosen]
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
    """Looks up many domains concurrently. A worker writes each outcome down before it begins with the next domain."""

    def __init__(self, settings: Settings, known: "_OutcomeFile", on_progress: Callable[[int, int], None]) -> None:
        self._resolvers = _resolvers(settings)
        self._settings, self._known, self._on_progress = settings, known, on_progress
        self._bucket = TokenBucket(settings.dns_rate)
        self._done = self._sent = 0

    async def ask_all(self, domains: Sequence[str]) -> None:
        waiting = iter(domains)
        workers = min(self._settings.dns_concurrency, len(domains))
        await asyncio.gather(*(self._ask_from(waiting) for _ in range(workers)))

    async def _ask_from(self, waiting: Iterator[str]) -> None:
        for domain in waiting:
            self._known.add(await self._ask(domain))
            self._done += 1
            self._on_progress(self._done, self._sent)

    async def _ask(self, domain: str) -> Outcome:
        """The name of the domain decides which resolver is asked first. If it fails, the next one is asked."""
        first, answer = zlib.crc32(domain.encode()), Outcome(domain, TIMEOUT)
        for query in range(self._settings.dns_tries):
            await self._bucket.take()
            self._sent += 1
            resolver = self._resolvers[(first + query) % len(self._resolvers)]
            answer = await _query(domain, resolver, self._settings.dns_timeout)
            if answer.outcome in FINAL:
                break
        return dataclasses.replace(answer, queries=query + 1)


async def _query(domain: str, resolver: Resolver, timeout: float) -> Outcome:
    """One query to one resolver, by TCP if the answer was truncated."""
    import dns.asyncquery
    import dns.exception
    import dns.message

    question = dns.message.make_query(domain, "NS", use_edns=0, payload=_PAYLOAD)
    try:
        reply, _ = await dns.asyncquery.udp_with_fallback(
            question, resolver.address, timeout, resolver.port, ignore_unexpected=True, ignore_errors=True
        )
    except dns.exception.Timeout:
        return Outcome(domain, TIMEOUT)
    except (dns.exception.DNSException, EOFError, ValueError):
        return Outcome(domain, MALFORMED)
    except OSError:
        return Outcome(domain, UNREACHABLE)
    return _read_reply(domain, reply)


def _read_reply(domain: str, reply: "dns.message.Message") -> Outcome:
    """The NS records of the domain in question, from the answer section or else from a referral."""
    import dns.name
    import dns.rcode
    import dns.rdataclass
    import dns.rdatatype

    code = reply.rcode()
    if code != dns.rcode.NOERROR:
        said = {dns.rcode.NXDOMAIN: NXDOMAIN, dns.rcode.REFUSED: REFUSED, dns.rcode.SERVFAIL: SERVFAIL}
        return Outcome(domain, said.get(code, MALFORMED))
    wanted = dns.name.from_text(domain), dns.rdataclass.IN, dns.rdatatype.NS
    for section in (reply.answer, reply.authority):
        sets = [rrset for rrset in section if (rrset.name, rrset.rdclass, rrset.rdtype) == wanted]
        records = [record for rrset in sets for record in rrset]
        if records:
            names = [canonical_name(record.target.to_text())[0] for record in records]
            servers = sorted(set(filter(None, names)))
            return Outcome(
                domain,
                OK if servers else MALFORMED,
                tuple(servers[:MOST_SERVERS]),
                refused=names.count(""),
                left_out=len(servers[MOST_SERVERS:]),
            )
    return Outcome(domain, NO_ANSWER)


class _OutcomeFile:
    """Outcomes in a file that only grows, one JSON object per line. The last outcome of a domain counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._unsynced = 0
        self.outcomes: dict[str, Outcome] = {}
        self.bad_lines = 0

    def outcome_of(self, domain: str) -> str | None:
        """The known outcome of `domain`; None if it was never looked up."""
        known = self.outcomes.get(domain)
        return known.outcome if known else None

    def __enter__(self) -> Self:
        with writing(self._path):
            self._file = self._path.open("ab+")
            self._file.seek(0)
            end = 0
            for line in self._file:
                if not line.endswith(b"\n"):
                    break  # killed while writing: the domain is looked up again
                end += len(line)
                self._read(line)
            self._file.truncate(end)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with self._file:
                self._sync()

    def add(self, outcome: Outcome) -> None:
        """Writes an outcome down. It survives the process at once, and a power cut after the next sync."""
        self.outcomes[outcome.domain] = outcome
        line = json.dumps(dataclasses.asdict(outcome), separators=(",", ":")) + "\n"
        if self._file is None:
            raise UsageError("The file of DNS outcomes is not open: use it in a with statement.")
        with writing(self._path):
            self._file.write(line.encode())
            self._file.flush()
            self._unsynced += 1
            if self._unsynced >= _SYNC_EVERY:
                self._sync()

    def _sync(self) -> None:
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._unsynced = 0

    def _read(self, line: bytes) -> None:
        outcome = _outcome_of(line)
        if outcome is None:
            self.bad_lines += 1
        else:
            self.outcomes[outcome.domain] = outcome


def _outcome_of(line: bytes) -> Outcome | None:
    """The outcome in a line of the file; None if we did not write the line."""
    try:
        row: Any = json.loads(line)
        known = Outcome(**{**row, "ns": tuple(row["ns"])})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    names = (known.domain, *known.ns)
    plain = isinstance(row["ns"], list) and all(
        isinstance(name, str) and canonical_name(name) == (name, "") for name in names
    )
    numbers = all(isinstance(number, int) for number in (known.queries, known.refused, known.left_out))
    is_known = isinstance(known.outcome, str) and known.outcome in OUTCOMES
    return known if plain and numbers and is_known and len(known.ns) <= MOST_SERVERS else None
