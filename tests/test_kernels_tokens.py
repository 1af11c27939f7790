"""The compiled tokenizer gives what a readable one gives, on any bytes."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import token_classes as kind
from samehand.kernels.text.tokens import LONGEST, MOST_QUOTES, NARROW, WIDE
from samehand.methods.language.tokens import tokenize

KINDS = kind.character_kinds()
HINTS = dict(zip(*(column.tolist() for column in kind.word_hints()), strict=True))
LETTERS = (kind.LOWER, kind.UPPER, kind.OTHER)
STARTS = (*LETTERS, kind.DIGIT)
INNER = (*STARTS, kind.JOIN)
BLANKS = (kind.BLANK, kind.BREAK, kind.JOIN)
END = -1


class Reference:
    """One text as characters with their kinds; places are numbers of characters."""

    def __init__(self, text: bytes) -> None:
        self.characters: list[str] = []
        self.places = [0]
        for piece in re.split("([\udc80-\udcff])", text.decode("utf-8", "surrogateescape")):
            for character in piece:
                self.characters.append("\0" if 0xDC80 <= ord(character) <= 0xDCFF else character)
                self.places.append(self.places[-1] + len(character.encode("utf-8", "surrogateescape")))
        self.size = len(self.characters)
        self.tokens: list[tuple[int, int]] = []
        self.sentences = [0]
        self.cut = 0

    def kind(self, place: int) -> int:
        return int(KINDS[ord(self.characters[place])]) if place < self.size else kind.BLANK

    def char(self, place: int) -> str:
        return self.characters[place] if place < self.size else ""

    def text(self, start: int, stop: int) -> str:
        return "".join(self.characters[start:stop])

    def bytes(self, start: int, stop: int) -> int:
        return self.places[stop] - self.places[start]

    def hint(self, word: str) -> int:
        data = word.encode()
        return HINTS.get(kind.packed(data), 0) if len(data) <= kind.LONGEST_HINT else 0

    def after_blanks(self, place: int) -> tuple[int, int]:
        stop = place
        while stop < self.size and self.kind(stop) in BLANKS:
            stop += 1
        run = self.text(place, stop)
        return stop, sum(self.kind(at) == kind.BREAK for at in range(place, stop)) - run.count("\r\n")

    def clitic(self, place: int) -> int:
        found = re.match("(?:[smd]|ll|re|ve)", self.text(place, place + 2), re.IGNORECASE | re.ASCII)
        return len(found[0]) if found and self.kind(place + len(found[0])) not in INNER else 0

    def address_end(self, start: int, place: int) -> int:
        good = place
        while place < self.size and self.bytes(start, place) < LONGEST:
            here = self.kind(place)
            stops = (kind.CLOSER, kind.OPENER, kind.QUOTE, kind.FULL_STOP, kind.IDEOGRAPH, kind.BLANK, kind.BREAK)
            if here in stops or self.char(place) in "<>":
                break
            place += 1
            if here not in (kind.PERIOD, kind.COMMA, kind.TERMINAL, kind.PUNCTUATION, kind.APOSTROPHE):
                good = place
        return good

    def joined(self, start: int, place: int) -> int:
        """The place up to which the word goes on at a mark; the same place if it does not."""
        here, after = self.kind(place), self.kind(place + 1)
        if here == kind.APOSTROPHE:
            if after not in LETTERS or self.clitic(place + 1):
                return place
            is_not = self.char(place - 1) in "nN" and self.char(place + 1) in "tT" and place - 1 > start
            return place - 1 if is_not and self.kind(place + 2) not in INNER else place + 1
        if here == kind.PERIOD and after == kind.HYPHEN and self.char(place + 1) == "-":
            after = self.kind(place + 2)
        if here in (kind.PERIOD, kind.HYPHEN, kind.LINK):
            return place + (after in STARTS)
        if here in (kind.COMMA, kind.RANGE):
            if after == kind.DIGIT and self.kind(place - 1) == kind.DIGIT:
                return place + 1
            if self.text(place, place + 3) == "://":
                return self.address_end(start, place + 3)
        return place

    def word_end(self, start: int) -> int:
        place = start
        is_plain = True
        while place < self.size and self.bytes(start, place) < LONGEST:
            if self.kind(place) in INNER:
                place += 1
                continue
            before, place = place, self.joined(start, place)
            if place <= before:
                break
            is_plain = False
        word = self.text(start, place)
        return start + 3 if is_plain and self.hint(word) & kind.SPLIT else place

    def mark_end(self, place: int, is_free: bool) -> int:
        here, character = self.kind(place), self.char(place)
        if here in (kind.PERIOD, kind.HYPHEN) and is_free and self.kind(place + 1) == kind.DIGIT:
            return self.word_end(place + 1)
        stop = place + 1
        if here == kind.APOSTROPHE:
            return stop + (self.clitic(stop) or self.char(stop) == character)
        while here in (kind.PERIOD, kind.HYPHEN, kind.SYMBOL) and self.bytes(place, stop) < LONGEST:
            if self.char(stop) != character:
                break
            stop += 1
        return stop

    def follow(self, place: int) -> tuple[int, int | str, int]:
        closed = place
        while closed < place + MOST_QUOTES and self.kind(closed) in (kind.CLOSER, kind.QUOTE, kind.APOSTROPHE):
            closed += 1
        if self.kind(closed) not in BLANKS:
            return closed, "glued", closed
        following, breaks = self.after_blanks(closed)
        if following >= self.size or breaks > 1:
            return closed, "nothing", following
        opening = (kind.OPENER, kind.QUOTE, kind.APOSTROPHE, kind.HYPHEN, kind.RANGE, kind.BLANK)
        begin = following
        while following < min(begin + MOST_QUOTES, self.size) and self.kind(following) in opening:
            following += 1
        return closed, self.kind(following), following

    def period(self, start: int, stop: int, is_alone: bool) -> tuple[bool, bool, int]:
        """Whether the period is part of the word, whether it ends the sentence, and where."""
        closed, following, place = self.follow(stop + 1)
        word = self.text(start, stop)
        parts = word.split(".")
        are_letters = all(len(part) == 1 for part in parts) and all(
            self.kind(at) in LETTERS for at in range(start, stop, 2)
        )
        is_acronym = are_letters and len(parts) > 1
        hint = self.hint(word)
        if following == "nothing":
            return is_acronym, True, closed
        is_number = self.kind(start) == kind.DIGIT and self.bytes(start, stop) <= 3
        is_item = is_alone and ((are_letters and not is_acronym) or is_number) and following != "glued"
        if is_item or hint & kind.NEVER or (hint & kind.NUMBERED and following == kind.DIGIT):
            return True, False, closed
        if hint & kind.PERHAPS or are_letters:
            begun = re.match("[A-Za-z]*", self.text(place, place + 20))
            ends = following == kind.UPPER and bool(begun and self.hint(begun[0]) & kind.STARTER)
            return is_acronym or not ends, ends, closed
        if following == kind.LOWER:
            return False, self.bytes(start, stop) >= 4 and closed == stop + 1, closed
        no_end = ("glued", kind.COMMA, kind.CLOSER, kind.TERMINAL, kind.PERIOD)
        return False, following not in no_end, closed

    def mark_ends(self, place: int, after: int) -> int:
        if self.kind(after) in (kind.TERMINAL, kind.PERIOD, kind.FULL_STOP) and after < self.size:
            return END
        closed, following, _ = self.follow(after)
        if self.kind(place) == kind.FULL_STOP:
            return closed
        return END if following in ("glued", kind.LOWER, kind.COMMA, kind.CLOSER) else closed

    def is_bullet(self, place: int) -> bool:
        number = re.match(r"[0-9]{1,3}[.)]", self.text(place, place + 4))
        if number:
            return self.kind(place + len(number[0])) == kind.BLANK
        marks = (kind.SYMBOL, kind.HYPHEN, kind.RANGE, kind.PUNCTUATION)
        return self.kind(place) in marks and self.kind(place + 1) == kind.BLANK

    def break_ends(self, line: int, place: int, following: int) -> bool:
        no_begin = (kind.LOWER, kind.COMMA, kind.CLOSER, kind.TERMINAL, kind.FULL_STOP, kind.PERIOD)
        start, stop = self.tokens[-1]
        if self.kind(following) in no_begin or self.char(start) == ",":
            return False
        if self.kind(start) in (kind.OPENER, kind.HYPHEN) or self.hint(self.text(start, stop)) & kind.HANGING:
            return False
        return self.is_bullet(following) or not NARROW <= place - line <= WIDE

    def end_sentence(self) -> None:
        if len(self.tokens) > self.sentences[-1]:
            self.sentences.append(len(self.tokens))

    def read(self) -> "Reference":
        place = line = 0
        stop = END
        while place < self.size:
            here = self.kind(place)
            if here in (kind.BLANK, kind.JOIN):
                place += 1
                continue
            begun = len(self.tokens) > self.sentences[-1]
            if here == kind.BREAK:
                after, breaks = self.after_blanks(place)
                if begun and (breaks > 1 or self.break_ends(line, place, after)):
                    stop = place
                line = after
            elif here in STARTS:
                after = self.word_end(place)
                self.cut += self.bytes(place, after) >= LONGEST
                if self.char(after) == "." and self.char(after + 1) != ".":
                    attached, ends, closed = self.period(place, after, not begun)
                    stop = closed if ends else stop
                    self.tokens.append((place, after + attached))
                    if not attached:
                        self.tokens.append((after, after + 1))
                    after += 1
                else:
                    self.tokens.append((place, after))
            else:
                after = self.mark_end(place, not begun or self.tokens[-1][1] < place)
                self.cut += self.bytes(place, after) >= LONGEST
                self.tokens.append((place, after))
                if here in (kind.TERMINAL, kind.FULL_STOP) or (here == kind.PERIOD and self.char(after - 1) == "."):
                    closed = self.mark_ends(place, after)
                    stop = closed if closed != END else stop
            place = after
            if stop != END and place >= stop:
                self.end_sentence()
                stop = END
        self.end_sentence()
        return self


def check_equal(texts: list[bytes]) -> None:
    data = np.frombuffer(b"".join(texts), np.uint8)
    offsets = np.cumsum([0, *map(len, texts)])
    found = tokenize(data, offsets)
    spans, sentences, bounds, cut = [], [0], [0], 0
    for text, base in zip(texts, offsets.tolist(), strict=False):
        wanted = Reference(text).read()
        sentences += [len(spans) + end for end in wanted.sentences[1:]]
        spans += [(base + wanted.places[start], base + wanted.places[stop]) for start, stop in wanted.tokens]
        bounds.append(len(sentences) - 1)
        cut += wanted.cut
    assert list(zip(found.starts.tolist(), found.ends.tolist(), strict=True)) == spans
    assert found.sentences.tolist() == sentences
    assert found.texts.tolist() == bounds
    assert found.cut == cut


WORDS = """the The a A I it U.S e.g Mr Dr. Inc etc. No no. cannot gonna don't n't 's 'll ve 5 10,000 3.5 .5 -3 12:30 http://
a://b x@y.z and/or J. 1. a) word words wörld né É наш А. 你 好 。 ！ ๆไทย カナ ひ . .. ... … , ; : ! ? - -- – — ' ’ ''
` `` " “ ” ( ) [ ] < > « » * ** = ==== # $ % & @ / // _ __ • 😀 😀😀 of and"""
HIDDEN = ["e\u0301", "\u00ad", "\u200b", "\ufeff", "\0", "\x85", "\u2028"]
PIECES = st.sampled_from([*WORDS.split(), *HIDDEN])
SPACES = st.sampled_from(["", "", "", " ", " ", " ", "  ", "\n", "\n", "\r\n", "\n\n", "\n \n", "\t"])
TEXTS = st.lists(st.tuples(PIECES, SPACES), max_size=40).map(lambda parts: "".join(map("".join, parts)).encode())


@settings(max_examples=600)
@given(st.lists(st.one_of(TEXTS, st.binary(max_size=40), st.text(max_size=40).map(str.encode)), max_size=4))
def test_any_text_is_cut_as_the_reference_cuts_it(texts: list[bytes]) -> None:
    check_equal(texts)


@settings(max_examples=100)
@given(PIECES, st.integers(30, 140), TEXTS)
def test_long_runs_are_cut_as_the_reference_cuts_them(piece: str, times: int, rest: bytes) -> None:
    check_equal([(piece * times).encode() + rest])


@settings(max_examples=100)
@given(st.lists(TEXTS.map(lambda text: text.replace(b"\n", b" ")), min_size=2, max_size=5), st.integers(25, 60))
def test_lines_of_many_widths_end_as_the_reference_has_it(lines: list[bytes], width: int) -> None:
    check_equal([b"\n".join((line * 20)[: width + 20 * number] for number, line in enumerate(lines))])


@pytest.mark.parametrize("size", [1 << 18, (1 << 20) - 1, 1 << 20, (1 << 20) + 1])
def test_chunks_leave_no_trace(size: int) -> None:
    text = (b"Mr. Smith can't come. He said so!\n" * (size // 34 + 1))[:size]
    whole = tokenize(np.frombuffer(text * 2, np.uint8), np.array([0, size, 2 * size]))
    single = tokenize(np.frombuffer(text, np.uint8), np.array([0, size]))
    assert np.array_equal(whole.starts, np.concatenate([single.starts, single.starts + size]))
    assert np.array_equal(
        whole.sentences, np.concatenate([single.sentences, single.sentences[1:] + single.starts.size])
    )
    assert whole.texts.tolist() == [0, single.texts[1], 2 * single.texts[1]]
