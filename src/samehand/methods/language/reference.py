"""Verdicts for models of one's own: what natural text looks like to a model, learned from text kept out of its counts.

The shipped detector knows English. For another language or collection, half of the windows kept out of the counts are
the source of fakes, the other half is natural text (section 3.3 of the paper). A logistic regression on a few measures
of word order, none of which depends on the subject, tells the two apart. It sees only what n-grams see, and is weaker
than the shipped detector. How well it did on the held-out text is reported when the model is made, and stored in it.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import end_to_end
from samehand.base.errors import InputError
from samehand.kernels.ngrams.tries import FIRST_WORD, UNKNOWN
from samehand.methods.language import evidence
from samehand.methods.language.counting import Spans, Text, joined_texts
from samehand.methods.language.detector import Detector, DetectorRule, Judgement, ngram_figures
from samehand.methods.language.features import known_shares, ngram_columns, sums, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS, Generator, WordText
from samehand.methods.language.measures import percent, reason
from samehand.methods.language.model import Model, ngram_bounds
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.verdicts import FAKE, NATURAL, NOT_PROSE, TOO_SHORT, UNKNOWN_LANGUAGE
from samehand.methods.language.vocabulary import WordCounter

WINDOW, EVERY = 500, 10
"""Words of a window; one window of so many is kept out of the counts."""
LEAST_WINDOWS, MOST_WINDOWS = 20, 600
NOT_JUDGED = "not judged"
ORDER_MEASURES = (
    "gain_3",
    "gain_4",
    "hard_words",
    "known_2",
    "known_3",
    "known_4",
    "relative_entropy_3",
    "relative_entropy_4",
)
LEAST_KNOWN = 0.6
"""A text is in the language of a model if the model knows this share of its words: small models know few."""
_PRIOR = 0.1
"""Probabilities suppose that one text in ten is a fake, as those of the shipped detector do."""
_KINDS = ("pw5", "pw10", "ws25", "lm2", "lm3")
_FURTHEST = 5.0
_FOREIGN, _LEAST_SPREAD = 4.0, 0.005
"""A text whose words are rarer, or unknown more often, than in natural text by this many spreads is of another kind."""


class Judge(Protocol):
    """Gives judgements of texts."""

    def judge(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        all_words: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> list[Judgement]:
        """A judgement for each of the texts data[offsets[i]:offsets[i+1]], which had `all_words` words before all but
        the prose was left out."""


def open_judge(model: Path, *, rule: DetectorRule | None = None) -> Judge:
    """The detector beside a model, under its name with the ending .detector; else the model with its own reference."""
    beside = model.with_suffix(".detector")
    if beside.is_file():
        return Detector.load(beside, model=Model.open(model), rule=rule)
    return PlainJudge(Model.open(model), rule or DetectorRule())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Mean and spread of ORDER_MEASURES in natural text, the weights of deviations, and the shares of fakes found.

    `kinds` has the mean and, in the second row, the spread of `Measured.kinds` in natural text.
    """

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    weights: NDArray[np.float64]
    kinds: NDArray[np.float64]
    found: Mapping[str, float]
    false_alarms: float

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """A reference from the metadata of a model."""
        try:
            names = ("means", "spreads", "weights", "kinds")
            means, spreads, weights, kinds = (np.array(stored[name], np.float64).ravel() for name in names)
            sizes = (means.size, spreads.size, weights.size - 1, kinds.size)
            found = {str(kind): float(share) for kind, share in stored["found"].items()}
            alarms = float(stored["false_alarms"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("The natural text sample in this model is invalid: train it anew.") from error
        whole = np.concatenate([means, spreads, weights, kinds])
        if sizes != (len(ORDER_MEASURES),) * 3 + (4,) or not np.isfinite(whole).all():
            raise InputError("The natural text sample in this model is invalid: train it anew.")
        return cls(means, spreads, weights, kinds.reshape(2, 2), found, alarms)

    def as_dict(self) -> dict[str, Any]:
        """For the metadata of a model."""
        return {
            "means": self.means.round(6).tolist(),
            "spreads": self.spreads.round(6).tolist(),
            "weights": self.weights.round(6).tolist(),
            "kinds": self.kinds.round(6).tolist(),
            "found": dict(self.found),
            "false_alarms": self.false_alarms,
        }

    def described(self) -> str:
        """How well fakes were found in text the model had not seen."""
        shares = ", ".join(f"{percent(share)} of {kind}" for kind, share in self.found.items())
        alarms = percent(self.false_alarms)
        return f"recognises {shares} fakes of {WINDOW} words, and calls {alarms} of natural text fake"

    def foreign(self, kinds: NDArray[np.float64], words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each text and each column of `Measured.kinds` whether it is of another kind than the training text.

        N-grams prove nothing about such a text. Fakes made from text of the model's kind have its words; natural text
        of another kind has not.
        """
        uncertain = np.sqrt(np.maximum(1.0, WINDOW / np.maximum(1, words)))[:, None]
        return np.asarray(kinds > self.kinds[0] + _FOREIGN * uncertain * self.kinds[1])

    def parts(self, measures: NDArray[np.float64], words: NDArray[np.int64]) -> NDArray[np.float64]:
        """The log-odds of each measure for a fake. Texts shorter than a window vary more, so they count for less."""
        certain = np.sqrt(np.minimum(1.0, words / WINDOW))[:, None]
        said: NDArray[np.float64] = _deviations(measures, self.means, self.spreads) * certain * self.weights[1:]
        return said

    def probabilities(self, parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """The probability of a fake."""
        return _logistic(parts.sum(1) + self.weights[0])

    def calls_fake(self, texts: "Measured") -> list[bool]:
        """Which of some windows are called fake."""
        words = np.full(len(texts.measures), WINDOW)
        said = self.probabilities(self.parts(texts.measures, words))
        calls: list[bool] = ((said >= 0.5) & ~self.foreign(texts.kinds, words).any(axis=1)).tolist()
        return calls


def _deviations(
    measures: NDArray[np.float64], means: NDArray[np.float64], spreads: NDArray[np.float64]
) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.clip(
        np.nan_to_num((measures - means) / np.maximum(spreads, 1e-6)), -_FURTHEST, _FURTHEST
    )
    return found


def _logistic(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-np.clip(odds, -40, 40)))


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """ORDER_MEASURES of texts, and what kind of text they are, whoever wrote them.

    `kinds` has the rarity of the words (mean -log10 p) and the share of unknown words.
    """

    measures: NDArray[np.float64]
    kinds: NDArray[np.float64]

    @classmethod
    def of(cls, model: Model, text: Text, texts: NDArray[np.int64]) -> tuple[Self, dict[str, NDArray[np.float64]]]:
        """Measures texts given as word ids. Also returns all `ngram_columns`."""
        ids, sentences = text
        columns = ngram_columns(model, ids, sentences, texts)
        for order in (3, 4):  # peaks are rounded, so that sums of penalties can be a little below 0
            columns[f"relative_entropy_{order}"] = np.maximum(0, columns[f"relative_entropy_{order}"])
        predicted = np.maximum(1, np.diff(ngram_bounds(sentences, 1)[texts]))
        unknown = sums(ids == UNKNOWN, sentences[texts]) / predicted
        measures = np.stack([columns[name] for name in ORDER_MEASURES], axis=1)
        return cls(measures, np.stack([columns["word_rarity"], unknown], axis=1)), columns

    def half(self, side: int) -> Self:
        """Every second text."""
        return type(self)(self.measures[side::2], self.kinds[side::2])


@dataclasses.dataclass(frozen=True, eq=False)
class PlainJudge:
    """A model without a detector: its measures, and a verdict if it has a sample of natural text."""

    model: Model
    rule: DetectorRule

    @functools.cached_property
    def reference(self) -> Reference | None:
        """What the model knows about natural text."""
        stored = self.model.metadata.get("natural")
        return None if stored is None else Reference.from_dict(stored)

    def judge(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        all_words: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> list[Judgement]:
        """A judgement for each of the texts data[offsets[i]:offsets[i+1]]."""
        del threads  # few texts are judged by a model of one's own
        tokens = tokenize(data, offsets)
        words = words_of(tokens, self.model)
        measured, columns = Measured.of(self.model, (words.ids, words.sentences), words.texts)
        numbers, known, *_ = known_shares(words)
        judged = []
        for text in range(numbers.size):
            here = {name: float(values[text]) for name, values in columns.items()}
            one = Measured(measured.measures[text : text + 1], measured.kinds[text : text + 1])
            fake, verdict, reasons = self._verdict(one, here, int(numbers[text]), float(known[text]))
            if verdict == TOO_SHORT and all_words is not None and all_words[text] >= self.rule.fewest_words:
                verdict = NOT_PROSE
            judged.append(
                Judgement(
                    judged_words=int(numbers[text]),
                    fake_probability=fake,
                    verdict=verdict,
                    **ngram_figures(self.model, here, int(numbers[text])),
                    known_words=float(known[text]),
                    reasons=reasons,
                )
            )
        return judged

    def _verdict(
        self, measured: Measured, here: Mapping[str, float], words: int, known: float
    ) -> tuple[float | None, str, tuple[str, ...]]:
        """The probability of a fake, the verdict and the reasons, of one text."""
        if words < self.rule.fewest_words:
            return None, TOO_SHORT, (evidence.too_short(words, self.rule.fewest_words),)
        if known < LEAST_KNOWN:
            return None, UNKNOWN_LANGUAGE, (evidence.unknown_words(known, LEAST_KNOWN),)
        if self.reference is None:
            least = LEAST_WINDOWS * EVERY * WINDOW
            why = f"The model holds no sample of natural text: train one on {least:,} words or more."
            return None, NOT_JUDGED, (why,)
        numbers = np.array([words])
        foreign = self.reference.foreign(measured.kinds, numbers)[0]
        if foreign.any():
            column = int(foreign.argmax())
            name = ("word_rarity", "unknown_words")[column]
            figures = reason(name, measured.kinds[0, column], self.reference.kinds[0, column])
            return None, NOT_JUDGED, ("This is not the kind of text that the model was trained on.", figures)
        parts = self.reference.parts(measured.measures, numbers)
        fake = float(self.reference.probabilities(parts)[0])
        is_fake = fake >= self.rule.threshold
        usual = dict(zip(ORDER_MEASURES, self.reference.means.tolist(), strict=True))
        reasons = evidence.reasons(ORDER_MEASURES, here, usual, parts[0], is_fake=is_fake)
        return fake, FAKE if is_fake else NATURAL, reasons


def learn_reference(model: Model, windows: Sequence[Spans]) -> Reference:
    """Learns from windows of text the model has not seen. What is learned from one half is tested on the other half."""
    numbers = [(model.vocabulary.ids_of(data, starts, ends), bounds) for data, starts, ends, bounds in windows]
    natural = _measured(model, numbers[::2])
    fakes = _fakes(model, windows[1::2], len(numbers[::2]))
    whole = _fitted(natural, fakes)
    called: dict[str, list[bool]] = {kind: [] for kind in ("natural", *fakes)}
    for side in (0, 1):
        half = _fitted(natural.half(side), {kind: rows.half(side) for kind, rows in fakes.items()})
        for kind, rows in {"natural": natural, **fakes}.items():
            called[kind] += half.calls_fake(rows.half(1 - side))
    shares = {kind: round(float(np.mean(calls)), 4) for kind, calls in called.items()}
    return dataclasses.replace(whole, false_alarms=shares.pop("natural"), found=shares)


def _measured(model: Model, texts: Sequence[Text]) -> Measured:
    """Measures of texts given one by one."""
    bounds = np.cumsum([0, *(sentences.size - 1 for _, sentences in texts)]).astype(np.int64)
    return Measured.of(model, joined_texts(texts), bounds)[0]


def _fakes(model: Model, windows: Sequence[Spans], number: int) -> dict[str, Measured]:
    """Measures of fakes of each kind, made from windows. Their words need not be in the model."""
    counter = WordCounter()
    texts = [(counter.add(data, starts, ends), bounds) for data, starts, ends, bounds in windows]
    data, offsets = end_to_end(word.encode() for word in SPAM_KEYWORDS)
    keywords = counter.add(data, offsets[:-1], offsets[1:])
    vocabulary, final = counter.finish()
    known = model.vocabulary.ids_of_words(vocabulary.words)
    known[:FIRST_WORD] = 0
    ids, sentences = joined_texts(texts)
    source = WordText(final[ids], sentences)
    made = {}
    for kind in _KINDS:
        generator = Generator(kind, source, keywords=final[keywords])
        fakes = [generator.generate(WINDOW, seed) for seed in range(number)]
        made[kind] = _measured(model, [(known[text.ids].astype(np.int32), text.sentences) for text in fakes])
    return made


def _fitted(natural: Measured, fakes: Mapping[str, Measured]) -> Reference:
    """Means and spreads of natural text, and a ridge regression on deviations from them, by Newton's method."""
    means, spreads = natural.measures.mean(0), natural.measures.std(0)
    kinds = np.stack([natural.kinds.mean(0), np.maximum(natural.kinds.std(0), _LEAST_SPREAD)])
    rows = np.concatenate([natural.measures, *(fake.measures for fake in fakes.values())])
    is_fake = np.arange(len(rows)) >= len(natural.measures)
    inputs = np.column_stack([np.ones(len(rows)), _deviations(rows, means, spreads)])
    share = np.where(is_fake, _PRIOR / is_fake.sum(), (1 - _PRIOR) / (~is_fake).sum()) * len(rows)
    penalty = np.diag([0.0, *(1.0 for _ in ORDER_MEASURES)])
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        said = _logistic(inputs @ weights)
        slope = inputs.T @ (share * (is_fake - said)) - penalty @ weights
        bend = (inputs * (share * said * (1 - said))[:, None]).T @ inputs + penalty + 1e-6 * np.eye(weights.size)
        step = np.linalg.solve(bend, slope)
        weights += np.clip(step, -5.0, 5.0)
        if np.abs(step).max() < 1e-8:
            break
    return Reference(means, spreads, weights, kinds, {}, 0.0)
