"""Text to words and sentences, as in section 3.2 of the paper: a Penn Treebank tokenizer, and sentences that end at
every final punctuation mark unless a list of abbreviations says otherwise (`kernels/text/token_classes.py`).

Tokens are spans of the source. Nothing is rewritten: quotes stay as they are. Unicode defines what a letter is.

Words
* A word is a run of letters, digits and combining marks. Between two of these it may contain a period, hyphen, slash,
  underscore, at sign or apostrophe (`U.S`, `year-to-date`, `and/or`, `O'Neill`, `me@example.org`); between digits also
  a comma, colon or en dash (`1,000.50`, `10:30`). A number includes a period or hyphen before it (`.5`, `-3`).
* Clitics are tokens: `'s 'm 'd 'll 're 've` and `n't` (`do n't`), with either apostrophe. So are the halves of
  `cannot`, `gonna`, `gotta`, `wanna`, `gimme`, `lemme`.
* `name://` begins a web address. It ends at a blank, quote or bracket, and excludes punctuation at its end.
* Every other mark is a token. A run of one symbol is one token (`...`, `--`, `=====`, `''`), but `!!!` is three.
* An ideograph or hiragana letter is a token. Other scripts without blanks (Thai, katakana) are cut only at marks and
  blanks.
* Control characters, bytes that are not UTF-8, unassigned characters and zero-width spaces are blanks. Other invisible
  characters belong to the word they stand in.
* A token ends after 128 bytes, and the rest is another token. `Tokens.cut` counts how often that happened.

Sentences
* A sentence ends at `! ? …` and similar marks before a blank, and includes closing marks, unless a small letter, a
  comma or a closing mark follows. It always ends at the full stops of Chinese and Japanese.
* A period after a word ends the sentence in the same way. Before a small letter it does so only if the word has four
  letters or more and no closing mark is between.
* A period is part of the word and no end after titles and similar words (`Mr. e.g. vs.`), after `No. Fig. p.` before a
  number, and after a letter or number that begins a sentence (`1. First`). After other abbreviations (`Inc. etc. U.S.
  J.`) it is part of the word unless a word that often begins sentences follows (`The`). `U.S.` keeps its period even at
  the end of a sentence.
* An empty line ends a sentence. A single line break can be a wrapped line, or the border of two blocks in the visible
  text of a page. So it ends a sentence only if the line before has fewer than 40 or more than 100 characters, or if the
  next line begins with a bullet. It never does before a small letter or closing mark, nor after a comma, a hyphen or a
  word such as `the` and `of`, which ends no line of its own. Under this rule, prose wrapped at 64 to 98 columns keeps
  99.9 % of its sentences, and documentation pages keep 94 %.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import byte_chunks, read_only
from samehand.base.errors import UsageError
from samehand.kernels.text import token_classes
from samehand.kernels.text import tokens as kernel

_CHUNK_BYTES = 1 << 20
"""Texts are read in chunks, so that the output arrays stay small and in the cache."""
_NONE, _ZERO = np.zeros(0, np.int64), np.zeros(1, np.int64)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of texts. `cut` tokens reached the longest length.

    Token i is data[starts[i]:ends[i]], sentence i has the tokens sentences[i]:sentences[i+1], and text i has the
    sentences texts[i]:texts[i+1].
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    cut: int = 0


@functools.cache
def _tables() -> token_classes.Tables:
    words, hints = token_classes.word_hints()
    return token_classes.Tables(token_classes.character_kinds(), words, hints)


def tokenize(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Tokens:
    """The tokens of the texts data[offsets[i]:offsets[i+1]], in linear time and memory."""
    data = read_only(np.asarray(data, np.uint8))
    offsets = read_only(np.asarray(offsets, np.int64))
    if not offsets.size or offsets[0] < 0 or offsets[-1] > data.size or (np.diff(offsets) < 0).any():
        raise UsageError("The text offsets do not rise within the data. Pass the offsets that belong to these data.")
    chunks = byte_chunks(offsets, _CHUNK_BYTES)
    room = _room_for(max((int(offsets[last] - offsets[first]) for first, last in chunks), default=0))
    parts = [_read_chunk(data, offsets[first : last + 1], room) for first, last in chunks]
    tokens = np.cumsum([0, *(part.starts.size for part in parts)])
    sentences = np.cumsum([0, *(part.sentences.size - 1 for part in parts)])
    return Tokens(
        data=data,
        starts=np.concatenate([_NONE, *(part.starts for part in parts)]),
        ends=np.concatenate([_NONE, *(part.ends for part in parts)]),
        sentences=np.concatenate([_ZERO, *(part.sentences[1:] + tokens[i] for i, part in enumerate(parts))]),
        texts=np.concatenate([_ZERO, *(part.texts[1:] + sentences[i] for i, part in enumerate(parts))]),
        cut=sum(part.cut for part in parts),
    )


def only_tokens(tokens: Tokens, chosen: NDArray[np.int64]) -> Tokens:
    """The tokens of some of the texts."""
    which = np.isin(np.arange(tokens.texts.size - 1), chosen)
    inside = np.repeat(which, np.diff(tokens.sentences[tokens.texts]))
    sentences, texts = only_bounds(tokens.sentences, tokens.texts, which)
    return Tokens(
        data=tokens.data, starts=tokens.starts[inside], ends=tokens.ends[inside], sentences=sentences, texts=texts
    )


def only_bounds(
    sentences: NDArray[np.int64], texts: NDArray[np.int64], which: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets of the sentences of some texts, and offsets of these texts, without all that lies between them."""
    sizes = np.diff(texts)
    lengths = np.diff(sentences)[np.repeat(which, sizes)]
    return np.concatenate([_ZERO, np.cumsum(lengths)]), np.concatenate([_ZERO, np.cumsum(sizes[which])])


def _room_for(size: int) -> kernel.Room:
    """Output arrays for the worst case of `size` bytes. The system provides only the memory that is written to."""
    return kernel.Room(np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size + 1, np.int64))


def _read_chunk(data: NDArray[np.uint8], offsets: NDArray[np.int64], room: kernel.Room) -> Tokens:
    """The tokens of a few texts."""
    texts = np.zeros(offsets.size, np.int64)
    tokens, sentences, cut = kernel.read_texts(data, offsets, _tables(), room, texts).tolist()
    return Tokens(
        data=data,
        starts=room.starts[:tokens].copy(),
        ends=room.ends[:tokens].copy(),
        sentences=room.sentences[: sentences + 1].copy(),
        texts=texts,
        cut=cut,
    )
