"""Katz models against plain Python: probabilities, relative entropy, pruning, files."""

import itertools
import json
import math
import struct
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from language_corpus import count_of
from samehand.base.errors import SamehandError, UsageError
from samehand.kernels.ngrams import scores
from samehand.kernels.segments import segment_sums
from samehand.methods.language import container
from samehand.methods.language.counting import count
from samehand.methods.language.katz import discounts_of, train
from samehand.methods.language.model import Model, ngram_bounds, ngram_places
from samehand.methods.language.pruning import prune
from samehand.methods.language.vocabulary import Vocabulary
from test_language_counting import as_dict, plain_counts, random_sentences, text_of

VOCABULARY = Vocabulary.from_words([b"a", b"b", b"c", b"d"])
WORDS = range(3, 7)
sentence_lists = st.lists(st.lists(st.integers(3, 6), max_size=9), min_size=1, max_size=12)


def skewed(seed: int, number: int = 200) -> list[list[int]]:
    draw = np.random.Generator(np.random.PCG64(seed))
    return [(np.minimum(draw.geometric(0.4, draw.integers(0, 14)), 4) + 2).tolist() for _ in range(number)]


def model_of(sentences: list[list[int]], order: int, cutoffs: tuple[int, ...] = (1,)) -> Model:
    return train(count([text_of(sentences)], vocabulary=VOCABULARY, order=order), cutoffs)


def largest_error_of_sums(model: Model) -> float:
    """How far from one the probabilities after any history sum up, those with unknown words included."""
    order = model.order
    histories = [
        words
        for length in range(order + 1)
        for words in itertools.product([0, *WORDS], repeat=length)
        if length in (order - 1, 0, 1, 2)
    ]
    worst = 0.0
    for start in (False, True):
        before = [[] if start else [0] * order for _ in histories]
        stems = [[*pad, *history] for pad, history in zip(before, histories, strict=True)]
        total = np.zeros(len(stems))
        for word in (None, 0, *WORDS):
            asked = [stem if word is None else [*stem, word] for stem in stems]
            ids, sentences = text_of(asked)
            logs = model.log_probabilities(ids, sentences)
            places = sentences[:-1] + np.arange(len(asked)) + [len(stem) for stem in stems]
            total += 10.0 ** logs[places].astype(np.float64)
        worst = max(worst, float(np.abs(total - 1).max()))
    return worst


@settings(max_examples=15, deadline=None)
@given(sentence_lists, st.integers(1, 4), st.sampled_from([(1,), (1, 1, 2), (1, 2, 3)]))
def test_probabilities_after_each_history_sum_to_one(sentences, order, cutoffs):
    model = model_of(sentences, order, cutoffs)
    assert largest_error_of_sums(model) < 1e-5
    assert largest_error_of_sums(prune(model, 1e-2)) < 5e-5


@pytest.mark.parametrize("order", [4, 5])
def test_discounted_models_sum_to_one(order):
    model = model_of(skewed(order, 60), order, (1, 1, 1, 2, 2))
    assert any(model.metadata["discounts"])
    assert largest_error_of_sums(model) < 1e-5
    smaller = prune(model, 3e-3)
    assert len(smaller.trie) < len(model.trie)
    assert largest_error_of_sums(smaller) < 5e-5  # 32-bit logarithms, times the back-off weight


def backed_off(model: Model, history: tuple[int, ...], word: int) -> float:
    """log10 p(word | history) by walking the tables of the model as dictionaries."""
    logs, weights = tables(model)
    if (*history, word) in logs:
        return logs[*history, word]
    return weights.get(history, 0.0) + backed_off(model, history[1:], word)


def tables(model: Model) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], float]]:
    parents, last = model.trie.parents(), model.trie.last_words()
    ngrams: list[tuple[int, ...]] = []
    for node in range(len(model.trie)):
        above = () if parents[node] < 0 else ngrams[parents[node]]
        ngrams.append((*above, int(last[node])))
    weights = dict(zip(ngrams[: model.trie.inner], model.backoffs.tolist(), strict=True))
    return dict(zip(ngrams, model.logs.tolist(), strict=True)), weights


@pytest.mark.parametrize("order", [1, 2, 4])
def test_scores_are_those_of_backing_off_step_by_step(order):
    model = model_of(skewed(3, 40), 4)
    asked = [[3, 4, 0, 5], [], [6, 6, 6, 99, -7, 3], *skewed(4, 8)]
    known = [[word if word in WORDS else 0 for word in sentence] for sentence in asked]
    wanted, lengths = [], []
    logs, _ = tables(model)
    for sentence in known:
        padded = (1, *sentence, 2)
        for place in range(1, len(padded)):
            history = padded[max(0, place - order + 1) : place]
            wanted.append(backed_off(model, history, padded[place]))
            endings = [padded[begin : place + 1] for begin in range(max(0, place - order + 1), place + 1)]
            lengths.append(next(len(ngram) for ngram in endings if ngram in logs))
    found = model.log_probabilities(*text_of(asked), order)
    assert np.allclose(found, wanted, atol=1e-5)
    assert model.matched_lengths(*text_of(asked), order).tolist() == lengths


def test_long_texts_cross_blocks_without_a_seam():
    model = model_of(skewed(5, 100), 4)
    sentences = [*skewed(6, 300), [3, 4, 5] * 900]
    parts = [model.log_probabilities(*text_of([sentence])) for sentence in sentences]
    assert np.array_equal(model.log_probabilities(*text_of(sentences)), np.concatenate(parts))


def test_unigrams_leave_something_to_unknown_words():
    model = model_of([[3, 3, 3, 4, 4, 4]], 1)
    assert 0 < 10 ** model.logs[0] < 0.2
    assert model.log_probabilities(*text_of([[0]]))[0] == model.logs[0]


def test_good_turing_by_hand():
    counts = np.repeat(np.arange(1, 9), [400, 160, 90, 60, 44, 34, 27, 22]).astype(np.uint64)
    common = 8 * 22 / 400
    wanted = [
        ((r + 1) * above / (here * r) - common) / (1 - common)
        for r, (here, above) in enumerate(itertools.pairwise([400, 160, 90, 60, 44, 34, 27, 22]), 1)
    ]
    assert np.allclose(discounts_of(counts), wanted)
    assert discounts_of(np.array([5, 9], np.uint64)).size == 0


def plain_divergence(counts: dict[tuple[int, ...], int], tokens: int, ngram: tuple[int, ...]) -> float:
    if ngram not in counts:
        return 0.0
    probability = counts[ngram] / counts[ngram[:-1]]
    shorter = counts[ngram[1:]] / (counts[ngram[1:-1]] if len(ngram) > 2 else tokens)
    return probability * math.log(probability / shorter)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_relative_entropy_is_the_papers(order):
    sentences = skewed(7, 60)
    model, counts = model_of(sentences, 4), plain_counts(sentences, 4)
    tokens = sum(map(len, sentences)) + len(sentences)
    asked = [*skewed(8, 20), [3, 0, 4, 5, 6], [0], []]
    wanted, known, seen, ends = [], [], [], []
    place = -1
    for sentence in asked:
        padded = (1, *sentence, 2)
        for end in range(1, len(padded)):
            place += 1
            if end < order - 1:
                continue
            ngram = padded[end - order + 1 : end + 1]
            successors = [other for other in counts if len(other) == order and other[:-1] == ngram[:-1]]
            known.append(bool(successors) and 0 not in ngram[:-1])
            peak = max((plain_divergence(counts, tokens, other) for other in successors), default=0.0)
            wanted.append(peak - plain_divergence(counts, tokens, ngram) if known[-1] else 0.0)
            seen.append(counts.get(ngram, 0))
            ends.append(place)
    penalties, is_known = model.relative_entropy(*text_of(asked), order)
    assert is_known.tolist() == known
    assert 0 < sum(known) < len(known)
    assert np.allclose(penalties, wanted, atol=1e-5)
    assert model.counts(*text_of(asked), order).tolist() == seen
    assert ngram_places(text_of(asked)[1], order).tolist() == ends
    assert ngram_bounds(text_of(asked)[1], order)[-1] == len(ends)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_one_walk_sums_what_each_score_says(order):
    model = model_of(skewed(1), order, (1, 1, 2))
    asked = [
        [int(word) - 3 for word in sentence] if place % 7 == 0 else sentence for place, sentence in enumerate(skewed(2))
    ]
    ids, sentences = text_of([*asked, [3, 4, 5] * 400, []])
    texts = np.array([0, 0, 1, 50, len(asked), len(asked) + 1, len(asked) + 2])
    found = model.text_sums(ids, sentences, texts)
    bounds = ngram_bounds(sentences, 1)[texts]
    logs = {n: model.log_probabilities(ids, sentences, min(n, order)) for n in (1, 3, 4)}
    lengths = model.matched_lengths(ids, sentences, min(4, order))
    wanted = [logs[1], logs[3], logs[4], logs[3] - logs[1], logs[4] - logs[3], logs[3] - logs[1] < -1]
    wanted += [lengths >= n for n in (1, 2, 3, 4)]
    for column, values in zip(
        (*range(scores.MATCHED), *range(scores.MATCHED, scores.MATCHED + 4)), wanted, strict=True
    ):
        assert found[:, column].tolist() == segment_sums(values.astype(np.float64), bounds).tolist()
    for n in (3, 4):
        penalties, known = model.relative_entropy(ids, sentences, n) if n <= order else (np.zeros(0), np.zeros(0))
        grams = ngram_bounds(sentences, n)[texts] if n <= order else np.zeros(texts.size, np.int64)
        assert found[:, scores.PENALTY + n - 3].tolist() == segment_sums(penalties.astype(np.float64), grams).tolist()
        assert found[:, scores.KNOWN + n - 3].tolist() == segment_sums(known.astype(np.float64), grams).tolist()


def test_counts_of_single_ngrams():
    model = model_of([[3, 4], [3, 4, 5]], 3)
    assert [count_of(model, *words) for words in ("a", "ab", "abc", "ac", "x")] == [2, 2, 1, 0, 0]
    assert model.counts(*text_of([[3, 4]]), 3).tolist() == [2, 1]  # <s> a b, a b </s>
    assert model.counts(*text_of([[3, 0]]), 2).tolist() == [2, 0, 0]


def test_cutoffs_and_pruning_keep_every_part_of_an_ngram():
    for model in (model_of(skewed(9), 5, (1, 2, 3, 4, 5)), prune(model_of(skewed(9), 5), 1e-3)):
        ngrams = set(tables(model)[0])
        assert all(ngram[1:] in ngrams and ngram[:-1] in ngrams for ngram in ngrams if len(ngram) > 1)
    assert len(prune(model_of(skewed(9), 4), 0.0).trie) <= len(model_of(skewed(9), 4).trie)


def test_pruning_costs_little_perplexity():
    sentences = skewed(10, 400)
    model = model_of(sentences, 4)
    smaller = prune(model, 1e-4)
    assert len(smaller.trie) < len(model.trie)
    logs = [found.log_probabilities(*text_of(sentences)).mean() for found in (smaller, model)]
    assert logs[1] - math.log10(1.3) < logs[0] < logs[1]


def test_nothing_to_train_on_is_said():
    with pytest.raises(UsageError, match="not one word"):
        model_of([], 3)
    with pytest.raises(UsageError, match="threshold"):
        prune(model_of([[3]], 2), 2.0)


def test_orders_and_offsets_are_checked():
    model = model_of([[3, 4]], 2)
    with pytest.raises(UsageError, match="orders 1 to 2"):
        model.log_probabilities(*text_of([[3]]), 3)
    with pytest.raises(UsageError, match="orders 2 to 2"):
        model.relative_entropy(*text_of([[3]]), 1)
    with pytest.raises(UsageError, match="offsets"):
        model.log_probabilities(np.array([3], np.int32), np.array([0, 5]))
    assert model.log_probabilities(*text_of([])).size == 0


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("order", [1, 4])
def test_a_file_gives_the_model_back(order, compact, tmp_path):
    model = model_of(skewed(11), order)
    model.save(tmp_path / "x.lm", compact=compact)
    again = Model.open(tmp_path / "x.lm")
    asked = text_of(random_sentences(12, 5, 50))
    off = np.abs(again.log_probabilities(*asked) - model.log_probabilities(*asked)).max()
    assert off == 0 if not compact else off < 0.05
    assert again.vocabulary.words == model.vocabulary.words
    assert np.array_equal(again.node_counts, model.node_counts)
    assert again.metadata["tokens"] == model.metadata["tokens"]
    if order > 1:
        penalties, known = again.relative_entropy(*asked, order)
        wanted, is_known = model.relative_entropy(*asked, order)
        assert np.array_equal(known, is_known)
        assert np.allclose(penalties, wanted, atol=1e-2 if compact else 0)


def test_a_cut_file_is_refused_wherever_it_is_cut(tmp_path):
    path = tmp_path / "x.lm"
    model_of(skewed(13, 20), 3).save(path)
    whole = path.read_bytes()
    for size in [*range(0, 200, 7), len(whole) // 2, len(whole) - 1]:
        path.write_bytes(whole[:size])
        with pytest.raises(SamehandError):
            Model.open(path)
    path.write_bytes(b"PK\x03\x04" + whole[4:])
    with pytest.raises(SamehandError, match="not a language model"):
        Model.open(path)
    with pytest.raises(SamehandError, match="cannot be read"):
        Model.open(tmp_path / "absent.lm")


@pytest.mark.parametrize("compact", [False, True])
def test_a_damaged_file_is_refused_or_gives_numbers(compact, tmp_path):
    path = tmp_path / "x.lm"
    model_of(skewed(14, 20), 3).save(path, compact=compact)
    whole = path.read_bytes()
    draw = np.random.Generator(np.random.PCG64(15))
    asked = text_of(skewed(16, 10))
    refused = 0
    for _ in range(150):
        damaged = bytearray(whole)
        for place in draw.integers(0, len(whole), 3):
            damaged[place] = draw.integers(0, 256)
        path.write_bytes(damaged)
        try:
            model = Model.open(path)
            model.log_probabilities(*asked)
            model.relative_entropy(*asked, 3)
        except SamehandError:
            refused += 1
    assert refused


def with_header(whole: bytes, change) -> bytes:
    """The file with another header under a right digest."""
    _, version, length, _ = struct.unpack("<8sII16s", whole[:32])
    header = json.loads(whole[32 : 32 + length])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-(32 + len(text)) % 64)
    begin = -(-(32 + length) // 64) * 64
    return (
        struct.pack("<8sII16s", container.MARK, version, len(text), blake2b(text, digest_size=16).digest())
        + text
        + whole[begin:]
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.pop("arrays"),
        lambda header: header.update(levels=[0, 7]),
        lambda header: header.update(levels=[0, 5, 3, 9]),
        lambda header: header.update(levels="x"),
        lambda header: header.update(levels=[[0, 7], [9, 20]]),
        lambda header: header.update(metadata=7),
        lambda header: header.update(bytes=-1),
        lambda header: header["arrays"]["logs"].update(place=1 << 40),
        lambda header: header["arrays"]["logs"].update(kind="|O"),
        lambda header: header["arrays"]["logs"].update(size=1),
        lambda header: header["arrays"]["first"].update(kind="<f4"),
        lambda header: header["arrays"].pop("words"),
        lambda header: header.update(compact=True),
    ],
)
def test_a_forged_header_is_refused(change, tmp_path):
    path = tmp_path / "x.lm"
    model_of(skewed(17, 20), 3).save(path)
    path.write_bytes(with_header(path.read_bytes(), lambda header: None))
    Model.open(path)
    path.write_bytes(with_header(path.read_bytes(), change))
    with pytest.raises(SamehandError):
        Model.open(path)


def test_counts_in_a_model_are_those_counted():
    sentences = skewed(18, 30)
    counts = count([text_of(sentences)], vocabulary=VOCABULARY, order=3)
    model = train(counts)
    assert model.tokens == counts.tokens
    assert as_dict(counts)[1,] == model.node_counts[1]


@pytest.mark.parametrize(("name", "kind"), [("peaks", "<f2"), ("logs", "|u1"), ("backoffs", "|u1"), ("counts", "<u2")])
def test_other_number_types_are_noticed(name, kind, tmp_path):
    path = tmp_path / "x.lm"
    model_of(skewed(19, 20), 3).save(path)
    path.write_bytes(with_header(path.read_bytes(), lambda header: header["arrays"][name].update(kind=kind)))
    with pytest.raises(SamehandError):
        Model.open(path)
