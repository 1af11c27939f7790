"""HTML bytes to tag sequence, visible text, title and links: one pass, linear, bounded.

Pages are bytes that hold ASCII where they are below 0x80 (`sources.charset` sees to that). They are read as the
tokenizer of the HTML standard reads them, scripting on: raw text, comments and quotes begin and end where browsers
say. There is no tree, because trees can be made slow; what only a tree could know is not known:

* Inside `<svg>` and `<math>` the rules of HTML go on: `<title>` and `<style>` hold raw text there too, and
  `<![CDATA[` is a comment up to its first `>`.
* Visible is all text but that of script, style, template, title, iframe, noembed, noframes and noscript elements.
  Style sheets and the fallbacks of object, audio, video and canvas are not looked at. The texts of alt and title
  attributes can be had on lines of their own.
* Text that a `hidden` attribute or a `style` attribute hides (kernels/html/hiding.py) is left out, and its words are
  counted.
* A tag that makes a block or a cell, and `<br>`, ends the line of text; other tags leave nothing. All of these but a
  single `<br>` end the block, too.

Prose is the part of the visible text that is running sentences (`prose_of`, kernels/text/prose.py): no menus, lists,
tables, prices or code. Each of its paragraphs has an empty line behind it.

Text is UTF-8 as far as the page was, references decoded; white space is as in the source, `\\r\\n` and `\\r` as line
feeds. NULs are dropped in ordinary text, as browsers do when they build the tree; elsewhere they become U+FFFD. A byte
order mark at the start is no text.
"""

import dataclasses
import functools
import re

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import byte_chunks, read_only
from samehand.base.errors import UsageError
from samehand.kernels.html import attributes, entities, markup, page, tagnames
from samehand.kernels.html import links as link_kernels
from samehand.kernels.html.blocks import BLOCK
from samehand.kernels.text import function_words
from samehand.kernels.text import prose as prose_kernel

TOKENS_CAPPED, ATTRIBUTES_CAPPED, VALUE_CAPPED = page.TOKENS_CAPPED, page.ATTRIBUTES_CAPPED, page.VALUE_CAPPED
"""Bits of `Markup.flags`: the limit at which the pass over a page ended."""
NOFOLLOW, UGC, SPONSORED = attributes.NOFOLLOW, attributes.UGC, attributes.SPONSORED
INERT, UNSEEN = page.INERT, page.UNSEEN
"""Bits of `Markup.link_flags`: words of the link's rel attribute; that it stands in a template; in hidden text."""
END = tagnames.END
"""Bit of a tag that is an end tag."""
TAG_NAMES = tagnames.NAMES
"""Names of the tags from 1 up that have fixed numbers; see kernels/tagnames.py for all others."""

_CHUNK_BYTES = 1 << 20
"""Pages are read this much at a time, so that the room for what they might hold stays small and warm."""
_KINDS = (np.uint16, np.int64, np.uint8, np.uint8, *[np.int64] * 2, np.uint8, *[np.int64] * 2, np.uint16)
"""Types of the arrays that the pass fills (`page.Found`)."""
_SPACES = re.compile(r"[ \t\n\f\r]+")
_NAME = re.compile(rb"[^ \t\n\f\r/>]*")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Where the pass over a page ends early, flagged. Tokens are tags, comments and the like.

    Images written into the page make real values of a megabyte, so value_bytes is high.
    """

    tokens: int = 1_000_000
    attributes: int = 1_000
    value_bytes: int = 1 << 22


_NO_LIMITS = Limits(tokens=2**63, attributes=2**63, value_bytes=2**63)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Markup:
    """What was found in pages; of x, page i has x[x_offsets[i]:x_offsets[i+1]].

    A link is a span of its page: the value of href as it stands there, for `decode_value`. So is the href of the
    page's first `<base>` that has one, with start -1 if none has. Places and starts are counted from the start of the
    page. `tag_places` is empty unless asked for. `steps` is the work done: bytes passed, and bytes decoded after that.
    `block_ends` are the ends of blocks in the text of the page, `block_links` the bytes of link text in each block, and
    `block_openers` the tag that began it, 0 at the start of a page. `hidden_words` are the words of text left out.
    """

    tags: NDArray[np.uint16]
    tag_places: NDArray[np.int64]
    tag_offsets: NDArray[np.int64]
    text: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    titles: NDArray[np.uint8]
    title_offsets: NDArray[np.int64]
    link_starts: NDArray[np.int64]
    link_lengths: NDArray[np.int64]
    link_flags: NDArray[np.uint8]
    link_offsets: NDArray[np.int64]
    block_ends: NDArray[np.int64]
    block_links: NDArray[np.int64]
    block_openers: NDArray[np.uint16]
    block_offsets: NDArray[np.int64]
    base_starts: NDArray[np.int64]
    base_lengths: NDArray[np.int64]
    hidden_words: NDArray[np.int64]
    flags: NDArray[np.uint8]
    steps: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Prose:
    """The prose of texts: text i has text[offsets[i]:offsets[i+1]], and `words` words out of `all_words`."""

    text: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    words: NDArray[np.int64]
    all_words: NDArray[np.int64]


_LISTED = "li dt dd td th caption figcaption summary"
_NEVER_PROSE = "button fieldset legend nav optgroup option select textarea"
_PREFORMATTED = "pre listing plaintext xmp"


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """The address of a link as the page gives it, and what the page says about it."""

    href: str
    nofollow: bool = False
    ugc: bool = False
    sponsored: bool = False
    inert: bool = False


@functools.cache
def _tables() -> page.Tables:
    return page.Tables(attributes.byte_classes(), tagnames.name_tables(), entities.reference_tables())


def parse_pages(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    *,
    limits: Limits | None = None,
    attribute_texts: bool = False,
    places: bool = False,
) -> Markup:
    """Reads pages that lie end to end: page i is data[offsets[i]:offsets[i+1]]."""
    data, offsets = read_only(np.asarray(data, np.uint8)), read_only(np.asarray(offsets, np.int64))
    _check(data, offsets)
    bounds = page.Limits(*(np.uint64(limit) for limit in dataclasses.astuple(limits or Limits())))
    wishes = page.ATTRIBUTE_TEXTS * attribute_texts | page.PLACES * places
    size = int(offsets[-1] - offsets[0])
    found = _room_for(_sizes(size // 16, size // 2, size // 256, size // 64, size // 32, places=places))
    rows = np.zeros((offsets.size, page.COLUMNS), np.uint64)
    for first, last in byte_chunks(offsets, _CHUNK_BYTES):
        chunk = offsets[first : last + 1]
        found = _more_room(found, rows[first, : page.FILLED].tolist(), int(chunk[-1] - chunk[0]), places=places)
        source, starts = _with_block_behind(data, chunk)
        markup.parse_pages(source, starts, wishes, _tables(), bounds, found, rows[first : last + 1])
    return _assemble(found, rows.view(np.int64))


def _check(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> None:
    """The kernel checks no bounds."""
    if not offsets.size or offsets[0] < 0 or offsets[-1] > data.size or (np.diff(offsets) < 0).any():
        raise UsageError("The page offsets do not rise within the data. Pass the offsets that belong to these data.")


def _sizes(tags: int, text: int, titles: int, links: int, blocks: int, *, places: bool) -> tuple[int, ...]:
    """The sizes of the arrays of `Found` that hold so many of each."""
    return (tags, tags * places, text, titles, *[links] * 3, *[blocks] * 3)


def _most_of(size: int, *, places: bool) -> tuple[int, ...]:
    """The sizes for all that pages of `size` bytes may hold."""
    tags, links, text = size // page.SHORTEST_TAG + 1, size // page.SHORTEST_LINK + 1, page.EXPANSION * size + BLOCK
    return _sizes(tags, text, text, links, size + 1, places=places)


def _room_for(sizes: tuple[int, ...]) -> page.Found:
    """Arrays of these sizes. Memory that is not written to is only promised."""
    return page.Found(*map(np.empty, sizes, _KINDS))


def _more_room(found: page.Found, filled: list[int], size: int, *, places: bool) -> page.Found:
    """The same arrays with room for `size` more bytes of pages; larger ones where they are too small."""
    arrays = list(found)
    needs = zip(_sizes(*filled, places=places), _most_of(size, places=places), strict=True)
    for place, (used, more) in enumerate(needs):
        if arrays[place].size < used + more:
            larger = np.empty(2 * used + more, _KINDS[place])
            larger[:used] = arrays[place][:used]
            arrays[place] = larger
    return page.Found(*arrays)


def _with_block_behind(
    data: NDArray[np.uint8], offsets: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pages with BLOCK readable bytes behind them: a copy where the data end before."""
    if offsets[-1] + BLOCK <= data.size:
        return data, offsets
    longer = np.concatenate([data[offsets[0] : offsets[-1]], np.zeros(BLOCK, np.uint8)])
    return read_only(longer), read_only(offsets - offsets[0])


def _assemble(found: page.Found, rows: NDArray[np.int64]) -> Markup:
    """The filled parts of the arrays, and the columns of `rows`, each as an array of its own."""
    columns = np.ascontiguousarray(rows.T)
    pages = columns[:, 1:]
    filled = _sizes(*columns[: page.FILLED, -1].tolist(), places=found.places.size > 0)
    tags, places, text, titles, *others = (array[:size] for array, size in zip(found, filled, strict=True))
    link_starts, link_lengths, link_flags, block_ends, block_links, block_openers = others
    return Markup(
        tags=tags,
        tag_places=places,
        tag_offsets=columns[page.TAGS],
        text=text,
        text_offsets=columns[page.TEXT],
        titles=titles,
        title_offsets=columns[page.TITLES],
        link_starts=link_starts,
        link_lengths=link_lengths,
        link_flags=link_flags,
        link_offsets=columns[page.LINKS],
        block_ends=block_ends,
        block_links=block_links,
        block_openers=block_openers,
        block_offsets=columns[page.BLOCKS],
        base_starts=pages[page.BASE_START],
        base_lengths=pages[page.BASE_LENGTH],
        hidden_words=pages[page.HIDDEN_WORDS],
        flags=pages[page.FLAGS].astype(np.uint8),
        steps=pages[page.STEPS],
    )


def prose_of(found: Markup) -> Prose:
    """The prose of pages."""
    kinds = read_only(_block_kinds()[found.block_openers])
    blocks = prose_kernel.Blocks(
        read_only(found.block_ends), read_only(found.block_links), kinds, read_only(found.block_offsets)
    )
    return _found_prose(found.text, found.text_offsets, blocks)


def prose_of_texts(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Prose:
    """The prose of plain texts, such as mails: text i is data[offsets[i]:offsets[i+1]]."""
    sizes = read_only(np.diff(offsets))
    kinds = read_only(np.full(sizes.size, prose_kernel.PREFORMATTED, np.uint8))
    blocks = prose_kernel.Blocks(sizes, read_only(np.zeros_like(sizes)), kinds, read_only(np.arange(sizes.size + 1)))
    return _found_prose(data, offsets, blocks)


def _found_prose(data: NDArray[np.uint8], offsets: NDArray[np.int64], blocks: prose_kernel.Blocks) -> Prose:
    data, offsets = read_only(data), read_only(offsets)
    _check(data, offsets)
    size = int(offsets[-1] - offsets[0])
    prose = np.empty(size + prose_kernel.SEPARATOR * (size // prose_kernel.MIN_WORDS + 1), np.uint8)
    found = np.zeros((offsets.size - 1, 3), np.int64)
    prose_kernel.find_prose(data, offsets, blocks, _prose_tables(), prose, found)
    lengths = np.concatenate([np.zeros(1, np.int64), found[:, 0]])
    return Prose(prose[: lengths[-1]].copy(), lengths, found[:, 2].copy(), found[:, 1].copy())


@functools.cache
def _prose_tables() -> prose_kernel.Tables:
    return prose_kernel.Tables(prose_kernel.CLASSES, function_words.slots())


@functools.cache
def _block_kinds() -> NDArray[np.uint8]:
    """What each tag means for the block that it begins. Behind an end tag, text is as any other."""
    kinds = np.zeros(1 << 16, np.uint8)
    for kind, names in (
        (prose_kernel.LISTED, _LISTED),
        (prose_kernel.NEVER, _NEVER_PROSE),
        (prose_kernel.PREFORMATTED, _PREFORMATTED),
    ):
        kinds[[TAG_NAMES.index(name) for name in names.split()]] = kind
    return kinds


def tag_lengths(tags: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """The length of each tag's name in bytes, without the slash of end tags; longer names count as 31."""
    lengths: NDArray[np.uint8] = _lengths()[tags & (END - 1)]
    return lengths


@functools.cache
def _lengths() -> NDArray[np.uint8]:
    lengths = (np.arange(END) // tagnames.UNKNOWN).astype(np.uint8)
    lengths[: len(TAG_NAMES)] = [len(name) for name in TAG_NAMES]
    return lengths


def link_hosts(data: NDArray[np.uint8], offsets: NDArray[np.int64], found: Markup) -> NDArray[np.uint64]:
    """A hash of the host of each link that `parse_pages` found in these data; 0 for relative links."""
    spans = found.link_offsets, found.link_starts, found.link_lengths
    return link_kernels.link_hosts(data, offsets[:-1], *spans, _tables().references)


def decode_value(value: bytes) -> str:
    """The value of an attribute as it is meant, from how it stands in the source."""
    decoded = markup.decode_value(np.frombuffer(value, np.uint8), _tables().references)
    return decoded.tobytes().decode("utf-8", "replace")


def _parse_one(content: bytes, *, attribute_texts: bool = False, places: bool = False) -> Markup:
    """One page without limits: who asks for all of it gets all of it, and the time is linear."""
    offsets = np.array([0, len(content)])
    data = np.frombuffer(content, np.uint8)
    return parse_pages(data, offsets, limits=_NO_LIMITS, attribute_texts=attribute_texts, places=places)


def visible_text(content: bytes, *, attribute_texts: bool = False) -> str:
    """The text that a page shows, as described above."""
    return _parse_one(content, attribute_texts=attribute_texts).text.tobytes().decode("utf-8", "replace")


def prose_text(content: bytes) -> str:
    """The prose that a page shows."""
    return prose_of(_parse_one(content)).text.tobytes().decode("utf-8", "replace")


def title(content: bytes) -> str:
    """The text of a page's first `<title>`, its white space folded as browsers do."""
    return _SPACES.sub(" ", _parse_one(content).titles.tobytes().decode("utf-8", "replace")).strip(" ")


def tag_names(content: bytes) -> list[str]:
    """The names of a page's tags in source order and lower case, those of end tags with a slash before them."""
    return [name for name, _ in tag_places(content)]


def tag_places(content: bytes) -> list[tuple[str, int]]:
    """The names of a page's tags, as above, and where each name stands."""
    found = _parse_one(content, places=True)
    tags = zip(found.tags.tolist(), found.tag_places.tolist(), strict=True)
    return [("/" * (tag >= END) + _name_at(content, place), place) for tag, place in tags]


def _name_at(content: bytes, place: int) -> str:
    spelling = _NAME.match(content, place)
    return spelling[0].lower().decode("utf-8", "replace").replace("\0", "\ufffd") if spelling else ""


def links(content: bytes) -> list[Link]:
    """The links of a page: `<a>` and `<area>` elements that have an address."""
    found = _parse_one(content)
    spans = zip(found.link_starts.tolist(), found.link_lengths.tolist(), found.link_flags.tolist(), strict=True)
    return [
        Link(
            decode_value(content[start : start + length]),
            nofollow=bool(flags & NOFOLLOW),
            ugc=bool(flags & UGC),
            sponsored=bool(flags & SPONSORED),
            inert=bool(flags & INERT),
        )
        for start, length, flags in spans
    ]
