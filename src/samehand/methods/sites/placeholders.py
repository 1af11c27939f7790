"""Pages that say nothing of their site: HTTP errors, server defaults, near-empty pages, sites under construction.

They look alike wherever they stand, and the paper counts them among its mistakes (section 4.4: "clusters of nearly
empty pages, HTTP errors and other non-informative pages"). They are named, reported apart and never counted as spam.

What a server or a control panel ships as its first page is known by the words of that software; a site under
construction by what people say of one. Both lists can only acquit: a page they miss is judged like any other, so no
verdict goes stale with them. What is nearly empty, a list of files or a login is seen from the page's make alone.
"""

import re
from http import HTTPStatus
from typing import NamedTuple

HTTP_ERROR, DEFAULT_PAGE, NEAR_EMPTY = "http error", "default page", "near empty"
CONSTRUCTION, LISTING, LOGIN = "under construction", "file list", "login"
KINDS = (HTTP_ERROR, DEFAULT_PAGE, NEAR_EMPTY, CONSTRUCTION, LISTING, LOGIN)

EMPTY_WORDS = 4
"""A page of fewer words, without links and without anything that loads or leads elsewhere, is nearly empty."""
ERROR_WORDS, CONSTRUCTION_WORDS, CONSTRUCTION_LINKS, DEFAULT_WORDS, LOGIN_WORDS, LOGIN_LINKS = 80, 60, 4, 600, 60, 8
"""Pages of more words or links have something else to say."""
READ = 2_000
"""Characters of text that are looked at: all these pages say what they are at once."""


class Glance(NamedTuple):
    """What can be seen of a page at a glance. `foreign_links` leave the site; `leads` says that the page sends its
    visitors on or loads what they see: by a frame, a refresh or a script."""

    title: str = ""
    text: str = ""
    words: int = 0
    links: int = 0
    foreign_links: int = 0
    leads: bool = False
    password: bool = False
    fetch_status: int | None = None


_REASONS = "|".join(re.escape(status.phrase.lower()) for status in HTTPStatus if status >= 400)
_ERROR_NUMBER = r"\b(?:http )?(?:error|status|code)?[ :#-]*(?:4[0-5]\d|5[0-2]\d)\b"
_ERROR_TITLE = re.compile(rf"^\W*{_ERROR_NUMBER}(?:\W*(?:error|{_REASONS}|page not found)|\W*$)|^(?:{_REASONS})\W*$")
_ERROR_HEAD = re.compile(rf"^\W*{_ERROR_NUMBER}\W*(?:error|{_REASONS}|page not found)|^(?:{_REASONS})\W*(?:\n|$)")
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


def plain_kind(page: Glance) -> str:
    """The kind of plain page that this is; "" when it is none."""
    title, text = page.title[:READ].strip().lower(), page.text[:READ].strip().lower()
    if (page.fetch_status or 0) >= 400 or _is_error(page, title, text):
        return HTTP_ERROR
    if _LISTING.match(title) or (_LISTING.match(text) and page.foreign_links == 0):
        return LISTING
    if page.words <= DEFAULT_WORDS and (_DEFAULT_TITLES.match(title) or _DEFAULT_TEXTS.search(text)):
        return DEFAULT_PAGE
    if page.words < EMPTY_WORDS and page.links == 0 and not page.leads:
        return NEAR_EMPTY
    # Who sells the domain or lives on clicks leads visitors away; who builds a site has nowhere to send them yet.
    stays = not page.foreign_links and page.links <= CONSTRUCTION_LINKS
    if stays and page.words <= CONSTRUCTION_WORDS and _CONSTRUCTION.search(f"{title}\n{text}"):
        return CONSTRUCTION
    is_login = page.password and page.words <= LOGIN_WORDS and page.links <= LOGIN_LINKS
    return LOGIN if is_login and page.foreign_links <= 1 else ""


def _is_error(page: Glance, title: str, text: str) -> bool:
    return page.words <= ERROR_WORDS and bool(_ERROR_TITLE.match(title) or _ERROR_HEAD.match(text))
