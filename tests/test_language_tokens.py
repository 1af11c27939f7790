"""Words and sentences of real prose: the rules by example, and beside a tokenizer that others wrote."""

import numpy as np
import pytest

from language_corpus import words_of
from samehand.base.errors import UsageError
from samehand.methods.language.tokens import Tokens, tokenize

PROSE = """
Mr. Arkwright hadn't expected the 8:15 train to be late; it never was. "You'll miss the boat," said his wife, "and you
know it." He cannot have heard her. Dr. J. R. Hale (the firm's doctor since 1974) lives in St. Ives. They've sold
1,250 copies at $12.99 each, i.e. more than $16,000 in all. The U.S. economy grew 3.5% in the first quarter,
economists said. The year-to-date figures weren't available. Isn't that O'Neill's dog? It's the dogs' dinner... Who'd
have thought it? She asked: where are the keys? No. 7 was empty. He said no. Then he left! "What?" cried the boy. We
met at 10 a.m. on Jan. 5 near Washington, D.C. The talks went on. Acme Widgets Inc. said it would pay a dividend.
Profits at Acme Inc. The board was silent. See Fig. 3 and p. 12 of vol. 2 for the details. A well-known,
state-of-the-art and/or home-made device hummed. I'm sure he'd've come if he could. I wanna go; you gotta stay. The
so-called "experts" weren't impressed [sic]. Prof. Dr. Meier spoke of 0.75 vs. 0.8 -- a small gain. At 3 o'clock the
bell rang, and they ran. The rest (about 40%) wasn't sold. Is 50 too many? Yes, it is. Don't! Lt. Col. Brown's men
marched on. In the '90s nobody cared. The ratio was 2/3; the score 4-2. One, two, three: go. Sentences may end in an
ellipsis... They may also end in etc. The next begins here. "It doesn't matter," she said. "Let's go." You're right,
they're wrong, and we'll see. What's done is done. That'll do. He earned 5,000 dollars, spent 4,999.99 and kept 1
cent. R&D costs rose. Up to 30% off! Item #4 is gone. Rock bands such as the Who toured. Gen. Lee met Sen. Smith in
Mt. Vernon. The cost (in thousands) was 1.5. Nothing else changed. Tea for two? Coffee; milk; sugar. The children's
books weren't theirs. Old Mrs. Dale, aged 92, can't hear. We shan't. Why not? It rained for 40 days, didn't it?
Nobody's perfect. All's well that ends well; so be it. Sgt. Pepper taught the band to play.
"""


def read(*texts: str) -> Tokens:
    parts = [text.encode() for text in texts]
    return tokenize(np.frombuffer(b"".join(parts), np.uint8), np.cumsum([0, *map(len, parts)]))


def sentences(text: str) -> list[str]:
    found = read(text)
    return [" ".join(words_of(found, number)) for number in range(found.sentences.size - 1)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("He can't. She's here.", ["He ca n't .", "She 's here ."]),
        ("He can\u2019t; it\u2019s I\u2019ll", ["He ca n\u2019t ; it \u2019s I \u2019ll"]),
        ("In the U.S. he won.", ["In the U.S. he won ."]),
        ("He left the U.S. The end", ["He left the U.S.", "The end"]),
        ("Mr. A. B. Smith (b. 1950).", ["Mr. A. B. Smith ( b. 1950 ) ."]),
        ("No. 5 is no. Well", ["No. 5 is no .", "Well"]),
        ("$1,000.50, 5%", ["$ 1,000.50 , 5 %"]),
        ("See https://a.b/c?d=1, ok", ["See https://a.b/c?d=1 , ok"]),
        ("U.S.-based me@a.org and/or", ["U.S.-based me@a.org and/or"]),
        ('He said "Go." Then left', ['He said " Go . "', "Then left"]),
        ('"Go!" he said', ['" Go ! " he said']),
        ("so it goes. and on", ["so it goes .", "and on"]),
        ("你好。我是", ["你 好 。", "我 是"]),
        ("Привет, мир! Да", ["Привет , мир !", "Да"]),
        ("naïve cafe\u0301 na\u00efve", ["naïve cafe\u0301 na\u00efve"]),
        ("a\x00b\x01c", ["a b c"]),
        ("====== --- **", ["====== --- **"]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("", []),
        (" \n\t\x00", []),
    ],
)
def test_rules_by_example(text: str, wanted: list[str]) -> None:
    assert sentences(text) == wanted


@pytest.mark.parametrize("width", [56, 72, 80, 95])
def test_a_wrapped_paragraph_has_the_sentences_of_one_long_line(width: int) -> None:
    words = PROSE.split()
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    assert sentences("\n".join(lines)) == sentences(" ".join(words))


def test_lines_of_a_page_are_sentences_of_their_own() -> None:
    menu = (
        "Home\nAbout us\nContact\n\nA heading\nThe first paragraph,\nbroken in its source. It ends here\n* one\n* two"
    )
    assert sentences(menu) == [
        *("Home", "About us", "Contact", "A heading"),
        *("The first paragraph , broken in its source .", "It ends here", "* one", "* two"),
    ]


def test_texts_do_not_run_into_each_other() -> None:
    found = read("One two", "", "three. Four")
    assert found.texts.tolist() == [0, 1, 1, 3]
    assert found.sentences.tolist() == [0, 2, 4, 5]


def test_bytes_that_are_no_text_are_blanks() -> None:
    data = np.frombuffer(b"ab\xffcd \xc3 e\xe4\xb8f", np.uint8)
    found = tokenize(data, np.array([0, data.size]))
    assert words_of(found, 0) == ["ab", "cd", "e", "f"]


@pytest.mark.parametrize("piece", [b"a", b"ab ", b".", b"a.", b"?! ", b"\n", b"a\n\n", b"\xff", b'."', b"a'", b"a://"])
def test_a_million_bytes_of_one_thing_are_read(piece: bytes) -> None:
    data = np.frombuffer(piece * (1_000_000 // len(piece)), np.uint8)
    found = tokenize(data, np.array([0, data.size]))
    assert found.starts.size == found.sentences[-1]
    assert (found.ends - found.starts <= 131).all()
    assert (found.starts[1:] >= found.ends[:-1]).all()
    assert (found.cut > 0) == (piece in (b"a", b".", b"a.", b"a'", b"a://"))


def test_offsets_that_do_not_rise_are_refused() -> None:
    with pytest.raises(UsageError, match="offsets"):
        tokenize(np.zeros(4, np.uint8), np.array([0, 5]))


def test_tokens_of_prose_agree_with_nltk() -> None:
    tokenizer = pytest.importorskip("nltk.tokenize", reason="nltk is not installed").NLTKWordTokenizer()
    prose = " ".join(PROSE.split())
    found = read(prose)
    ours: set[tuple[int, int]] = set()
    theirs: set[tuple[int, int]] = set()
    for number in range(found.sentences.size - 1):
        first, last = found.sentences[number], found.sentences[number + 1]
        begin, end = int(found.starts[first]), int(found.ends[last - 1])
        spans = zip(found.starts[first:last].tolist(), found.ends[first:last].tolist(), strict=True)
        ours.update(spans)
        theirs.update((begin + start, begin + stop) for start, stop in tokenizer.span_tokenize(prose[begin:end]))
    assert len(ours & theirs) >= 0.98 * len(ours | theirs)
    assert found.sentences.size - 1 >= 60
