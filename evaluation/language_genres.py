"""The detector on natural genres and fakes of genres that it never saw, on real pages, and on word salad.

Every figure is of texts whose whole genre was left out: the detector learned nothing from it, and its bars were not set
on it. Related genres are left out together (`KIN`). Weights of patterns are those learned without the genre. The n-gram
model is always the shipped one, which knows other parts of parliament, novels and documentation. Fakes that get no
verdict count as missed. Word salad is judged by the shipped detector, which never saw any. So are the genres
that nothing was learned from, chosen by or set by: political essays, the campaigns of a game, quotations.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation import debian_texts, english_model
from evaluation.detector_samples import Samples, fakes_of, natural_of
from evaluation.detector_training import is_trusted, left_out_probabilities, left_out_votes, trusted
from evaluation.language_corpora import home_pages, parted, web_pages
from evaluation.style import Floor
from samehand.base.buffers import end_to_end
from samehand.html import prose_of_texts
from samehand.methods.language.detector import SHIPPED_DETECTOR, Detector
from samehand.methods.language.features import known_shares, words_of
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.verdicts import FAKE, NATURAL

KINDS = {"lm2": "chain of one word", "lm3": "chain of two words", "pw10": "patchwork of 10", "ws10": "stuffing 10 %"}
TARGETS = {500: (0.90, 0.80, 0.80, 0.80), 200: (0.60, 0.45, 0.50, 0.50)}
FOUND = {500: (0.92, 0.79, 0.88, 0.75), 200: (0.74, 0.45, 0.53, 0.56)}
"""Floors of the shares of fakes that are found, as KINDS."""
WORST_GENRE, REAL_PAGES, SALAD_FOUND = 0.01, 0.005, 0.95
"""Floors: shares of natural text that may be called fake, and of word salad that must be."""
UNSEEN_GENRE = 0.01
"""Floor of the genres used for nothing, at their worst length: a few hundred texts."""
JUDGED = 0.95
_ENGLISH_WORDS, _ENGLISH_KNOWN = 200, 0.6
_REAL = ("web pages", "home pages")
_WHOLE = 0
"""The size of samples that are whole documents."""
_REPORTED = {200: 60, 500: 60, 2000: 30}
_FEWEST = 30
_THRESHOLD = 0.5
_BINS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.01)


def report(data: Path, debian: Path, shipped: Detector) -> list[Floor]:
    """Prints all tables."""
    kept = english_model.kept_samples(SHIPPED_DETECTOR)
    if kept is None:
        language = english_model.Language(shipped.model, shipped.tables)
        samples = english_model.measured_genres(data, debian, language)[1]
        votes = left_out_votes(trusted(samples))
    else:
        samples, votes = kept
    chances = np.zeros(samples.kinds.size)
    chances[is_trusted(samples)] = left_out_probabilities(trusted(samples), votes)
    _reliability(samples, chances)
    floors = [*_natural(samples, chances), *_found(samples, chances)]
    return floors + _judged(data, shipped) + _reported_only(debian, shipped) + _salad(data, debian, shipped)


def _judged(data: Path, shipped: Detector) -> list[Floor]:
    """Of real pages with enough English prose, how many get a verdict."""
    pages = [page.text for page in (*web_pages(data), *home_pages(data))]
    shares = known_shares(words_of(tokenize(*end_to_end(pages)), shipped.model))
    is_english = (shares.words >= _ENGLISH_WORDS) & (shares.known >= _ENGLISH_KNOWN)
    judged = shipped.judge(*end_to_end(itertools.compress(pages, is_english.tolist())))
    share = float(np.mean([judgement.verdict in (FAKE, NATURAL) for judgement in judged]))
    print(f"\nreal pages with {_ENGLISH_WORDS} words of English prose: {100 * share:.1f} % of {len(judged)} are judged")
    return [Floor("real pages with 200 words of English prose: judged", share, JUDGED)]


def _reported_only(debian: Path, shipped: Detector) -> list[Floor]:
    """The genres that were used for nothing, judged by the detector that ships."""
    return [floor for genre in english_model.REPORTED_ONLY for floor in _reported(genre, debian, shipped)]


def _reported(genre: str, debian: Path, shipped: Detector) -> list[Floor]:
    documents = english_model.in_language(debian_texts.GENRES[genre](debian), shipped.model)
    source, natural = parted(documents, 2, seed=1)
    print(f"\n{genre}, used for nothing before: share called fake by the shipped detector")
    wrong: dict[int, float] = {}
    for _, size, texts in natural_of(natural, 1, sizes=_REPORTED):
        if len(texts) >= _FEWEST:
            wrong[size] = _called_fake(shipped, texts)
            print(f"  natural, {size or 'whole':>5} words  {100 * wrong[size]:.2f} % of {len(texts)}", flush=True)
    for kind in KINDS:
        found: dict[int, list[float]] = {}
        for _, size, texts in fakes_of(source, 1, kinds=(kind,), sizes=_REPORTED):
            found.setdefault(size, []).append(_called_fake(shipped, texts))
        cells = "  ".join(f"{size} words {np.mean(shares):.2f}" for size, shares in found.items())
        print(f"  {KINDS[kind]:20} {cells}", flush=True)
    return [Floor(f"{genre}, used for nothing: natural text left alone", 1 - max(wrong.values()), 1 - UNSEEN_GENRE)]


def _called_fake(shipped: Detector, texts: Sequence[bytes]) -> float:
    return float(np.mean([judged.verdict == FAKE for judged in shipped.judge(*end_to_end(texts))]))


def _share(is_fake: NDArray[np.bool_], which: NDArray[np.bool_]) -> float:
    return float(is_fake[which].mean())


def _natural(samples: Samples, chances: NDArray[np.float64]) -> list[Floor]:
    """Natural texts called fake, by genre and length."""
    natural, is_fake = samples.kinds == "natural", chances >= _THRESHOLD
    print("\nnatural text called fake, genre left out, in per cent (whole: documents as they are)")
    print(f"  {'':16}{'200 words':>12}{'500':>12}{'2000':>12}{'whole':>12}")
    worst: dict[int, float] = {}
    for genre in np.unique(samples.genres).tolist():
        cells = []
        for size in (200, 500, 2000, _WHOLE):
            which = natural & (samples.genres == genre) & (samples.sizes == size)
            if which.sum() >= _FEWEST:
                worst[size] = max(worst.get(size, 0.0), _share(is_fake, which))
            cells.append(f"{100 * _share(is_fake, which):.1f} of {which.sum()}" if which.sum() >= _FEWEST else "-")
        print(f"  {genre:16}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    whole = natural & np.isin(samples.genres, _REAL) & (samples.sizes == _WHOLE)
    pages = _share(is_fake, whole)
    print(f"  real pages called fake: {100 * pages:.2f} % of {whole.sum()}; target 0.5 %")
    return [
        Floor("real pages left alone, genre left out", 1 - pages, 1 - REAL_PAGES),
        *(
            Floor(f"worst natural genre left alone, left out, {size} words", 1 - worst[size], 1 - WORST_GENRE)
            for size in (500, 2000)
        ),
    ]


def _found(samples: Samples, chances: NDArray[np.float64]) -> list[Floor]:
    """Fakes found, the mean of all genres."""
    is_fake = chances >= _THRESHOLD
    floors = []
    print("\nfakes found, genre left out: mean of all genres, worst genre, target")
    for size, targets in TARGETS.items():
        for place, (kind, name) in enumerate(KINDS.items()):
            cells = [
                _share(is_fake, (samples.kinds == kind) & (samples.sizes == size) & (samples.genres == genre))
                for genre in np.unique(samples.genres)
            ]
            mean = float(np.mean(cells))
            print(f"  {name:20}{size:>6} words  {mean:.2f}  {min(cells):.2f}  {targets[place]:.2f}", flush=True)
            floors.append(Floor(f"{name}, {size} words, genre left out: found", mean, FOUND[size][place]))
    return floors


def _reliability(samples: Samples, chances: NDArray[np.float64]) -> None:
    """How often texts of a stated probability are fakes, if one text in ten is: by genre left out. No floors."""
    natural = samples.kinds == "natural"
    sized = samples.sizes > 0
    print("\nshare of fakes among texts of a stated probability, one text in ten a fake, genre left out")
    heads = [f"{low:.2f}-{min(high, 1):.2f}" for low, high in itertools.pairwise(_BINS)]
    print(f"  {'':16}" + "".join(f"{head:>11}" for head in heads))
    for genre in [*np.unique(samples.genres).tolist(), "all"]:
        here = sized & ((samples.genres == genre) | (genre == "all"))
        good, bad = here & natural, here & ~natural
        weights = np.where(natural, 0.9 / good.sum(), 0.1 / bad.sum())
        cells = []
        for low, high in itertools.pairwise(_BINS):
            inside = here & (chances >= low) & (chances < high)
            total = weights[inside].sum()
            cells.append(f"{weights[inside & bad].sum() / total:.2f}" if inside.sum() >= _FEWEST else "-")
        print(f"  {genre:16}" + "".join(f"{cell:>11}" for cell in cells), flush=True)


def salads(words: Sequence[str], number: int, size: int, seed: int) -> list[bytes]:
    """Texts of words drawn evenly, in sentences of 6 to 14 words that begin with a capital and end with a full stop."""
    random = np.random.Generator(np.random.PCG64(seed))
    texts = []
    for _ in range(number):
        sentences, written = [], 0
        while written < size:
            chosen = [words[int(place)] for place in random.integers(len(words), size=int(random.integers(6, 15)))]
            sentences.append(" ".join(chosen).capitalize() + ".")
            written += len(chosen)
        texts.append(" ".join(sentences).encode())
    return texts


def _salad(data: Path, debian: Path, shipped: Detector) -> list[Floor]:
    """Uniform word salad from the words of each genre."""
    found = []
    print("\nword salad of evenly drawn words, shipped detector: share called fake, 200 and 500 words")
    for genre, documents in english_model.genres(data, debian, shipped.model).items():
        text = b" ".join(document.text for document in documents[:400]).decode("utf-8", "replace")
        words = sorted({word for word in text.lower().split() if word.isalpha()})
        shares = []
        for size in (200, 500):
            prose = prose_of_texts(*end_to_end(salads(words, 40, size, size)))
            judged = shipped.judge(prose.text, prose.offsets, all_words=prose.all_words)
            shares.append(float(np.mean([judgement.verdict == FAKE for judgement in judged])))
        print(f"  {genre:16} {len(words):>6} words  " + "  ".join(f"{share:.2f}" for share in shares), flush=True)
        found += shares
    return [Floor("uniform word salad: called fake", float(np.mean(found)), SALAD_FOUND)]
