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
import importlib.util
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from samehand.base.errors import InputError
from samehand.base.page import host_of, is_shared_domain, public_suffix
from samehand.methods.sites.nameservers.names import canonical_name

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


def _is_official(name: str) -> bool:
    suffix = public_suffix(name)
    return (
        suffix in _OFFICIAL_TOP
        or suffix.rpartition(".")[2] in _OFFICIAL_TOP
        or ("." in suffix and suffix.split(".")[0] in _OFFICIAL)
    )


def load_guard(files: Iterable[str | Path] = ()) -> Guard:
    """The shipped guard, the names in `files`, and the MISP warning lists where they are installed."""
    shipped = _shipped()
    own = [name for path in files for name in names_in_file(path)]
    misp = _misp_lists()
    lists = [NameList("own list", NEVER, frozenset(own)), NameList("shipped list", NEVER, shipped["site"])]
    lists += [NameList(f"MISP {name}", tier, misp[name]) for name, tier in _MISP_LISTS.items() if name in misp]
    shared = shipped["shared"].union(*(misp[name] for name in _MISP_SHARED if name in misp))
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
def _misp_lists() -> dict[str, frozenset[str]]:
    """The lists of the package pymispwarninglists; none if it is not installed. Its files are read, not its code."""
    found = importlib.util.find_spec("pymispwarninglists")
    if found is None or found.origin is None:
        return {}
    folder = Path(found.origin).parent / "data" / "misp-warninglists" / "lists"
    lists = {}
    for name in (*_MISP_LISTS, *_MISP_SHARED):
        path = folder / name / "list.json"
        if path.is_file():
            listed = json.loads(path.read_text(encoding="utf-8"))["list"]
            lists[name] = frozenset(str(each).strip(".").lower() for each in listed)
    return lists
