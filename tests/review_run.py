"""A review server for tests: in this process without a port, or as the real command."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import samehand
from samehand.review.app import application
from samehand.review.guard import Guard
from samehand.review.review import Review

PORT = 4321
HOST = f"127.0.0.1:{PORT}"
TOKEN = "a-token-for-tests"


class Answer(NamedTuple):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Speaks to the application behind its guard, as a browser would."""

    def __init__(self, review: Review) -> None:
        self.review = review
        self.app = Guard(application(review), port=PORT, token=TOKEN)
        cookie = self.request("GET", f"/launch?token={TOKEN}", cookie="").headers["set-cookie"]
        self.cookie = cookie.partition(";")[0]

    def get(self, target: str, **headers: str) -> Answer:
        return self.request("GET", target, **headers)

    def post(self, target: str, said: Any, **headers: str) -> Answer:
        body = said if isinstance(said, bytes) else json.dumps(said).encode()
        given = {"origin": f"http://{HOST}", "content_type": "application/json", "content_length": str(len(body))}
        return self.request("POST", target, body, **{**given, **headers})

    def request(self, method: str, target: str, body: bytes = b"", **headers: str) -> Answer:
        """A header whose value is None is left out. Underscores in names are hyphens."""
        given = {"host": HOST, "cookie": getattr(self, "cookie", ""), **headers}
        raw = [
            (name.replace("_", "-").encode(), value.encode("latin-1", "replace"))
            for name, value in given.items()
            if value is not None
        ]
        return self.raw(method, target, raw, body)

    def raw(self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> Answer:
        return asyncio.run(self._ask(method, target, headers, body))

    async def _ask(self, method: str, target: str, headers: list[tuple[bytes, bytes]], body: bytes) -> Answer:
        from urllib.parse import unquote

        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1", "replace"),
            "query_string": query.encode("latin-1", "replace"),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", PORT),
        }
        sent: list[dict[str, Any]] = []
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict[str, Any]:
            return parts.pop() if parts else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]))


class Served(NamedTuple):
    """A server in a process of its own."""

    address: str
    process: "subprocess.Popen[str]"

    @property
    def base(self) -> str:
        return self.address.partition("/launch")[0]


@contextmanager
def served(run: samehand.Run | Path, *options: str) -> Iterator[Served]:
    """`samehand review`, until the end of the block."""
    path = run.path if isinstance(run, samehand.Run) else run
    command = [sys.executable, "-m", "samehand.cli.start", "review", str(path), "--no-browser", *options]
    source = str(Path(samehand.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    try:
        assert process.stdout is not None
        yield Served(process.stdout.readline().strip(), process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait(10)
        process.stdout.close()
