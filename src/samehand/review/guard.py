"""The guard of the review server: who may ask, and what leaves with every answer.

It stands outside of everything else. A page that somebody reads in the same browser can make requests to this server;
so can a name that an attacker points to this machine. What such a request lacks is the cookie, and what it cannot
forge are Host, Origin and the Sec-Fetch headers. The cookie is given once for the token in the address that is
printed; the token is in no other address, in no log, and not in the cookie.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

LAUNCH = "/launch"
PREVIEW = "/preview/"
LONGEST_TARGET, LARGEST_BODY = 4096, 4096
_METHODS = frozenset({"GET", "HEAD", "POST"})
_SITES = frozenset({"same-origin", "none"})
_OFF = "camera clipboard-read clipboard-write display-capture fullscreen geolocation microphone midi payment usb"

SHELL_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PREVIEW_POLICY = (
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'; webrtc 'block'"
)
_EVERY_ANSWER = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
    "x-dns-prefetch-control": "off",
    "permissions-policy": ", ".join(f"{name}=()" for name in _OFF.split()),
}


class RefusedError(Exception):
    """A request that the guard does not let through."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status, self.why = status, why


class Guard:
    """An ASGI application around another one."""

    def __init__(self, app: Any, *, port: int, token: str) -> None:
        self._app, self._token = app, token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._origins = {f"http://{host}" for host in self._hosts}
        self.cookie_name = f"samehand-{port}"
        self._cookie = hmac.new(token.encode(), b"cookie", hashlib.sha256).hexdigest()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answers a request, or refuses it. There are no web sockets."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError("The review server speaks HTTP only.")
        guarded = _with_headers(send, scope["path"])
        try:
            headers = _headers(scope)
            self._check(scope, headers)
            if scope["path"] == LAUNCH:
                await self._launch(scope, guarded)
                return
            self._check_cookie(headers)
            if scope["method"] == "POST":
                self._check_write(headers)
                receive = await _bounded(receive)
        except RefusedError as refused:
            await _answer(guarded, refused.status, json.dumps({"error": refused.why}).encode())
            return
        await self._app(scope, receive, guarded)

    def _check(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        """The name that was asked for, where the request comes from, and its size."""
        if headers.get("host") not in self._hosts:
            raise RefusedError(421, "This is not the address of the review server.")
        if headers.get("sec-fetch-site", "none") not in _SITES:
            raise RefusedError(403, "Another site asked for this.")
        if scope["method"] not in _METHODS:
            raise RefusedError(405, "Only GET and POST are understood.")
        if len(scope["raw_path"] or b"") + len(scope["query_string"]) > LONGEST_TARGET:
            raise RefusedError(414, "The address is too long.")
        if scope["path"].startswith(PREVIEW) and headers.get("sec-fetch-dest") != "iframe":
            raise RefusedError(403, "A preview is shown in its frame only.")

    async def _launch(self, scope: Mapping[str, Any], send: Any) -> None:
        """Gives the cookie for the token, and leads on to an address without it."""
        if not hmac.compare_digest(scope["query_string"], b"token=" + self._token.encode()):
            raise RefusedError(403, "The token is wrong: take the address that samehand review printed last.")
        cookie = f"{self.cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"
        await _answer(send, 303, b"", {"location": "/", "set-cookie": cookie})

    def _check_cookie(self, headers: Mapping[str, str]) -> None:
        try:
            known = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            known = None
        if known is None or not hmac.compare_digest(known.value.encode(), self._cookie.encode()):
            raise RefusedError(403, "There is no cookie: open the address that samehand review printed.")

    def _check_write(self, headers: Mapping[str, str]) -> None:
        if headers.get("origin") not in self._origins or headers["origin"] != f"http://{headers['host']}":
            raise RefusedError(403, "Another origin asked for this.")
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "Send JSON.")
        length = headers.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,7}", length):
            raise RefusedError(411, "Say how long the request is.")
        if int(length) > LARGEST_BODY:
            raise RefusedError(413, "The request is too large.")


def _headers(scope: Mapping[str, Any]) -> dict[str, str]:
    """Headers by name. One that stands twice could be read in two ways, so it is refused; cookies may."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        if key == "cookie" and key in found:
            text = f"{found[key]}; {text}"
        elif key in found and key in ("host", "origin", "content-type", "content-length", "sec-fetch-site"):
            raise RefusedError(400, f"The header {key} is there twice.")
        found[key] = text
    return found


async def _bounded(receive: Any) -> Any:
    """Reads the body of a request, and refuses one that is longer than it said."""
    body = b""
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "The request ended early.")
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > LARGEST_BODY:
            raise RefusedError(413, "The request is too large.")
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return given.pop() if given else await receive()

    return again


def _with_headers(send: Any, path: str) -> Any:
    policy = PREVIEW_POLICY if path.startswith(PREVIEW) else SHELL_POLICY
    ours = {**_EVERY_ANSWER, "content-security-policy": policy}

    async def guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message["headers"] if name.decode("latin-1").lower() not in ours]
            message["headers"] = kept + [(name.encode(), value.encode()) for name, value in ours.items()]
        await send(message)

    return guarded


async def _answer(send: Any, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
    given = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
    raw = [(name.encode(), value.encode()) for name, value in given.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
