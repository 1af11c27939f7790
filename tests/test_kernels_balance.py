"""Brackets and quotes without a partner: the counts against a readable reading, text by text."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import balance as kernel

ROLES = {"(": 1, ")": 2, '"': 3, "“": 4, "”": 5, ":": 6}


def counts_of(sentences):
    """Brackets, those alone, quotes, those alone, of one text: sentences of words."""
    brackets = alone = quotes = odd = 0
    opened, is_quoted, place = [], False, 0
    for words in sentences:
        for number, word in enumerate(words):
            if ROLES.get(word, 0) not in (0, 6) and opened and place + number - opened[-1] > kernel.LONGEST:
                alone += len(opened)
                opened = []
            if word == "(":
                brackets += 1
                opened.append(place + number)
                opened = [opened[-1]] * len(opened)  # the last bracket says how long all have been open
            elif word == ")" and opened:
                brackets += 1
                opened.pop()
            elif word == ")" and (number == 0 or words[number - 1] != ":"):
                brackets, alone = brackets + 1, alone + 1
            elif word in "“”":
                quotes += 1
                odd += is_quoted == (word == "“")
                is_quoted = word == "“"
        place += len(words)
        quotes += '"' in words
        odd += words.count('"') % 2
    return [brackets, alone + len(opened), quotes, odd]


def found_in(texts):
    sentences = [words for text in texts for words in text]
    roles = np.array([ROLES.get(word, 0) for words in sentences for word in words], np.uint8)
    bounds = np.cumsum([0, *map(len, sentences)])
    return kernel.unpaired_marks(roles, bounds, np.cumsum([0, *map(len, texts)])).tolist()


words_of = st.lists(st.sampled_from([*ROLES, "word", "word " * 2]), min_size=1, max_size=30)


@given(st.lists(st.lists(words_of, max_size=6), max_size=4))
@settings(max_examples=100, deadline=None)
def test_counts_equal_a_readable_reading(texts):
    assert found_in(texts) == [counts_of(text) for text in texts]


def test_what_is_open_for_long_is_forgotten():
    text = ["(", *["word"] * kernel.LONGEST, ")"]
    assert found_in([[text]]) == [[2, 2, 0, 0]]
    assert found_in([[text[:1] + text[2:]]]) == [[2, 0, 0, 0]]


def test_faces_and_items_need_no_partner():
    assert found_in([[[":", ")"]], [["word", ")"]]]) == [[0, 0, 0, 0], [1, 1, 0, 0]]


def test_each_text_is_read_for_itself():
    texts = [[["(", "word"]], [["word", ")"]]]
    assert found_in(texts) == [found_in([text])[0] for text in texts]
    assert list(itertools.chain(*found_in(texts))) == [1, 1, 0, 0] * 2
