"""A page written anew for its preview: the first of three walls between a hostile page and the world.

The tags are those of our own token pass (html.py). Only tags and attributes of an allow-list are written, with
values escaped anew; text is escaped anew; links keep their address as data that nothing follows. So nothing here
depends on how a browser reads what a page says: what is not written cannot act. Style sheets are kept as they are, and
may ask for images and fonts: the response headers and the sandboxed frame (guard.py, page.html) stand behind this wall.
"""

import html
import re
from collections.abc import Iterator

from samehand.html import decode_value, tag_places

SHOWN_BYTES = 1 << 20
SHOWN_TAGS = 50_000
"""A preview shows this much of a page, and says so where there is more."""

_FLOW = (
    "a abbr acronym address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del "
    "details dfn dir div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup hr i img ins kbd li "
    "main mark menu nav nobr ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table "
    "tbody td tfoot th thead time tr tt u ul var wbr"
)
_KEPT = (
    "class id style dir lang align valign width height colspan rowspan border cellpadding cellspacing bgcolor color "
    "size face alt"
)
_RAW = "script title textarea iframe noembed noframes noscript"
TAGS, ATTRIBUTES, DROPPED = (frozenset(names.split()) for names in (_FLOW, _KEPT, _RAW))
"""Tags and attributes that are written; elements whose text is left out, because no reader sees it as it stands."""
_SHOWN_AS = {"xmp": "pre", "plaintext": "pre", "listing": "pre", "body": "div", "form": "div", "fieldset": "div"}
"""Elements that are shown as another one."""
_IMAGE = re.compile(r"data:image/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=\s]*")
_COMMENT = re.compile(rb"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!/?][^>]*(?:>|\Z)", re.DOTALL)
_NAME = re.compile(rb"[^ \t\n\f\r/>]*")
_ATTRIBUTE = re.compile(
    rb"""[ \t\n\f\r/]*([^ \t\n\f\r/>][^ \t\n\f\r/>=]*)"""
    rb"""(?:[ \t\n\f\r]*=[ \t\n\f\r]*(?:"([^"]*)"|'([^']*)'|([^ \t\n\f\r>"'][^ \t\n\f\r>]*)))?"""
)
_TAG_END = re.compile(rb"[ \t\n\f\r/]*>?")


def preview(content: bytes) -> str:
    """A whole document that shows a page, given as UTF-8, and does nothing else."""
    shown = content[:SHOWN_BYTES]
    places = tag_places(shown)
    is_cut = len(content) > len(shown) or len(places) > SHOWN_TAGS
    note = "<p><b>The preview ends here: the page goes on.</b></p>" if is_cut else ""
    body = "".join(_written(shown, places[:SHOWN_TAGS]))
    head = '<!DOCTYPE html><html><head><meta charset="utf-8"><title>Preview</title></head>'
    return f"{head}<body>{body}{note}</body></html>"


def _written(content: bytes, places: list[tuple[str, int]]) -> Iterator[str]:
    """Text and allowed tags in the order of the source."""
    done, inert, opener = 0, 0, ""
    for name, place in places:
        is_end, plain = name.startswith("/"), name.removeprefix("/")
        if not inert:
            yield _text(content[done : place - 1 - is_end], opener)
        done, attributes = _read_tag(content, place)
        if plain == "template":
            inert = max(0, inert - 1) if is_end else inert + 1
        elif not inert:
            yield _tag(plain, attributes, is_end)
        opener = "" if is_end else plain
    if not inert and len(places) < SHOWN_TAGS:
        yield _text(content[done:], opener)
    if opener == "style":
        yield "</style>"


def _read_tag(content: bytes, place: int) -> tuple[int, list[re.Match[bytes]]]:
    """The end of the tag whose name stands at `place`, and its attributes."""
    found = []
    name = _NAME.match(content, place)
    place = name.end() if name else place
    while attribute := _ATTRIBUTE.match(content, place):
        found.append(attribute)
        place = attribute.end()
    end = _TAG_END.match(content, place)
    return end.end() if end else place, found


def _text(source: bytes, opener: str) -> str:
    """What stands between two tags: text, without comments; raw text as what it is."""
    if not source or opener in DROPPED:
        return ""
    if opener == "style":
        return source.decode("utf-8", "replace").replace("<", "\\3c ").replace("\0", "\ufffd")
    if opener in ("xmp", "plaintext"):
        return html.escape(source.decode("utf-8", "replace"))
    return html.escape(decode_value(_COMMENT.sub(b"", source)))


def _tag(name: str, attributes: list[re.Match[bytes]], is_end: bool) -> str:
    if name == "style":
        return "</style>" if is_end else "<style>"
    written = _SHOWN_AS.get(name, name)
    if written not in TAGS:
        return ""
    return f"</{written}>" if is_end else f"<{written}{''.join(_attributes(name, attributes))}>"


def _attributes(tag: str, attributes: list[re.Match[bytes]]) -> Iterator[str]:
    """The allowed attributes of a tag, each once, values escaped anew."""
    seen = set()
    for found in attributes:
        name = found[1].decode("utf-8", "replace").lower()
        if name in seen:
            continue
        seen.add(name)
        is_link, is_image = name == "href" and tag == "a", name == "src" and tag == "img"
        if name not in ATTRIBUTES and not is_link and not is_image:
            continue
        value = decode_value(found[2] or found[3] or found[4] or b"")
        if is_image and not _IMAGE.fullmatch(value):
            continue
        yield f' {"data-href" if is_link else name}="{html.escape(value)}"'
