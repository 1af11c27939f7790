"""Placeholder pages say nothing about their site: HTTP errors, server defaults, empty pages, sites under construction.

Placeholders look alike on all sites, and the paper counts them among its mistakes (section 4.4: "clusters of nearly
empty pages, HTTP errors and other non-informative pages"). They are named, reported apart and never called parked.

The first page that a server or a control panel ships is recognised by the words of that software, and a site under
construction by what people write on one. Both lists can only acquit: a page that they miss is judged like any other.
Nearly empty pages, lists of files and logins are recognised without any words.
"""

import re
from http import HTTPStatus
from typing import NamedTuple

HTTP_ERROR, DEFAULT_PAGE, NEAR_EMPTY = "http error", "default page", "near empty"
CONSTRUCTION, LISTING, LOGIN = "under construction", "file list", "login"
REASONS = {
    HTTP_ERROR: "the page is an HTTP error",
    DEFAULT_PAGE: "the page is the default page of a server or hosting panel",
    NEAR_EMPTY: "the page is nearly empty",
    CONSTRUCTION: "the page says that the site is under construction",
    LISTING: "the page is a list of files",
    LOGIN: "the page is a login form",
}
"""Every kind of placeholder, and what users are told about it."""

EMPTY_WORDS = 4
"""A page is nearly empty if it has fewer words, no links, and nothing that loads content or leads elsewhere."""
ERROR_WORDS, CONSTRUCTION_WORDS, CONSTRUCTION_LINKS, DEFAULT_WORDS, LOGIN_WORDS, LOGIN_LINKS = 80, 60, 4, 600, 60, 8
"""Pages with more words or links are no placeholders of that kind."""
MAX_TEXT = 2_000
"""Only so many characters of the text are searched: placeholders say at once what they are."""


class PageSummary(NamedTuple):
    """What placeholders are recognised by.

    `foreign_links` leave the site. `leads_on` says that a frame, a refresh or a script shows or loads other content.
    """

    title: str = ""
    text: str = ""
    words: int = 0
    links: int = 0
    foreign_links: int = 0
    leads_on: bool = False
    password: bool = False
    fetch_status: int | None = None


_PHRASES = "|".join(re.escape(status.phrase.lower()) for status in HTTPStatus if status >= 400)
_ERROR_NUMBER = r"\b(?:http )?(?:error|status|code)?[ :#-]*(?:4[0-5]\d|5[0-2]\d)\b"
_ERROR_TITLE = re.compile(rf"^\W*{_ERROR_NUMBER}(?:\W*(?:error|{_PHRASES}|page not found)|\W*$)|^(?:{_PHRASES})\W*$")
_ERROR_HEAD = re.compile(rf"^\W*{_ERROR_NUMBER}\W*(?:error|{_PHRASES}|page not found)|^(?:{_PHRASES})\W*(?:\n|$)")
_LISTING = re.compile(r"^\W*(?:index of /|directory listing (?:of|for) )")

_DEFAULT_TITLES = re.compile(
    r"^(?:apache2? (?:\w+ )*default page|test page for (?:the )?(?:apache|nginx|http server)|it works!?$"
    r"|(?:apache )?http server test page|welcome to (?:nginx|openresty|caddy|centos|tengine|xampp|jboss)"
    r"|iis ?\d|iis windows(?: server)?\b|microsoft internet information services|apache tomcat|lighttpd"
    r"|default web ?site page|(?:domain|site|plesk|directadmin) default page|web server's default page"
    r"|default (?:parallels )?plesk (?:panel )?page|placeholder page|welcome to your new website!?$"
    r"|hestia control panel|ispconfig|account suspended|suspended (?:domain|account|page))"
)
_DEFAULT_TEXTS = re.compile(
    r"^\W*(?:it works!|welcome to (?:nginx|openresty|caddy)|apache2? (?:\w+ )?default page|test page\b)"
    r"|this is the default (?:welcome|web|home|index|server) page|default page for this (?:server|domain)"
    r"|page is used to test the proper operation of the|if you see this page, the [\w ]+web server is successfully"
    r"|this (?:page|is)[\w ]{0,40}generated (?:automatically )?by (?:plesk|parallels|cpanel|directadmin|ispconfig)"
    r"|/var/www/html|welcome to wordpress\. this is your first post|this account has been suspended"
    r"|replace this file in (?:the )?(?:document root|public_html|httpdocs)|upload your website into the public_html"
)
_CONSTRUCTION = re.compile(
    r"under (?:construction|maintenance|development)|coming soon|be back soon|launching soon|opening soon"
    r"|in costruzione|in allestimento|prossimamente|im aufbau|in arbeit|en construction|en travaux|bient\w+t en ligne"
    r"|en construcci\w+n|pr\w+ximamente|em constru\w+o|em breve|in aanbouw|w budowie|w przygotowaniu|v\w+stavb"
    r"|under opbygning|under konstruktion|under uppbyggnad|yap\w+m a\w+amas\w+nda"
)


def placeholder_kind(page: PageSummary) -> str:
    """The kind of placeholder that the page is; "" if it is none."""
    title, text = page.title[:MAX_TEXT].strip().lower(), page.text[:MAX_TEXT].strip().lower()
    if (page.fetch_status or 0) >= 400 or _is_error(page, title, text):
        return HTTP_ERROR
    if _LISTING.match(title) or (_LISTING.match(text) and page.foreign_links == 0):
        return LISTING
    if page.words <= DEFAULT_WORDS and (_DEFAULT_TITLES.match(title) or _DEFAULT_TEXTS.search(text)):
        return DEFAULT_PAGE
    if page.words < EMPTY_WORDS and page.links == 0 and not page.leads_on:
        return NEAR_EMPTY
    # A page that sells its domain or lives on clicks leads visitors away; a site that is being built does not.
    stays = not page.foreign_links and page.links <= CONSTRUCTION_LINKS
    if stays and page.words <= CONSTRUCTION_WORDS and _CONSTRUCTION.search(f"{title}\n{text}"):
        return CONSTRUCTION
    is_login = page.password and page.words <= LOGIN_WORDS and page.links <= LOGIN_LINKS
    return LOGIN if is_login and page.foreign_links <= 1 else ""


def _is_error(page: PageSummary, title: str, text: str) -> bool:
    return page.words <= ERROR_WORDS and bool(_ERROR_TITLE.match(title) or _ERROR_HEAD.match(text))
