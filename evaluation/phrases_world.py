"""Natural pages of several genres, and the pages of generators among them, each on a site of its own making."""

import email.utils
import hashlib
import html
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evaluation.language_corpora import novels
from evaluation.phrases_generators import PACKAGES, Maker, dadadodo, grammar, polygen, slots, spinner, synonyms
from evaluation.texts import HAM, mail_text, members, reuters, written_news

SITES_OF_A_GENERATOR = 10
WORDS_OF_A_SPEECH = 400
_PARAGRAPH, _SENTENCE = re.compile(r"\n\s*\n"), re.compile(r"(?<=[.!?])\s+")
_SENDER = re.compile(rb"^From:(.*)$", re.MULTILINE | re.IGNORECASE)


class WebPage(NamedTuple):
    """A page, who made it (a genre, or a generator) and whether a generator did."""

    url: str
    maker: str
    is_planted: bool
    content: str


def natural(data: Path, genre: str, most: int) -> list[WebPage]:
    """Pages of a genre, at most so many, chosen by a hash of their names."""
    found = {page.url: page for page in _GENRES[genre](data)}
    chosen = sorted(found, key=lambda url: hashlib.sha256(url.encode()).digest())[:most]
    return [found[url] for url in sorted(chosen)]


def as_page(site: str, name: str, maker: str, text: str, *, is_planted: bool = False) -> WebPage:
    """A text as a plain page: a title, and its paragraphs."""
    paragraphs = "".join(f"<p>{html.escape(part)}</p>\n" for part in _PARAGRAPH.split(text) if part.strip())
    body = f"<!doctype html><html><head><title>{html.escape(name)}</title></head><body>\n{paragraphs}</body></html>"
    return WebPage(f"https://{site}/{name}", maker, is_planted, body)


def _genres(data: Path, folder: str, site_of: Callable[[str], str]) -> Iterator[WebPage]:
    for name, raw in members(data, "genres.tar.xz"):
        if f"/{folder}/" in name:
            stem = name.rpartition("/")[2].removesuffix(".txt")
            yield as_page(site_of(stem), stem, folder, raw.decode("utf-8", "replace"))


def _web(data: Path) -> Iterator[WebPage]:
    contents = dict(members(data, "webpages.tar.xz"))
    for line in contents["webpages/manifest.tsv"].decode().splitlines()[1:]:
        name, url = line.split("\t")[:2]
        yield WebPage(url, "webpages", False, contents[f"webpages/pages/{name}"].decode("utf-8", "replace"))


def _newswire(data: Path) -> Iterator[WebPage]:
    for number, text in enumerate(reuters(data)):
        yield as_page("newswire.example", str(number), "reuters", text.decode("utf-8", "replace"))


def _parliament(data: Path) -> Iterator[WebPage]:
    for name, raw in members(data, "europarl_en_sub.tar.xz"):
        session = name.rpartition("/")[2].removesuffix(".txt").replace(".", "-").lower()
        words = raw.decode("utf-8", "replace").split()
        for place in range(0, len(words) - WORDS_OF_A_SPEECH, WORDS_OF_A_SPEECH):
            text = " ".join(words[place : place + WORDS_OF_A_SPEECH])
            yield as_page("parliament.example", f"{session}-{place}", "europarl", text)


def _mail(data: Path) -> Iterator[WebPage]:
    """Mails, each on the domain of its sender: a quoted mail then stands on the sites of all who quote it."""
    for name, raw in members(data, "spamassassin.tar.xz"):
        if name.split("/")[1] in HAM:
            sender = _SENDER.search(raw)
            address = email.utils.parseaddr(sender.group(1).decode("ascii", "replace"))[1] if sender else ""
            host = re.sub(r"[^a-z0-9.-]", "", address.rpartition("@")[2].lower()).strip(".") or "nobody.example"
            yield as_page(host, name.rpartition("/")[2], "mail", mail_text(raw).decode("utf-8", "replace"))


def _documentation(data: Path) -> Iterator[WebPage]:
    for name, raw in members(data, "debdoc_shared.tar.xz"):
        if name.endswith(".html"):
            _, package, file = name.split("/", 2)
            yield WebPage(f"https://{package}.example/{file}", "debdoc", False, raw.decode("utf-8", "replace"))


def _novels(data: Path) -> Iterator[WebPage]:
    for number, novel in enumerate(novels(data)):
        words = novel.text.decode("utf-8", "replace").split()
        for place in range(0, len(words) - WORDS_OF_A_SPEECH, WORDS_OF_A_SPEECH):
            text = " ".join(words[place : place + WORDS_OF_A_SPEECH])
            yield as_page(f"novel{number}.example", str(place), "novels", text)


def _home_pages(data: Path) -> Iterator[WebPage]:
    for name, raw in members(data, "homepages2018.tar.xz"):
        if name.endswith(".html"):
            site = name.split("/")[2]
            yield WebPage(f"https://{site}/", "homepages", False, raw.decode("utf-8", "replace"))


_GENRES = {
    "blogs": lambda data: _genres(data, "blogs", lambda name: f"blog{name.split('-')[0]}.example"),
    "imdb": lambda data: _genres(data, "imdb", lambda name: "films.example"),
    "webpages": _web,
    "reuters": _newswire,
    "europarl": _parliament,
    "mail": _mail,
    "debdoc": _documentation,
    "novels": _novels,
    "homepages": _home_pages,
}


def generators(data: Path) -> dict[str, Maker]:
    """All generators by name: `kind.name`."""
    for file, package in PACKAGES.items():
        if not file.is_file():
            sys.exit(f"{file} is not there: this evaluation needs Debian's package {package}.")
    # Generators learn from news that is not among the natural pages.
    news = [text.decode("utf-8", "replace") for text in written_news(data)]
    news = [text for text in news if len(text.split()) > 300]
    sentences = [part for text in news[100:300] for part in _SENTENCE.split(text) if 8 <= len(part.split()) <= 30]
    found = {f"grammar.{name}": grammar(name) for name in ("reviews", "travel")}
    found |= {f"spinner.{name}": spinner(name) for name in ("sleep", "roof")}
    found |= {f"slots.{name}": slots(name, sentences) for name in ("doorway", "jobs")}
    found |= {"synonyms.few": synonyms(news[7], 0.3), "synonyms.many": synonyms(news[8], 0.5)}
    found |= {"dadadodo.short": dadadodo(" ".join(news[20:23])), "dadadodo.long": dadadodo(" ".join(news[30:36]))}
    names = ("bio", "manager", "reviews", "genius", "photoshop", "artex", "pythoniser")
    names += tuple(f"debian/{name}" for name in ("flame", "thanks", "sorry", "nm", "complaints", "dplquestion"))
    return found | {f"polygen.{name.rpartition('/')[2]}": polygen(name) for name in names}


def planted(makers: dict[str, Maker], names: Iterable[str], seed: int, number_of_pages: int) -> list[WebPage]:
    """The pages of generators, those of each on several sites."""
    pages = []
    for name in names:
        draw = random.Random(f"{seed} {name}")
        for number in range(number_of_pages):
            site = f"{name.replace('.', '-')}-{number % SITES_OF_A_GENERATOR}.example"
            pages.append(as_page(site, f"p{number}", name, makers[name](draw), is_planted=True))
    return pages


def scattered(pages: Sequence[WebPage]) -> list[WebPage]:
    """The same pages, each of the natural ones on a site of its own."""
    return [
        page if page.is_planted else page._replace(url=f"https://own{number}.example/")
        for number, page in enumerate(pages)
    ]
