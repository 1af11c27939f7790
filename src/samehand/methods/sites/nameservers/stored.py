"""Name servers of the sites of a run: from files, from DNS, and as they were stored the last time."""

import dataclasses
import os
from collections import Counter
from collections.abc import Sequence

import pyarrow as pa

from samehand.base.settings import Settings
from samehand.methods.sites.homes import domains_of, site_homes
from samehand.methods.sites.nameservers.dns import OnDnsProgress, resolve_nameservers
from samehand.methods.sites.nameservers.files import read_nameservers
from samehand.methods.sites.nameservers.pairs import NameServers
from samehand.store.files import DNS_CACHE
from samehand.store.folder import RunFolder
from samehand.store.tables import NAMESERVERS


def stored_servers(folder: RunFolder) -> NameServers:
    """The name servers that were used the last time; none if there are none."""
    if folder.has(NAMESERVERS):
        return NameServers(pairs=folder.read(NAMESERVERS))
    return NameServers.from_pairs(())


def store_servers(
    folder: RunFolder,
    files: Sequence[str | os.PathLike[str]],
    settings: Settings,
    *,
    resolve: bool,
    retry: bool,
    on_progress: OnDnsProgress,
) -> NameServers:
    """Reads name servers from files, asks DNS for those that no file knows if `resolve`, and stores them in the run.

    DNS is asked for a domain once; with `retry` again if it could not be asked before. Only who holds the lock may.
    """
    domains = domains_of(site_homes(folder))
    found = read_nameservers(files, wanted=domains) if files else NameServers.from_pairs(())
    if resolve or retry:
        cache = folder.own_file(DNS_CACHE)
        cache.parent.mkdir(exist_ok=True)
        missing = [domain for domain in domains if not found.servers_of(domain)]
        asked = resolve_nameservers(missing, cache=cache, settings=settings, retry=retry, on_progress=on_progress)
        found = _joined(found, asked)
    folder.write(NAMESERVERS, found.pairs)
    return found


def _joined(files: NameServers, asked: NameServers) -> NameServers:
    both = pa.concat_tables([files.pairs, asked.pairs])
    pairs = zip(both.column("domain").to_pylist(), both.column("ns").to_pylist(), strict=True)
    return dataclasses.replace(
        files,
        pairs=NameServers.from_pairs(pairs).pairs,
        outcomes=dict(Counter(files.outcomes) + Counter(asked.outcomes)),
        bad=Counter(files.bad) + Counter(asked.bad),
    )
