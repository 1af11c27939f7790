"""Where a page with next to no text sends its visitors: by refresh, frame, script or form."""

import re
from typing import NamedTuple

NO_LEAD, REFRESH, FRAME, SCRIPT, FORM = range(5)
"""How a page leads on."""
MAX_BYTES = 1 << 14
"""A source is looked at so far: what only leads on does so at once."""

_REFRESHES = (
    re.compile(
        rb"http-equiv\s{0,9}=\s{0,9}[\"']?refresh[^>]{0,300}?url\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{1,500})",
    ),
    re.compile(
        rb"content\s{0,9}=\s{0,9}[\"']?\s{0,9}\d{1,5}\s{0,9};\s{0,9}(?:url\s{0,9}=\s{0,9})?[\"']?([^\"'\s>]{1,500})"
    ),
)
_FRAMES = (
    re.compile(rb"<frame\b[^>]{0,1000}?\bsrc\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{1,500})"),
    re.compile(rb"<iframe\b[^>]{0,1000}?\bsrc\s{0,9}=\s{0,9}[\"']?([^\"'\s>]{1,500})"),
)
_SCRIPTS = (
    re.compile(
        rb"location(?:(?:\.href|\.pathname)?\s{0,9}=\s{0,9}(?:[\"']([^\"']{1,500})|[a-z(])"
        rb"|\.(?:replace|assign)\s{0,9}\(\s{0,9}(?:[\"']([^\"']{1,500}))?)"
    ),
)
_FORMS = (re.compile(rb"\.submit\(\)"), re.compile(rb"onload\s{0,9}=\s{0,9}[\"'][^\"']{0,200}submit"))
_LEADS = ((REFRESH, _REFRESHES), (FRAME, _FRAMES), (SCRIPT, _SCRIPTS), (FORM, _FORMS))
"""The first match of any of these in a source in lower case. Each begins with a word, which is found fast."""
_PARKING = re.compile(rb"(?<![a-z])(?:park|parked|parking|parkingpage)(?![a-z])", re.IGNORECASE)
_HOST = re.compile(rb"^\s*(?:https?:)?//([^/?#:\s]+)", re.IGNORECASE)
_LOADED = re.compile(rb"src(?<=\bsrc)\s{0,9}=\s{0,9}[\"']?\s{0,9}(?:https?:)?//([^\"'\s>]{1,1000})")
"""It begins with its letters, not with the word boundary before them: these are found fast."""


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
    lowered = source.lower()
    for how, patterns in _LEADS:
        found = min(filter(None, (pattern.search(lowered) for pattern in patterns)), key=re.Match.start, default=None)
        if found:
            start, end = next((found.span(group) for group in range(1, found.re.groups + 1) if found[group]), (0, 0))
            return _lead(how, source[start:end], domain)
    return Lead()


def _lead(how: int, target: bytes, domain: bytes) -> Lead:
    host = _HOST.match(target)
    name = host[1].lower() if host else b""
    rest = target[host.end() :] if host else target
    if domain and (name == domain or name.endswith(b"." + domain)):
        name = b""
    strange = bool(name and domain) and domain.partition(b".")[0] not in name  # not the owner's own login
    tells_name = strange and _is_told(domain, rest.lower())
    to_parking = how != REFRESH and bool(_PARKING.search(target))
    return Lead(how, name, rest.partition(b"?")[0].strip(b"/"), tells_name, to_parking)


def _is_told(domain: bytes, rest: bytes) -> bool:
    """Whether the bare domain is a value of a query, or the last step of a path; not part of an address of the site.

    Byte by byte, because a pattern for each domain would have to be compiled for each page.
    """
    start = rest.find(domain)
    while start >= 0:
        before, end = rest[max(0, start - 2) : start], start + len(domain)
        if before[-1:] == b"=" and rest[end : end + 1] in (b"", b"&", b"#", b";"):
            return True
        if before[-1:] == b"/" and before not in (b"//", b":/"):
            end += rest[end : end + 1] == b"/"
            if rest[end : end + 1] in (b"", b"?", b"#"):
                return True
        start = rest.find(domain, start + 1)
    return False


def tells_own_name(source: bytes, domain: bytes) -> bool:
    """Whether the page loads something from another site that it tells its own domain, as feeds of parked pages are."""
    source = source[:MAX_BYTES].lower()
    if not domain or domain not in source:
        return False
    for found in _LOADED.finditer(source):
        host, _, rest = found[1].partition(b"/")
        if domain in rest and not host.endswith(domain) and _is_told(domain, b"/" + rest):
            return True
    return False
