"""The detector: was this text written by a person, or composed by a machine that forgets what it wrote?

The measures of `features` are compared with what natural text of the same length shows, as a number of spreads above or
below. Three forests of gradient-boosted trees look for three kinds of fakes: patchworks, stuffed text and Markov chains
of words. To what a forest says is added what each measure says by itself: that is cruder, but holds better in genres
that nobody has seen. The sums are calibrated on such genres. The largest is the fake probability, if one text in ten is
a fake. A text of too few words gets no probability, and neither does a text in words that the model does
not know: both are left before anything expensive. Sentences of known words with hardly any common word such as "the"
are word salad; nothing else is measured of them.

What it cannot see: text copied as a whole (the replica method finds that); most text from hand-written grammars, whose
sentences are natural; text of large neural models, which is coherent and natural in its words. See docs/language.md.
"""

import dataclasses
import json
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samehand.base.buffers import byte_chunks
from samehand.base.errors import InputError
from samehand.base.files import write_whole
from samehand.kernels.text.forest import Forests, are_sane
from samehand.kernels.text.patterns import KINDS as PATTERN_KINDS
from samehand.kernels.text.word_shapes import ENDINGS
from samehand.methods.language import evidence
from samehand.methods.language.curves import FAKE_KINDS, MANNER, Curves
from samehand.methods.language.features import (
    FEATURES,
    Shares,
    Tables,
    Words,
    five_commonest,
    function_share,
    known_shares,
    measure_words,
    only_words,
    words_of,
)
from samehand.methods.language.model import Model
from samehand.methods.language.tokens import only_tokens, tokenize
from samehand.methods.language.verdicts import FAKE, NATURAL, NOT_PROSE, TOO_SHORT, UNKNOWN_LANGUAGE
from samehand.methods.language.word_tables import derived

SHIPPED_MODEL = Path(__file__).parents[2] / "data" / "english.lm"
SHIPPED_DETECTOR = Path(__file__).parents[2] / "data" / "english.detector"

FORMAT = 6
"""Version of the file. A detector of another format is refused."""
SALAD, SALAD_PROBABILITY = "word salad", 0.99
SALAD_KNOWN, SALAD_COMMON, SALAD_REPEATED, SALAD_FUNCTION_WORDS = 0.4, 0.05, 0.1, 0.15
"""Word salad: the model knows this share of the words; fewer than this share are common words; the five most frequent
words make up less than this share, as in hardly any language; and fewer than this share are function words of any of
about thirty languages. The English model knows 40 % of the words of some German pages, and a third of them are such."""
SHUFFLED_CLASSES, SHUFFLED_WORDS = -0.7, -0.1
"""Word salad, too: the words before make the kind of the next word, and the next word itself, less likely than by
chance, by so much (class_gain, gain_3). Natural texts stay above -0.5 and -0.07, words in random order below -0.9 and
-0.15."""
LEAST_KNOWN, LEAST_COMMON, MOST_SHORT = 0.75, 0.1, 0.12
"""A text is in a known language if the model knows this share of its words, if this share is among the most frequent
words, such as "the", "of" and "to" (a list of names is not running text of any language), and if at most this share is
short and unknown: the spelling of text messages is a language of its own."""
_CHUNK_BYTES = 1 << 21
_MOST_CLASSES = 256
_MOST_BYTES = 1 << 30
_TABLES = (
    *("classes", "endings", "others", "logs3", "logs2", "logs1", "topics", "weights", "keywords"),
    *("patterns", "pattern_steps"),
)
_CURVES = ("knots", "means", "spreads", "centres", "widths", "slopes", "leanings", "scale", "shift")
_FORESTS = tuple(f"forest_{name}" for name in Forests._fields)


@dataclasses.dataclass(frozen=True, slots=True)
class DetectorRule:
    """From how many words on a text is judged, and from which probability on it is called fake."""

    fewest_words: int = 150
    threshold: float = 0.5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is known of a judged text: the columns of the language tables.

    `judged_words` counts its words, without punctuation and numbers. There is a `fake_probability` only if the
    verdict is fake or natural, and a `fake_kind` only if it is fake.
    """

    judged_words: int = 0
    fake_probability: float | None = None
    verdict: str
    fake_kind: str | None = None
    perplexity3: float | None = None
    perplexity4: float | None = None
    relative_entropy3: float | None = None
    relative_entropy4: float | None = None
    known_histories3: float = 0.0
    known_histories4: float = 0.0
    known_words: float = 0.0
    reasons: tuple[str, ...]


def ngram_figures(model: Model, measures: Mapping[str, float], words: int) -> dict[str, Any]:
    """The n-gram figures of a Judgement, from the measures of a text."""
    figures: dict[str, Any] = {}
    for order in (3, 4):
        is_measured = words > 0 and model.has_counts and order <= model.order
        figures[f"perplexity{order}"] = 10 ** -measures[f"log_p_{order}"] if words else None
        figures[f"relative_entropy{order}"] = measures[f"relative_entropy_{order}"] if is_measured else None
        figures[f"known_histories{order}"] = measures[f"known_histories_{order}"]
    return figures


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """The measures of the texts that were judged, what is usual, and what they say. `parts` are the log-odds of each
    measure for the likeliest kind."""

    fakes: NDArray[np.float32]
    kinds: NDArray[np.int64]
    features: NDArray[np.float32]
    usual: NDArray[np.float64]
    parts: NDArray[np.float32]

    def is_shuffled(self, place: int) -> bool:
        """Whether the words of a text stand in no order."""
        classes, words = (self.features[place, FEATURES.index(name)] for name in ("class_gain", "gain_3"))
        return bool(classes < SHUFFLED_CLASSES and words < SHUFFLED_WORDS)


@dataclasses.dataclass(frozen=True, eq=False)
class Detector:
    """A model of a language, the other tables of the language, and what was learned about fakes."""

    model: Model
    tables: Tables
    curves: Curves
    metadata: Mapping[str, Any]
    rule: DetectorRule = dataclasses.field(default_factory=DetectorRule)

    @classmethod
    def load(
        cls, path: Path | str = SHIPPED_DETECTOR, *, model: Model | None = None, rule: DetectorRule | None = None
    ) -> Self:
        """Reads a detector. Its model lies beside it under the same name with the ending .lm."""
        path = Path(path)
        model = Model.open(path.with_suffix(".lm")) if model is None else model
        arrays, metadata = _read(path)
        known: dict[str, Any] = {name: arrays[name] for name in _TABLES}
        known |= derived(model, known["topics"], known["weights"])
        known |= {"step": float(metadata["step"]), "own": int(metadata["own"])}
        tables = Tables(**known)
        if tables.classes.size != len(model.vocabulary):
            raise InputError(f"{path} belongs to another model: make detector and model together.")
        shapes: dict[str, Any] = {name: arrays[name] for name in _CURVES}
        curves = Curves(**shapes, forests=Forests(*(arrays[name] for name in _FORESTS)))
        return cls(model, tables, curves, metadata, rule or DetectorRule())

    def save(self, path: Path | str) -> None:
        """Writes everything but the model."""
        metadata = {
            **self.metadata,
            "format": FORMAT,
            "features": list(FEATURES),
            "step": self.tables.step,
            "own": self.tables.own,
        }
        header = np.frombuffer(json.dumps(metadata, sort_keys=True).encode(), np.uint8)
        arrays = {name: getattr(self.tables, name) for name in _TABLES}
        arrays |= {name: getattr(self.curves, name).astype(np.float32) for name in _CURVES}
        arrays |= dict(zip(_FORESTS, self.curves.forests, strict=True))
        # As np.savez_compressed does, but a fifth smaller.
        with write_whole(Path(path)) as handle, zipfile.ZipFile(handle, "w", zipfile.ZIP_LZMA) as archive:
            for name, values in {"metadata": header, **arrays}.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, values, allow_pickle=False)

    def judge(
        self,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        *,
        all_words: NDArray[np.int64] | None = None,
        threads: int = 1,
    ) -> list[Judgement]:
        """A judgement with reasons for each of the texts data[offsets[i]:offsets[i+1]].

        `all_words` says how many words there were before all but the prose was left out.
        """
        all_words = np.zeros(offsets.size - 1, np.int64) if all_words is None else all_words
        chunks = byte_chunks(offsets, _CHUNK_BYTES)
        with ThreadPoolExecutor(max(1, threads)) as pool:
            parts = pool.map(
                lambda ends: self._judge(data, offsets[ends[0] : ends[1] + 1], all_words[slice(*ends)]), chunks
            )
            return [judgement for part in parts for judgement in part]

    def _judge(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64], all_words: NDArray[np.int64]
    ) -> list[Judgement]:
        tokens = tokenize(data, offsets)
        words = words_of(tokens, self.model)
        shares = known_shares(words)
        verdicts = self._first_verdicts(words, shares, all_words)
        judged = np.flatnonzero(verdicts == NATURAL)
        source = evidence.Source(only_tokens(tokens, judged), only_words(words, judged))
        scores = self._scored(source)
        place = dict(zip(judged.tolist(), range(judged.size), strict=True))
        return [
            self._judgement(scores, source, place[text], shares, text)
            if text in place
            else self._unmeasured(str(verdicts[text]), shares, text)
            for text in range(verdicts.size)
        ]

    def _first_verdicts(self, words: Words, shares: Shares, all_words: NDArray[np.int64]) -> NDArray[np.str_]:
        """What can be said before anything expensive; NATURAL stands for texts that have to be measured."""
        is_short = shares.words < self.rule.fewest_words
        is_list = shares.common < LEAST_COMMON
        verdicts = np.full(is_short.size, NATURAL, "<U16")
        verdicts[(shares.known < LEAST_KNOWN) | (shares.short > MOST_SHORT) | is_list] = UNKNOWN_LANGUAGE
        is_salad = ~is_short & (shares.common < SALAD_COMMON) & (shares.known >= SALAD_KNOWN)
        for text in np.flatnonzero(is_salad).tolist():
            if five_commonest(words, text) < SALAD_REPEATED and function_share(words, text) < SALAD_FUNCTION_WORDS:
                verdicts[text] = SALAD
        verdicts[is_short] = TOO_SHORT
        verdicts[is_short & (all_words >= self.rule.fewest_words)] = NOT_PROSE
        return verdicts

    def _unmeasured(self, verdict: str, shares: Shares, text: int) -> Judgement:
        """The judgement of a text that was not measured."""
        words, known, common = int(shares.words[text]), float(shares.known[text]), float(shares.common[text])
        is_salad = verdict == SALAD
        if is_salad:
            reason = evidence.word_salad(common)
        elif verdict in (TOO_SHORT, NOT_PROSE):
            reason = evidence.too_short(words, self.rule.fewest_words)
        elif known < LEAST_KNOWN:
            reason = evidence.unknown_words(known, LEAST_KNOWN)
        elif shares.short[text] > MOST_SHORT:
            reason = evidence.short_words(float(shares.short[text]), MOST_SHORT)
        else:
            reason = evidence.few_common_words(common, LEAST_COMMON)
        return Judgement(
            judged_words=words,
            fake_probability=SALAD_PROBABILITY if is_salad else None,
            verdict=self._called(SALAD_PROBABILITY) if is_salad else verdict,
            fake_kind=SALAD if is_salad else None,
            known_words=known,
            reasons=(reason,),
        )

    def _called(self, probability: float) -> str:
        return FAKE if probability >= self.rule.threshold else NATURAL

    def _scored(self, source: evidence.Source) -> _Scores:
        features = measure_words(source.words, self.model, self.tables)
        usual = self.curves.usual(features)
        votes, parts = self.curves.votes(features, usual)
        each = self.curves.probabilities(features, votes)
        kinds = each.argmax(1)
        likeliest = parts[np.arange(kinds.size), kinds]
        return _Scores(each.max(1).astype(np.float32), kinds, features, usual, likeliest)

    def _judgement(self, scores: _Scores, source: evidence.Source, place: int, shares: Shares, text: int) -> Judgement:
        """The judgement of a text, which is `place` among those measured."""
        measures = dict(zip(FEATURES, scores.features[place].tolist(), strict=True))
        words, is_salad = int(shares.words[text]), scores.is_shuffled(place)
        probability = SALAD_PROBABILITY if is_salad else float(scores.fakes[place])
        verdict = self._called(probability)
        kind = SALAD if is_salad else FAKE_KINDS[scores.kinds[place]]
        reasons = self._reasons(scores, source, place, measures, verdict == FAKE)
        return Judgement(
            judged_words=words,
            fake_probability=probability,
            verdict=verdict,
            fake_kind=kind if verdict == FAKE else None,
            **ngram_figures(self.model, measures, words),
            known_words=float(shares.known[text]),
            reasons=(evidence.shuffled_words(measures["gain_3"]), *reasons) if is_salad else reasons,
        )

    def _reasons(
        self, scores: _Scores, source: evidence.Source, place: int, measures: Mapping[str, float], is_fake: bool
    ) -> tuple[str, ...]:
        usual = dict(zip(FEATURES, scores.usual[place].tolist(), strict=True))
        found = evidence.reasons(FEATURES[1:], measures, usual, scores.parts[place, 1:], is_fake=is_fake)
        return found + evidence.quotes(source, self.model, place) if is_fake else found


# A stranger's zip may name packings that Python does not know, be encrypted, or hold headers that are no Python.
_UNREADABLE = (
    OSError,
    LookupError,
    ValueError,
    TypeError,
    EOFError,
    RuntimeError,
    SyntaxError,
    MemoryError,
    zlib.error,
    lzma.LZMAError,
    zipfile.BadZipFile,
)


def _read(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Arrays and metadata of a detector file, which may come from a stranger."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
                raise ValueError("it is too large")
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                metadata = json.loads(stored["metadata"].tobytes())
                arrays = {name: stored[name] for name in (*_TABLES, *_CURVES, *_FORESTS)}
    except _UNREADABLE as error:
        raise InputError(f"{path} is not a detector: {error}. Give a file that samehand made.") from error
    if not isinstance(metadata, dict) or metadata.get("format") != FORMAT or metadata.get("features") != list(FEATURES):
        raise InputError(f"{path} was made for another version of samehand: make it anew.")
    own = metadata.get("own")
    is_sane = _are_sane(arrays) and isinstance(own, int) and 0 <= own < min(arrays["logs1"].size, _MOST_CLASSES)
    if not (is_sane and isinstance(metadata.get("step"), float)):
        raise InputError(f"{path} has arrays that do not fit together: make it anew.")
    return arrays, metadata


def _are_sane(arrays: Mapping[str, NDArray[Any]]) -> bool:
    """Whether all arrays have the shapes and number types that kernels suppose, and all classes exist."""
    classes, topics, knots = arrays["logs1"].size, arrays["weights"].size, arrays["knots"].size
    features, kinds = len(FEATURES), len(FAKE_KINDS)
    wanted: dict[str, tuple[str, tuple[int | None, ...]]] = {
        "classes": ("u1", (None,)),
        "endings": ("u1", (ENDINGS,)),
        "others": ("u1", (3,)),
        "logs3": ("u1", (classes, classes, classes)),
        "logs2": ("f4", (classes, classes)),
        "logs1": ("f4", (classes,)),
        "topics": ("i1", (topics, None)),
        "weights": ("f4", (topics,)),
        "keywords": ("u8", (None,)),
        "patterns": ("i1", (None, PATTERN_KINDS)),
        "pattern_steps": ("f4", (PATTERN_KINDS,)),
        "knots": ("f4", (knots,)),
        "means": ("f4", (knots, features)),
        "spreads": ("f4", (knots, features)),
        "centres": ("f4", (len(MANNER),)),
        "widths": ("f4", (len(MANNER),)),
        "slopes": ("f4", (2 * len(MANNER), features)),
        "leanings": ("f4", (kinds, 3, features)),
        "scale": ("f4", (kinds, knots)),
        "shift": ("f4", (kinds, knots)),
        **dict(zip(_FORESTS, [(kind, (None,)) for kind in ("i4", "i4", "u1", "f4", "i4", "f4")], strict=True)),
    }
    for name, (kind, shape) in wanted.items():
        found = arrays[name]
        if found.dtype != kind or found.ndim != len(shape):
            return False
        if any(size not in (None, there) for size, there in zip(shape, found.shape, strict=True)):
            return False
    rows = len(arrays["patterns"])
    return (
        knots > 1
        and rows > 1
        and rows & (rows - 1) == 0
        and bool(np.isfinite(arrays["pattern_steps"]).all())
        and bool((np.diff(arrays["knots"]) > 0).all())
        and all(int(arrays[name].max(initial=0)) < classes for name in ("classes", "endings", "others"))
        and all(bool(np.isfinite(arrays[name]).all()) for name in _CURVES)
        and arrays["forest_bounds"].size == kinds + 1
        and are_sane(Forests(*(arrays[name] for name in _FORESTS)), features)
    )
