"""The detector: was this text written by a person, or put together by a machine that forgets what it wrote?

The measures of `features` are compared with what natural text of the same length shows: each becomes a number of
spreads above or below it. Three sets of weights look for three kinds of fakes: patchworks, stuffed text and chains of
words. What each says is calibrated on genres it had not seen; the largest is the probability `fake`, if one text in ten
is a fake. A text of too few words gets no answer, and neither does one in words
the model does not know.

What it cannot see: text copied whole (the replica signal finds that); most text of grammars written by hand, whose
sentences are natural; text of large neural models, which is coherent and natural in its words. See the evaluation.
"""

import dataclasses
import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.errors import InputError, UsageError
from samehand.kernels.segments import segment_sums
from samehand.kernels.text import word_shapes as shapes
from samehand.methods.language import evidence
from samehand.methods.language.features import (
    FEATURES,
    FIRST_WORD,
    Tables,
    Words,
    measure_words,
    stem_chances_of,
    words_of,
)
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import tokenize

SHIPPED_MODEL = Path(__file__).parents[2] / "data" / "english.lm"
SHIPPED_DETECTOR = Path(__file__).parents[2] / "data" / "english.detector"

FORMAT = 1
"""Version of the file; a detector of another format is refused."""
TOO_SHORT, UNKNOWN_LANGUAGE, NATURAL, FAKE = "too short", "unknown language", "natural", "fake"
FAMILIES = ("patchwork", "stuffing", "chain")
"""The kinds of fakes that are looked for."""
FURTHEST = 6.0
"""No measure counts for more spreads than this: one strange number is no proof."""

_CHUNK_BYTES = 1 << 21
_TABLES = ("classes", "endings", "others", "logs3", "logs2", "logs1", "topics", "weights", "keywords")
_CURVES = ("knots", "means", "spreads", "coefficients", "scale", "shift")


@dataclasses.dataclass(frozen=True, slots=True)
class DetectorRule:
    """When to answer, and when the answer is "fake".

    A text is in a known language when at least `least_known` of its words are in the model and `least_common` are among
    the commonest ones, such as the, of and to: a list of names is no running text of any language.
    """

    fewest_words: int = 150
    least_known: float = 0.6
    least_common: float = 0.1
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if self.fewest_words < 20:
            raise UsageError(f"{self.fewest_words} words are too few to judge by: choose 20 and more.")
        for name in ("least_known", "least_common", "threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} is {getattr(self, name)}: choose a value from 0 to 1.")


@dataclasses.dataclass(frozen=True, slots=True)
class Judgement:
    """What the detector says of a text, and why."""

    words: int
    fake: float | None
    verdict: str
    family: str | None
    reasons: tuple[str, ...]
    perplexity3: float | None
    perplexity4: float | None
    relative_entropy3: float | None
    relative_entropy4: float | None
    known_histories3: float
    known_histories4: float
    known_words: float


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What `score` gives for many texts: nan in `fake` where there is no answer, see `verdicts`."""

    words: NDArray[np.int64]
    known: NDArray[np.float32]
    fake: NDArray[np.float32]
    families: NDArray[np.int64]
    verdicts: NDArray[np.str_]
    features: NDArray[np.float32]
    parts: NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """What natural text shows at each length (`knots`: logarithms of tokens), and what deviations say.

    `means` and `spreads` have a row for each knot and a column for each feature; `coefficients` a row for each of
    FAMILIES: a constant, the length, the features, the features times the length. `scale` and `shift` turn what they
    say into a logarithm of odds, for each family and each knot.
    """

    knots: NDArray[np.float64]
    means: NDArray[np.float64]
    spreads: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    scale: NDArray[np.float64]
    shift: NDArray[np.float64]

    def deviations(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """Spreads above or below what natural text of that length shows, of all features but the length."""
        at = hats(features[:, 0], self.knots)
        away = (features - at @ self.means) / np.maximum(at @ self.spreads, 1e-3)
        return np.clip(np.nan_to_num(away), -FURTHEST, FURTHEST)[:, 1:]

    def parts(self, features: NDArray[np.float32]) -> NDArray[np.float64]:
        """What each feature says for each family: texts, families, features without the length."""
        long = relative_length(features[:, 0])[:, None, None]
        number = features.shape[1] - 1
        weights = self.coefficients[None, :, 2 : 2 + number] + long * self.coefficients[None, :, 2 + number :]
        said: NDArray[np.float64] = weights * self.deviations(features)[:, None, :]
        return said

    def votes(self, features: NDArray[np.float32], parts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What all features say for each family, before calibration."""
        long = relative_length(features[:, 0])[:, None]
        said: NDArray[np.float64] = parts.sum(2) + self.coefficients[:, 0] + long * self.coefficients[:, 1]
        return said

    def probabilities(self, features: NDArray[np.float32], votes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Calibrated: the probability that a text is a fake of each family."""
        at = hats(features[:, 0], self.knots)
        odds = (at @ self.scale.T) * votes + at @ self.shift.T
        chances: NDArray[np.float64] = 1 / (1 + np.exp(-np.clip(odds, -40, 40)))
        return chances


def relative_length(logs: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Logarithms of lengths, about -1 to 1 for 250 to 5,000 tokens, and no further than the lengths learned from."""
    within: NDArray[np.float64] = np.clip(logs.astype(np.float64), np.log(100), np.log(14_000))
    return (within - 7) / 1.5


def hats(logs: NDArray[np.floating[Any]], knots: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of the knots for linear interpolation at each of `logs`; constant beyond the ends."""
    place = np.clip(logs.astype(np.float64), knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, place) - 1, 0, knots.size - 2)
    share = (place - knots[left]) / (knots[left + 1] - knots[left])
    weights = np.zeros((place.size, knots.size))
    rows = np.arange(place.size)
    weights[rows, left], weights[rows, left + 1] = 1 - share, share
    return weights


@dataclasses.dataclass(frozen=True, eq=False)
class Detector:
    """A model of a language, what else is known of it, and what was learned of fakes."""

    model: Model
    tables: Tables
    curves: Curves
    facts: Mapping[str, Any]
    rule: DetectorRule = dataclasses.field(default_factory=DetectorRule)

    @classmethod
    def load(
        cls, path: Path | str = SHIPPED_DETECTOR, *, model: Model | None = None, rule: DetectorRule | None = None
    ) -> Self:
        """Reads a detector; its model lies beside it under the same name, with the ending .lm."""
        path = Path(path)
        model = Model.open(path.with_suffix(".lm")) if model is None else model
        arrays, facts = _read(path)
        known: dict[str, Any] = {name: arrays[name] for name in _TABLES}
        known |= {"stem_chances": stem_chances_of(model), "step": float(facts["step"]), "own": int(facts["own"])}
        tables = Tables(**known)
        if tables.classes.size != len(model.vocabulary):
            raise InputError(f"{path} belongs to another model: make detector and model together.")
        curves = Curves(*(arrays[name] for name in _CURVES))
        return cls(model, tables, curves, facts, rule or DetectorRule())

    def save(self, path: Path | str) -> None:
        """Writes everything but the model."""
        facts = {
            **self.facts,
            "format": FORMAT,
            "features": list(FEATURES),
            "step": self.tables.step,
            "own": self.tables.own,
        }
        header = np.frombuffer(json.dumps(facts, sort_keys=True).encode(), np.uint8)
        arrays = {name: getattr(self.tables, name) for name in _TABLES}
        arrays |= {name: getattr(self.curves, name).astype(np.float32) for name in _CURVES}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, facts=header, **arrays)

    def score(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, threads: int = 1) -> Scores:
        """Scores of the texts data[offsets[i]:offsets[i+1]], by several threads."""
        chunks = list(zip(bounds := _chunks(offsets), bounds[1:], strict=False))
        if threads > 1 and len(chunks) > 1:
            with ThreadPoolExecutor(threads) as pool:
                parts = list(pool.map(lambda ends: self._score(data, offsets[ends[0] : ends[1] + 1])[0], chunks))
        else:
            parts = [self._score(data, offsets[first : last + 1])[0] for first, last in chunks]
        return _joined(parts) if parts else self._score(data, np.zeros(1, np.int64))[0]

    def judge(self, data: NDArray[np.uint8], offsets: NDArray[np.int64], *, threads: int = 1) -> list[Judgement]:
        """A judgement with reasons for each of the texts data[offsets[i]:offsets[i+1]]."""
        chunks = list(zip(bounds := _chunks(offsets), bounds[1:], strict=False))
        with ThreadPoolExecutor(max(1, threads)) as pool:
            parts = list(pool.map(lambda ends: self._judge(data, offsets[ends[0] : ends[1] + 1]), chunks))
        return [judgement for part in parts for judgement in part]

    def judge_text(self, text: str | bytes) -> Judgement:
        """The judgement of one text."""
        raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
        return self.judge(np.frombuffer(raw, np.uint8), np.array([0, len(raw)], np.int64))[0]

    def _score(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> tuple[Scores, evidence.Source]:
        tokens = tokenize(data, offsets)
        words = words_of(tokens, self.model)
        features = measure_words(words, self.model, self.tables)
        parts = self.curves.parts(features)
        each = self.curves.probabilities(features, self.curves.votes(features, parts))
        families = each.argmax(1)
        fake = each.max(1)
        number, known = _known(words)
        verdicts = np.where(fake >= self.rule.threshold, FAKE, NATURAL).astype("<U16")
        common = features[:, FEATURES.index("function_words")]
        verdicts[(known < self.rule.least_known) | (common < self.rule.least_common)] = UNKNOWN_LANGUAGE
        verdicts[number < self.rule.fewest_words] = TOO_SHORT
        fake[(verdicts == TOO_SHORT) | (verdicts == UNKNOWN_LANGUAGE)] = np.nan
        chosen = parts[np.arange(families.size), families]
        scores = Scores(number, known, fake.astype(np.float32), families, verdicts, features, chosen.astype(np.float32))
        return scores, evidence.Source(tokens, words)

    def _judge(self, data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> list[Judgement]:
        scores, source = self._score(data, offsets)
        return [self._judgement(scores, source, text) for text in range(scores.words.size)]

    def _judgement(self, scores: Scores, source: evidence.Source, text: int) -> Judgement:
        features = dict(zip(FEATURES, scores.features[text].tolist(), strict=True))
        verdict = str(scores.verdicts[text])
        number, known = int(scores.words[text]), float(scores.known[text])
        reasons: tuple[str, ...]
        if verdict == TOO_SHORT:
            reasons = (f"{number} words; {self.rule.fewest_words} are needed to tell.",)
        elif verdict == UNKNOWN_LANGUAGE:
            common, rule = features["function_words"], self.rule
            reasons = (
                f"{known:.0%} of the words are known to the model ({rule.least_known:.0%} are needed), and {common:.0%}"
                f" are such as make sentences ({rule.least_common:.0%} are needed).",
            )
        else:
            at = hats(scores.features[text : text + 1, 0], self.curves.knots)
            usual = dict(zip(FEATURES, (at @ self.curves.means)[0].tolist(), strict=True))
            reasons = evidence.reasons(features, usual, scores.parts[text], is_fake=verdict == FAKE)
            if verdict == FAKE:
                reasons += evidence.places(source, self.model, text)
        has_words = number > 0
        answered = verdict in (FAKE, NATURAL)
        return Judgement(
            words=number,
            fake=float(scores.fake[text]) if answered else None,
            verdict=verdict,
            family=FAMILIES[scores.families[text]] if verdict == FAKE else None,
            reasons=reasons,
            perplexity3=10 ** -features["log_p_3"] if has_words else None,
            perplexity4=10 ** -features["log_p_4"] if has_words else None,
            relative_entropy3=features["relative_entropy_3"] if has_words else None,
            relative_entropy4=features["relative_entropy_4"] if has_words else None,
            known_histories3=features["known_histories_3"],
            known_histories4=features["known_histories_4"],
            known_words=known,
        )


def _known(words: Words) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Words of each text, marks and numbers aside, and the share of them that the model knows."""
    spoken = words.kinds == shapes.WORD
    number = segment_sums(spoken.astype(np.float64), words.bounds)
    known = segment_sums((spoken & (words.ids >= FIRST_WORD)).astype(np.float64), words.bounds)
    return number.astype(np.int64), (known / np.maximum(1, number)).astype(np.float32)


def _chunks(offsets: NDArray[np.int64]) -> list[int]:
    """Texts at which chunks of about _CHUNK_BYTES begin, and the end."""
    texts = offsets.size - 1
    if texts < 1:
        return []
    wanted = np.arange(offsets[0], offsets[-1], _CHUNK_BYTES)
    begins = np.minimum(np.searchsorted(offsets, wanted, side="left"), texts - 1)
    return [*np.unique(np.concatenate([[0], begins])).tolist(), texts]


def _joined(parts: list[Scores]) -> Scores:
    names = [field.name for field in dataclasses.fields(Scores)]
    return Scores(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and facts of a detector file."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in (*_TABLES, *_CURVES, "facts")}
            facts = json.loads(arrays.pop("facts").tobytes())
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is no detector: {error}. Give a file that samehand made.") from error
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or facts.get("features") != list(FEATURES):
        raise InputError(f"{path} was made for another version of samehand: make it anew.")
    return arrays, facts
