"""The guard: what no list may hold, whatever clusters say.

An unwanted page may look like a bank because it copied the bank. So the guard knows names, and asks nothing else. It
has two tiers. What is *never* listed are the names of samehand's own list and of your files, the names below public
suffixes of schools and governments, public suffixes, and hosts with many owners. What needs a *review* are names on
long lists of popular sites: a person names those that were looked at. With the package pymispwarninglists its lists are
used too. A guard protects sites. It forbids a rule for name servers only if these serve many honest sites: that the
shop of a parking provider is popular says nothing about the sites that it parks.
"""

import csv
import fnmatch
import functools
import hashlib
import importlib.util
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from samehand.base.errors import InputError
from samehand.base.names import canonical_name
from samehand.base.page import host_of, is_shared_domain, public_suffix

NEVER, REVIEW = "guarded", "needs review"
SHIPPED = Path(__file__).parents[1] / "data" / "guard.csv"
_OFFICIAL = frozenset({"ac", "edu", "gob", "gouv", "gov", "govt", "mil"})
_OFFICIAL_TOP = frozenset({"edu", "gov", "mil", "int", "bank", "arpa"})
"""First labels of the public suffixes, and top-level domains, that only schools, governments and banks get names of."""
_MISP_LISTS = {
    "tranco10k": NEVER,
    "cisco_top10k": NEVER,
    "moz-top500": NEVER,
    "bank-website": NEVER,
    "university_domains": NEVER,
    "google": NEVER,
    "microsoft": NEVER,
    "tranco": REVIEW,
    "google-chrome-crux-1million": REVIEW,
}
_MISP_SHARED = ("dynamic-dns", "url-shortener", "lots-project")


class NameList(NamedTuple):
    """Names under the guard, their tier, and what to call the list."""

    label: str
    tier: str
    names: frozenset[str]


class Hit(NamedTuple):
    """Why a name is not listed."""

    tier: str
    label: str


class Guard:
    """Lists of names. `own` are the names of the user's files, which lists with exceptions let through."""

    def __init__(
        self, lists: Iterable[NameList], shared: Iterable[str], dns: Iterable[str], own: Iterable[str]
    ) -> None:
        self.lists = tuple(lists)
        self.own = tuple(sorted(set(own)))
        self._shared = frozenset(shared)
        self._dns = tuple(dns)
        self._above = tuple(frozenset(above for name in one.names for above in _above(name)) for one in self.lists)

    def about(self) -> str:
        """The lists in use and their sizes, in words."""
        sizes = (f"{one.label} {len(one.names):,}" for one in self.lists if one.names)
        return f"{', '.join(sizes)}, shared hosts {len(self._shared):,}"

    def is_shared(self, name: str) -> bool:
        """Whether many owners have names below this one, so that it never stands for one of them."""
        return name in self._shared or is_shared_domain(name) or (name.startswith("www.") and self.is_shared(name[4:]))

    @functools.cached_property
    def _near(self) -> frozenset[str]:
        """All listed names and the names above them: a site that has nothing to do with these is not guarded."""
        return frozenset[str]().union(*(one.names for one in self.lists), *self._above)

    def hit_of_site(self, name: str) -> Hit | None:
        """Why a site of a run is guarded. Quick for sites that are not."""
        labels = name.split(".")
        is_near = not self._near.isdisjoint(_and_above(name))
        if is_near or labels[-1] in _OFFICIAL_TOP or not _OFFICIAL.isdisjoint(labels[-2:]):
            hit = self.site_hit(name)
            if hit is not None:
                return hit
        return Hit(NEVER, "shared host") if self.is_shared(name) else None

    def digest(self) -> str:
        """Digest of all names."""
        names = [(one.label, one.tier, sorted(one.names)) for one in self.lists]
        return hashlib.sha256(json.dumps([names, sorted(self._shared), self._dns]).encode()).hexdigest()[:16]

    def site_hit(self, name: str) -> Hit | None:
        """Why a site or host is not listed: it, a name above it or a name below it is under the guard."""
        upward = list(self._upward(name))
        if _is_official(name):
            return Hit(NEVER, "official domain")
        for one, above in zip(self.lists, self._above, strict=True):
            if name in above or any(each in one.names for each in upward):
                return Hit(one.tier, one.label)
        return None

    def server_hit(self, name: str, served: Iterable[str]) -> Hit | None:
        """Why no rule for a name server is written: it serves many honest sites, or a guarded one that is known."""
        domain = host_of(f"http://{name}/").registered_domain or name
        if any(fnmatch.fnmatchcase(domain, pattern) for pattern in self._dns):
            return Hit(NEVER, "name servers of many sites")
        if {name, domain} & set(self.own) or _is_official(name):
            return Hit(NEVER, "own list")
        for site in served:
            hit = self.site_hit(canonical_name(site)[0] or site)
            if hit and hit.tier == NEVER:
                return Hit(NEVER, "serves a guarded site")
        return None

    def _upward(self, name: str) -> Iterator[str]:
        """The name and the names above it, up to one that many owners share."""
        while name and not self.is_shared(name):
            yield name
            name = name.partition(".")[2]


def _above(name: str) -> Iterator[str]:
    while "." in (name := name.partition(".")[2]):
        yield name


def _and_above(name: str) -> Iterator[str]:
    yield name
    yield from _above(name)


def _is_official(name: str) -> bool:
    suffix = public_suffix(name)
    return (
        suffix in _OFFICIAL_TOP
        or suffix.rpartition(".")[2] in _OFFICIAL_TOP
        or ("." in suffix and suffix.split(".")[0] in _OFFICIAL)
    )


@functools.cache
def never_guard() -> Guard:
    """The tier that stands over verdicts: what is never listed. Lists of a million names stand over exports alone."""
    return load_guard(tiers=(NEVER,))


def load_guard(files: Iterable[str | Path] = (), tiers: Collection[str] = (NEVER, REVIEW)) -> Guard:
    """The shipped guard, the names in `files`, and the MISP warning lists where they are installed."""
    shipped = _shipped()
    own = [name for path in files for name in names_in_file(path)]
    misp = {name: _misp_list(name) for name, tier in _MISP_LISTS.items() if tier in tiers}
    lists = [NameList("own list", NEVER, frozenset(own)), NameList("shipped list", NEVER, shipped["site"])]
    lists += [NameList(f"MISP {name}", _MISP_LISTS[name], names) for name, names in misp.items() if names]
    shared = shipped["shared"].union(*(_misp_list(name) for name in _MISP_SHARED))
    return Guard(lists, shared - shipped["site"], sorted(shipped["dns"]), own)


@functools.cache
def _shipped() -> dict[str, frozenset[str]]:
    with SHIPPED.open(encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(line for line in handle if not line.startswith("#")))
    return {what: frozenset(row["name"] for row in rows if row["what"] == what) for what in ("site", "shared", "dns")}


def names_in_file(path: str | Path) -> list[str]:
    """The canonical names in a file of one name a line. What is no name stops the export: a guard must be complete."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). Check the path.") from None
    written = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    names = [canonical_name(line.removeprefix("*.").lstrip(".")) for line in written]
    bad = [line for line, (name, _) in zip(written, names, strict=True) if not name]
    if bad:
        raise InputError(f"{path} holds {bad[0]!r}, which is no name: give one domain or host a line.")
    return [name for name, _ in names]


@functools.cache
def _misp_list(name: str) -> frozenset[str]:
    """A list of the package pymispwarninglists; empty if it is not installed. Its files are read, not its code."""
    found = importlib.util.find_spec("pymispwarninglists")
    if found is None or found.origin is None:
        return frozenset()
    path = Path(found.origin).parent / "data" / "misp-warninglists" / "lists" / name / "list.json"
    if not path.is_file():
        return frozenset()
    listed = json.loads(path.read_text(encoding="utf-8"))["list"]
    return frozenset(str(each).strip(".").lower() for each in listed)
