"""Repeated words that look inserted: the sums against a readable count, text by text."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samehand.kernels.text import insertions as kernel

CLASSES = 5


def logs_of(seed):
    random = np.random.Generator(np.random.PCG64(seed))
    return kernel.ClassLogs(
        random.integers(0, 256, (CLASSES,) * 3).astype(np.uint8),
        random.normal(-3, 2, (CLASSES,) * 2).astype(np.float32),
        random.normal(-3, 2, CLASSES).astype(np.float32),
        1 / 16,
    )


def sums_of(text, logs):
    """The columns of one text of sentences of (class, word, what it is), as they are defined."""
    found = {}
    row = [0.0] * kernel.COLUMNS
    for sentence in text:
        classes = [0, *(number for number, _, _ in sentence), 0]
        for place, (b, word, kind) in enumerate(sentence):
            if kind == kernel.OTHER:
                continue
            a, c = classes[place], classes[place + 2]
            evidence = logs.logs2[a, c] - logs.logs2[a, b] + logs.logs3[a, b, c] * logs.step + logs.logs1[b]
            evidence = min(max(float(evidence), -kernel.MOST_EVIDENCE), kernel.MOST_EVIDENCE)
            found.setdefault(word, []).append(evidence)
            row[6] += kind == kernel.KNOWN_CONTENT
            row[7] += kind == kernel.KNOWN_CONTENT and evidence > kernel.FITS_BADLY
    again = [each for each in found.values() if len(each) > 1]
    once = [each for each in found.values() if len(each) == 1]
    row[0], row[1] = sum(map(len, again)), sum(map(sum, again))
    row[2], row[3] = len(once), sum(map(sum, once))
    row[4] = sum(len(each) for each in again if sum(each) > kernel.FITS_NOWHERE * len(each))
    row[5] = sum(sum(each) ** 2 / len(each) for each in again if sum(each) > 0)
    return row


tokens = st.tuples(st.integers(1, CLASSES - 1), st.integers(1, 6), st.integers(0, 2))


@given(st.lists(st.lists(st.lists(tokens, min_size=1, max_size=8), max_size=4), max_size=4), st.integers(0, 1 << 30))
@settings(max_examples=60, deadline=None)
def test_sums_equal_a_readable_count(texts, seed):
    logs = logs_of(seed)
    sentences = [sentence for text in texts for sentence in text]
    flat = [token for sentence in sentences for token in sentence]
    found = kernel.insertions(
        np.array([token[0] for token in flat], np.uint8),
        np.array([token[1] for token in flat], np.uint64),
        np.array([token[2] for token in flat], np.uint8),
        np.cumsum([0, *map(len, sentences)]),
        np.cumsum([0, *map(len, texts)]),
        logs,
    )
    assert np.allclose(found, np.array([sums_of(text, logs) for text in texts]).reshape(-1, kernel.COLUMNS), atol=1e-4)
