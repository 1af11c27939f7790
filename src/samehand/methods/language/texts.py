"""What the language commands do with texts and models: judge texts one by one, find markers, generate fakes."""

import dataclasses
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.errors import InputError, UsageError
from samehand.base.settings import Settings
from samehand.html import prose_of_texts, prose_text
from samehand.kernels.ngrams.tries import END, FIRST_WORD, START, UNKNOWN
from samehand.methods.language.detector import Judgement
from samehand.methods.language.features import lowered
from samehand.methods.language.generators import (
    SPAM_KEYWORDS,
    Generator,
    Successors,
    WordText,
    detokenize,
    number_of,
    sample,
)
from samehand.methods.language.markers import MarkerRule, Markers, find_markers
from samehand.methods.language.model import Model
from samehand.methods.language.reference import Judge
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.verdicts import TOO_SHORT
from samehand.methods.language.vocabulary import Vocabulary, WordCounter
from samehand.sources.files import is_html
from samehand.sources.find import STANDARD_INPUT
from samehand.sources.http.charset import as_utf8
from samehand.sources.texts import TEXT_ENDINGS, TextReader, batched

UNREADABLE = "unreadable"


class Judged(NamedTuple):
    """The name of a text and its judgement."""

    name: str
    judgement: Judgement


def judge_inputs(inputs: Sequence[str], judge: Judge, *, settings: Settings, threads: int) -> Iterator[Judged]:
    """A judgement for each text of the inputs. An input without text gets one too, which says why."""
    for given in inputs:
        reader = TextReader([given], settings, text_of_html=prose_text)
        answered = False
        for batch in batched(_named(given, reader, settings)):
            prose = prose_of_texts(*end_to_end(text for _, text in batch))
            judged = judge.judge(prose.text, prose.offsets, all_words=prose.all_words, threads=threads)
            answered = True
            yield from (Judged(name, judgement) for (name, _), judgement in zip(batch, judged, strict=True))
        if not answered:
            yield Judged(given, _without_text(reader))


def _named(given: str, reader: TextReader, settings: Settings) -> Iterator[tuple[str, bytes]]:
    """The texts of an input. A file that holds one page or one text gives it its own name."""
    if given == STANDARD_INPUT:
        content = sys.stdin.buffer.read(settings.max_page_bytes)
        if content.strip():
            yield given, prose_text(as_utf8(content, None)).encode() if is_html(content) else content
        return
    texts = iter(reader)
    first = next(texts, None)
    if first is None:
        if reader.rejects["unknown_format"] and (plain := _plain_text(given, settings)):
            reader.rejects.clear()
            yield given, plain
        return
    second = next(texts, None)
    if second is None:
        yield (given if os.path.isfile(given) else first[0]), first[1]
        return
    yield first
    yield second
    yield from texts


def _plain_text(given: str, settings: Settings) -> bytes:
    """The content of a file of unknown kind, if it is text: valid UTF-8 without a zero byte."""
    if not os.path.isfile(given) or os.path.getsize(given) > settings.max_page_bytes:
        return b""
    content = Path(given).read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError:
        return b""
    return b"" if b"\0" in content else content


def _without_text(reader: TextReader) -> Judgement:
    reasons = [reason for reason in sorted(reader.rejects) if not reason.startswith("empty")]
    if reasons:
        return Judgement(verdict=UNREADABLE, reasons=(f"The input cannot be read: {', '.join(reasons)}.",))
    return Judgement(verdict=TOO_SHORT, reasons=("The input contains no text.",))


class Collection(NamedTuple):
    """Texts as word ids. Sentence i is ids[sentences[i]:sentences[i+1]]; text i has sentences texts[i]:texts[i+1]."""

    vocabulary: Vocabulary
    ids: NDArray[np.int32]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    extra: NDArray[np.int32]


def collect(inputs: Sequence[str], *, settings: Settings, lower: bool = False, extra: Sequence[str] = ()) -> Collection:
    """All texts of the inputs. `extra` words get ids too."""
    counter = WordCounter()
    reader = TextReader(inputs, settings, text_of_html=prose_text)
    ids, sentences, texts = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    words = bounds = 0
    for batch in batched(reader):
        tokens = tokenize(*end_to_end(text for _, text in batch))
        ids.append(counter.add(lowered(tokens.data) if lower else tokens.data, tokens.starts, tokens.ends))
        sentences.append(tokens.sentences[1:] + words)
        texts.append(tokens.texts[1:] + bounds)
        words, bounds = words + tokens.starts.size, bounds + tokens.sentences.size - 1
    if not words:
        why = ", ".join(f"{number} {reason}" for reason, number in sorted(reader.rejects.items())) or "empty"
        raise InputError(f"The inputs contain no words ({why}): give text files ({', '.join(TEXT_ENDINGS)}) or pages.")
    data, offsets = end_to_end(word.encode() for word in extra)
    added = counter.add(data, offsets[:-1], offsets[1:])
    vocabulary, numbers = counter.finish()
    return Collection(
        vocabulary, numbers[np.concatenate(ids)], np.concatenate(sentences), np.concatenate(texts), numbers[added]
    )


@dataclasses.dataclass(frozen=True, slots=True)
class NamedMarker:
    """A marker, its n-gram as text."""

    ngram: str
    count: int
    texts: int
    reference_count: int
    score: float


def markers_against(
    inputs: Sequence[str], model: Model, *, rule: MarkerRule, settings: Settings
) -> tuple[list[NamedMarker], Markers]:
    """The n-grams that are typical of the inputs and that the training text of a model lacks."""
    if not model.has_counts:
        raise UsageError("The model has no counts (it comes from an ARPA file): compare with one trained from text.")
    source = collect(inputs, settings=settings, lower=model.is_lower)
    known = model.vocabulary.ids_of_words(source.vocabulary.words)
    known[:FIRST_WORD] = 0

    def counts_of(ngrams: NDArray[np.int32]) -> NDArray[np.int64]:
        order = ngrams.shape[1]
        bounds = np.arange(len(ngrams) + 1, dtype=np.int64) * order
        found = model.counts(known[ngrams].astype(np.int32).ravel(), bounds, order)
        # The model puts <s> before each n-gram and </s> after it, and counts three n-grams, or two words.
        return found.reshape(len(ngrams), -1)[:, 1 if order > 1 else 0].astype(np.int64)

    found = find_markers(
        source.ids,
        source.sentences,
        source.texts,
        counts_of=counts_of,
        reference_words=model.tokens,
        rule=rule,
    )
    words = source.vocabulary
    named = [
        NamedMarker(
            " ".join(words.word(number) for number in marker.ngram),
            marker.count,
            marker.texts,
            marker.reference_count,
            marker.score,
        )
        for marker in found.found
    ]
    return named, found


def generate_from_text(kind: str, inputs: Sequence[str], *, words: int, seed: int, settings: Settings) -> str:
    """A text of one of KINDS, made from the texts of the inputs."""
    source = collect(inputs, settings=settings, extra=SPAM_KEYWORDS)
    generator = Generator(kind, WordText(source.ids, source.sentences), keywords=source.extra)
    return _written(generator.generate(words, seed), source.vocabulary)


def generate_from_model(kind: str, model: Model, *, words: int, seed: int) -> str:
    """A text drawn from a smoothed model: `lm3` uses its n-grams of up to three words."""
    order = number_of(kind)
    if not kind.startswith("lm"):
        raise UsageError(f"{kind} is made from text, which a model does not hold: name a text with --text FILE.")
    if order > model.order:
        raise UsageError(
            f"{kind} needs a model of order {order}, this one has {model.order}: train one with --order {order}."
        )
    return _written(sample(successors_of(model), order=order, words=words, seed=seed), model.vocabulary)


def _written(text: WordText, vocabulary: Vocabulary) -> str:
    """A line for each sentence."""
    lines = []
    for first, last in zip(text.sentences[:-1].tolist(), text.sentences[1:].tolist(), strict=True):
        lines.append(detokenize([vocabulary.word(number) for number in text.ids[first:last].tolist()]))
    return "\n".join(lines) + "\n"


def successors_of(model: Model) -> Successors:
    """The probabilities of all words after a history, backing off included. No sentence is empty, no word unknown."""
    trie, numbers = model.trie, np.arange(len(model.vocabulary), dtype=np.int32)
    single = 10.0 ** np.asarray(model.logs[: numbers.size], np.float64)
    single[[UNKNOWN, START]] = 0.0

    def successors(history: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        chances = single.copy()
        for length in range(1, len(history) + 1):
            node = _node_of(model, history[-length:])
            if node < 0:
                break  # no longer history exists either
            chances *= 10.0 ** float(model.backoffs[node])
            children = slice(int(trie.first[node]), int(trie.first[node + 1]))
            following = trie.words[children.start - numbers.size : children.stop - numbers.size]
            chances[following] = 10.0 ** np.asarray(model.logs[children], np.float64)
            chances[UNKNOWN] = 0.0
        if list(history) == [START]:
            chances[END] = 0.0
        if not chances.sum() > 0:
            raise UsageError("This model has a history that nothing can follow: train or export the model anew.")
        return numbers, chances

    return successors


def _node_of(model: Model, ngram: Sequence[int]) -> int:
    """The node of an n-gram that can have successors, or -1."""
    node = int(ngram[0])
    for number in ngram[1:]:
        node = model.trie.child(node, number)
        if node < 0:
            return -1
    return node if node < model.trie.inner else -1
