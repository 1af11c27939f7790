"""ARPA files: out and in again, damaged ones, and KenLM as an oracle."""

import gzip

import numpy as np
import pytest

from samehand.base.errors import UsageError
from samehand.methods.language.arpa import ArpaError, read_arpa, write_arpa
from samehand.methods.language.counting import count
from samehand.methods.language.katz import train
from samehand.methods.language.model import Model
from samehand.methods.language.pruning import prune
from samehand.methods.language.vocabulary import Vocabulary
from test_language_counting import random_sentences, text_of
from test_language_model import VOCABULARY, model_of, skewed

SMALL = r"""
\data\
ngram 1=5
ngram 2=2
ngram 3=1

\1-grams:
-1.0	<unk>
-99	<s>	-0.5
-0.8	</s>
-0.6	a	-0.4
-0.7	b	-0.3

\2-grams:
-0.2	a b	-0.1
-0.3	<s> a	-0.2

\3-grams:
-0.05	b a b

\end\
"""


def models() -> list[Model]:
    full = model_of(skewed(1, 150), 4)
    return [model_of(skewed(2, 30), 1), full, prune(full, 1e-3), model_of(skewed(3, 150), 5, (1, 1, 2))]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("name", ["x.arpa", "x.arpa.gz"])
def test_a_model_comes_back(number, name, tmp_path):
    model = models()[number]
    write_arpa(model, tmp_path / name)
    again = read_arpa(tmp_path / name)
    assert again.vocabulary.words == model.vocabulary.words
    assert np.array_equal(again.trie.first, model.trie.first)
    asked = text_of(random_sentences(4, 5))
    assert np.allclose(again.log_probabilities(*asked), model.log_probabilities(*asked), atol=1e-4)


def test_a_model_without_counts_says_so(tmp_path):
    write_arpa(models()[1], tmp_path / "x.arpa")
    model = read_arpa(tmp_path / "x.arpa")
    for action in (
        lambda: model.relative_entropy(*text_of([[3]]), 2),
        lambda: model.counts(*text_of([[3]]), 2),
        lambda: model.tokens,
    ):
        with pytest.raises(UsageError, match="no counts"):
            action()
    model.save(tmp_path / "x.lm")
    assert not Model.open(tmp_path / "x.lm").has_counts
    model.save(tmp_path / "x.lm", compact=True)
    assert not Model.open(tmp_path / "x.lm").has_counts
    assert len(prune(model, 1e-3).trie) < len(model.trie)


def test_parts_that_are_missing_are_put_in(tmp_path):
    (tmp_path / "x.arpa").write_text(SMALL)
    model = read_arpa(tmp_path / "x.arpa")
    a, b = model.vocabulary.ids_of_words([b"a", b"b"])
    # "b a" is not in the file: its probability is that of backing off, -0.3 - 0.6, and "b a b" is reached through it.
    found = model.log_probabilities(*text_of([[b, a, b]]))
    assert np.allclose(found, [-0.5 - 0.7, -0.3 - 0.6, -0.05, -0.1 - 0.3 - 0.8], atol=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\\data\\", "data", "not an ARPA file"),
        ("ngram 2=2", "ngram 3=2", "not listed"),
        ("ngram 2=2", "ngram 2=3", "fewer than"),
        ("ngram 2=2", "ngram 2=1", "more n-grams"),
        ("ngram 1=5", "ngram 1=999999999999", "fewer than"),
        ("-0.2\ta b", "zero\ta b", "not a number"),
        ("-0.2\ta b", "nan\ta b", "out of range"),
        ("-0.2\ta b", "0.5\ta b", "out of range"),
        ("-0.2\ta b", "-0.2\ta c", "not among"),
        ("<s> a", "a b", "twice"),
        ("\\end\\", "", "end"),
        ("-0.05\tb a b", "-0.05\tb a " + "b" * 70_000, "bytes"),
    ],
)
def test_damaged_files_are_refused(old, new, message, tmp_path):
    (tmp_path / "x.arpa").write_text(SMALL.replace(old, new))
    with pytest.raises(ArpaError, match=message):
        read_arpa(tmp_path / "x.arpa")


def test_a_cut_file_is_refused(tmp_path):
    path = tmp_path / "x.arpa"
    for size in range(0, len(SMALL) - 8, 5):
        path.write_text(SMALL[:size])
        with pytest.raises(ArpaError):
            read_arpa(path)
    path.write_bytes(gzip.compress(SMALL.encode())[:-20])
    with pytest.raises(ArpaError):
        read_arpa(path)
    with pytest.raises(ArpaError):
        read_arpa(tmp_path / "absent")


def test_words_that_arpa_cannot_hold_are_refused(tmp_path):
    vocabulary = Vocabulary.from_words([b"New York"])
    model = train(count([text_of([[3]])], vocabulary=vocabulary, order=1))
    with pytest.raises(UsageError, match="blank"):
        write_arpa(model, tmp_path / "x.arpa")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_kenlm_gives_the_same_probabilities(number, tmp_path):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed: pip install kenlm")
    model = models()[number]
    write_arpa(model, tmp_path / "x.arpa")
    oracle = kenlm.Model(str(tmp_path / "x.arpa"))
    for sentence in random_sentences(5, 5, 300):
        text = " ".join(VOCABULARY.word(word) if word < 7 else "nowhere" for word in sentence)
        theirs = list(oracle.full_scores(text))
        ours = model.log_probabilities(*text_of([sentence]))
        assert np.allclose(ours, [entry[0] for entry in theirs], atol=1e-4)
        assert model.matched_lengths(*text_of([sentence])).tolist() == [entry[1] for entry in theirs]
