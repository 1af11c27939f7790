"""Parts of hand-made pages: headers, menus, side columns, footers, articles; each in the manner of its author."""

from collections.abc import Callable

from tools.demo_crawl.hand import Hand
from tools.demo_crawl.text import Writer

_SEPARATORS = (" | ", " :: ", " &middot; ", " / ", " ~ ", " &raquo; ", "&nbsp;&nbsp;", ", ", " <b>*</b> ")

# --- header and menu -------------------------------------------------------------------------------------------------

HEADERS: tuple[Callable[[Hand, str, str], str], ...] = (
    lambda hand, title, motto: hand.element("h1", hand.element("a", title, href="/")),
    lambda hand, title, motto: hand.element("div", _logo(hand, title), hand.element("span", motto)),
    lambda hand, title, motto: _row(hand, _logo(hand, title), hand.element("h2", title), motto),
    lambda hand, title, motto: hand.element("center", hand.element("font", title, size="+3"), hand.element("i", motto)),
    lambda hand, title, motto: hand.element("div", hand.element("p", f"{title} // {motto}"), id="top"),
    lambda hand, title, motto: hand.element("pre", f"+-----[ {title} ]-----+", f"|  * {motto} *  |", "+---------+"),
    lambda hand, title, motto: hand.element("header", hand.element("h1", title), hand.element("p", motto)),
)
MENUS: tuple[Callable[[Hand, list[str]], str], ...] = (
    lambda hand, links: hand.element("ul", *(hand.element("li", link) for link in links)),
    lambda hand, links: hand.element("p", hand.pick("separator", _SEPARATORS).join(links)),
    lambda hand, links: hand.element("div", *(f"[ {link} ]" for link in links)),
    lambda hand, links: _row(hand, *links),
    lambda hand, links: hand.element("nav", *links),
    lambda hand, links: hand.element("dl", hand.element("dt", "Pages"), *(hand.element("dd", link) for link in links)),
    lambda hand, links: hand.element("div", *(hand.element("div", link, class_="entry") for link in links)),
    lambda hand, links: hand.element("ol", *(hand.element("li", "&gt; " + link) for link in links)),
    lambda hand, links: hand.lines(*(link + hand.void("br") for link in links)),
)


def _logo(hand: Hand, title: str) -> str:
    return hand.void("img", src=hand.pick("logo", ("logo.gif", "/img/logo.png", "pics/top_1.jpg")), alt=title)


def _row(hand: Hand, *cells: str) -> str:
    return hand.element("table", hand.element("tr", *(hand.element("td", cell) for cell in cells)))


# --- aside and footer ------------------------------------------------------------------------------------------------

_Part = Callable[[Hand, Writer], str]


def _search_form(hand: Hand, writer: Writer) -> str:
    label, field = hand.element("label", "Search: ", for_="q"), hand.void("input", type="text", name="q")
    return hand.element("form", label, field, hand.void("input", type="submit", value="Find"), action="/search")


def _calendar(hand: Hand, writer: Writer) -> str:
    weeks = (range(start, start + 7) for start in (1, 8, 15, 22))
    rows = (hand.element("tr", *(hand.element("td", str(day)) for day in week)) for week in weeks)
    return hand.element("table", hand.element("caption", writer.write("{month} 2012")), *rows)


def _friends(hand: Hand, writer: Writer) -> str:
    entry = hand.pick("friend", ("{name}'s {noun} page", "{name} ({noun}, {noun})", "{name}: {nouns} & more"))
    items = (hand.element("li", hand.prose(writer.write(entry))) for _ in range(4))
    return hand.lines(hand.element("h3", "Friends"), hand.element("ul", *items))


def _poll(hand: Hand, writer: Writer) -> str:
    question = hand.element("b", writer.write("Which {noun}?"))
    answers = (hand.void("input", type="radio", name="vote", value=str(n)) + writer.label() for n in range(3))
    return hand.element("form", question, *answers, method="post", action="vote.cgi")


def _saying(hand: Hand, writer: Writer) -> str:
    return hand.element("blockquote", hand.element("em", hand.prose(writer.sentence())), f"({writer.name()})")


def _news(hand: Hand, writer: Writer) -> str:
    form = hand.pick("news", ("[0{0}/0{1}] {2}", "0{0}.0{1}.: {2}", "<b>{0}-{1}</b> {2}", "* {2} ({0}/{1})", "{2} ..."))
    rng = writer.rng
    lines = (form.format(rng.randint(1, 9), rng.randint(1, 9), writer.title()) for _ in range(5))
    return hand.element("div", *(hand.element("p", line) for line in lines))


def _copyright(hand: Hand, writer: Writer) -> str:
    forms = ("&copy; 2011 {name}. All rights reserved.", "(c) 2008-2016, {name}", "'09 by {name}!", "{name} / 2014")
    return hand.element("p", hand.prose(writer.write(hand.pick("copyright", forms))))


def _mail(hand: Hand, writer: Writer) -> str:
    forms = ("mail: {}(at){}.example", "{} [at] {} [dot] example", "<{}@{}.example>", "{} AT {} DOT example")
    address = hand.pick("mail", forms).format(writer.name().lower(), writer.label().split()[-1].lower())
    return hand.element("address", address.replace("<", "&lt;").replace(">", "&gt;"))


def _counter(hand: Hand, writer: Writer) -> str:
    digits = writer.rng.sample(range(10), 5)
    images = (hand.void("img", src=f"/count/{digit}.gif", alt=str(digit)) for digit in digits)
    return hand.element("div", "You are visitor no. ", *images)


def _badges(hand: Hand, writer: Writer) -> str:
    names = writer.rng.sample(("valid-html", "any-browser", "css2", "text-only", "no-frames"), 3)
    images = [hand.void("img", src=f"badge_{name}.png") for name in names]
    return hand.element("div", *(hand.element("a", image, href="/why#badges") for image in images))


def _updated(hand: Hand, writer: Writer) -> str:
    forms = ("Last updated: {0}/{1}/2013", "[{0}.{1}.2015]", "Updated on 2010-0{0}-0{1} at 10:{0}{1}.", "-- {0} {1} --")
    return hand.element("small", hand.pick("updated", forms).format(writer.rng.randint(1, 9), writer.rng.randint(1, 9)))


ASIDES: tuple[_Part, ...] = (_search_form, _calendar, _friends, _poll, _saying, _news)
FOOTERS: tuple[_Part, ...] = (_copyright, _mail, _counter, _badges, _updated, _saying)


def several(hand: Hand, place: str, *, parts: tuple[_Part, ...], writer: Writer, most: int) -> str:
    """One to `most` of `parts`, in the order the author likes them."""
    rng = hand.rng(place)
    chosen = rng.sample(parts, rng.randint(1, most))
    return hand.lines(hand.comment(place), *(part(hand, writer) for part in chosen))


# --- what stands between ---------------------------------------------------------------------------------------------

_PARAGRAPHS: tuple[Callable[[Hand, str], str], ...] = (
    lambda hand, text: hand.element("p", text),
    lambda hand, text: hand.element("div", text),
    lambda hand, text: text + hand.void("br") + hand.void("br"),
    lambda hand, text: hand.element("p", hand.element("font", text, face="Arial, Helvetica", size="2")),
    lambda hand, text: hand.element("p", "&nbsp;&nbsp;&nbsp;" + text),
    lambda hand, text: hand.element("p", hand.element("span", text)),
)


def _photo(hand: Hand, writer: Writer) -> str:
    source = hand.pick("photo", ("img/{}.jpg", "/photos/2012/{}-small.png", "{}_1.gif"))
    image = hand.void("img", src=source.format(writer.rng.choice(writer.nouns)), alt=writer.title())
    return hand.element("div", image, hand.element("i", writer.title()))


def _bullets(hand: Hand, writer: Writer) -> str:
    return hand.element("ul", *(hand.element("li", writer.title()) for _ in range(writer.rng.randint(3, 6))))


def _figures(hand: Hand, writer: Writer) -> str:
    rows = ((writer.label(), str(writer.rng.randint(1, 900))) for _ in range(writer.rng.randint(3, 6)))
    return hand.element("table", *(hand.element("tr", *(hand.element("td", cell) for cell in row)) for row in rows))


def _subheading(hand: Hand, writer: Writer) -> str:
    return hand.element("h3", writer.title())


def _rule(hand: Hand, writer: Writer) -> str:
    return hand.pick("rule", (hand.void("hr"), hand.element("center", "* * *"), "~~~~~~~~"))


_BETWEEN: tuple[_Part, ...] = (_photo, _bullets, _figures, _subheading, _rule)


def article(hand: Hand, writer: Writer) -> str:
    """The text of a page: paragraphs, with one or two kinds of things in between that the author is fond of."""
    rng, favourites = writer.rng, hand.rng("between").sample(_BETWEEN, 2)
    paragraph = hand.pick("paragraph", _PARAGRAPHS)
    parts = [hand.element(hand.pick("title", ("h1", "h2", "h3", "big", "strong")), writer.title())]
    for number, text in enumerate(writer.paragraphs(rng.randint(3, 5))):
        parts.append(paragraph(hand, hand.prose(text)))
        if number < len(favourites):
            parts.append(favourites[number](hand, writer))
    return hand.lines(*parts)
