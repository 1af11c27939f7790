"""Name servers: their provider, and the domains above a domain."""

import functools
from collections.abc import Iterator

from samehand.base.page import DOMAIN_URL, host_of

TOO_MANY = "too_many"
MOST_SERVERS = 64
"""Name servers of a domain that are kept, the first by name. Registries allow 13, a few zones have some more."""


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
