"""Where a page with next to no text sends its visitors: by refresh, frame, script or form."""

import re
from typing import NamedTuple

NO_LEAD, REFRESH, FRAME, SCRIPT, FORM = range(5)
"""How a page leads on."""
MAX_BYTES = 1 << 14
"""A source is looked at so far: what only leads on does so at once."""

_FRAME = re.compile(rb"<i?frame\b[^>]{0,1000}?\bsrc\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{1,500})", re.IGNORECASE)
_REFRESH = re.compile(
    rb"http-equiv\s{0,9}=\s{0,9}[\"']?refresh[^>]{0,300}?url\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{1,500})"
    rb"|content\s{0,9}=\s{0,9}[\"']?\s{0,9}\d{1,5}\s{0,9};\s{0,9}(?:url\s{0,9}=\s{0,9})?[\"']?([^\"'\s>]{1,500})",
    re.IGNORECASE,
)
_SCRIPT = re.compile(
    rb"location(?:\.href|\.pathname)?\s{0,9}=\s{0,9}(?:[\"']([^\"']{1,500})|[a-z(])"
    rb"|location\.(?:replace|assign)\s{0,9}\(\s{0,9}(?:[\"']([^\"']{1,500}))?",
    re.IGNORECASE,
)
_FORM = re.compile(rb"\.submit\(\)|onload\s{0,9}=\s{0,9}[\"'][^\"']{0,200}submit", re.IGNORECASE)
_PARKING = re.compile(rb"(?<![a-z])(?:park|parked|parking|parkingpage)(?![a-z])", re.IGNORECASE)
_HOST = re.compile(rb"^\s*(?:https?:)?//([^/?#:\s]+)", re.IGNORECASE)
_LOADED = re.compile(rb"\bsrc\s{0,9}=\s{0,9}[\"']?\s{0,9}(?:https?:)?//([^\"'\s>]{1,1000})", re.IGNORECASE)


class Lead(NamedTuple):
    """How a page leads on, the host it leads to (b"" for the site itself), and the path there.

    `tells_name` says that another site is told the own domain; `to_parking` that the address speaks of parking.
    """

    how: int = NO_LEAD
    host: bytes = b""
    path: bytes = b""
    tells_name: bool = False
    to_parking: bool = False


def find_lead(source: bytes, domain: bytes) -> Lead:
    """The lead of a page, refreshes before frames before scripts before forms."""
    source = source[:MAX_BYTES]
    for how, pattern in ((REFRESH, _REFRESH), (FRAME, _FRAME), (SCRIPT, _SCRIPT), (FORM, _FORM)):
        if found := pattern.search(source):
            return _lead(how, next((group for group in found.groups() if group), b""), domain)
    return Lead()


def _lead(how: int, target: bytes, domain: bytes) -> Lead:
    host = _HOST.match(target)
    name = host[1].lower() if host else b""
    rest = target[host.end() :] if host else target
    if domain and (name == domain or name.endswith(b"." + domain)):
        name = b""
    strange = bool(name and domain) and domain.partition(b".")[0] not in name  # not the owner's own login
    tells_name = strange and _as_value(domain).search(rest.lower()) is not None
    to_parking = how != REFRESH and bool(_PARKING.search(target))
    return Lead(how, name, rest.partition(b"?")[0].strip(b"/"), tells_name, to_parking)


def _as_value(domain: bytes) -> re.Pattern[bytes]:
    """The bare domain as a value of a query, or as the last step of a path; not as part of an address of the site."""
    return re.compile(rb"(?:=%b(?:[&#;]|$)|(?<![/:])/%b/?(?:[?#]|$))" % (re.escape(domain), re.escape(domain)))


def tells_own_name(source: bytes, domain: bytes) -> bool:
    """Whether the page loads something from another site that it tells its own domain, as feeds of parked pages are."""
    if not domain or domain not in source.lower():
        return False
    told = _as_value(domain)
    for found in _LOADED.finditer(source[:MAX_BYTES].lower()):
        host, _, rest = found[1].partition(b"/")
        if domain in rest and not host.endswith(domain) and told.search(b"/" + rest):
            return True
    return False
