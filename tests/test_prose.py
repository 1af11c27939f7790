"""Prose is told from menus, lists, tables and code, and equals a readable reference; hidden text is left out."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samehand import html
from samehand.base.buffers import end_to_end
from samehand.kernels.text import function_words
from samehand.kernels.text import prose as kernel

SENTENCES = (
    "The committee met on the first day of the month, and it was said that the members of the board had not been told."
    " Nobody in the room could say why that was so."
)
GERMAN = (
    "Der Ausschuss trat am ersten Tag des Monats zusammen, und es wurde gesagt, dass die Mitglieder nichts wussten."
)
RUSSIAN = "Комитет собрался в первый день месяца, и было сказано, что члены совета об этом не знали и не могли знать."
JAPANESE = (
    "委員会は月の初日に開かれ、理事会の委員にはそのことが知らされていなかったと述べられた。誰もその理由を言えなかった。"
)
ARABIC = "اجتمعت اللجنة في اليوم الأول من الشهر وقيل إن أعضاء المجلس لم يعلموا بذلك ولم يعرفوا السبب أبدا."
SALAD = (
    "Glass mountain review purple engines borrow. Window salt carries northern habits quickly. Paper violin measures"
    " distant garden. Seven candle arguments follow river."
)
MENU = "Home Products Services Team Careers Press Support Contact Imprint Privacy Terms Sitemap Login Register"
NAMES = (
    "Anna Smith. Peter Jones. Mary Brown. John Miller. Susan Clark. David Lewis. Karen Walker. Paul Young. Ruth Hill."
)
TAGS = (
    "shoes, boots, leather, black, sale, women, men, winter, size, cheap, buy, online, store, fashion, brand, new, hot"
)
CODE = (
    "for (i = 0; i < n; i++) { total += values[i]; } return total / n; if (x == y) { print(x); } else { stop(); } done"
)
TITLES = "A Rose for Emily The Lord of the Flies Of Mice and Men To Kill a Mockingbird The Catcher in the Rye Hamlet"
PRICES = (
    "Model A1 $19.99 Model B2 $29.99 Model C3 $39.99 Model D4 $49.99 Model E5 $59.99 Model F6 $69.99 Model G7 $79.99"
)


@pytest.mark.parametrize("text", [SENTENCES, GERMAN, RUSSIAN, JAPANESE, ARABIC, SALAD])
def test_running_sentences_are_prose_in_any_language(text: str) -> None:
    assert html.prose_text(f"<p>{text}</p>".encode()) == f"{text}\n\n"


@pytest.mark.parametrize(
    "text", [MENU, NAMES, TITLES, TAGS, CODE, PRICES, "The end of it.", "word " * 500, "αβγ δεζ. " * 50]
)
def test_lists_code_and_short_lines_are_not(text: str) -> None:
    assert html.prose_text(f"<p>{text}</p>".encode()) == ""
    assert html.prose_of_texts(*end_to_end([text.encode()])).text.size == 0


@pytest.mark.parametrize(
    ("page", "is_prose"),
    [
        ("<p>{}</p>", True),
        ("{}", True),
        ("<li>{}</li>", True),
        ("<p>See <a href=x>this</a>: {}</p>", True),
        ("<a href=x>{}</a>", False),
        ("<a name=x>{}</a>", True),
        ("<div><a href=x><h2>{}</h2></a></div>", False),
        ("<option>{}</option>", False),
        ("<pre>{}</pre>", True),
        ("<script>{}</script>", False),
        ("<p hidden>{}</p>", False),
    ],
)
def test_markup_decides_too(page: str, is_prose: bool) -> None:
    assert (SENTENCES in html.prose_text(page.format(SENTENCES).encode())) == is_prose


def test_an_item_of_a_list_or_a_short_paragraph_needs_the_end_of_a_sentence() -> None:
    title = "the fall of the house of usher and other tales of the night"
    assert html.prose_text(f"<p>{title}.</p><p>{title} and {title}</p>".encode()).count("usher") == 3
    assert not html.prose_text(f"<p>{title}</p><li>{title} and {title}</li><td>{title}</td>".encode())


@pytest.mark.parametrize("end", ["...", " …", " [...]", "… ", "...)"])
def test_a_teaser_is_no_prose_and_a_long_paragraph_that_trails_off_is(end: str) -> None:
    cut = SENTENCES.rstrip(".") + end
    assert not html.prose_text(f"<p>{cut}</p>".encode())
    assert html.prose_text(f"<p>{SENTENCES} {cut}</p>".encode())


@pytest.mark.parametrize("mark", ["> ", " > > ", ") >", "&> ", "--]"])
def test_what_a_mail_quotes_is_not_its_prose(mark: str) -> None:
    lines = re.findall(r".{1,60}(?:\s|$)", SENTENCES)
    quoted = "\n".join(f"{mark}{line}" for line in lines)
    text = f"{quoted}\n{SENTENCES}\n > {SENTENCES}\n{GERMAN}\n"
    found = html.prose_of_texts(*end_to_end([text.encode()]))
    assert found.text.tobytes().decode() == f"{SENTENCES}\n\n{GERMAN}\n\n"
    assert found.all_words.tolist() == [3 * found.words[0] - 2 * len(GERMAN.split())]


def test_two_line_breaks_end_a_block_and_one_does_not() -> None:
    first, second = SENTENCES[:60], SENTENCES[60:]
    assert html.prose_text(f"{first}<br>{second}".encode()) == f"{first} {second}\n\n"
    assert html.prose_text(f"{MENU}<br> <br/>\n{SENTENCES}".encode()) == f"{SENTENCES}\n\n"


def test_plain_text_has_paragraphs() -> None:
    wrapped = "\n".join(re.findall(r".{1,60}(?:\s|$)", SENTENCES))
    text = f"{wrapped}\n|\n{MENU}\n----\n{SENTENCES}\n{SENTENCES}\n{MENU}\n"
    found = html.prose_of_texts(*end_to_end([b"", text.encode(), MENU.encode()]))
    assert found.text.tobytes().decode() == f"{wrapped}\n\n{SENTENCES}\n\n{SENTENCES}\n\n"
    assert np.diff(found.offsets).tolist() == [0, found.text.size, 0]
    words = len(re.findall(r"\w+", SENTENCES))
    menu = len(MENU.split())
    assert found.words.tolist() == [0, 3 * words, 0]
    assert found.all_words.tolist() == [0, 3 * words + 2 * menu, menu]


@given(st.lists(st.sampled_from([SENTENCES, GERMAN, SALAD, MENU, NAMES, JAPANESE]), max_size=5))
def test_the_prose_of_prose_is_the_same(parts: list[str]) -> None:
    page = "".join(f"<div>{part}</div>" for part in parts).encode()
    prose = html.prose_text(page).encode()
    assert html.prose_of_texts(*end_to_end([prose])).text.tobytes() == prose


# The reference.

LISTED = {word for word in function_words.WORDS.split() if len(word.encode()) <= 8}
MARK = r"\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f\x80-\xbf\u2000-\u2fff\u3000-\u303f\uff00-\uffff"


def lowered(word: str) -> str:
    return re.sub("[A-Z]", lambda letter: letter[0].lower(), word)


def facts_of(text: str) -> dict[str, int]:
    words = re.findall(f"[^{MARK}]+", text)
    long = [len(word.encode()) for word in words]
    sizes = [size // 9 if word[0] >= "\x80" and size > 24 else 1 for word, size in zip(words, long, strict=True)]
    unlisted = [word.encode()[0] >= 0xD6 for word in words]
    return {
        "words": sum(sizes),
        "function": sum(lowered(word) in LISTED and not far for word, far in zip(words, unlisted, strict=True)),
        "unlisted": sum(size for size, far in zip(sizes, unlisted, strict=True) if far),
        "ends": len(re.findall(r"(?<=[^\x00-\x20])[.!?](?=[\x00-\x20\"')\]\x80-\xbf\u2000-\u2fff]|$(?!\n))", text))
        + len(re.findall("[\u3002\uff01\uff41]", text)),
        "capitals": sum("A" <= word[0] <= "Z" and not "A" <= word[1:2] <= "Z" for word in words),
        "commas": len(re.findall("[,;|]", text)),
        "numbers": sum("0" <= word[0] <= "9" for word in words),
        "symbols": len(re.findall(r"[{}\[\]=+*\\|_$#^~;]", text)),
    }


PIECES = [
    "the",
    "Of",
    "und",
    "glass",
    "Word",
    "WORD",
    "A",
    "9",
    "ab1",
    "é",
    "και",
    "я",
    "не",
    "委員会は月の初日に",
    "สวัสดีครับผมชื่อ",
    "עברית",
    " ",
    ".",
    ". ",
    "! ",
    ", ",
    "?)",
    "。",
    "’",
    "«",
    "\n",
    "|",
    "x" * 30,
]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_what_is_counted_equals_the_reference(text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    facts = kernel.count_facts(data, kernel.Tables(kernel.CLASSES, function_words.slots()))
    assert facts.tolist() == list(facts_of(text).values())


@given(st.binary(max_size=300), st.integers(0, 7))
def test_any_bytes_get_an_answer_within_the_room(data: bytes, cut: int) -> None:
    offsets = np.array([0, min(cut, len(data)), len(data)])
    found = html.prose_of_texts(np.frombuffer(data, np.uint8), offsets)
    assert (np.diff(found.offsets) >= 0).all()
    assert (found.words <= found.all_words).all()
