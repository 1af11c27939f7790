"""Brackets and quotes without a partner: who forgets after a few words what he wrote does not close what he opened.

Sentence i has the tokens sentences[i]:sentences[i+1], text i the sentences texts[i]:texts[i+1]. `roles` has the role of
each token. A bracket that closes a face such as ":)", or the number or letter of an item, needs no partner.
"""

import numba as nb
import numpy as np
from numpy.typing import NDArray

NONE, OPENS, CLOSES, QUOTE, QUOTE_OPENS, QUOTE_CLOSES, BESIDE = range(7)
"""Roles of tokens. QUOTE is the straight mark, which opens and closes. BESIDE is what a closing bracket may follow."""
LONGEST = 80
"""Tokens after which a bracket that is still open is forgotten."""
COLUMNS = 4


@nb.njit(cache=True, nogil=True)
def unpaired_marks(
    roles: NDArray[np.uint8], sentences: NDArray[np.int64], texts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Of each text: brackets; those without a partner; curly quotes, and sentences with straight ones; those without
    a partner, and those with an odd number of them."""
    out = np.zeros((texts.size - 1, COLUMNS))
    for text in range(texts.size - 1):
        row = out[text]
        depth, opened, is_quoted = 0, 0, False
        for sentence in range(texts[text], texts[text + 1]):
            straight = 0
            for i in range(sentences[sentence], sentences[sentence + 1]):
                role = roles[i]
                if role in (NONE, BESIDE):
                    continue
                if depth > 0 and i - opened > LONGEST:
                    row[1] += depth
                    depth = 0
                if role == OPENS:
                    row[0] += 1
                    depth, opened = depth + 1, i
                elif role == CLOSES and depth > 0:
                    row[0] += 1
                    depth -= 1
                elif role == CLOSES:
                    is_alone = i == sentences[sentence] or roles[i - 1] != BESIDE
                    row[0] += is_alone
                    row[1] += is_alone
                elif role == QUOTE:
                    straight += 1
                elif role in (QUOTE_OPENS, QUOTE_CLOSES):
                    row[2] += 1
                    row[3] += is_quoted == (role == QUOTE_OPENS)
                    is_quoted = role == QUOTE_OPENS
            row[2] += straight > 0
            row[3] += straight % 2
        row[1] += depth
    return out
