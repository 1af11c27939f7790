"""A world of web sites at 93 providers, 16 of them parking, in the mix of the paper (section 4.1).

Parking providers serve several templates each (`sites_templates`) and a few honest sites; providers of web space
have sites of their own make, themes of content systems, site builders, frameworks, default pages, errors, empty pages,
sites under construction, forwarding, and some parked pages. Half of what is unique is built on skeletons of real
pages, filled with other text. Everything is drawn from one seed.
"""

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.corpora import debian_pages
from evaluation.sites_templates import KINDS, ParkingTemplate, Texts, token
from evaluation.texts import reuters

PROVIDERS, PARKING = 93, 16
SPAM_SHARE = 158_498 / 1_076_079
"""Of the paper's sites."""
LEAST_SITES = 20
_SOCIAL = ("www.facebook.example", "www.instagram.example", "twitter.example", "www.youtube.example")
_TOKENS = re.compile(r"<[^>]*>|[^<]+")
_NOT_SHOWN = re.compile(r"<(script|style|title)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_SENTENCE = re.compile(r"[^.]{20,200}\.")


@dataclass(frozen=True, slots=True)
class WorldSite:
    """A home page and what is true of it."""

    domain: str
    provider: str
    content: bytes
    spam: bool
    kind: str
    status: int = 200


@dataclass(frozen=True, slots=True)
class World:
    """All sites, and the providers that live on parking."""

    sites: list[WorldSite]
    parking: frozenset[str]


class Material:
    """What pages are made of: real sentences and real skeletons."""

    def __init__(self, data: Path) -> None:
        text = b" ".join(reuters(data)[:6000]).decode("ascii", "ignore")
        self.texts = Texts([sentence.strip() for sentence in _SENTENCE.findall(text)])
        pages = [page.content.decode("utf-8", "replace") for page in debian_pages(data)]
        self.skeletons = [page for page in pages if 1_000 < len(page) < 30_000]


class Theme:
    """The markup of one content system's theme, or of one site builder: fixed around what the owner writes."""

    def __init__(self, rng: random.Random, *, builder: bool) -> None:
        self.builder = builder
        boxes = ("div", "section", "article", "span", "figure") if builder else ("div", "section", "main", "aside")
        self.wraps = [rng.choice(boxes) for _ in range(rng.randint(8, 40) if builder else rng.randint(3, 8))]
        self.head = "".join(
            rng.choice(("<link rel=s href=a.css>", "<script src=b.js></script>", "<meta name=v>"))
            for _ in range(rng.randint(4, 25))
        )
        self.item = rng.choice(
            (
                "<article><header><h2><a href='{href}'>{title}</a></h2><time>{date}</time></header>{text}</article>",
                "<div class=post><h3>{title}</h3>{text}<p><a href='{href}'>More</a></p></div>",
                "<div><div><img src=i.jpg></div><div><h2>{title}</h2>{text}</div></div>",
            )
        )
        self.nav = rng.choice(("<ul>{}</ul>", "<nav><ul>{}</ul></nav>", "<div id=menu><ul>{}</ul></div>"))
        self.widgets = rng.sample(
            (
                "<form role=search><input><button>Search</button></form>",
                "<h4>Archives</h4><ul><li><a href=/a/1>March</a></li><li><a href=/a/2>May</a></li></ul>",
                "<h4>Recent comments</h4><ul><li>Someone said hello</li></ul>",
                "<div class=map><iframe src=//maps.example/embed></iframe></div>",
                "<form action=/mail><input><input><textarea></textarea><button>Send</button></form>",
            ),
            rng.randint(1, 4),
        )
        self.footer = (
            "<footer><p>Proudly made with a theme by somebody</p><a href='http://theme.example/'>Theme</a></footer>"
        )
        self.posts = (1, 3) if builder else rng.choice(((1, 4), (3, 10), (5, 10)))

    def page(self, rng: random.Random, texts: Texts, domain: str) -> str:
        """The home page of one owner."""
        name = texts.name(rng)
        menu = "".join(
            f"<li><a href='/{texts.keyword(rng)[:8]}'>{texts.name(rng)}</a></li>" for _ in range(rng.randint(3, 7))
        )
        items = []
        for _ in range(rng.randint(*self.posts)):
            size = rng.randint(1, 2) if self.builder else rng.randint(1, 4)
            paragraphs = "".join(_paragraph(rng, texts) for _ in range(size))
            items.append(self.item.format(href=f"/{token(rng, 6)}", title=texts.name(rng), text=paragraphs, date="May"))
        social = "".join(
            f"<a href='http://{host}/{token(rng, 5)}'><i></i></a>" for host in _SOCIAL if rng.random() < 0.5
        )
        widgets = "".join(widget for widget in self.widgets if self.builder or rng.random() < 0.8)
        opening = "".join(f"<{tag}>" for tag in self.wraps)
        closing = "".join(f"</{tag}>" for tag in reversed(self.wraps))
        body = f"{opening}<h1>{name}</h1>{self.nav.format(menu)}{''.join(items)}{closing}{widgets}{social}{self.footer}"
        title = site_title(rng, name, domain)
        return f"<!DOCTYPE html><html><head><title>{title}</title>{self.head}</head><body>{body}</body></html>"


def site_title(rng: random.Random, name: str, domain: str) -> str:
    """Most owners name their site; some leave the title out, as it came, or write their domain there."""
    return name if rng.random() < 0.85 else rng.choice(("", "Home", "Untitled document", domain, f"{name} - {domain}"))


def _paragraph(rng: random.Random, texts: Texts) -> str:
    text = texts.paragraph(rng, rng.randint(1, 3))
    words = text.split()
    if rng.random() < 0.5 and len(words) > 6:
        place = rng.randrange(len(words))
        words[place] = rng.choice(
            ("<b>{}</b>", "<em>{}</em>", "<a href='/x'>{}</a>", "<a href='http://a.example/'>{}</a>")
        ).format(words[place])
    return f"<p>{' '.join(words)}</p>"


def card_page(rng: random.Random, texts: Texts, domain: str) -> str:
    """A business card of a small trade, as hosters give them away: little text, the same make for all."""
    name = texts.name(rng)
    about = f"<p>{texts.sentence(rng)}</p>" if rng.random() < 0.7 else ""
    return (
        f"<html><head><title>{site_title(rng, name, domain)}</title><meta charset=utf-8></head><body><div class=card>"
        f"<h1>{name}</h1>"
        f"<h2>{texts.keyword(rng)}</h2>{about}<address>{texts.name(rng)} Street {rng.randint(1, 99)}"
        f"<br>{texts.name(rng)}<br>Phone {rng.randint(10**6, 10**7)}</address>"
        f"<a href='mailto:info@{domain}'>Mail</a></div></body></html>"
    )


def app_page(rng: random.Random, texts: Texts, domain: str) -> str:
    """The shell of an application: nothing to see without its script."""
    name, title = token(rng, 8), site_title(rng, texts.name(rng), domain)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"/><link rel="icon" href="/favicon.ico"/>'
        f"<title>{title}</title><script defer src='/static/js/main.{name}.js'></script>"
        f"<link href='/static/css/main.{name}.css' rel=stylesheet></head><body><noscript>You need to enable"
        ' JavaScript to run this app.</noscript><div id="root"></div></body></html>'
    )


def forward_page(rng: random.Random, texts: Texts, domain: str) -> str:
    """A home page that only sends visitors to where the site really is."""
    target = rng.choice((f"http://www.{token(rng, 8)}.example/", f"/{texts.keyword(rng).split()[0]}/index.php"))
    title = f"<title>{texts.name(rng)}</title>" if rng.random() < 0.5 else ""
    return rng.choice(
        (
            f"<html><head>{title}<meta http-equiv='refresh' content='0; url={target}'></head><body></body></html>",
            f"<html><head>{title}</head><frameset cols='*'><frame src='{target}'></frameset></html>",
            f"<html><head>{title}<script>window.location='{target}'</script></head></html>",
        )
    )


_DEFAULTS = (
    """<html><body><h1>It works!</h1></body></html>""",
    """<html><head><title>Welcome to nginx!</title><style></style></head><body><h1>Welcome to nginx!</h1>
<p>If you see this page, the nginx web server is successfully installed and working.
</p><p>For online documentation refer to <a href='http://nginx.example/'>nginx</a>.<br></p></body></html>""",
    """<html><head><title>IIS7</title></head><body><a href='http://iis.example/'><img src=w></a></body></html>""",
    """<html><head><title>Domain Default page</title></head><body><div><h1>Domain Default page</h1>
<p>If you are seeing this message, the website for {domain} is not available at this time.</p>
<ul><li><a href='http://panel.example/docs'>Docs</a></li><li><a href='http://panel.example/forum'>Forum</a></li></ul>
</div></body></html>""",
    """<html><head><title>Default Web Site Page</title></head><body><h1>Default Web Site Page</h1>
<p>If you are the owner of {domain}, contact your hosting provider.</p></body></html>""",
    """<html><head><title>Index of /</title></head><body><h1>Index of /</h1>
<pre><a href='?C=N'>Name</a><hr><a href='a/'>a/</a></pre></body></html>""",
)
_ERRORS = (
    "<html><head><title>404 Not Found</title></head><body><h1>Not Found</h1><p>The URL was not found.</p></html>",
    "<html><head><title>403 Forbidden</title></head><body><center><h1>403 Forbidden</h1></center><hr></body></html>",
    "<html><head><title>Service Unavailable</title></head><body><h2>Service Unavailable</h2><p>Error 503.</p></html>",
)
_EMPTIES = (
    "",
    "<html></html>",
    "<html><head></head><body></body></html>",
    "<html><body><p>&nbsp;</p></body></html>",
    "<html><body>test</body></html>",
)
_BUILDING = (
    "<html><head><title>{name}</title></head><body><center><img src=w.gif><h1>Under construction</h1></center></html>",
    "<html><head><title>{domain}</title></head><body><h1>Coming soon</h1><p>Our new website is on its way.</p></html>",
    "<html><body><h2>Sito in costruzione</h2></body></html>",
)


class _Maker:
    """Makes sites; holds what providers have in common."""

    def __init__(self, rng: random.Random, material: Material) -> None:
        self.rng = rng
        self.material = material
        self.themes = [Theme(rng, builder=False) for _ in range(24)]
        self._taken: set[str] = set()
        self.honest: dict[str, Callable[[str], str]] = {
            "skeleton": self._skeleton,
            "unique": lambda domain: Theme(rng, builder=rng.random() < 0.2).page(rng, material.texts, domain),
            "card": lambda domain: card_page(rng, material.texts, domain),
            "app": lambda domain: app_page(rng, material.texts, domain),
            "forward": lambda domain: forward_page(rng, material.texts, domain),
            "default": lambda domain: self._filled(_DEFAULTS, domain),
            "error": lambda domain: self._filled(_ERRORS, domain),
            "empty": lambda domain: self._filled(_EMPTIES, domain),
            "building": lambda domain: self._filled(_BUILDING, domain),
        }

    def domain(self) -> str:
        """A name that nobody has yet."""
        while True:
            words = self.rng.choices(self.material.texts.words, k=2)
            name = "".join(words) + self.rng.choice((".example", ".test", "-online.example", "24.test"))
            if name not in self._taken:
                self._taken.add(name)
                return name

    def _filled(self, forms: Sequence[str], domain: str) -> str:
        form = self.rng.choice(forms)
        return form.replace("{domain}", domain).replace("{name}", self.material.texts.name(self.rng))

    def _skeleton(self, domain: str) -> str:
        """The tags of a real page with other text, some stretches left out and some repeated."""
        page = _NOT_SHOWN.sub("", self.rng.choice(self.material.skeletons))
        parts = _TOKENS.findall(page)
        for _ in range(self.rng.randint(1, 5)):
            start = self.rng.randrange(max(1, len(parts) - 8))
            piece = parts[start : start + self.rng.randint(4, 60)]
            parts[start : start + (len(piece) if self.rng.random() < 0.5 else 0)] = (
                piece if self.rng.random() < 0.5 else []
            )
        text = (part if part[0] == "<" or not part.strip() else self._same_length(part) for part in parts)
        title = site_title(self.rng, self.material.texts.name(self.rng), domain)
        return f"<title>{title}</title>{''.join(text)}"

    def _same_length(self, text: str) -> str:
        words = self.material.texts.sentence(self.rng).split()
        return f" {' '.join(words[: max(1, len(text.split()))])} "


def make_world(material: Material, *, seed: int, sites: int) -> World:
    """The world of one seed."""
    rng = random.Random(f"structure world {seed}")
    maker = _Maker(rng, material)
    parking = [f"park{number}-{token(rng, 4)}.example" for number in range(PARKING)]
    hosters = [f"host{number}-{token(rng, 4)}.test" for number in range(PROVIDERS - PARKING)]
    templates = {provider: _templates(rng, material.texts, provider) for provider in parking}
    found: list[WorldSite] = []
    for provider, size in zip(parking, _sizes(rng, PARKING, int(sites * SPAM_SHARE)), strict=True):
        found += _parking_sites(maker, provider, size, templates[provider])
    for number, (provider, size) in enumerate(
        zip(hosters, _sizes(rng, len(hosters), int(sites * (1 - SPAM_SHARE))), strict=True)
    ):
        found += _hosted_sites(maker, provider, size, number, [t for group in templates.values() for t in group])
    rng.shuffle(found)
    return World(found, frozenset(parking))


def _sizes(rng: random.Random, count: int, total: int) -> list[int]:
    """Sizes as of real providers: a few large ones, many small ones."""
    weights = [math.exp(rng.gauss(0, 1)) for _ in range(count)]
    return [max(LEAST_SITES, round(total * weight / sum(weights))) for weight in weights]


def _templates(rng: random.Random, texts: Texts, provider: str) -> list[ParkingTemplate]:
    """A provider's designs: one main kind and some others."""
    kinds = rng.sample(KINDS, rng.randint(2, 4))
    return [
        ParkingTemplate.draw(rng, texts, kind=rng.choice(kinds), provider=provider) for _ in range(rng.randint(2, 8))
    ]


def _parking_sites(maker: _Maker, provider: str, size: int, templates: list[ParkingTemplate]) -> list[WorldSite]:
    rng, found = maker.rng, []
    honest = rng.uniform(0.01, 0.12)
    weights = [math.exp(rng.gauss(0, 0.7)) for _ in templates]
    for _ in range(size):
        domain = maker.domain()
        if rng.random() < honest:
            kind = rng.choice(("skeleton", "unique", "empty", "error", "card"))
            found.append(_honest(maker, provider, domain, kind))
        else:
            template = rng.choices(templates, weights)[0]
            page = template.page(rng, maker.material.texts, domain)
            found.append(WorldSite(domain, provider, page.encode(), spam=True, kind=f"parked {template.kind}"))
    return found


def _honest(maker: _Maker, provider: str, domain: str, kind: str) -> WorldSite:
    content = maker.honest[kind](domain).encode()
    status = maker.rng.choice((404, 403, 503, 200)) if kind == "error" else 200
    return WorldSite(domain, provider, content, spam=False, kind=kind, status=status)


def _aliases(maker: _Maker, provider: str) -> list[WorldSite]:
    """One owner's site under several names."""
    rng = maker.rng
    names = [maker.domain() for _ in range(rng.randint(2, 6))]
    page = maker.honest[rng.choice(("unique", "unique", "skeleton", "card"))](names[0]).encode()
    return [WorldSite(name, provider, page, spam=False, kind="alias") for name in names]


def _hosted_sites(
    maker: _Maker, provider: str, size: int, number: int, templates: list[ParkingTemplate]
) -> list[WorldSite]:
    """Number 0 is a content system's own hoster, 1 and 2 are site builders, 3 gives business cards away."""
    rng, texts = maker.rng, maker.material.texts
    specialist = number < 4
    themes = rng.sample(maker.themes, 3 if number == 0 else rng.randint(1, 5))
    builders = [Theme(rng, builder=True) for _ in range(3 if number in (1, 2) else 1)]
    shares = {kind: rng.uniform(0.2, 1.0) * weight for kind, weight in _SHARES.items()}
    if specialist:
        shares = {kind: share * 0.15 for kind, share in shares.items()}
        shares[("theme", "builder", "builder", "card")[number]] = 1.0
    shares["alias"] = 0.02 * shares["unique"]
    own = ParkingTemplate.draw(rng, texts, kind=rng.choice(("holding", "sale")), provider=provider)
    found = []
    for _ in range(size):
        domain = maker.domain()
        kind = rng.choices(list(shares), list(shares.values()))[0]
        if kind == "parked":
            template = own if rng.random() < 0.5 else rng.choice(templates[:12])
            page = template.page(rng, texts, domain)
            found.append(WorldSite(domain, provider, page.encode(), spam=True, kind=f"hosted {template.kind}"))
        elif kind == "alias":
            found += _aliases(maker, provider)
        elif kind in ("theme", "builder"):
            page = rng.choice(themes if kind == "theme" else builders).page(rng, texts, domain)
            found.append(WorldSite(domain, provider, page.encode(), spam=False, kind=kind))
        else:
            found.append(_honest(maker, provider, domain, kind))
    return found


_SHARES = {
    "unique": 0.35,
    "skeleton": 0.3,
    "theme": 0.25,
    "builder": 0.06,
    "card": 0.03,
    "app": 0.03,
    "forward": 0.03,
    "default": 0.05,
    "error": 0.03,
    "empty": 0.02,
    "building": 0.02,
    "parked": 0.02,
}
