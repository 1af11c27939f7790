"""A DNS server on loopback for tests, in a thread of its own: by UDP and TCP, with a plan of what it says to each name.

A name's plan is its name servers, or one word: nxdomain, empty, refused, servfail, never (no reply at all), garbage
(bytes that are no DNS), big (cut by UDP, whole by TCP), huge (the same, with absurdly many records), other (records of
another domain only) or odd (records that are no name servers of the domain, and names that are none).

A lying server sends every lie of `lies` before each reply, and once more from another port.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

Plan = Mapping[str, Sequence[str] | str]
RCODES = {"nxdomain": dns.rcode.NXDOMAIN, "refused": dns.rcode.REFUSED, "servfail": dns.rcode.SERVFAIL}
BIG = [f"ns{number}.{'long' * 8}.big.net" for number in range(40)]
HUGE = [f"ns{number:04}.huge.net" for number in range(2000)]
ODD = (
    ("", 60, "IN", "NS", "."),
    ("", 60, "IN", "NS", "a\\010$INCLUDE.evil.net."),
    ("", 60, "IN", "NS", "\\027[2J.evil.net."),
    ("", 60, "CH", "NS", "ns.evil.net."),
    ("", 60, "IN", "CNAME", "evil.net."),
    ("www.", 60, "IN", "NS", "ns.evil.net."),
    ("not-", 60, "IN", "NS", "ns.evil.net."),
    ("", 0xFFFFFFFF, "IN", "NS", "ns.good.net."),
)


def lies(raw: bytes) -> list[bytes]:
    """Replies to a query that are wrong in one field each. All of them name the server ns.evil.net."""
    query = dns.message.from_wire(raw)
    name = query.question[0].name

    def lie(change: Callable[[dns.message.Message], object]) -> bytes:
        answer = dns.message.make_response(query)
        answer.answer.append(dns.rrset.from_text(name, 60, "IN", "NS", "ns.evil.net."))
        change(answer)
        return answer.to_wire()

    def asked(owner: str, kind: str = "NS", space: str = "IN") -> Callable[[dns.message.Message], object]:
        kinds = dns.rdataclass.from_text(space), dns.rdatatype.from_text(kind)
        other = dns.rrset.RRset(dns.name.from_text(owner), *kinds)
        return lambda answer: answer.question.__setitem__(0, other)

    def flagged(code: int) -> Callable[[dns.message.Message], object]:
        def change(answer: dns.message.Message) -> None:
            answer.id ^= 1
            answer.set_rcode(dns.rcode.Rcode(code))

        return change

    def cut(answer: dns.message.Message) -> None:
        answer.id ^= 1
        answer.flags |= dns.flags.TC

    right = lie(lambda answer: None)
    return [
        lie(lambda answer: setattr(answer, "id", answer.id ^ 1)),
        lie(lambda answer: setattr(answer, "id", answer.id ^ 0x8000)),
        lie(asked("bank.com.")),
        lie(asked(f"www.{name}")),
        lie(asked(str(name), kind="A")),
        lie(asked(str(name), space="CH")),
        lie(lambda answer: answer.question.clear()),
        lie(lambda answer: setattr(answer, "flags", answer.flags & ~dns.flags.QR)),
        lie(lambda answer: answer.set_opcode(dns.opcode.STATUS)),
        lie(flagged(dns.rcode.NXDOMAIN)),
        lie(flagged(dns.rcode.REFUSED)),
        lie(
            lambda answer: (setattr(answer, "id", answer.id ^ 1), setattr(answer, "flags", answer.flags | dns.flags.TC))
        ),
        raw,
        b"",
        right[:-3],
        right[:13],
        right + b"junk",
        right[:6] + b"\xff\xff" + right[8:],
        right[:12] + b"\xc0\x0c" + right[14:],
    ]


class DnsServer:
    """What was asked is in `log`, as (name, udp or tcp). Replies wait until `gate` queries are there, then all go out;
    after `most` replies there are no more."""

    def __init__(
        self, plan: Plan, *, gate: int = 1, most: int = 1 << 30, host: str = "127.0.0.1", is_lying: bool = False
    ) -> None:
        self.plan, self.gate, self.most, self.host, self.is_lying = plan, gate, most, host, is_lying
        self.ids: list[int] = []
        self.ports: list[int] = []
        self.log: list[tuple[str, str]] = []
        self.port = 0
        self._waiting: list[tuple[bytes, tuple[str, int]]] = []
        self._udp: asyncio.DatagramTransport | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def asked(self) -> list[str]:
        """The names asked for, sorted, each as often as it was."""
        return sorted(name for name, _ in self.log)

    def reply(self, raw: bytes, transport: str) -> bytes | None:
        query = dns.message.from_wire(raw)
        name = query.question[0].name.to_text(omit_final_dot=True)
        self.log.append((name, transport))
        plan = self.plan.get(name, "nxdomain")
        if plan == "never" or len(self.log) > self.most:
            return None
        if plan == "garbage":
            return raw[:2] + b"\xff" * 9
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if isinstance(plan, str) and plan in RCODES:
            answer.set_rcode(RCODES[plan])
        elif plan in ("big", "huge") and transport == "udp":
            answer.flags |= dns.flags.TC
        elif plan == "odd":
            answer.answer += [dns.rrset.from_text(f"{before}{name}.", *rest) for before, *rest in ODD]
        elif plan != "empty":
            targets = {"big": BIG, "huge": HUGE, "other": ["ns.evil.net"]}.get(str(plan), plan)
            owner = "bank.com." if plan == "other" else name + "."
            answer.answer.append(dns.rrset.from_text(owner, 60, "IN", "NS", *(target + "." for target in targets)))
        return answer.to_wire(max_size=65535)

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._udp = transport

    def connection_lost(self, error: Exception | None) -> None:
        pass

    def datagram_received(self, raw: bytes, sender: tuple[str, int]) -> None:
        self.ids.append(int.from_bytes(raw[:2]))
        self.ports.append(sender[1])
        if self.is_lying and self._udp:
            for lie in lies(raw):
                self._udp.sendto(lie, sender)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                other.sendto(lies(raw)[-3].removesuffix(b"junk"), sender)
        reply = self.reply(raw, "udp")
        if reply is not None:
            self._waiting.append((reply, sender))
        if len(self._waiting) >= self.gate and self._udp:
            for waiting in self._waiting:
                self._udp.sendto(*waiting)
            self._waiting.clear()

    async def serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(2))
        reply = self.reply(await reader.readexactly(size), "tcp")
        if reply is not None:
            writer.write(len(reply).to_bytes(2) + reply)
            await writer.drain()
        writer.close()
        await writer.wait_closed()


@contextlib.contextmanager
def dns_server(
    plan: Plan, *, gate: int = 1, most: int = 1 << 30, host: str = "127.0.0.1", is_lying: bool = False
) -> Iterator[DnsServer]:
    """A server that runs as long as the context."""
    server = DnsServer(plan, gate=gate, most=most, host=host, is_lying=is_lying)
    ready, loop, stop = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        tcp, udp = await _open_both(server)
        ready.set()
        async with tcp:
            await stop.wait()
        udp.close()
        await asyncio.sleep(0)

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        if not ready.wait(10):
            raise RuntimeError("the DNS server of the tests did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()


async def _open_both(server: DnsServer) -> tuple[asyncio.Server, asyncio.DatagramTransport]:
    """TCP and UDP at one port: the system finds one that is free for TCP, and it may be taken for UDP."""
    for _ in range(20):
        tcp = await asyncio.start_server(server.serve_tcp, server.host, 0)
        server.port = tcp.sockets[0].getsockname()[1]
        try:
            loop = asyncio.get_running_loop()
            udp, _ = await loop.create_datagram_endpoint(lambda: server, (server.host, server.port))  # type: ignore[arg-type,return-value]
        except OSError:
            tcp.close()
        else:
            return tcp, udp
    raise RuntimeError("no port for the DNS server of the tests")
