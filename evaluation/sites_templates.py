"""Parked pages for the evaluation's world: made-up templates of every kind that parking providers use.

A template is drawn once (its tags, its wording, its advertiser) and then fills itself for each domain: other
keywords, another number of links, blocks that come and go, another language. Nothing here is taken from a real
provider; the kinds are: lists of related searches, pages of ads, sale offers, holding pages of registrars, fake
portals, shells that a script fills, frames and landers.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

KINDS = ("searches", "ads", "sale", "holding", "portal", "shell", "frame", "lander")
_LIST_FORMS = (
    ("<ul class=s>{}</ul>", '<li><a href="{href}">{text}</a></li>'),
    ("<div id=rs>{}</div>", '<div class="r"><a href="{href}" rel="nofollow"><span>{text}</span></a></div>'),
    ("<table>{}</table>", '<tr><td><a href="{href}">{text}</a></td></tr>'),
    ("<div>{}</div>", '<a class="k" href="{href}">{text}</a><br>'),
    ("<ol>{}</ol>", '<li><h3><a href="{href}"><b>{text}</b></a></h3></li>'),
)
_AD_FORMS = (
    '<div class="ad"><a href="{href}"><h3>{title}</h3></a><p>{text}</p><cite>{site}</cite></div>',
    '<li><a href="{href}">{title}</a><br>{text}<br><font color=green>{site}</font></li>',
    '<tr><td>{n}.</td><td><a href="{href}"><b>{title}</b></a><br>{text}<br><a href="{href}">{site}</a></td></tr>',
)
_WRAPPERS = (
    ("<div id=w><div class=in>", "</div></div>"),
    ("<center><table width=800><tr><td>", "</td></tr></table></center>"),
    ("<main><section><div>", "</div></section></main>"),
    ("<div><div><div><div>", "</div></div></div></div>"),
)
_EXTRAS = (
    "<div class=weather><h4>{a}</h4><img src=w.gif><span>21</span><span>{b}</span></div>",
    "<form action=/login><input name=u><input type=submit value=Go></form>",
    "<form action=/search><label>{a}</label><input name=q><button>{b}</button></form>",
    "<div class=note><p>{a} {b}</p></div>",
    '<div class=foot><a href="/privacy">{a}</a> | <a href="/legal">{b}</a></div>',
)
LANGUAGES: dict[str, tuple[str, ...]] = {
    "en": (
        "Related searches",
        "This domain may be for sale by its owner",
        "Sponsored listings",
        "Privacy policy",
        "The sponsored listings on this page are served by a third party and have no relation to the domain owner",
        "Buy this domain",
        "Make an offer",
        "Is this your domain name? Renew it now",
        "has been registered and is parked free of charge",
        "Get a price in less than a day",
    ),
    "de": (
        "Verwandte Suchbegriffe",
        "Diese Domain steht eventuell zum Verkauf",
        "Gesponserte Anzeigen",
        "Datenschutz",
        "Die hier angezeigten Anzeigen werden automatisch erzeugt und stehen in keinem Zusammenhang mit dem Inhaber",
        "Domain kaufen",
        "Angebot abgeben",
        "Ist das Ihre Domain? Jetzt verlängern",
        "wurde registriert und kostenlos geparkt",
        "Preis innerhalb eines Tages erfahren",
    ),
    "it": (
        "Ricerche correlate",
        "Questo dominio potrebbe essere in vendita",
        "Annunci sponsorizzati",
        "Informativa sulla privacy",
        "Gli annunci in questa pagina sono forniti da terzi e non hanno alcun rapporto con il titolare",
        "Acquista il dominio",
        "Fai una offerta",
        "È il tuo dominio? Rinnovalo adesso",
        "è stato registrato ed è parcheggiato gratuitamente",
        "Ricevi un prezzo in meno di un giorno",
    ),
}
SALE_POINTS = (
    "Safe payments through an independent escrow service",
    "The whole transfer takes less than two days in most cases",
    "No hidden fees and no commission for buyers",
    "Our brokers have helped more than ten thousand customers",
    "Pay in instalments over twelve months with no interest",
    "Every transaction is monitored from beginning to end",
    "We keep the name safe until the seller has been paid",
)


class Texts:
    """Real sentences to fill pages with, and keywords made of their words."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self.sentences = sentences
        found = {word.lower() for line in sentences[:4000] for word in line.split() if word.isalpha()}
        self.words = sorted(word for word in found if 4 <= len(word) <= 9)

    def keyword(self, rng: random.Random) -> str:
        """Two or three words."""
        return " ".join(rng.choices(self.words, k=rng.choice((2, 2, 3))))

    def sentence(self, rng: random.Random) -> str:
        """One sentence."""
        return rng.choice(self.sentences)

    def paragraph(self, rng: random.Random, sentences: int) -> str:
        """Some sentences."""
        return " ".join(rng.choices(self.sentences, k=sentences))

    def name(self, rng: random.Random) -> str:
        """What a site might be called."""
        return " ".join(word.capitalize() for word in rng.choices(self.words, k=rng.choice((2, 3))))


def token(rng: random.Random, size: int = 16) -> str:
    """Letters and digits that mean nothing."""
    return f"{rng.getrandbits(4 * size):0{size}x}"


@dataclass(frozen=True)
class ParkingTemplate:
    """One design of one provider: everything that is the same on all its domains."""

    kind: str
    advertiser: str
    provider: str
    wrapper: tuple[str, str]
    list_form: tuple[str, str]
    ad_form: str
    extras: tuple[str, ...]
    head: str
    languages: tuple[str, ...]
    fixed: tuple[str, ...]
    links: tuple[int, int]
    own_links: bool
    title: str
    pool: tuple[str, ...] = field(repr=False)

    @classmethod
    def draw(cls, rng: random.Random, texts: Texts, *, kind: str, provider: str) -> "ParkingTemplate":
        """A new design."""
        least = rng.randint(4, 24)
        scripts = "".join(f"<script>var {token(rng, 4)}=1;</script>" for _ in range(rng.randint(0, 4)))
        metas = '<meta name="viewport" content="width=device-width">' * rng.randint(0, 2)
        return cls(
            kind=kind,
            advertiser=f"click.{token(rng, 6)}.example",
            provider=provider,
            wrapper=rng.choice(_WRAPPERS),
            list_form=rng.choice(_LIST_FORMS),
            ad_form=rng.choice(_AD_FORMS),
            extras=tuple(rng.sample(_EXTRAS, rng.randint(1, 4))),
            head=metas + "<style>body{margin:0}</style>" * rng.randint(0, 2) + scripts,
            languages=rng.choice((("en",), ("en",), ("en", "de"), ("en", "de", "it"), ("it",))),
            fixed=tuple(rng.sample(SALE_POINTS, rng.randint(2, 6))),
            links=(least, least + rng.randint(2, 14)),
            own_links=rng.random() < 0.4,
            title=rng.choice(("{domain}", "{domain} - {fixed}", "{fixed}", "", "{domain} - {keyword}", "{keyword}")),
            pool=tuple(texts.keyword(rng) for _ in range(400)),
        )

    def page(self, rng: random.Random, texts: Texts, domain: str) -> str:
        """The page of one domain."""
        phrases = LANGUAGES[rng.choice(self.languages)]
        if self.kind in ("shell", "frame", "lander"):
            return _SHELLS[self.kind](self, rng, domain, phrases)
        body = self.wrapper[0] + _BODIES[self.kind](self, rng, texts, domain, phrases) + self.wrapper[1]
        title = self._title(rng, domain, phrases)
        return f"<!DOCTYPE html><html><head>{title}{self.head}</head><body>{body}</body></html>"

    def _title(self, rng: random.Random, domain: str, phrases: Sequence[str]) -> str:
        filled = self.title.format(domain=domain, fixed=phrases[1], keyword=rng.choice(self.pool))
        if self.title == "{keyword}" and self.kind in _SHELLS:  # a shell does not know what it will be about
            filled = domain
        return f"<title>{filled}</title>"

    def keyword_list(self, rng: random.Random, count: int) -> str:
        """Links with keywords, all to one place."""
        items = []
        for word in rng.sample(self.pool, count):
            query = f"q={word.replace(' ', '+')}&s={token(rng, 8)}"
            href = f"/?{query}" if self.own_links else f"http://{self.advertiser}/c?{query}"
            items.append(self.list_form[1].format(href=href, text=word))
        return self.list_form[0].format("\n".join(items))

    def extra_blocks(self, rng: random.Random, phrases: Sequence[str]) -> str:
        """Blocks that not every page has: the paper's slight local differences."""
        chosen = [extra for extra in self.extras if rng.random() < 0.7]
        return "".join(extra.format(a=phrases[3], b=phrases[4]) for extra in chosen)

    def sale_box(self, rng: random.Random, domain: str, phrases: Sequence[str]) -> str:
        """The offer, on some pages."""
        if rng.random() < 0.4:
            return ""
        return (
            f'<div class=buy><p>{phrases[1]}</p><a href="http://{self.provider}/buy?d={domain}">{phrases[5]}</a></div>'
        )


def _searches(self: ParkingTemplate, rng: random.Random, texts: Texts, domain: str, phrases: Sequence[str]) -> str:
    count = rng.randint(*self.links)
    return (
        f"<h1>{domain}</h1>{self.sale_box(rng, domain, phrases)}<h2>{phrases[0]}</h2>"
        f"{self.keyword_list(rng, count)}{self.extra_blocks(rng, phrases)}"
    )


def _ads(self: ParkingTemplate, rng: random.Random, texts: Texts, domain: str, phrases: Sequence[str]) -> str:
    ads = []
    for number in range(rng.randint(5, 10)):
        text = " ".join(texts.sentence(rng).split()[:14])
        href = f"http://{self.advertiser}/click?{token(rng)}"
        site = rng.choice(self.pool).replace(" ", "") + ".example"
        ads.append(self.ad_form.format(href=href, title=rng.choice(self.pool), text=text, site=site, n=number))
    side = self.keyword_list(rng, rng.randint(8, 14))
    extras = self.extra_blocks(rng, phrases)
    return f"<h1>{domain}</h1><h2>{phrases[2]}</h2>{''.join(ads)}{side}<p>{phrases[4]}</p>{extras}"


def _sale(self: ParkingTemplate, rng: random.Random, texts: Texts, domain: str, phrases: Sequence[str]) -> str:
    points = "".join(f"<li><img src=ok.svg><p>{point}.</p></li>" for point in self.fixed)
    price = f"<div class=price><span>$</span><b>{rng.randint(200, 90000)}</b></div>" if rng.random() < 0.6 else ""
    return (
        f"<h1>{domain}</h1><p>{phrases[1]}. {phrases[9]}.</p>{price}<form action='http://{self.provider}/offer'>"
        f"<input name=name><input name=mail><textarea></textarea><button>{phrases[6]}</button></form><ul>{points}</ul>"
        f"<a href='http://{self.provider}/buy/{domain}'>{phrases[5]}</a>{self.extra_blocks(rng, phrases)}"
    )


def _holding(self: ParkingTemplate, rng: random.Random, texts: Texts, domain: str, phrases: Sequence[str]) -> str:
    links = "".join(f'<li><a href="https://www.{self.provider}/{n}">{phrases[n]}</a></li>' for n in (3, 5, 7))
    more = f"<p>{phrases[4]}.</p>" if rng.random() < 0.5 else ""
    return f"<img src=logo.png><h1>{domain} {phrases[8]}</h1><p>{phrases[7]}.</p>{more}<ul>{links}</ul>"


def _portal(self: ParkingTemplate, rng: random.Random, texts: Texts, domain: str, phrases: Sequence[str]) -> str:
    news = "".join(f"<div class=n><h3>{point}</h3><p>{point} {phrases[4]}.</p></div>" for point in self.fixed)
    keywords = self.keyword_list(rng, rng.randint(*self.links))
    return (
        f"<div class=top><h1>{domain}</h1></div><div class=left>{keywords}</div>"
        f"<div class=mid>{news}{self.extra_blocks(rng, phrases)}</div>{self.sale_box(rng, domain, phrases)}"
    )


def _shell(self: ParkingTemplate, rng: random.Random, domain: str, phrases: Sequence[str]) -> str:
    note = f"<noscript>{phrases[1]}</noscript>" if len(self.fixed) > 3 else ""
    return (
        f'<!doctype html><html data-key="{token(rng, 40)}"><head>{self.head}{self._title(rng, domain, phrases)}</head>'
        f'<body><div id="target"></div>{note}<script>window.p="{token(rng, 120)}"</script>'
        f'<script src="/{token(rng, 8)}.js"></script></body></html>'
    )


def _frame(self: ParkingTemplate, rng: random.Random, domain: str, phrases: Sequence[str]) -> str:
    target = f"http://{self.advertiser}/lander?domain={domain}&t={token(rng)}"
    body = f"<frameset rows='100%,*'><frame src='{target}'><noframes><body>{domain}</body></noframes></frameset>"
    return f"<html><head>{self._title(rng, domain, phrases)}{self.head}</head>{body}</html>"


def _lander(self: ParkingTemplate, rng: random.Random, domain: str, phrases: Sequence[str]) -> str:
    target = "/lander" if self.own_links else f"http://{self.advertiser}/{domain}"
    script = f'<script>window.onload=function(){{window.location.href="{target}"}}</script>'
    return f"<!DOCTYPE html><html><head>{script}{self.head}</head></html>"


_BODIES: dict[str, Callable[..., str]] = {
    "searches": _searches,
    "ads": _ads,
    "sale": _sale,
    "holding": _holding,
    "portal": _portal,
}
_SHELLS: dict[str, Callable[..., str]] = {"shell": _shell, "frame": _frame, "lander": _lander}
