"""What a model's own language looks like, learned from text kept out of its counts: verdicts for models of one's own.

The shipped detector knows English. For another language, or a collection of one's own, half of the windows that were
kept apart play the fakes' source and half the natural text (section 3.3 of the paper), and a regression on a few
measures of order, none of which is bound to a subject, tells the two apart. It sees what n-grams see, no more, and is
weaker than the shipped detector; how it did on the text kept apart is said when the model is made, and stored in it.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError
from samehand.methods.language.counting import Spans
from samehand.methods.language.detector import (
    FAKE,
    NATURAL,
    TOO_SHORT,
    UNKNOWN_LANGUAGE,
    Detector,
    DetectorRule,
    Judgement,
)
from samehand.methods.language.evidence import MEANINGS
from samehand.methods.language.features import lowered
from samehand.methods.language.generators import SPAM_KEYWORDS, UNKNOWN, Generator, WordText
from samehand.methods.language.model import Model, ngram_bounds
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.vocabulary import WordCounter

WINDOW, EVERY = 500, 10
"""Words of a window, and how many windows there are for one that is kept apart."""
LEAST_WINDOWS, MOST_WINDOWS = 20, 600
NOT_JUDGED = "not judged"
MEASURES = (
    "gain_3",
    "gain_4",
    "hard_words",
    "known_2",
    "known_3",
    "known_4",
    "relative_entropy_3",
    "relative_entropy_4",
)
_PRIOR = 0.1
"""The probability `fake` holds where one text in ten is a fake, as for the shipped detector."""
_KINDS = ("pw5", "pw10", "ws25", "lm2", "lm3")
_FURTHEST = 5.0
_FOREIGN, _LEAST_SPREAD = 4.0, 0.005
"""Spreads above natural text, in rarity of words or share of unknown ones, that make a text one of another kind."""
_FIRST_WORD = 3


class Judge(Protocol):
    """Whatever gives judgements of texts."""

    def judge(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, threads: int = 1) -> list[Judgement]:
        """A judgement for each of the texts data[offsets[i]:offsets[i+1]]."""


def open_judge(model: Path, *, rule: DetectorRule | None = None) -> Judge:
    """The detector beside a model, under its name with the ending .detector; else the model with its own reference."""
    beside = model.with_suffix(".detector")
    if beside.is_file():
        return Detector.load(beside, model=Model.open(model), rule=rule)
    return PlainJudge(Model.open(model), rule or DetectorRule())


def is_lower(model: Model) -> bool:
    """Whether a model makes no difference between A and a. One from an ARPA file does not say so, its words do."""
    if "case" in model.facts:
        return bool(model.facts["case"] == "lower")
    blob = model.vocabulary.blob
    return not bool(((blob >= ord("A")) & (blob <= ord("Z"))).any())


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Mean and spread of MEASURES in natural text, the weights of deviations, and how the game went.

    `kinds` has the mean and, in the second row, the spread of what `Measured.kinds` says of that text.
    """

    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    weights: NDArray[np.float64]
    kinds: NDArray[np.float64]
    found: Mapping[str, float]
    false_alarms: float

    @classmethod
    def from_dict(cls, stored: Any) -> Self:
        """A reference out of the facts of a model."""
        try:
            names = ("means", "spreads", "weights", "kinds")
            means, spreads, weights, kinds = (np.array(stored[name], np.float64) for name in names)
            sizes = (means.size, spreads.size, weights.size - 1, kinds.size)
            found = {str(kind): float(share) for kind, share in stored["found"].items()}
            alarms = float(stored["false_alarms"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError("What this model knows of natural text makes no sense: train it anew.") from error
        whole = np.concatenate([means, spreads, weights, kinds.ravel()])
        if sizes != (len(MEASURES),) * 3 + (4,) or not np.isfinite(whole).all():
            raise InputError("What this model knows of natural text makes no sense: train it anew.")
        return cls(means, spreads, weights, kinds.reshape(2, 2), found, alarms)

    def as_dict(self) -> dict[str, Any]:
        """For the facts of a model."""
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
        shares = ", ".join(f"{share:.0%} of {kind}" for kind, share in self.found.items())
        return f"finds {shares} in {WINDOW} words; takes {self.false_alarms:.1%} of natural text for fake"

    def foreign(self, kinds: NDArray[np.float64], words: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Texts of another kind than the model was trained on: no n-gram of theirs proves anything.

        Fakes made of text of the model's kind have its words; natural text of another kind has not.
        """
        uncertain = np.sqrt(np.maximum(1.0, WINDOW / np.maximum(1, words)))[:, None]
        return np.asarray((kinds > self.kinds[0] + _FOREIGN * uncertain * self.kinds[1]).any(axis=1))

    def parts(self, measures: NDArray[np.float64], words: NDArray[np.int64]) -> NDArray[np.float64]:
        """What each measure says for a fake: less in a text shorter than the windows, which varies more."""
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
        calls: list[bool] = ((said >= 0.5) & ~self.foreign(texts.kinds, words)).tolist()
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
    """Of each text MEASURES, and log10 of its perplexities and shares of known histories of order 3 and 4.

    `kinds` says what kind of text it is, whoever wrote it: how rare its words are, and the share of unknown ones.
    """

    measures: NDArray[np.float64]
    kinds: NDArray[np.float64]
    perplexities: NDArray[np.float64]
    histories: NDArray[np.float64]


def measure_ids(
    model: Model, ids: NDArray[np.int32], sentences: NDArray[np.int64], texts: NDArray[np.int64]
) -> Measured:
    """MEASURES of texts given as word numbers. Orders the model has not are 0, the same in every text."""
    places = ngram_bounds(sentences, 1)[texts]
    sizes = np.maximum(1, np.diff(places))
    logs = {n: model.log_probabilities(ids, sentences, min(n, model.order)) for n in (1, 3, 4)}
    lengths = model.matched_lengths(ids, sentences, min(4, model.order))
    known = [np.maximum(1, _sums(lengths >= n, places)) for n in (1, 2, 3, 4)]
    zeros = np.zeros(sizes.size)
    columns = {
        "gain_3": _sums(logs[3] - logs[1], places) / sizes,
        "gain_4": _sums(logs[4] - logs[3], places) / sizes,
        "hard_words": _sums(logs[3] - logs[1] < -1, places) / sizes,
        **{f"known_{n}": known[n - 1] / known[n - 2] if n <= model.order else zeros for n in (2, 3, 4)},
    }
    histories = np.zeros((sizes.size, 2))
    for place, order in enumerate((3, 4)):
        columns[f"relative_entropy_{order}"] = zeros
        if model.has_counts and order <= model.order:
            penalties, is_known = model.relative_entropy(ids, sentences, order)
            grams = ngram_bounds(sentences, order)[texts]
            number = _sums(is_known, grams)
            columns[f"relative_entropy_{order}"] = np.maximum(0, _sums(penalties, grams)) / np.maximum(1, number)
            histories[:, place] = number / np.maximum(1, np.diff(grams))
    perplexities = np.stack([-_sums(logs[n], places) / sizes for n in (3, 4)], axis=1)
    unknown = _sums(ids == UNKNOWN, sentences[texts]) / sizes
    kinds = np.stack([-_sums(logs[1], places) / sizes, unknown], axis=1)
    return Measured(np.stack([columns[name] for name in MEASURES], axis=1), kinds, perplexities, histories)


def _sums(values: NDArray[Any], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sums of each text's values; no text's sum depends on the texts beside it, not even by rounding."""
    sums: NDArray[np.float64] = np.add.reduceat(np.append(values.astype(np.float64), 0.0), bounds[:-1])
    return np.where(bounds[1:] > bounds[:-1], sums, 0.0)


@dataclasses.dataclass(frozen=True, eq=False)
class PlainJudge:
    """A model without a detector: its measures, and a verdict where it knows what natural text looks like."""

    model: Model
    rule: DetectorRule

    @functools.cached_property
    def reference(self) -> Reference | None:
        """What the model knows of natural text."""
        stored = self.model.facts.get("natural")
        return None if stored is None else Reference.from_dict(stored)

    def judge(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, threads: int = 1) -> list[Judgement]:
        """A judgement for each of the texts data[offsets[i]:offsets[i+1]]."""
        del threads  # a model of one's own is not judged by as often as the shipped one
        tokens = tokenize(data, offsets)
        shown = lowered(tokens.data) if is_lower(self.model) else tokens.data
        ids = self.model.vocabulary.ids_of(shown, tokens.starts, tokens.ends)
        measured = measure_ids(self.model, ids, tokens.sentences, tokens.texts)
        bounds = tokens.sentences[tokens.texts]
        begins = tokens.data[tokens.starts]
        spoken = ((begins | 32) >= 97) & ((begins | 32) <= 122) | (begins >= 128)
        words = _sums(spoken, bounds).astype(np.int64)
        known = _sums(spoken & (ids >= _FIRST_WORD), bounds) / np.maximum(1, words)
        parts = fakes = None
        is_foreign = np.zeros(words.size, np.bool_)
        if self.reference is not None:
            parts = self.reference.parts(measured.measures, words)
            fakes = self.reference.probabilities(parts)
            is_foreign = self.reference.foreign(measured.kinds, words)
        return [
            self._judgement(
                measured,
                text,
                int(words[text]),
                float(known[text]),
                None if parts is None or fakes is None or is_foreign[text] else (float(fakes[text]), parts[text]),
            )
            for text in range(words.size)
        ]

    def _judgement(
        self, measured: Measured, text: int, words: int, known: float, said: tuple[float, NDArray[np.float64]] | None
    ) -> Judgement:
        fake, verdict, reasons = self._verdict(measured.measures[text], words, known, said)
        perplexities = (10 ** measured.perplexities[text]).tolist() if words else (None, None)
        counted = [words > 0 and self.model.has_counts and order <= self.model.order for order in (3, 4)]
        entropies = measured.measures[text][-2:].tolist()
        return Judgement(
            words=words,
            fake=fake,
            verdict=verdict,
            family=None,
            reasons=reasons,
            perplexity3=perplexities[0],
            perplexity4=perplexities[1],
            relative_entropy3=entropies[0] if counted[0] else None,
            relative_entropy4=entropies[1] if counted[1] else None,
            known_histories3=float(measured.histories[text, 0]),
            known_histories4=float(measured.histories[text, 1]),
            known_words=known,
        )

    def _verdict(
        self,
        measures: NDArray[np.float64],
        words: int,
        known: float,
        said: tuple[float, NDArray[np.float64]] | None,
    ) -> tuple[float | None, str, tuple[str, ...]]:
        if words < self.rule.fewest_words:
            return None, TOO_SHORT, (f"{words} words; {self.rule.fewest_words} are needed to tell.",)
        if known < self.rule.least_known:
            needed = f"{known:.0%} of the words are known to the model; {self.rule.least_known:.0%} are needed."
            return None, UNKNOWN_LANGUAGE, (needed,)
        if self.reference is None:
            least = LEAST_WINDOWS * EVERY * WINDOW
            return None, NOT_JUDGED, (f"The model knows no natural text: train it on {least} words and more.",)
        if said is None:
            usual = 1 - self.reference.kinds[0, 1]
            shares = f"{known:.0%} of its words are known to the model, {usual:.0%} of that text"
            return None, NOT_JUDGED, (f"It is another kind of text than the model was trained on: {shares}.",)
        fake, parts = said
        is_fake = fake >= self.rule.threshold
        order = np.argsort(-parts if is_fake else parts, kind="stable")[:3].tolist()
        means = self.reference.means
        reasons = [f"{MEANINGS[MEASURES[i]]}: {measures[i]:.3g} (natural text: {means[i]:.3g})" for i in order]
        return fake, FAKE if is_fake else NATURAL, tuple(reasons)


def learn_reference(model: Model, windows: Sequence[Spans]) -> Reference:
    """Plays the game on windows the model has not seen; what is learned from one half is tried on the other."""
    numbers = [(model.vocabulary.ids_of(data, starts, ends), bounds) for data, starts, ends, bounds in windows]
    natural = _measured(model, numbers[::2])
    fakes = _fakes(model, windows[1::2], len(numbers[::2]))
    whole = _fitted(natural, fakes)
    called: dict[str, list[bool]] = {kind: [] for kind in ("natural", *fakes)}
    for side in (0, 1):
        half = _fitted(_half(natural, side), {kind: _half(rows, side) for kind, rows in fakes.items()})
        for kind, rows in {"natural": natural, **fakes}.items():
            called[kind] += half.calls_fake(_half(rows, 1 - side))
    shares = {kind: round(float(np.mean(calls)), 4) for kind, calls in called.items()}
    return dataclasses.replace(whole, false_alarms=shares.pop("natural"), found=shares)


def _half(rows: Measured, side: int) -> Measured:
    return Measured(*(getattr(rows, field.name)[side::2] for field in dataclasses.fields(rows)))


def _measured(model: Model, texts: Sequence[tuple[NDArray[np.int32], NDArray[np.int64]]]) -> Measured:
    """Texts given one by one, measured."""
    shifts = np.cumsum([0, *(ids.size for ids, _ in texts)])
    sentences = np.concatenate(
        [np.zeros(1, np.int64), *(bounds[1:] + shift for (_, bounds), shift in zip(texts, shifts, strict=False))]
    )
    bounds = np.cumsum([0, *(bounds.size - 1 for _, bounds in texts)]).astype(np.int64)
    return measure_ids(model, np.concatenate([ids for ids, _ in texts]), sentences, bounds)


def _fakes(model: Model, windows: Sequence[Spans], number: int) -> dict[str, Measured]:
    """Measured fakes of each kind, made of windows. Their words need not be words of the model."""
    counter = WordCounter()
    numbers = np.concatenate([counter.add(data, starts, ends) for data, starts, ends, _ in windows])
    keywords = [word.encode() for word in SPAM_KEYWORDS]
    ends = np.cumsum([len(word) for word in keywords], dtype=np.int64)
    starts = ends - np.array([len(word) for word in keywords])
    stuffing = counter.add(np.frombuffer(b"".join(keywords), np.uint8), starts, ends)
    vocabulary, final = counter.finish()
    known = model.vocabulary.ids_of_words(vocabulary.words)
    known[:_FIRST_WORD] = 0
    shifts = np.cumsum([0, *(window[1].size for window in windows)])
    bounds = np.concatenate(
        [np.zeros(1, np.int64), *(window[3][1:] + shift for window, shift in zip(windows, shifts, strict=False))]
    )
    source = WordText(final[numbers], bounds)
    made = {}
    for kind in _KINDS:
        generator = Generator(kind, source, keywords=final[stuffing])
        texts = [generator.generate(WINDOW, seed) for seed in range(number)]
        made[kind] = _measured(model, [(known[text.ids].astype(np.int32), text.sentences) for text in texts])
    return made


def _fitted(natural: Measured, fakes: Mapping[str, Measured]) -> Reference:
    """Means and spreads of natural text, and a regression on deviations from them, by Newton's method."""
    means, spreads = natural.measures.mean(0), natural.measures.std(0)
    kinds = np.stack([natural.kinds.mean(0), np.maximum(natural.kinds.std(0), _LEAST_SPREAD)])
    rows = np.concatenate([natural.measures, *(fake.measures for fake in fakes.values())])
    is_fake = np.arange(len(rows)) >= len(natural.measures)
    inputs = np.column_stack([np.ones(len(rows)), _deviations(rows, means, spreads)])
    share = np.where(is_fake, _PRIOR / is_fake.sum(), (1 - _PRIOR) / (~is_fake).sum()) * len(rows)
    penalty = np.diag([0.0, *(1.0 for _ in MEASURES)])
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
