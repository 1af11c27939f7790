"""Names of domains and name servers: their canonical form, their provider, and the domains above them."""

import functools
import re
from collections.abc import Iterator

import ada_url

from samehand.base.page import DOMAIN_URL, host_of

BAD_NAME, NO_NAME, ADDRESS = "bad_name", "no_name", "address"
TOO_MANY = "too_many"
LONGEST_NAME = 253
MOST_SERVERS = 64
"""Name servers of a domain that are kept, the first by name. Registries allow 13, a few zones have some more."""

LABEL = "[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
"""Letters, digits, underscores, and hyphens inside: nothing that a zone file, terminal or spreadsheet interprets."""

NAME = rf"(?:{LABEL}\.)*{LABEL}"
_WHOLE_NAME = re.compile(NAME)


def canonical_name(name: str) -> tuple[str, str]:
    """`name` in lower case, in punycode and without its last dot; or "", and the reason why it is refused."""
    if not name.isascii():
        name = _punycode(name)
    elif not name.removesuffix("."):
        return "", NO_NAME
    name = name.lower().removesuffix(".")
    if not 0 < len(name) <= LONGEST_NAME or not _WHOLE_NAME.fullmatch(name):
        return "", BAD_NAME
    if name[name.rfind(".") + 1 :].isdigit():
        return "", ADDRESS
    return name, ""


def _punycode(name: str) -> str:
    """The name in punycode; "" if it has none or is too long."""
    if len(name) > LONGEST_NAME:
        return ""
    try:
        return ada_url.idna_to_ascii(name).decode("ascii")
    except (UnicodeError, ValueError):
        return ""


@functools.lru_cache(maxsize=1 << 16)
def provider_of(ns: str) -> str | None:
    """The provider that runs a name server: its registered domain. None for the servers of a bare suffix."""
    return host_of(f"http://{ns}/").registered_domain


def upwards(domain: str) -> Iterator[str]:
    """`domain` and the domains above it, up to the registered one."""
    name = domain.lower().removesuffix(".")
    host = host_of(f"http://{name}/")
    top = host.registered_domain if host.kind == DOMAIN_URL else None
    while True:
        yield name
        if not top or name == top or "." not in name:
            return
        name = name.partition(".")[2]
