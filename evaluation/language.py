"""The paper's game on real text: `make evaluate`, or python -m evaluation.language --data FOLDER.

A corpus is split in three, three times: one part trains the paper's detectors, one the generators, one is natural text.
Beside the paper's four scores, whose thresholds are learned from a fifth of the texts, stands the detector that ships,
with the one threshold it has. Of parliament and novels the generators and the natural text are what it never saw: other
sessions, other authors. Newswire is split evenly, and the shipped detector learned from some of it. What it says of
genres that it never saw is in `language_genres`, which is printed first. Then counts of the web (section 6 of the
paper), markers (section 2.2), generators nobody here wrote, and news of large neural models, which the detector does
not claim to find. `--parts` says which of these to print. Exits with 1 below a floor.

The detector was made with these corpora in view: only corpora not named here can confirm the figures. Floors are what
was reached, less a little; targets are what was asked for, and those not met are listed.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation import english_model, language_genres, language_markers, web_counts
from evaluation import language_corpora as corpora
from evaluation.detector_samples import with_words
from evaluation.style import Floor
from samehand.html import visible_text
from samehand.methods.language import katz
from samehand.methods.language.counting import count_spans
from samehand.methods.language.detector import Detector
from samehand.methods.language.generators import KINDS, SPAM_KEYWORDS, Generator, detokenize
from samehand.methods.language.model import Model, ngram_bounds
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.verdicts import FAKE

SIZES = {500: 80, 2000: 60, 5000: 24, 10000: 12}
"""Words of a text, and texts of each kind."""
REPLICATIONS = 3
METHODS = ("perplexity 3", "perplexity 4", "entropy 3", "entropy 4", "detector")
FLOORS = {500: 0.2, 2000: 0.8, 5000: 0.9, 10000: 0.9}
"""The least F of the detector in any cell, by words. The worst one of 500 words is chains of three words of context."""
TARGETS = {500: 0.90, 2000: 0.95}
PATTERN = 0.75
"""Least F of the paper's scores where the paper says they find fakes; novels, whose authors differ, are the worst."""
PARTS = ("genres", "game", "web", "markers", "strangers")
STRANGERS = {"dadadodo": 0.9, "polygen": 0.0}
"""Polygen's grammars were written by hand: most of what they make is natural sentences, or lists of names."""
_TUNING = 5
_WORDS_FOR_STRANGERS = 2000

PAPER: dict[str, dict[int, tuple[float | None, ...]]] = {
    "pw5": {2000: (0.76, 0.78, 0.82, 0.42), 5000: (0.89, 0.85, 0.93, 0.57), 10000: (0.50, 0.51, None, None)},
    "pw10": {2000: (0.65, 0.67, 0.48, 0.27), 5000: (0.94, 0.95, 0.64, 0.27), 10000: (0.97, 0.95, None, None)},
    "ws10": {2000: (None, None, 0.27, 0.21), 5000: (None, None, 0.43, 0.25)},
    "ws25": {2000: (0.99, 0.99, 0.67, 0.29), 5000: (1.00, 1.00, 0.87, 0.43), 10000: (1.00, 1.00, None, None)},
    "ws50": {2000: (1.00, 1.00, 0.90, 0.45), 5000: (1.00, 1.00, 0.98, 0.63), 10000: (1.00, 1.00, None, None)},
    "lm2": {2000: (0.88, 0.87, 0.99, 0.78), 5000: (0.92, 0.96, 0.99, 0.96)},
    "lm3": {2000: (0.25, 0.27, 0.35, 0.88), 5000: (0.25, 0.30, 0.35, 0.87)},
    "lm4": {2000: (0.25, 0.28, 0.35, 0.58), 5000: (0.25, 0.29, 0.33, 0.79)},
}
"""The paper's F-measures on its parliament (tables 2 and 3), by words, by our first four METHODS. Its other columns are
of corpora that cannot be had; it has no perplexity for ws10 and no relative entropy for 10,000 words."""
PAPER_WEB = {
    "pw5": (0.92, 0.42),
    "pw10": (0.92, 0.67),
    "ws10": (0.90, 0.90),
    "ws25": (0.91, 0.72),
    "ws50": (0.95, 0.42),
    "lm2": (0.96, 0.96),
    "lm3": (0.68, 0.88),
    "lm4": (0.77, 0.77),
}
"""The same of its detectors from counts of the whole web (table 4, 2,000 words): entropy 3 and 4."""


def _target(name: str) -> float | None:
    """What was aimed at: more than the floor, where it was not reached."""
    if "left alone" in name:
        return 0.995 if "pages" in name else 0.99
    if "worst cell of 500" in name:
        return 0.90
    return 0.95 if "worst cell" in name or "beside newswire" in name else None


@dataclass(frozen=True, slots=True)
class Game:
    """One split of a corpus: what the paper's detector learned, what the generators have, what is natural."""

    model: Model
    source: corpora.Corpus
    natural: corpora.Corpus


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--debian", type=Path, default=Path("build/debian"), help="what evaluation.debian_texts fetched"
    )
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--replications", type=int, default=REPLICATIONS, help="splits of each corpus in the game")
    options = parser.parse_args()
    data, shipped = options.data, Detector.load()
    floors = []
    if "genres" in options.parts:
        floors += language_genres.report(data, options.debian, shipped)
    if "game" in options.parts:
        floors += _play("newswire", corpora.newswire(data), None, shipped, options.replications)
        for name, read in (("parliament", corpora.parliament), ("novels", corpora.novels)):
            documents = read(data)
            split = corpora.parted(documents, english_model.PARTS, english_model.SPLIT_SEED)
            floors += _play(name, documents, split[english_model.HELD_OUT_PART], shipped, options.replications)
    if "web" in options.parts:
        _web(data, shipped)
    if "markers" in options.parts:
        language_markers.report(data)
    if "strangers" in options.parts:
        floors += _strangers(data, shipped)
        _machines(data, shipped)
    print("\nfloors")
    for floor in floors:
        aim = _target(floor.name)
        missed = f"; the target {aim} is not reached" if aim and floor.reached < aim else ""
        mark = "ok  " if floor.holds else "MISS"
        print(f"  {mark} {floor.name:52} {floor.reached:.4f} (at least {floor.floor}{missed})")
    sys.exit(not all(floor.holds for floor in floors))


def _play(
    name: str,
    documents: Sequence[corpora.Document],
    unseen: Sequence[corpora.Document] | None,
    detector: Detector,
    replications: int,
) -> list[Floor]:
    """The game on one corpus: F of every method, generator and length, the mean of the replications."""
    cells: dict[tuple[str, int], list[list[float]]] = {}
    for replication in range(replications):
        game = _split(documents, unseen, replication)
        for size, number in SIZES.items():
            natural = _scores(_passages(game.natural, size, number, replication), game.model, detector)
            for kind in KINDS:
                fakes = _scores(_fakes(game.source, kind, size, number, replication), game.model, detector)
                cells.setdefault((kind, size), []).append(_f_measures(natural, fakes, replication))
    means = {cell: np.mean(rows, axis=0) for cell, rows in cells.items()}
    _print_game(name, means, replications)
    _print_missed(means)
    floors = [
        Floor(f"{name}: F of the detector, worst cell, {size} words", _worst(means, size), least)
        for size, least in FLOORS.items()
    ]
    return floors + _pattern(name, means)


def _worst(means: dict[tuple[str, int], NDArray[np.float64]], size: int) -> float:
    return min(float(means[kind, size][-1]) for kind in KINDS)


def _print_missed(means: dict[tuple[str, int], NDArray[np.float64]]) -> None:
    missed = [
        f"{kind} {size} words {means[kind, size][-1]:.2f}"
        for size, target in TARGETS.items()
        for kind in KINDS
        if means[kind, size][-1] < target
    ]
    print(f"  targets ({TARGETS}) not met by the detector: {', '.join(missed) or 'none'}", flush=True)


def _split(documents: Sequence[corpora.Document], unseen: Sequence[corpora.Document] | None, replication: int) -> Game:
    """Three even parts, or the generator's and the natural one from what the shipped detector never saw."""
    if unseen is None:
        detector, generator, natural = corpora.parted(documents, 3, seed=replication)
    else:
        kept = {document.owner for document in unseen}
        generator, natural = corpora.parted(unseen, 2, seed=replication)
        others = [document for document in documents if document.owner not in kept]
        detector = corpora.parted(others, 3, seed=replication)[0]
    tokens = corpora.tokens_of(detector)
    counts = count_spans([(tokens.data, tokens.starts, tokens.ends, tokens.sentences)], order=4)
    source = with_words(corpora.corpus_of(corpora.tokens_of(generator)), SPAM_KEYWORDS)
    return Game(katz.train(counts), source, corpora.corpus_of(corpora.tokens_of(natural)))


def _passages(corpus: corpora.Corpus, size: int, number: int, seed: int) -> list[bytes]:
    """Natural passages from all over a corpus, written as the fakes are."""
    most = corpus.text.ids.size // size
    chosen = np.random.Generator(np.random.PCG64(seed)).permutation(most)[:number]
    return [_written(corpus, place * size, (place + 1) * size) for place in chosen.tolist()]


def _fakes(source: corpora.Corpus, kind: str, size: int, number: int, seed: int) -> list[bytes]:
    keywords = np.arange(len(source.words) - len(SPAM_KEYWORDS), len(source.words), dtype=np.int32)
    generator = Generator(kind, source.text, keywords=keywords)
    texts = (generator.generate(size, seed * 1000 + place) for place in range(number))
    return [_written(corpora.Corpus(text, source.words), 0, size) for text in texts]


def _written(corpus: corpora.Corpus, first: int, last: int) -> bytes:
    return corpora.written(corpus, first, last, detokenize).replace("\n", " ").encode()


def _scores(texts: Sequence[bytes], model: Model, detector: Detector) -> NDArray[np.float64]:
    """The paper's four scores and the detector's verdict (1: fake) of each text, larger for fakes."""
    data, offsets = corpora.end_to_end(texts)
    tokens = tokenize(data, offsets)
    ids = model.vocabulary.ids_of(tokens.data, tokens.starts, tokens.ends)
    columns = []
    for order in (3, 4):
        logs = model.log_probabilities(ids, tokens.sentences, order).astype(np.float64)
        columns.append(-_means(logs, ngram_bounds(tokens.sentences, 1)[tokens.texts]))
    for order in (3, 4):
        penalties, known = model.relative_entropy(ids, tokens.sentences, order)
        bounds = ngram_bounds(tokens.sentences, order)[tokens.texts]
        columns.append(_means(penalties.astype(np.float64), bounds) / np.maximum(_means(known, bounds), 1e-9))
    columns.append((_verdicts(detector, texts) == FAKE).astype(np.float64))
    return np.stack(columns, axis=1)


def _verdicts(detector: Detector, texts: Iterable[bytes]) -> NDArray[np.str_]:
    return np.array([judged.verdict for judged in detector.judge(*corpora.end_to_end(texts), threads=2)], "<U16")


def _means(values: NDArray[np.generic], bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.float64)])
    return (sums[bounds[1:]] - sums[bounds[:-1]]) / np.maximum(1, np.diff(bounds))


def _f_measures(natural: NDArray[np.float64], fakes: NDArray[np.float64], seed: int) -> list[float]:
    """F of each method: thresholds of the paper's are the best of every fifth text, tested on the others."""
    measures = [_best_f(natural[:, method], fakes[:, method], seed) for method in range(4)]
    return [*measures, _f(natural[:, -1] > 0, fakes[:, -1] > 0)]


def _best_f(natural: NDArray[np.float64], fakes: NDArray[np.float64], seed: int) -> float:
    """F of the threshold that is best for every fifth text, tested on the others."""
    random = np.random.Generator(np.random.PCG64(seed))
    natural, fakes = random.permutation(natural), random.permutation(fakes)
    tried = np.unique(np.concatenate([natural[::_TUNING], fakes[::_TUNING]]))
    marks = np.concatenate([[tried[0] - 1], (tried[1:] + tried[:-1]) / 2])
    best = marks[np.argmax([_f(natural[::_TUNING] > mark, fakes[::_TUNING] > mark) for mark in marks])]
    others, rest = (np.arange(len(texts)) % _TUNING > 0 for texts in (natural, fakes))
    return _f(natural[others] > best, fakes[rest] > best)


def _f(false: NDArray[np.bool_], found: NDArray[np.bool_]) -> float:
    """F of the fakes found, if there are as many natural texts as fakes."""
    recall, wrong = float(found.mean()), float(false.mean())
    return 2 * recall / (1 + recall + wrong) if recall else 0.0


def _print_game(name: str, means: dict[tuple[str, int], NDArray[np.float64]], replications: int) -> None:
    print(f"\n{name}: F-measures, {replications} replications (in brackets the paper's on its parliament)")
    print(f"  {'':6}{'words':>6}  {'  '.join(f'{method:>13}' for method in METHODS)}   paper, web counts: entropy 3, 4")
    for kind in KINDS:
        for size in SIZES:
            paper = PAPER[kind].get(size, (None,) * 4)
            shown = [
                f"{value:.2f} {f'({printed:.2f})' if printed is not None else '':6}"
                for value, printed in zip(means[kind, size], (*paper, None), strict=True)
            ]
            web = "   {:.2f} {:.2f}".format(*PAPER_WEB[kind]) if size == 2000 else ""
            print(f"  {kind:6}{size:>6}  {'  '.join(f'{cell:>13}' for cell in shown)}{web}", flush=True)


def _pattern(name: str, means: dict[tuple[str, int], NDArray[np.float64]]) -> list[Floor]:
    """The paper's pattern, 5,000 words: entropy of order n finds chains of lower order, perplexity finds stuffing."""
    return [
        Floor(f"{name}: entropy 3 finds lm2", float(means["lm2", 5000][2]), 0.80),
        Floor(f"{name}: entropy 4 finds lm3", float(means["lm3", 5000][3]), 0.75),
        Floor(f"{name}: perplexity 3 finds ws50", float(means["ws50", 5000][0]), PATTERN),
        Floor(f"{name}: the detector finds lm4, entropy 4 less", float(np.diff(means["lm4", 2000][3:])[0]), 0.0),
    ]


def _web(data: Path, shipped: Detector) -> None:
    """Relative entropy from counts that have nothing to do with the corpus (the paper's table 4); no floors."""
    generator, natural = corpora.parted(corpora.newswire(data), 2, seed=1)
    source = with_words(corpora.corpus_of(corpora.tokens_of(generator)), SPAM_KEYWORDS)
    good = _passages(
        corpora.corpus_of(corpora.tokens_of(natural)), _WORDS_FOR_STRANGERS, SIZES[_WORDS_FOR_STRANGERS], 1
    )
    pairs = web_counts.web_pairs()
    models = [(shipped.model, 3), (shipped.model, 4), *([(pairs, 2)] if pairs else [])]
    print("\nnewswire of 2,000 words, relative entropy from other counts: F (paper's table 4, its own corpora)")
    print("          shipped counts 3   shipped counts 4   pairs of the web" + ("" if pairs else " (no wordsegment)"))
    for kind in KINDS:
        fakes = _fakes(source, kind, _WORDS_FOR_STRANGERS, len(good), 1)
        cells = [_best_f(_entropies(good, *model), _entropies(fakes, *model), 1) for model in models]
        printed = (*PAPER_WEB[kind], None)
        shown = [f"{f:.2f} {f'({paper:.2f})' if paper else '':6}" for f, paper in zip(cells, printed, strict=False)]
        print(f"  {kind:6}" + "".join(f"{cell:>19}" for cell in shown), flush=True)


def _entropies(texts: Sequence[bytes], model: Model, order: int) -> NDArray[np.float64]:
    """The mean penalty of each text under a model of words in lower case."""
    data, offsets = corpora.end_to_end(text.lower() for text in texts)
    tokens = tokenize(data, offsets)
    ids = model.vocabulary.ids_of(tokens.data, tokens.starts, tokens.ends)
    penalties, known = model.relative_entropy(ids, tokens.sentences, order)
    bounds = ngram_bounds(tokens.sentences, order)[tokens.texts]
    return _means(penalties.astype(np.float64), bounds) / np.maximum(_means(known, bounds), 1e-9)


def _strangers(data: Path, shipped: Detector) -> list[Floor]:
    """Generators nobody here wrote, against newswire, which the detector never saw."""
    source, natural = corpora.parted(corpora.newswire(data), 2, seed=1)
    corpus = corpora.corpus_of(corpora.tokens_of(natural))
    false = _verdicts(shipped, _passages(corpus, _WORDS_FOR_STRANGERS, 100, 1)) == FAKE
    makers: dict[str, Callable[[], list[bytes]]] = {
        "dadadodo": lambda: _dadadodo([document.text for document in source]),
        "polygen": _polygen,
    }
    floors = []
    for name, make in makers.items():
        if (texts := make()) == []:
            print(f"\n{name} is not installed: skipped (apt-get install dadadodo polygen polygen-data)")
            continue
        verdicts = _verdicts(shipped, texts)
        f = _f(false, verdicts == FAKE)
        print(f"\n{name}: {len(texts)} texts, F {f:.3f}; {_counted(verdicts)}")
        floors.append(Floor(f"{name} beside newswire: F", f, STRANGERS[name]))
    return floors


def _dadadodo(texts: Sequence[bytes]) -> list[bytes]:
    program = shutil.which("dadadodo")
    if program is None:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "news.txt"
        path.write_bytes(b"\n".join(texts)[:4_000_000])
        made = subprocess.run(
            [program, "-p", "0", "-c", "8000", "-w", "72", str(path)], capture_output=True, check=True
        ).stdout
    return _in_texts(made)


def _polygen() -> list[bytes]:
    """What each English grammar says again and again, as texts of about 2,000 words."""
    program = shutil.which("polygen") or shutil.which("polygen", path="/usr/games")
    if program is None:
        return []
    texts = []
    for grammar in sorted(Path("/usr/share/polygen/eng").glob("*.grm")):
        command = [program, "-seed", "1", "-X", "1000", str(grammar)]
        made = subprocess.run(command, capture_output=True, check=False).stdout
        texts += _in_texts(visible_text(made).encode())[:5]
    return texts


def _in_texts(raw: bytes) -> list[bytes]:
    words = raw.split()
    ends = range(_WORDS_FOR_STRANGERS, len(words) + 1, _WORDS_FOR_STRANGERS)
    return [b" ".join(words[end - _WORDS_FOR_STRANGERS : end]) for end in ends][:100]


def _machines(data: Path, shipped: Detector) -> None:
    print("\nnews of large neural models, no target: this method does not see them, they are as coherent as people are")
    for name, documents in corpora.news_of_people_and_machines(data).items():
        share = (_verdicts(shipped, (document.text for document in documents)) == FAKE).mean()
        print(f"  {name:16} {share:.3f} taken for fake")


def _counted(verdicts: NDArray[np.str_]) -> str:
    return ", ".join(f"{number} {name}" for name, number in zip(*np.unique(verdicts, return_counts=True), strict=True))


if __name__ == "__main__":
    main()
