"""Honest sites: pages laid out by hand, and sites that run one content management system with a theme of their own."""

from dataclasses import dataclass

from tools.demo_crawl.hand import Hand
from tools.demo_crawl.parts import ASIDES, FOOTERS, HEADERS, MENUS, article, several
from tools.demo_crawl.templates import fill
from tools.demo_crawl.text import Writer

_DOCTYPES = (
    "",
    "<!DOCTYPE html>",
    "<!doctype html>",
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN">',
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN"\n  "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">',
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html>',
    "<!-- written by hand, please be kind -->",
)
_TITLE_FORMS = ("{0}", "{1} - {0}", "{0} | {1}", "{1}: {0}", "[{1}] {0}")


@dataclass(frozen=True)
class Site:
    """A site and what is the same on all of its pages, down to the byte."""

    host: str
    title: str
    hand: Hand
    head: str
    header: str
    menu: str
    aside: str
    footer: str

    @classmethod
    def set_up(cls, host: str, title: str, *, hand: Hand, writer: Writer) -> "Site":
        labels = [writer.label() for _ in range(writer.rng.randint(4, 8))]
        return cls(
            host=host,
            title=title,
            hand=hand,
            head=_head_extras(hand),
            header=hand.comment("header") + hand.pick("header", HEADERS)(hand, title, writer.title()),
            menu=hand.comment("menu") + hand.pick("menu", MENUS)(hand, _links(hand, labels, host=host)),
            aside=several(hand, "aside", parts=ASIDES, writer=writer, most=2),
            footer=several(hand, "footer", parts=FOOTERS, writer=writer, most=3),
        )


def _links(hand: Hand, labels: list[str], *, host: str) -> list[str]:
    return [hand.link(label.split()[-1].lower(), label, host=host) for label in labels]


# --- head ------------------------------------------------------------------------------------------------------------


def _head_extras(hand: Hand) -> str:
    """Meta tags, style sheet and script: a choice and an order of the author's own."""
    metas = (
        hand.void("meta", http_equiv="Content-Type", content="text/html; charset=utf-8"),
        hand.void("meta", name="author", content="webmaster"),
        hand.void("meta", name="keywords", content="notes, pages, club"),
        hand.void("meta", name="viewport", content="width=device-width, initial-scale=1.0"),
        hand.void("meta", name="generator", content="Plain editor 2.1 (en)"),
        hand.void("link", rel="shortcut icon", href="/favicon.ico"),
        hand.void("link", rel="stylesheet", type="text/css", href="css/style.css?v=2"),
        hand.void("base", target="_top"),
    )
    rng = hand.rng("head")
    parts = rng.sample(metas, rng.randint(1, 5))
    if rng.random() < 0.85:
        parts.append(hand.element("style", hand.style_sheet(), type="text/css"))
    if rng.random() < 0.7:
        parts.insert(rng.randint(0, len(parts)), hand.element("script", hand.script()))
    return hand.lines(*parts)


# --- layouts ---------------------------------------------------------------------------------------------------------


def _table_layout(site: Site, text: str) -> str:
    hand = site.hand
    top = hand.element("tr", hand.element("td", site.header, colspan="3"))
    middle = hand.element("tr", *(hand.element("td", part, valign="top") for part in (site.menu, text, site.aside)))
    return hand.element("table", top, middle, hand.element("tr", hand.element("td", site.footer, colspan="3")))


def _div_layout(site: Site, text: str) -> str:
    hand, join = site.hand, site.hand.core.join
    parts = {"header": site.header, "menu": site.menu, "content": text, "aside": site.aside, "footer": site.footer}
    divs = (hand.element("div", part, id=f"{name}{join}box") for name, part in parts.items())
    return hand.element("div", *divs, class_=f"page{join}wrap")


def _semantic_layout(site: Site, text: str) -> str:
    hand = site.hand
    main = hand.element("main", hand.element("article", text), hand.element("aside", site.aside))
    return hand.lines(hand.element("header", site.header, site.menu), main, hand.element("footer", site.footer))


def _centred_layout(site: Site, text: str) -> str:
    hand = site.hand
    body = hand.element("table", hand.element("tr", hand.element("td", text), hand.element("td", site.aside)))
    return hand.element("center", site.header, hand.void("hr"), site.menu, body, hand.void("hr"), site.footer)


def _flat_layout(site: Site, text: str) -> str:
    return site.hand.lines(site.header, text, site.menu, site.aside, site.footer)


_LAYOUTS = (_table_layout, _div_layout, _semantic_layout, _centred_layout, _flat_layout)


def _document(site: Site, title: str, *, head: str, text: str) -> str:
    hand = site.hand
    shown = hand.pick("title form", _TITLE_FORMS).format(title, site.title)
    body = hand.element("body", hand.pick("layout", _LAYOUTS)(site, text))
    html = hand.element("html", hand.element("head", hand.element("title", shown), head), body)
    return hand.lines(hand.pick("doctype", _DOCTYPES), html, "")


def honest_page(site: Site, writer: Writer, *, text: str | None = None) -> str:
    """A page of `site`; the text is a fresh article of `writer` unless given."""
    return _document(site, writer.title(), head=site.head, text=text or article(site.hand, writer))


# --- Pressroom, a content management system --------------------------------------------------------------------------

_PRESSROOM_HEAD = """\
<meta name="generator" content="Pressroom 4.2" />
<link rel="alternate" type="application/rss+xml" title="Feed" href="http://@host@/feed/?type=rss2" />
<link rel='stylesheet' id='pr-blocks-css' href='http://@host@/pr-content/@theme@/style.css?ver=4.2' media='all' />
"""
_PRESSROOM_POST = """\
<div id="post-@number@" class="post-@number@ post type-post hentry category-@theme@">
<h2 class="entry-title"><a href="http://@host@/?p=@number@" rel="bookmark">@title@</a></h2>
<div class="entry-content">
@text@
</div><!-- .entry-content --></div><!-- #post-@number@ -->
<div id="respond"><form action="http://@host@/pr-comments.php" method="post"><textarea name="comment"></textarea>
<p class="form-submit"><input name="submit" type="submit" id="submit" class="submit" value="Post Comment" />
<input type="hidden" name="post_id" value="@number@" /></p></form></div><!-- #respond -->"""


def pressroom_page(site: Site, writer: Writer) -> str:
    """A page out of Pressroom: the system writes the frame of head and post, the theme is the owner's own hand."""
    theme = site.title.split()[0].lower()
    values = {"host": site.host, "theme": theme, "number": writer.rng.randint(10, 999), "title": writer.title()}
    paragraphs = "\n".join(f"<p>{text}</p>" for text in writer.paragraphs(writer.rng.randint(2, 4), longest=3))
    head = fill(_PRESSROOM_HEAD, **values) + site.head
    return _document(site, writer.title(), head=head, text=fill(_PRESSROOM_POST, text=paragraphs, **values))
