"""Text to words and sentences, as section 3.2 of the paper has it: a Penn Treebank tokenizer, and sentences that end at
every final punctuation mark with the help of a list of abbreviations (`kernels/token_classes.py`).

Tokens are spans of the source, nothing is rewritten: quotes stay as they are. What is a letter is Unicode's to say.

Words
* A word is a run of letters, digits and marks. Between two of them these belong to it: period, hyphen, slash,
  underscore, at sign, apostrophe (`U.S`, `year-to-date`, `and/or`, `O'Neill`, `me@example.org`); between digits also
  comma, colon and en dash (`1,000.50`, `10:30`). A number takes a period or a hyphen before it along (`.5`, `-3`).
* Clitics are tokens: `'s 'm 'd 'll 're 've` and `n't` (`do n't`), with either apostrophe; so are the halves of
  `cannot`, `gonna`, `gotta`, `wanna`, `gimme`, `lemme`.
* `name://` begins a web address, which goes on to a blank, a quote or a bracket, without the punctuation at its end.
* Every other mark is a token. Runs of one symbol are one (`...`, `--`, `=====`, `''`), but not `!!!`.
* An ideograph, and a letter of hiragana, is a token. Other scripts without blanks (Thai, katakana) are cut at marks and
  blanks only.
* Control characters, bytes that are not UTF-8, unassigned characters and zero width spaces are blanks. Other
  invisible characters go on with a word.
* A token of 128 bytes ends there, and the rest is another one; `Tokens.cut` counts them.

Sentences
* A sentence ends at `! ? …` and the like before a blank, closing marks taken along, unless a small letter, a comma or a
  closing mark follows; at the full stops of Chinese and Japanese always.
* A period behind a word ends the sentence likewise, before small letters only if the word has four letters and more and
  no closing mark is between. It is part of the word, and no end, behind titles and the like (`Mr. e.g. vs.`), behind
  `No. Fig. p.` before a number, and behind a letter or number that begins a sentence (`1. First`). Behind other
  abbreviations (`Inc. etc. U.S. J.`) it is part of the word unless a word that often begins sentences follows (`The`).
  `U.S.` keeps its period even at the end.
* An empty line ends a sentence. One line break is a blank where lines were broken to fit a page, but visible text of
  pages has one between blocks. So it ends a sentence only when the line before has fewer than 40 or more than 100
  characters, or the next begins with a bullet; and never before a small letter or a closing mark, or behind a comma, a
  hyphen or a word such as `the` and `of`, with which no line of its own ends. Prose wrapped at 64 to 98 columns keeps
  99.9 % of its sentences under this rule, and pages of documentation 94 % of theirs.
"""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import byte_chunks
from samehand.base.errors import UsageError
from samehand.kernels.text import token_classes
from samehand.kernels.text import tokens as kernel

_CHUNK_BYTES = 1 << 20
"""Texts are read this much at a time, so that the room for what they might hold stays small and warm."""
_NONE, _ZERO = np.zeros(0, np.int64), np.zeros(1, np.int64)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tokens:
    """The tokens of texts: token i is data[starts[i]:ends[i]], sentence i has the tokens
    sentences[i]:sentences[i+1], text i the sentences texts[i]:texts[i+1]. `cut` tokens reached the longest length."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    cut: int = 0

    def words(self, sentence: int) -> list[str]:
        """The tokens of a sentence, for people and tests."""
        first, last = self.sentences[sentence], self.sentences[sentence + 1]
        spans = zip(self.starts[first:last].tolist(), self.ends[first:last].tolist(), strict=True)
        return [self.data[start:end].tobytes().decode("utf-8", "replace") for start, end in spans]


@functools.cache
def _tables() -> token_classes.Tables:
    words, hints = token_classes.word_hints()
    return token_classes.Tables(token_classes.character_kinds(), words, hints)


def tokenize(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Tokens:
    """The tokens of texts that lie end to end: text i is data[offsets[i]:offsets[i+1]]. Time and memory are linear."""
    data = np.ascontiguousarray(data, np.uint8).view()
    data.flags.writeable = False
    offsets = np.ascontiguousarray(offsets, np.int64)
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


def _room_for(size: int) -> kernel.Room:
    """Room for all that texts of `size` bytes may hold. Memory that is not written to is only promised."""
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
