"""Style similarity on real pages: `make evaluate`, or python -m evaluation.style --data FOLDER.

Pages of 41 Debian documentation packages, written by 12 generators whose signatures are stripped. A family should be
one generator; a cluster should never mix two. Prints one report and exits with 1 when a floor is missed.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import samehand
from evaluation.corpora import LabelledPage, PairScore, debian_pages, pair_score
from samehand import Settings
from samehand.grouping import edges as grouping
from samehand.grouping.sketches import WIDE, lanes_of, sketch_words
from samehand.kernels import noise, sketches
from samehand.kernels.buckets import similarities_of_pairs
from samehand.methods.style.channels import estimator_floor
from samehand.methods.style.clusters import read_forest
from samehand.methods.style.noise import fingerprint_buffers, noise_of, tables_of
from samehand.store.tables import STYLE_MEMBERS

FAMILY_PRECISION, FAMILY_F1, CLUSTER_PRECISION = 1.0, 0.90, 1.0
WORST_KEY_F1 = 0.90
CUTS = (0.05, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20, 0.25, 0.30, 0.35, 0.40, 0.45, 0.50, 0.55, 0.60)
KEYS = ("one", "two", "three", "four", "five", "six", "seven")


@dataclass(frozen=True, slots=True)
class Floor:
    """A figure that may not fall."""

    name: str
    reached: float
    floor: float

    @property
    def holds(self) -> bool:
        """Whether it did not."""
        return self.reached >= self.floor


class Corpus:
    """The pages as a wget folder, and what is true of each of their URLs."""

    def __init__(self, pages: Sequence[LabelledPage], folder: Path) -> None:
        self.folder = folder
        self.pages = pages
        self.urls = [f"http://{page.package}/{page.name}" for page in pages]
        for page in pages:
            (folder / page.package).mkdir(parents=True, exist_ok=True)
            (folder / page.package / page.name).write_bytes(page.content)

    def truth(self, kind: str) -> list[str]:
        """Labels in page order: generator, variant (with its generator) or package."""
        if kind == "variant":
            return [f"{page.generator} {page.variant}" for page in self.pages]
        return [str(getattr(page, kind)) for page in self.pages]

    def scan(self, out: Path, settings: Settings) -> samehand.Run:
        """Scans the corpus."""
        return samehand.scan(str(self.folder), out, settings=settings)

    def labels(self, run: samehand.Run, column: str) -> list[int]:
        """The group of each page in page order; a page in no group is its own."""
        members = run.folder.read(STYLE_MEMBERS)
        found = dict(zip(members.column("url").to_pylist(), members.column(column).to_pylist(), strict=True))
        return [found.get(url, -1 - number) for number, url in enumerate(self.urls)]

    def labels_at(self, run: samehand.Run, cut: float) -> list[int]:
        """Components at any threshold, from the stored forest."""
        urls = run.pages(["url"])["url"]
        labels = grouping.cut(read_forest(run.folder), len(urls), cut).tolist()
        found = dict(zip(urls, labels, strict=True))
        return [found[url] for url in self.urls]


def main() -> None:
    """Prints the report; exits with 1 below a floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    pages = debian_pages(parser.parse_args().data)
    with tempfile.TemporaryDirectory() as folder:
        floors = _report(Corpus(pages, Path(folder) / "pages"), Path(folder))
    print("\nfloors")
    for floor in floors:
        print(f"  {'ok  ' if floor.holds else 'MISS'} {floor.name:36} {floor.reached:.4f} (at least {floor.floor})")
    sys.exit(not all(floor.holds for floor in floors))


def _report(corpus: Corpus, folder: Path) -> list[Floor]:
    print(f"{len(corpus.pages)} pages, {len(set(corpus.truth('generator')))} generators, signatures stripped\n")
    run = corpus.scan(folder / "default", Settings())
    families, clusters = corpus.labels(run, "style_family_id"), corpus.labels(run, "style_cluster_id")
    paper = corpus.scan(folder / "paper", Settings.preset("paper"))
    _print_levels(corpus, families, clusters, corpus.labels(paper, "style_cluster_id"))
    _print_cuts(corpus, corpus.scan(folder / "cuts", Settings(family_threshold=0.05)))
    worst = _print_keys(corpus, folder)
    _print_errors(corpus)
    family = pair_score(families, corpus.truth("generator"))
    cluster = pair_score(clusters, corpus.truth("generator"))
    return [
        Floor("families: pair precision", family.precision, FAMILY_PRECISION),
        Floor("families: pair F1", family.f1, FAMILY_F1),
        Floor("families: precision, worst of keys", worst.precision, FAMILY_PRECISION),
        Floor("families: F1, worst of keys", worst.f1, WORST_KEY_F1),
        Floor("clusters: pair precision", cluster.precision, CLUSTER_PRECISION),
    ]


def _print_levels(corpus: Corpus, families: list[int], clusters: list[int], paper: list[int]) -> None:
    print("pair precision / recall / F1     against generator      and variant            package           groups")
    for name, labels in (("families", families), ("clusters", clusters), ("the paper's preset", paper)):
        scores = [pair_score(labels, corpus.truth(kind)) for kind in ("generator", "variant", "package")]
        print(f"  {name:28} {'   '.join(_triple(score) for score in scores)}   {len(set(labels)):6}")
    mixed = _across_packages(clusters, corpus.truth("package"))
    print(f"  {mixed:.1%} of the clusters of two pages and more hold pages of one package only\n")


def _triple(score: PairScore) -> str:
    return f"{score.precision:.4f} {score.recall:.3f} {score.f1:.3f}"


def _across_packages(labels: Iterable[int], packages: Iterable[str]) -> float:
    groups: dict[int, list[str]] = {}
    for label, package in zip(labels, packages, strict=True):
        groups.setdefault(label, []).append(package)
    several = [members for members in groups.values() if len(members) > 1]
    return sum(len(set(members)) == 1 for members in several) / max(1, len(several))


def _print_cuts(corpus: Corpus, run: samehand.Run) -> None:
    print("every cut from one forest: components against generator, and against package")
    for cut in CUTS:
        labels = corpus.labels_at(run, cut)
        scores = [pair_score(labels, corpus.truth(kind)) for kind in ("generator", "package")]
        print(f"  {cut:.2f}   {'   '.join(_triple(score) for score in scores)}   {len(set(labels)):6} groups")
    print()


def _print_keys(corpus: Corpus, folder: Path) -> PairScore:
    """Sampling noise: the same pages under other keys. A threshold that holds for one key only holds by luck."""
    scores = []
    for key in KEYS:
        run = corpus.scan(folder / f"key-{key}", Settings(key=key))
        scores.append(pair_score(corpus.labels(run, "style_family_id"), corpus.truth("generator")))
    worst = PairScore(*(min(column) for column in zip(*scores, strict=True)))
    print(f"families under {len(KEYS)} other keys: worst precision {worst.precision:.4f}, worst F1 {worst.f1:.3f}\n")
    return worst


def _print_errors(corpus: Corpus) -> None:
    """The paper's figure 1 as a table: the estimate against exact Jaccard, by number of dimensions."""
    print("estimate - exact Jaccard over 4,000 pairs (the paper's figure 1)")
    print("  m    mean error  standard deviation  largest   by the paper's estimator: mean, deviation")
    draw = np.random.default_rng(1)
    pairs = _similar_pairs(corpus, draw)
    for dimensions in (64, 128, 256):
        ours, theirs = (_errors(corpus, pairs, dimensions, estimator) for estimator in ("filled", "paper"))
        print(
            f"  {dimensions:<4} {ours.mean():+10.4f}  {ours.std():18.4f}  {np.abs(ours).max():7.3f}"
            f"   {theirs.mean():+.4f} {theirs.std():.4f}"
        )


def _similar_pairs(corpus: Corpus, draw: np.random.Generator) -> list[tuple[int, int]]:
    """Pairs of one generator: pairs at random would nearly all be at similarity 0."""
    generators = np.array(corpus.truth("generator"))
    pairs = []
    while len(pairs) < 4000:
        left = int(draw.integers(len(generators)))
        right = int(draw.choice(np.flatnonzero(generators == generators[left])))
        if left != right:
            pairs.append((left, right))
    return pairs


def _errors(corpus: Corpus, pairs: list[tuple[int, int]], dimensions: int, estimator: str) -> NDArray[np.float64]:
    settings = Settings(dimensions=dimensions, estimator=estimator)
    prints = np.concatenate([_fingerprint(page.content, settings) for page in corpus.pages])
    shingles = [_shingles(page.content, settings) for page in corpus.pages]
    lanes = lanes_of(dimensions, bits=WIDE, floor=estimator_floor(settings))
    rows = sketches.SketchRows(sketch_words(prints, WIDE), sketches.count_filled(prints), lanes)
    left, right = np.array(pairs, np.int32).T.copy()
    exact = []
    for one, other in pairs:
        shared = np.intersect1d(shingles[one], shingles[other], assume_unique=True).size
        exact.append(shared / max(1, shingles[one].size + shingles[other].size - shared))
    return np.asarray(similarities_of_pairs(rows, left, right) - np.array(exact))


def _fingerprint(content: bytes, settings: Settings) -> NDArray[np.uint32]:
    return fingerprint_buffers(np.frombuffer(content, np.uint8), np.array([0, len(content)]), settings)[0]


def _shingles(content: bytes, settings: Settings) -> NDArray[np.uint64]:
    tables, kept = tables_of(settings), np.frombuffer(noise_of(content, settings), np.uint8)
    return np.unique(noise.hash_shingles(kept, tables.entering, tables.leaving, settings.shingle_bytes))


if __name__ == "__main__":
    main()
