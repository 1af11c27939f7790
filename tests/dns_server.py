"""A DNS server on loopback for tests, in a thread of its own: by UDP and TCP, with a plan of what it says to each name.

A name's plan is its name servers, or one word: nxdomain, empty, refused, servfail, never (no reply at all), garbage
(bytes that are no DNS), big (cut by UDP, whole by TCP) or other (records of another domain only).
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

Plan = Mapping[str, Sequence[str] | str]
RCODES = {"nxdomain": dns.rcode.NXDOMAIN, "refused": dns.rcode.REFUSED, "servfail": dns.rcode.SERVFAIL}
BIG = [f"ns{number}.{'long' * 8}.big.net" for number in range(40)]


class DnsServer:
    """What was asked is in `log`, as (name, udp or tcp). Replies wait until `gate` queries are there, then all go out;
    after `most` replies there are no more."""

    def __init__(self, plan: Plan, *, gate: int = 1, most: int = 1 << 30, host: str = "127.0.0.1") -> None:
        self.plan, self.gate, self.most, self.host = plan, gate, most, host
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
        elif plan == "big" and transport == "udp":
            answer.flags |= dns.flags.TC
        elif plan != "empty":
            targets = BIG if plan == "big" else ["ns.evil.net"] if plan == "other" else plan
            owner = "bank.com." if plan == "other" else name + "."
            answer.answer.append(dns.rrset.from_text(owner, 60, "IN", "NS", *(target + "." for target in targets)))
        return answer.to_wire(max_size=65535)

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:
        self._udp = transport

    def connection_lost(self, error: Exception | None) -> None:
        pass

    def datagram_received(self, raw: bytes, sender: tuple[str, int]) -> None:
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
def dns_server(plan: Plan, *, gate: int = 1, most: int = 1 << 30, host: str = "127.0.0.1") -> Iterator[DnsServer]:
    """A server that runs as long as the context."""
    server = DnsServer(plan, gate=gate, most=most, host=host)
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
