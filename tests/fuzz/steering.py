"""Damages the files that steer samehand: `python -m fuzz.steering [--tries 2000] [--seed 1] [KIND ...]` in tests.

Each damaged file is used in a process of its own, with ten seconds and one gigabyte. It must give the answer of the
whole file, or one sentence. A traceback, a signal, or another answer is a failure. Settings and labels may give another
answer: who edits a number there means it.
"""

import argparse
import contextlib
import functools
import hashlib
import io
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import samehand
from crawls import WORDS, small_crawl, write_warc
from fuzz.mutate import mutated
from fuzz.parsers import scratch
from fuzz.sandbox import isolated
from samehand.base.errors import SamehandError
from samehand.cli.main import main as command_line
from samehand.store.files import LABELS, WEIGHTS
from samehand.store.labels import SITE, UNWANTED, WANTED, Label, LabelFile

REFUSED = "refused: "


class Kind(NamedTuple):
    """A file that steers us: its path, what it is used for, and whether a damaged one may give another answer."""

    path: Path
    use: Callable[[], str]
    may_differ: bool = False


def command(*arguments: str | Path) -> str:
    """What a command prints, or its one sentence. Whatever else happens is raised."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    sys.argv = ["samehand", *map(str, arguments)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            command_line()
        except SystemExit as end:
            if end.code not in (0, 3):
                lines = err.getvalue().strip().splitlines()
                if len(lines) != 1 or not lines[0].startswith("Error: "):
                    raise AssertionError(f"no single sentence: {err.getvalue()}") from None
                return REFUSED + lines[0]
    return out.buffer.getvalue().decode("utf-8", "replace")


def sentence(use: Callable[[], str]) -> str:
    """What `use` answers, or why it refuses."""
    try:
        return use()
    except SamehandError as error:
        return REFUSED + str(error)


def digest(*arrays: object) -> str:
    """A digest of arrays and texts."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes() if isinstance(array, np.ndarray) else repr(array).encode())
    return found.hexdigest()


@functools.cache
def run() -> Path:
    """A small run with every method, its input beside it."""
    folder = scratch()
    path = write_warc(folder / "crawl.warc", small_crawl())
    samehand.scan(str(path), folder / "run", workers=1, signals="all")
    return folder / "run"


def lexicon() -> Kind:
    """A lexicon: its words, counts and range."""
    from samehand.methods.replica.lexicon import Lexicon
    from samehand.methods.replica.method import SHIPPED_LEXICON

    whole = Lexicon.load(SHIPPED_LEXICON)
    path = scratch() / "a.lexicon"
    whole.only(np.arange(whole.words.size) % 50 == 0).save(path)

    def use() -> str:
        found = Lexicon.load(path)
        facts = found.documents, found.low, found.high, found.collection, found.reader, found.texts.to_pylist()
        return digest(found.words, found.frequencies, facts)

    return Kind(path, use)


def small_model() -> Path:
    """A model of a few sentences."""
    from samehand.methods.language.training import TrainingRule, train_model

    path = scratch() / "a.lm"
    texts = scratch() / "a.txt"
    draw = random.Random(1)
    words = WORDS[:20]
    texts.write_text(". ".join(" ".join(draw.choices(words, k=9)) for _ in range(400)))
    train_model([str(texts)], str(path), rule=TrainingRule(order=3, is_compact=True), on_progress=lambda _: None)
    return path


def model() -> Kind:
    """A language model: the probabilities of a sentence."""
    from samehand.methods.language.model import Model

    path = small_model()

    def use() -> str:
        found = Model.open(path)
        ids = np.arange(3, 15, dtype=np.int32) % len(found.vocabulary)
        scores = found.log_probabilities(ids, np.array([0, ids.size]))
        return digest(scores, found.vocabulary.blob, found.trie.words, found.metadata)

    return Kind(path, use)


def detector() -> Kind:
    """A detector: its verdict on a text."""
    from samehand.methods.language.detector import SHIPPED_DETECTOR, Detector
    from samehand.methods.language.model import Model

    path = scratch() / "a.detector"
    shutil.copyfile(SHIPPED_DETECTOR, path)
    opened = Model.open(SHIPPED_DETECTOR.with_suffix(".lm"))
    text = np.frombuffer(b"The house was old. It stood on a hill, and nobody lived in it. " * 40, np.uint8)
    Detector.load(path, model=opened).judge(text, np.array([0, text.size]))

    def use() -> str:
        return digest(Detector.load(path, model=opened).judge(text, np.array([0, text.size])))

    return Kind(path, use)


def settings() -> Kind:
    """A file of settings."""
    from samehand.base.settings import Settings

    path = scratch() / "samehand.toml"
    path.write_text('cluster_threshold = 0.7\nkeep_pages = true\nmax_tags = 900\nkey = "secret"\nprofile = "web"\n')
    return Kind(path, lambda: Settings.preset("default", **Settings.from_toml(path)).digest(), may_differ=True)


def labels() -> Kind:
    """A file of answers to questions about sites."""
    path = scratch() / "answers.csv"
    urls = samehand.open_run(run()).sites().sites["url"]
    path.write_text(
        "url,label\n" + "".join(f"{url},{'real' if place % 2 else 'parked-ads'}\n" for place, url in enumerate(urls))
    )
    return Kind(path, lambda: command("label", run(), "--answers", path), may_differ=True)


def nameservers() -> Kind:
    """A file of name servers."""
    path = scratch() / "ns.csv"
    hosts = samehand.open_run(run()).sites().sites["site"]
    path.write_text("domain,ns\n" + "".join(f"{host},ns{place % 3}.park.net\n" for place, host in enumerate(hosts)))
    return Kind(path, lambda: command("sites", run(), "--nameservers", path, "--workers", "1"), may_differ=True)


def policy() -> Kind:
    """A policy of a user."""
    path = scratch() / "policy.toml"
    shutil.copyfile(Path(samehand.__file__).parent / "data/policies/crawl.toml", path)
    return Kind(path, lambda: command("verdicts", run(), "--policy", path), may_differ=True)


@functools.cache
def labelled_run() -> Path:
    """The run with what people said about its sites, and weights fitted to that."""
    folder = scratch() / "labelled"
    shutil.copytree(run(), folder)
    opened = samehand.open_run(folder)
    said = LabelFile(folder / LABELS)
    for place, site in enumerate(opened.sites().sites["site"]):
        answer = UNWANTED if place % 2 else WANTED
        said.add(Label(SITE, site, answer, f"2026-01-01T00:00:{place:02}+00:00", who="fuzz"))
    opened.refit()
    return folder


def of_labelled_run(name: str) -> Kind:
    """A file that people may edit in a run folder: verdicts and the sum behind one of them follow it."""
    commands = ("verdicts", labelled_run()), ("explain", labelled_run(), "1")
    return Kind(labelled_run() / name, lambda: "\0".join(command(*one) for one in commands), may_differ=True)


COMMANDS = (
    *(("status",), ("clusters",), ("show", "1"), ("replicas",), ("fake",), ("phrases",), ("sites",), ("like", "0")),
    *(("verdicts",), ("verdicts", "--pages"), ("explain", "1"), ("export", "--format", "domains")),
)


def run_folder() -> Iterator[Kind]:
    """Every file of a run folder, through the commands that read it."""

    def use() -> str:
        answers = []
        for name, *rest in COMMANDS:
            answer = command(name, run(), *rest)
            answers.append(REFUSED if answer.startswith(REFUSED) else answer)
        return "\0".join(answers)

    if REFUSED in use():  # what is made on demand is there afterwards
        raise RuntimeError(
            f"a command refuses the whole run: {[command(name, run(), *rest) for name, *rest in COMMANDS]}"
        )
    for path in sorted(run().rglob("*")):
        if path.is_file() and path.name != "lock":
            yield Kind(path, use)


def is_sound(said: str, whole: str, kind: Kind) -> bool:
    """Whether each answer is that of the whole file, or a refusal."""
    pairs = zip(said.split("\0"), whole.split("\0"), strict=True)
    return kind.may_differ or all(answer.startswith(REFUSED) or answer == right for answer, right in pairs)


def damage(name: str, kind: Kind, tries: int, seed: int) -> Counter[str]:
    """How `tries` damaged files ended. Those that failed are printed and kept."""
    whole_bytes, right = kind.path.read_bytes(), isolated(lambda: sentence(kind.use))
    draw, counts = random.Random(f"{name} {seed}"), Counter[str]()
    if right.kind != "done" or right.said.startswith(REFUSED):
        raise RuntimeError(f"{name}: the whole file does not work: {right}")
    for number in range(tries):
        bad = mutated([whole_bytes], (), draw)
        kind.path.write_bytes(bad)
        ended = isolated(lambda: sentence(kind.use))
        if ended.kind == "done" and is_sound(ended.said, right.said, kind):
            counts["refused" if REFUSED in ended.said else "same answer"] += 1
            continue
        what = "another answer" if ended.kind == "done" else f"{ended.kind} {ended.said[-900:]}"
        counts["FAILED"] += 1
        kept = Path(__file__).parent / "found" / f"{name}-{seed}-{number}"
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(bad)
        sys.stdout.write(f"{name} {number}: {what}\n")
    kind.path.write_bytes(whole_bytes)
    return counts


KINDS: dict[str, Callable[[], Kind]] = {
    "lexicon": lexicon,
    "model": model,
    "detector": detector,
    "settings": settings,
    "labels": labels,
    "nameservers": nameservers,
    "policy": policy,
    "label-file": functools.partial(of_labelled_run, LABELS),
    "weights": functools.partial(of_labelled_run, WEIGHTS),
}


def main() -> None:
    """Damages each kind of file, then the files of a run folder, and says how that ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("kinds", nargs="*", default=[*KINDS, "run"])
    options = parser.parse_args()
    total: Counter[str] = Counter()
    for name in options.kinds:
        if name != "run":
            counts = damage(name, KINDS[name](), options.tries, options.seed)
        else:
            kinds, counts = list(run_folder()), Counter()
            for kind in kinds:
                place = str(kind.path.relative_to(run())).replace("/", "-")
                found = damage(f"run-{place}", kind, -(-options.tries // len(kinds)), options.seed)
                counts += found
                _say(f"run {place}", found)
        total += counts
        _say(name, counts)
    sys.exit(bool(total["FAILED"]))


def _say(name: str, counts: Counter[str]) -> None:
    sys.stdout.write(f"{name}: {dict(counts)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
