"""The habits of one honest page author, put together from many independent choices.

Quoting, spacing, naming, link shapes, closing slashes, entities, comments, extra attributes, style sheet and script
are all drawn per author, because the noise of a page is made of exactly these.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from tools.demo_crawl.text import words

_Option = TypeVar("_Option")
_SLOT = re.compile(r"@(word|digit|join)@")
_UNQUOTED = re.compile(r"[^\s\"'=<>`]+")
_BLOCKS = words("html head body div table tr ul ol dl form center main nav header footer article aside pre")
_BARE = words("html head title meta link base script style br option caption")
_MAY_STAY_OPEN = words("p li dd dt td th option")
_WORDS = words("main side box top note menu page item list home text left info extra link wide old news")

_LINK_SHAPES = (
    "@name@.html",
    "/@name@/",
    "./@name@.htm",
    "index.php?page=@name@",
    "/?p=@name@&amp;l=en",
    "http://@host@/@name@.html",
    "../@name@/index.shtml",
    "#@name@",
    "/cgi-bin/show.pl?@name@+1",
)
_COMMENTS = (
    "",
    "<!-- @name@ -->",
    "<!--@name@-->",
    "<!-- ===== @name@ ===== -->",
    "<!-- /@name@/ -->",
    "<!-- ## @name@: -->",
    "<!-- *** @name@ *** -->",
)
_APOSTROPHES = ("'", "&rsquo;", "&#39;", "&#x2019;", "\u2019", "`")
_DASHES = (" - ", " -- ", "&mdash;", " &ndash; ", " \u2014 ", "...", "&#8212;")
_SPEECH_MARKS = (('"', '"'), ("&quot;", "&quot;"), ("&ldquo;", "&rdquo;"), ("\u201c", "\u201d"), ("<q>", "</q>"))
_EXTRA_ATTRIBUTES = (
    ("title", "@word@"),
    ("title", "@word@: @word@ (@word@)"),
    ("class", "@word@"),
    ("class", "@word@@join@@word@"),
    ("class", "@word@ @word@@join@@word@"),
    ("id", "@word@@join@@digit@"),
    ("style", "color:#333"),
    ("style", "margin: 0 @digit@px; padding: 0;"),
    ("style", "font: @digit@px/1.4 Georgia, serif"),
    ("style", "width:@digit@%;float:left;"),
    ("align", "center"),
    ("data-@word@", "@digit@"),
    ("data-@word@", "{&quot;@word@&quot;:@digit@}"),
    ("onclick", "return @word@(this);"),
    ("onmouseover", "this.className='@word@';"),
    ("lang", "en-@word@"),
    ("width", "@digit@%"),
    ("bgcolor", "#c@digit@"),
    ("role", "@word@"),
    ("aria-label", "@word@, @word@"),
    ("itemprop", "@word@"),
    ("accesskey", "@digit@"),
    ("nowrap", ""),
)

_SHEET_FORMATS = (
    ("{", ":", ";", "}"),
    (" { ", ": ", "; ", " }\n"),
    (" {\n  ", ": ", ";\n  ", ";\n}\n\n"),
    ("\n{\n\t", " : ", ";\n\t", ";\n\t}\n"),
    ("{", ":", "; ", ";}\n"),
    (" {", ": ", "; ", ";}\n"),
)
_SELECTORS = (
    *("body", "a:hover", ".@word@", "#@word@ p", "h1, h2", "ul > li", "td.@word@", "input[type=text]", "* html"),
    *(".@word@@join@@word@", "p + p", "a:link, a:visited", "#@word@ .@word@ a", "li::before", "/* @word@ */ hr"),
    *("/* --- @word@ --- */ img", "@media print", "table td, table th"),
)
_DECLARATIONS = (
    *(("color", "#333"), ("margin", "0 auto"), ("padding", "0 4px 0 .5em"), ("font", '12px/1.5 "Verdana", sans-serif')),
    *(("background", "#fff url(img/bg.gif) no-repeat"), ("width", "calc(100% - 20px)"), ("line-height", "1.4")),
    *(("border", "1px solid rgba(0,0,0,.3)"), ("font-family", "Georgia, 'Times New Roman', serif"), ("float", "left")),
    *(("text-decoration", "none"), ("-moz-border-radius", "3px"), ("filter", "alpha(opacity=50)"), ("*zoom", "1")),
    *(("display", "block !important"), ("transition", "all .2s ease-in-out"), ("content", r"'\2022'")),
)
_STATEMENTS = (
    "var @word@@eq@@digit@@end@",
    "var @word@@eq@[@list@]@end@",
    "function @word@(@word@,@word@){return @word@+@word@@end@}",
    "function @word@() {\n  @word@@eq@@word@.@word@(@q@@word@@q@)@end@\n}",
    "document.getElementById(@q@@word@@q@).style.display@eq@@q@none@q@@end@",
    "if (!@word@ || @word@ > @digit@) { return false@end@ }",
    "for(var i@eq@0;i<@word@.length;i++)@word@[i]@eq@@word@[i]*@digit@@end@",
    "setTimeout(@q@@word@()@q@, @digit@00)@end@",
    "@word@.push([@list@])@end@",
    "window.onload@eq@function(){@word@()@end@}@end@",
    "// @word@ by @word@, don't touch!",
    "/* @word@ */",
    "document.write(@q@<b>@q@+@word@.getDay()+@q@</b>@q@)@end@",
    "$(@q@#@word@ > .@word@@q@).click(function(){$(this).toggle()@end@})@end@",
    "try{@word@@eq@new @word@(@list@)@end@}catch(e){}",
    "let @word@@eq@@word@ => @word@ % @digit@@end@",
    "@word@@eq@{@word@:@q@@word@@q@,@word@:[@list@]}@end@",
    "if(navigator.userAgent.indexOf(@q@@word@@q@)!=-1)@word@@eq@true@end@",
    "@word@@eq@(@word@==@q@@q@)?@digit@:@word@@end@",
)


@dataclass(frozen=True)
class CoreHabits:
    """Habits to be seen in nearly every tag."""

    quote: str
    spaced: bool
    pad: str
    join: str
    link: str


def distinct_core_habits(rng: random.Random, count: int) -> list[CoreHabits]:
    """`count` different combinations, so that no two authors share every habit by accident."""
    combinations = list(product(('"', "'", ""), (True, False), ("", " "), ("-", "_", "", "--"), _LINK_SHAPES))
    return [CoreHabits(*combination) for combination in rng.sample(combinations, count)]


class Hand:
    """One author: writes elements, links, comments, prose, a style sheet and a script the way only they do."""

    def __init__(self, seed: str, core: CoreHabits) -> None:
        self.core = core
        self._seed = seed
        rng = random.Random(seed)
        self._upper = rng.random() < 0.3
        self._newline = rng.choice(("\n", "\n", "\r\n")) if core.spaced else ""
        self._indent = rng.choice(("", "\t", "  ", "    ")) if core.spaced else ""
        self._equals = rng.choice(("=", "=", "=", "=", " = "))
        self._tag_end = rng.choice(("", "", "", "", " "))
        self._void_end = rng.choice(("", "/", " /"))
        self._leaves_open = rng.random() < 0.3
        self._comment = rng.choice(_COMMENTS)
        self._apostrophe = rng.choice(_APOSTROPHES)
        self._dash = rng.choice(_DASHES)
        self._speech_marks = rng.choice(_SPEECH_MARKS)
        self._extras: dict[str, list[tuple[str, str]]] = {}

    def rng(self, purpose: str) -> random.Random:
        """Random numbers for one purpose: the same whenever this author asks, whatever was asked before."""
        return random.Random(f"{self._seed}:{purpose}")

    def pick(self, purpose: str, options: Sequence[_Option]) -> _Option:
        """The option this author always takes for `purpose`."""
        return self.rng(purpose).choice(options)

    def _named(self, pattern: str, rng: random.Random) -> str:
        """`pattern` with its @word@, @digit@ and @join@ slots filled, each one anew."""

        def value(match: re.Match[str]) -> str:
            if match[1] == "join":
                return self.core.join
            return rng.choice(_WORDS) if match[1] == "word" else str(rng.randint(1, 9))

        return _SLOT.sub(value, pattern)

    def _extra_attributes(self, name: str) -> list[tuple[str, str]]:
        """What this author adds to every tag of one name: up to three attributes, always the same."""
        if name not in self._extras:
            rng = self.rng(f"extras {name}")
            chosen = [] if name in _BARE else rng.sample(_EXTRA_ATTRIBUTES, rng.choice((0, 0, 1, 1, 2, 3)))
            self._extras[name] = [(self._named(key, rng), self._named(value, rng)) for key, value in chosen]
        return self._extras[name]

    def _attribute(self, name: str, value: str) -> str:
        if not value:
            return f" {name}"
        quote = self.core.quote
        if (quote and quote in value) or (not quote and not _UNQUOTED.fullmatch(value)):
            quote = '"'
        return f" {name}{self._equals}{quote}{value}{quote}"

    def _opening(self, name: str, attributes: dict[str, str]) -> str:
        """A tag up to its end; `for_` and `class_` stand for names that Python keeps to itself, _ for -."""
        merged = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
        for key, value in self._extra_attributes(name):
            merged.setdefault(key, value)
        tag = name.upper() if self._upper else name
        return f"<{tag}" + "".join(self._attribute(key, value) for key, value in merged.items())

    def void(self, name: str, /, **attributes: str) -> str:
        """An element that never has content."""
        return self._opening(name, attributes) + self._void_end + ">"

    def element(self, name: str, /, *content: str, **attributes: str) -> str:
        """An element around `content`; blocks stand on lines of their own where the author writes in lines."""
        opening = self._opening(name, attributes) + self._tag_end + ">"
        closing = f"</{name.upper() if self._upper else name}>"
        if name in _BLOCKS:
            return opening + self._indented(self.lines("", *content)) + self._newline + closing
        if self._leaves_open and name in _MAY_STAY_OPEN:
            closing = ""
        return opening + self.core.pad + "".join(content) + self.core.pad + closing

    def _indented(self, text: str) -> str:
        return text.replace(self._newline, self._newline + self._indent) if self._newline else text

    def lines(self, *parts: str) -> str:
        return self._newline.join(parts)

    def link(self, name: str, text: str, *, host: str) -> str:
        target = self.core.link.replace("@name@", name).replace("@host@", host)
        return self.element("a", text, href=target)

    def comment(self, name: str) -> str:
        return self._comment.replace("@name@", name)

    def prose(self, text: str) -> str:
        """`text` with the author's own apostrophes, dashes and speech marks."""
        opening, closing = self._speech_marks
        text = text.replace(" - ", self._dash).replace("'", self._apostrophe)
        return re.sub(r'"([^"]*)"', lambda match: opening + match[1] + closing, text)

    def style_sheet(self) -> str:
        rng = self.rng("style sheet")
        opening, colon, between, closing = rng.choice(_SHEET_FORMATS)
        rules = []
        for _ in range(rng.randint(5, 14)):
            declarations = rng.sample(_DECLARATIONS, rng.randint(1, 5))
            inner = between.join(f"{name}{colon}{value}" for name, value in declarations)
            rules.append(self._named(rng.choice(_SELECTORS), rng) + opening + inner + closing)
        return "".join(rules)

    def script(self) -> str:
        rng = self.rng("script")
        habits = {"@q@": rng.choice(("'", '"')), "@eq@": rng.choice(("=", " = ")), "@end@": rng.choice((";", ";", ""))}
        statements = []
        for statement in rng.sample(_STATEMENTS, rng.randint(4, 9)):
            statement = statement.replace("@list@", ", ".join(["@q@@word@@q@"] * rng.randint(1, 6)))
            for slot, habit in habits.items():
                statement = statement.replace(slot, habit)
            statements.append(self._named(statement, rng))
        return "\n".join(statements)
