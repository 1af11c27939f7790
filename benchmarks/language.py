"""N-gram models beside KenLM: python -m benchmarks.language.

A model of order 4 is trained on nine tenths of the Europarl sessions and scores the last tenth. KenLM's Python module
gets the same model, exported as ARPA, and the same words as the text it asks for, one string for each sentence; our
time begins with the bytes of the words, so the lookup of words is in both. Times are taken by turns on one machine.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samehand.methods.language.arpa import write_arpa
from samehand.methods.language.counting import Counts, Spans, count_spans
from samehand.methods.language.katz import train
from samehand.methods.language.model import Model
from samehand.methods.language.pruning import prune
from samehand.methods.language.tokens import tokenize


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--order", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--train", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--memory", type=int, default=1 << 30, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train is not None:
        _train(chosen.data, chosen.train, chosen.order, chosen.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "europarl.lm"
        for memory in (1 << 30, 1 << 26):
            _report_training(chosen.data, path, chosen.order, memory)
        model = Model.open(path)
        _sizes(model, Path(folder), path)
        _scores(model, _texts(chosen.data)[1], Path(folder), chosen.repeats)


def _texts(data: Path) -> tuple[Spans, Spans]:
    """Words and sentences to train on, and to score."""
    with tarfile.open(data / "europarl_en_sub.tar.xz") as archive:
        members = sorted((member for member in archive if member.isfile()), key=lambda member: member.name)
        files = [handle.read() for member in members if (handle := archive.extractfile(member)) is not None]
    offsets = np.cumsum([0, *map(len, files)])
    tokens = tokenize(np.frombuffer(b"".join(files), np.uint8), offsets)
    sentence = int(tokens.texts[len(files) * 9 // 10])
    word = int(tokens.sentences[sentence])
    first = (tokens.data, tokens.starts[:word], tokens.ends[:word], tokens.sentences[: sentence + 1])
    return first, (tokens.data, tokens.starts[word:], tokens.ends[word:], tokens.sentences[sentence:] - word)


def _train(data: Path, path: Path, order: int, memory: int) -> None:
    """Trains in a process of its own, so that its memory can be told."""
    spans = _texts(data)[0]
    warm = (spans[0], spans[1][:5000], spans[2][:5000], np.array([0, 5000]))
    train(count_spans([warm], order=order, memory_bytes=1 << 16))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    counts = count_spans([spans], order=order, memory_bytes=memory)
    counted = time.perf_counter()
    counting_peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = train(counts, metadata={"corpus": "Europarl"})
    made = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model.save(path)
    told = {
        "tokens": counts.tokens,
        "ngrams": np.diff(model.trie.levels).tolist(),
        "counting": counted - began,
        "making": made - counted,
        "text": before / 1024,
        "counting_peak": counting_peak / 1024,
        "peak": peak / 1024,
    }
    sys.stdout.write(json.dumps(told))


def _report_training(data: Path, path: Path, order: int, memory: int) -> None:
    command = [sys.executable, "-m", "benchmarks.language", "--data", str(data), "--order", str(order)]
    command += ["--train", str(path), "--memory", str(memory)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    tokens = told["tokens"]
    print(
        f"training on {tokens / 1e6:.2f} M tokens with {memory >> 20} MB for sorting, n-grams by order {told['ngrams']}"
    )
    print(f"  counting      {tokens / told['counting'] / 1e6:6.2f} M tokens/s")
    print(f"  Katz model    {tokens / told['making'] / 1e6:6.2f} M tokens/s")
    print(f"  both          {tokens / (told['counting'] + told['making']) / 1e6:6.2f} M tokens/s")
    print(
        f"  peak memory   {told['counting_peak']:6.0f} MB counting, {told['peak']:.0f} MB in all, "
        f"{told['text']:.0f} MB of it the program and its text\n"
    )


def _sizes(model: Model, folder: Path, path: Path) -> None:
    print("files")
    small = prune(_train_again(model), 1e-7)
    small.save(folder / "small.lm", compact=True)
    for name, file in (("full", path), ("pruned at 1e-7, compact", folder / "small.lm")):
        Model.open(file)
        began = time.perf_counter()
        opened = Model.open(file)
        seconds = time.perf_counter() - began
        print(
            f"  {name:24} {file.stat().st_size / 1e6:7.1f} MB, {len(opened.trie) / 1e6:5.2f} M n-grams, "
            f"opened in {seconds * 1e3:.1f} ms, index made in {_seconds(opened.trie.index) * 1e3:.0f} ms on first use"
        )
    print()


def _train_again(model: Model) -> Model:
    """The model of the same counts without n-grams of three words and more that were seen once."""
    counts = Counts(model.vocabulary, model.trie, model.node_counts.astype(np.uint64))
    return train(counts, (1, 1, 2, 2, 2))


def _seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def _scores(model: Model, spans: Spans, folder: Path, repeats: int) -> None:
    data, starts, ends, sentences = spans
    predicted = starts.size + sentences.size - 1

    def ours() -> NDArray[np.float32]:
        return model.log_probabilities(model.vocabulary.ids_of(data, starts, ends), sentences)

    halves = _halves(sentences)

    def two_threads() -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda bounds: _score_part(model, spans, *bounds), halves))

    ids = model.vocabulary.ids_of(data, starts, ends)
    actions: dict[str, Callable[[], object]] = {
        "samehand, from bytes": ours,
        "samehand, two threads": two_threads,
        "samehand, from numbers": lambda: model.log_probabilities(ids, sentences),
        "relative entropy, order 3": lambda: model.relative_entropy(ids, sentences, 3),
    }
    peers = _kenlm(model, spans, folder, ours())
    times = _taking_turns(actions | peers, repeats)
    print(
        f"scoring {predicted / 1e6:.2f} M predicted tokens at order {model.order}, M tokens/s, one thread if not said"
    )
    base = times.get("KenLM score")
    for name, seconds in times.items():
        ratio = f"  {base / seconds:5.2f} times KenLM" if base is not None else ""
        print(f"  {name:28} {predicted / seconds / 1e6:7.2f}{ratio}")


def _halves(sentences: NDArray[np.int64]) -> list[tuple[int, int]]:
    middle = int(np.searchsorted(sentences, sentences[-1] // 2))
    return [(0, middle), (middle, sentences.size - 1)]


def _score_part(model: Model, spans: Spans, first: int, last: int) -> None:
    data, starts, ends, sentences = spans
    begin, end = int(sentences[first]), int(sentences[last])
    ids = model.vocabulary.ids_of(data, starts[begin:end], ends[begin:end])
    model.log_probabilities(ids, sentences[first : last + 1] - begin)


def _kenlm(model: Model, spans: Spans, folder: Path, ours: NDArray[np.float32]) -> dict[str, Callable[[], object]]:
    try:
        import kenlm
    except ImportError:
        print("KenLM is not installed (pip install kenlm): nothing to compare with")
        return {}
    write_arpa(model, folder / "model.arpa")
    peer = kenlm.Model(str(folder / "model.arpa"))
    data, starts, ends, sentences = spans
    whole = data.tobytes()
    words = [whole[start:end].decode() for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    bounds = sentences.tolist()
    texts = [" ".join(words[bounds[i] : bounds[i + 1]]) for i in range(len(bounds) - 1)]
    theirs = np.array([entry[0] for text in texts for entry in peer.full_scores(text)])
    print(f"largest difference to KenLM in {ours.size} log probabilities: {np.abs(theirs - ours).max():.1e}")
    return {
        "KenLM score": lambda: [peer.score(text) for text in texts],
        "KenLM full_scores": lambda: [list(peer.full_scores(text)) for text in texts],
    }


def _taking_turns(actions: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Medians, measured by turns: whatever else the machine does falls on all of them."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for turn in range(repeats + 1):
        for name, action in actions.items():
            seconds = _seconds(action)
            if turn:  # the first turn compiles and warms caches
                times[name].append(seconds)
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    main()
