"""The world of the demo crawl: which sites there are, who made them, and which name servers they use.

The truth is known because it is decided here. Every site draws from random numbers of its own, named after it, so
that a change to one leaves most others as they are.
"""

import random
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from urllib.parse import urlsplit

from tools.demo_crawl.forum import ForumSite
from tools.demo_crawl.generated import GENERATORS
from tools.demo_crawl.hand import Hand, distinct_core_habits
from tools.demo_crawl.honest import Site, honest_page, pressroom_page
from tools.demo_crawl.parts import article
from tools.demo_crawl.spam import gadgets_page, loans_page, parked_page
from tools.demo_crawl.templates import MANUAL_CHAPTERS, generated_page, manual_content, manual_page, notice_page
from tools.demo_crawl.text import (
    GADGET_WORDS,
    LOAN_WORDS,
    SOFTWARE_WORDS,
    Writer,
    capitalised,
    greek_like_sentence,
    topic_writer,
)

HTML_UTF8 = "text/html; charset=utf-8"
_MOST_HANDS = 100
_LARGE_TEXT = 310_000
_PARKING_NOTE = "honest site on the name servers of a parking provider"
_PARKING_DOMAINS = {"parkwell": "parkwell.example", "lotside": "lotside.test"}
_HOSTERS = {"oakhost.example": 2, "brightrack.test": 3, "fernserve.example": 2, "northbay-hosting.test": 2}
_PARKED_COUNTS = {"parkwell/search": 25, "parkwell/frame": 25, "lotside/script": 30}
_FORUM_PATHS = (
    ("index", "index.php"),
    ("viewforum", "viewforum.php?f={}"),
    ("viewtopic", "viewtopic.php?f=2&t={}"),
    ("viewtopic", "viewtopic.php?f=3&t={}"),
    ("viewtopic", "viewtopic.php?f=5&t={}"),
    ("profile", "memberlist.php?mode=viewprofile&u={}"),
)
_SPONSORS = (
    "the {adj} {noun} society",
    "{name}'s {noun} club",
    "{name} & {name}, {place}",
    "<a href=/sponsor>{adj} {nouns}</a>",
    "the {place} (since {month})",
)
_NOTICE_PATHS = (
    *("notice.html", "legal/terms.htm", "about/notice/", "disclaimer.html", "rules.php", "en/small-print.html"),
    *("info/?page=notice", "visitors.html", "docs/notice-to-visitors", "~webmaster/notice.html"),
)


@dataclass(frozen=True)
class Page:
    """One page of the crawl and the truth about it."""

    url: str
    body: bytes
    _: KW_ONLY
    kind: str
    hand: str
    group: str = ""
    note: str = ""
    content_type: str = HTML_UTF8
    provider: str = ""
    """Domain of the name servers where it is not left to chance."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def domain(self) -> str:
        return registered_domain(self.host)


@dataclass(frozen=True)
class World:
    pages: list[Page]
    nameservers: dict[str, tuple[str, ...]]
    """Names of the servers of each registered domain."""


def registered_domain(host: str) -> str:
    """Enough for the invented names of the demo, which all stand right below .example or .test."""
    return ".".join(host.split(".")[-2:])


class _Builder:
    """Holds what the parts of the world share: the seed and the domain names already given away."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._taken: set[str] = set()
        self._core_habits = iter(distinct_core_habits(self.rng("core habits"), _MOST_HANDS))

    def rng(self, name: str) -> random.Random:
        return random.Random(f"{self._seed}:{name}")

    def writer(self, name: str) -> Writer:
        return topic_writer(self.rng(name))

    def hand(self, name: str) -> Hand:
        return Hand(f"{self._seed}:hand {name}", next(self._core_habits))

    def domain(self, writer: Writer, pattern: str = "{adj}{noun}") -> str:
        """A name nobody has yet; `.example` and `.test` are reserved, so it is never the name of a real site."""
        while True:
            name = writer.write(pattern) + writer.rng.choice((".example", ".test"))
            if name not in self._taken:
                self._taken.add(name)
                return name


def build_world(seed: int) -> World:
    """All pages in crawl order, which mixes sites as a crawl does, and the name servers of their domains."""
    builder = _Builder(seed)
    honest = [*_plain_sites(builder), *_handmade_sites(builder)]
    pages = [*honest, *_pressroom_sites(builder), *_odd_pages(builder), *_copies(builder, honest)]
    pages += [*_forums(builder), *_loans_farm(builder), *_gadgets_farm(builder), *_mirrors(builder)]
    pages += [*_parked_sites(builder), *_generated_sites(builder)]
    nameservers = _nameservers(pages, builder.rng("name servers"))
    builder.rng("crawl order").shuffle(pages)
    return World(pages, nameservers)


# --- templates and farms ---------------------------------------------------------------------------------------------


def _forums(builder: _Builder) -> Iterator[Page]:
    for number in range(24):
        writer = builder.writer(f"forum {number}")
        host = writer.rng.choice(("forum.", "www.", "")) + builder.domain(writer)
        site = ForumSite.set_up(writer.write("The {adj} {noun} board"), writer)
        for section, path in _FORUM_PATHS:
            url = f"http://{host}/" + path.format(writer.rng.randint(2, 9999))
            body = site.page(section, writer).encode()
            yield Page(url, body, kind="forum", hand="forum:quillboard", note=section)


def _loans_farm(builder: _Builder) -> Iterator[Page]:
    names = Writer(builder.rng("loans names"), LOAN_WORDS)
    hosts = ["www." + builder.domain(names, "{noun}-{noun}-{number}") for _ in range(30)]
    for host in hosts:
        writer = Writer(builder.rng(f"loans {host}"), LOAN_WORDS)
        sisters = [other for other in hosts if other != host]
        for slug in ("index", *(keyword.replace(" ", "-") for keyword in _different_keywords(writer, 3))):
            body = loans_page(writer, sisters).encode()
            yield Page(f"http://{host}/{slug}.html", body, kind="farm", hand="farm:loans")


def _different_keywords(writer: Writer, count: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found[writer.keyword()] = None
    return list(found)


def _gadgets_farm(builder: _Builder) -> Iterator[Page]:
    names = Writer(builder.rng("gadgets names"), GADGET_WORDS)
    hosts = [builder.domain(names, "{noun}{noun}{number}") for _ in range(12)]
    for host in hosts:
        writer = Writer(builder.rng(f"gadgets {host}"), GADGET_WORDS)
        sisters = [other for other in hosts if other != host]
        for number in writer.rng.sample(range(100, 1000), 3):
            body = gadgets_page(writer, host, sisters=sisters).encode()
            yield Page(f"http://{host}/c/{number}", body, kind="farm", hand="farm:gadgets", note="two blocks swapped")


def _parked_sites(builder: _Builder) -> Iterator[Page]:
    for template, count in _PARKED_COUNTS.items():
        for number in range(count):
            rng = builder.rng(f"parked {template} {number}")
            writer = Writer(rng, rng.choice((LOAN_WORDS, GADGET_WORDS)))
            domain = builder.domain(writer, rng.choice(("{adj}{noun}{noun}", "{noun}{number}{noun}", "my{adj}{nouns}")))
            body = parked_page(template, domain, writer=writer).encode()
            provider = _PARKING_DOMAINS[template.split("/")[0]]
            yield Page(f"http://{domain}/", body, kind="parked", hand=f"parked:{template}", provider=provider)


# --- replicas and generated text -------------------------------------------------------------------------------------


def _mirrors(builder: _Builder) -> Iterator[Page]:
    author = Writer(builder.rng("manual"), SOFTWARE_WORDS)
    chapters = {chapter: manual_content(author, chapter) for chapter in MANUAL_CHAPTERS}
    for number, sponsor_form in enumerate(_SPONSORS):
        writer = builder.writer(f"mirror {number}")
        host = writer.rng.choice(("docs.", "mirror.", "tarnwick.")) + builder.domain(writer)
        sponsor = writer.write(sponsor_form)
        for chapter, content in chapters.items():
            url, group = f"https://{host}/manual/{chapter}.html", f"mirror:tarnwick/{chapter}"
            body = manual_page(chapter, content, sponsor=sponsor).encode()
            yield Page(url, body, kind="mirror", hand="mirror:tarnwick", group=group)


def _copies(builder: _Builder, honest: list[Page]) -> Iterator[Page]:
    """The notice, pasted on sites that have nothing else in common."""
    rng = builder.rng("copies")
    hosts = rng.sample(list(dict.fromkeys(page.host for page in honest)), len(_NOTICE_PATHS))
    for host, path in zip(hosts, _NOTICE_PATHS, strict=True):
        title = rng.choice(("Notice", "Small print", "Terms of use", "Rules for visitors", "Disclaimer"))
        back = rng.choice(("/", "index.html", "../", f"http://{host}/"))
        body = notice_page(host, title=title, back=back).encode()
        label, note = "copy:notice", "pasted on an honest site"
        yield Page(f"http://{host}/{path}", body, kind="copy", hand=label, group=label, note=note)


def _generated_sites(builder: _Builder) -> Iterator[Page]:
    """Blogs on one template; the pages of each site are filled by one generator."""
    for number in range(5):
        writer = builder.writer(f"generated {number}")
        host, related = "blog." + builder.domain(writer), list(writer.nouns[:6])
        note, generator = list(GENERATORS.items())[number % len(GENERATORS)]
        for serial in writer.rng.sample(range(100, 1000), 4):
            paragraphs = [generator(writer.rng, writer.rng.randint(60, 110)) for _ in range(12)]
            title = writer.write("{adj} {nouns} {adverb}")
            body = generated_page(host, title=title, paragraphs=paragraphs, related=related, serial=serial).encode()
            url = f"https://{host}/{title.replace(' ', '-')}/?p={serial}"
            yield Page(url, body, kind="fake", hand="fake:blog", note=note)


# --- honest sites ----------------------------------------------------------------------------------------------------


def _new_site(builder: _Builder, name: str) -> tuple[Site, Writer]:
    """A site with a hand and an owner of its own, who also writes its pages."""
    writer = builder.writer(name)
    domain = builder.domain(writer, writer.rng.choice(("{adj}{noun}", "{noun}-{noun}", "the{adj}{place}")))
    title = capitalised(writer.write("{adj} {noun} {place}"))
    host = writer.rng.choice(("www.", "")) + domain
    return Site.set_up(host, title, hand=builder.hand(name), writer=writer), writer


def _plain_sites(builder: _Builder) -> Iterator[Page]:
    """Sites of two pages each by one author.

    The first never moved away from where its domain was bought, a parking provider: name servers are a hint, no proof.
    """
    for number in range(48):
        site, writer = _new_site(builder, f"site {number}")
        provider, note = (_PARKING_DOMAINS["lotside"], _PARKING_NOTE) if number == 0 else ("", "")
        for path in ("", writer.rng.choice(("about.html", "notes/", "page2.htm", "index.php?page=more"))):
            url, hand = f"http://{site.host}/{path}", f"honest:{site.host}"
            body = honest_page(site, writer).encode()
            yield Page(url, body, kind="honest", hand=hand, note=note, provider=provider)


def _handmade_sites(builder: _Builder) -> Iterator[Page]:
    """Sites of which every page was made afresh, by another author or years later: no page has a sibling."""
    for number in range(12):
        writer = builder.writer(f"handmade {number}")
        host = "www." + builder.domain(writer, "{noun}{place}")
        for path in ("old.html", "new.html"):
            hand = builder.hand(f"handmade {number} {path}")
            site = Site.set_up(host, writer.title(), hand=hand, writer=writer)
            body, label = honest_page(site, writer).encode(), f"honest:{host}/{path}"
            yield Page(f"http://{host}/{path}", body, kind="honest", hand=label, note="each page made by hand")


def _pressroom_sites(builder: _Builder) -> Iterator[Page]:
    """Sites on one content management system, each with a theme of its own: one system, many hands."""
    for number in range(12):
        site, writer = _new_site(builder, f"pressroom {number}")
        for post in writer.rng.sample(range(10, 999), 3):
            body, hand = pressroom_page(site, writer).encode(), f"honest:{site.host}"
            yield Page(f"http://{site.host}/?p={post}", body, kind="honest", hand=hand, note="Pressroom, own theme")


def _odd_pages(builder: _Builder) -> Iterator[Page]:
    """Pages that are honest and hard to read: a tool that fails on one of them fails on the real web."""

    def page(host: str, body: bytes, *, note: str, content_type: str = HTML_UTF8) -> Page:
        label = f"honest:{host}"
        return Page(f"http://{host}/", body, kind="honest", hand=label, note=note, content_type=content_type)

    names = builder.writer("odd names")
    yield page(builder.domain(names), b"", note="empty body")
    yield page(builder.domain(names), b"<html><head></head><body></body></html>\n", note="nothing but a frame")
    wide, writer = _new_site(builder, "wide")
    in_utf16 = b"\xff\xfe" + honest_page(wide, writer).encode("utf-16-le")
    yield page(wide.host, in_utf16, note="UTF-16 with a byte order mark", content_type="text/html")
    greek, writer = _new_site(builder, "greek")
    greek_text = greek.hand.lines(*(f"<p>{greek_like_sentence(writer.rng)}" for _ in range(40)))
    yield page(greek.host, honest_page(greek, writer, text=greek_text).encode(), note="another script")
    large, writer = _new_site(builder, "large")
    large_text = ""
    while len(large_text) < _LARGE_TEXT:
        large_text += article(large.hand, writer)
    yield page(large.host, honest_page(large, writer, text=large_text).encode(), note="large")


# --- name servers ----------------------------------------------------------------------------------------------------


def _nameservers(pages: list[Page], rng: random.Random) -> dict[str, tuple[str, ...]]:
    """Parked domains are with their provider; the others with one of a few hosters or on servers of their own."""
    found: dict[str, tuple[str, ...]] = {}
    for page in pages:
        if page.domain not in found:
            provider = page.provider or rng.choice((*_HOSTERS, page.domain))
            found[page.domain] = tuple(f"ns{number}.{provider}" for number in range(1, _HOSTERS.get(provider, 2) + 1))
    return found
