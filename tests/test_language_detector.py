"""The detector that ships: what it says of natural text, fakes and rubbish, and how it refuses what is no detector."""

import dataclasses

import numpy as np
import pytest

from samehand.base.errors import InputError
from samehand.methods.language.curves import FAKE_KINDS, hats
from samehand.methods.language.detector import SALAD, SHIPPED_DETECTOR, SHIPPED_MODEL, Detector, DetectorRule, Judgement
from samehand.methods.language.features import FEATURES, measure_words, words_of
from samehand.methods.language.generators import SPAM_KEYWORDS
from samehand.methods.language.stage import JUDGEMENT_FIELDS
from samehand.methods.language.tokens import tokenize
from samehand.methods.language.verdicts import FAKE, NATURAL, NOT_PROSE, TOO_SHORT, UNKNOWN_LANGUAGE

GETTYSBURG = """Four score and seven years ago our fathers brought forth on this continent, a new nation, conceived in
Liberty, and dedicated to the proposition that all men are created equal. Now we are engaged in a great civil war,
testing whether that nation, or any nation so conceived and so dedicated, can long endure. We are met on a great
battle-field of that war. We have come to dedicate a portion of that field, as a final resting place for those who here
gave their lives that that nation might live. It is altogether fitting and proper that we should do this. But, in a
larger sense, we can not dedicate -- we can not consecrate -- we can not hallow -- this ground. The brave men, living
and dead, who struggled here, have consecrated it, far above our poor power to add or detract. The world will little
note, nor long remember what we say here, but it can never forget what they did here. It is for us the living, rather,
to be dedicated here to the unfinished work which they who fought here have thus far so nobly advanced. It is rather
for us to be here dedicated to the great task remaining before us -- that from these honored dead we take increased
devotion to that cause for which they gave the last full measure of devotion -- that we here highly resolve that these
dead shall not have died in vain -- that this nation, under God, shall have a new birth of freedom -- and that
government of the people, by the people, for the people, shall not perish from the earth."""

GERMAN = """Nun sei bedanket, mein lieber Schwan! Durch die weite Flut zogst du mich hierher, wo ich gestritten habe.
Kehre nur zum Glück zurück, leb wohl. Die Sonne tönt nach alter Weise in Brudersphären Wettgesang, und ihre
vorgeschriebne Reise vollendet sie mit Donnergang. Ihr Anblick gibt den Engeln Stärke, wenn keiner sie ergründet. """


@pytest.fixture(scope="module")
def detector():
    return Detector.load()


def judged(detector, text):
    return detector.judge(*laid([text]))[0]


def laid(texts):
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in raw])]).astype(np.int64)
    return np.frombuffer(b"".join(raw), np.uint8), offsets


def stuffed(text, share, seed):
    random = np.random.Generator(np.random.PCG64(seed))
    return " ".join(
        f"{word} {SPAM_KEYWORDS[random.integers(len(SPAM_KEYWORDS))]}" if random.random() < share else word
        for word in text.split()
    )


def salad(detector, words, seed):
    """Words by their frequency, in no order."""
    vocabulary = detector.model.vocabulary
    chances = 10.0 ** detector.model.logs[3 : len(vocabulary)].astype(np.float64)
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = random.choice(chances.size, words, p=chances / chances.sum())
    return " ".join(vocabulary.word(number + 3) for number in drawn.tolist())


def test_a_speech_is_natural(detector):
    judgement = judged(detector, GETTYSBURG)
    assert judgement.verdict == NATURAL
    assert judgement.fake_probability < 0.5
    assert judgement.fake_kind is None
    assert 200 < judgement.judged_words < 300
    assert judgement.known_words > 0.9
    assert 10 < judgement.perplexity4 <= judgement.perplexity3 * 1.1


def test_a_stuffed_speech_is_fake_and_told_why(detector):
    judgement = judged(detector, stuffed(GETTYSBURG, 0.5, 1))
    assert judgement.verdict == FAKE
    assert judgement.fake_probability >= 0.5
    assert judgement.fake_kind in FAKE_KINDS
    assert any("spam keywords; usual is" in reason for reason in judgement.reasons)
    assert any(reason.startswith("Its least natural sentence: “") for reason in judgement.reasons)


def test_a_salad_of_words_is_fake(detector):
    assert judged(detector, salad(detector, 1000, 2)).verdict == FAKE


def test_natural_words_in_random_order_are_word_salad(detector):
    words = np.array(GETTYSBURG.split())
    np.random.Generator(np.random.PCG64(5)).shuffle(words)
    judgement = judged(detector, " ".join(words))
    assert (judgement.verdict, judgement.fake_kind) == (FAKE, SALAD)
    assert "word salad" in judgement.reasons[0]
    assert judged(detector, GETTYSBURG).verdict == NATURAL


def uniform_salad(words, seed):
    """Sentences of words drawn evenly from a list."""
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = [words[place] for place in random.integers(len(words), size=400).tolist()]
    return " ".join(" ".join(drawn[first : first + 10]).capitalize() + "." for first in range(0, 400, 10))


GERMAN = (
    "der die und den von zu das mit sich des auf für ist im dem nicht ein eine als auch es werden aus er hat dass sie "
    "nach wird bei einer um sind noch wie einem einen zum haben nur oder aber vor zur bis durch sein wurde wenn kann"
)


def test_sentences_without_common_words_are_word_salad(detector):
    vocabulary = detector.model.vocabulary
    words = [vocabulary.word(number) for number in range(200, 20_000)]
    text = uniform_salad([word for word in words if word.isalpha() and word.isascii()], 1)
    judgement = judged(detector, text)
    assert (judgement.verdict, judgement.fake_kind) == (FAKE, SALAD)
    assert judgement.fake_probability > 0.9
    assert "word salad" in judgement.reasons[0]
    foreign = judged(detector, uniform_salad([f"{word}ukko" for word in words if word.isalpha()], 1))
    assert foreign.verdict == UNKNOWN_LANGUAGE
    repeated = judged(detector, uniform_salad(words[:40], 1))
    assert repeated.fake_kind != SALAD


def test_sentences_of_another_language_are_no_word_salad(detector):
    vocabulary = detector.model.vocabulary
    names = [word for number in range(2000, 20_000) if (word := vocabulary.word(number)).isalpha() and word.isascii()]
    text = uniform_salad([*names[:300], *6 * GERMAN.split()], 1)
    assert judged(detector, text).verdict == UNKNOWN_LANGUAGE
    assert judged(detector, uniform_salad(names[:300], 1)).fake_kind == SALAD


def test_texts_without_a_verdict_are_not_measured(detector, monkeypatch):
    measured = []

    def watched(words, model, tables):
        measured.append(words.texts.size - 1)
        return measure_words(words, model, tables)

    monkeypatch.setattr("samehand.methods.language.detector.measure_words", watched)
    texts = [GETTYSBURG, "", GERMAN * 6, GETTYSBURG[:300], GETTYSBURG]
    assert [found.verdict for found in detector.judge(*laid(texts))].count(NATURAL) == 2
    assert measured == [2]


def test_words_before_the_prose_was_cut_out_tell_not_prose_from_too_short(detector):
    found = detector.judge(*laid(["A few words.", "A few words."]), all_words=np.array([10, 1000]))
    assert [judgement.verdict for judgement in found] == [TOO_SHORT, NOT_PROSE]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", TOO_SHORT),
        ("word", TOO_SHORT),
        (GETTYSBURG[:300], TOO_SHORT),
        ("\x00\x01\x02\x1b[31m" * 1000, TOO_SHORT),
        ("x" * 100_000, UNKNOWN_LANGUAGE),
        ("1234 " * 1000, TOO_SHORT),
        (GERMAN * 6, UNKNOWN_LANGUAGE),
        (bytes(range(256)) * 400, None),
        ("spam " * 100_000, UNKNOWN_LANGUAGE),
        ("the " * 100_000, None),
    ],
)
def test_rubbish_gets_an_answer(detector, text, verdict):
    judgement = judged(detector, text)
    assert verdict is None or judgement.verdict == verdict
    assert (judgement.fake_probability is None) == (judgement.verdict in (TOO_SHORT, UNKNOWN_LANGUAGE))
    assert judgement.fake_probability is None or 0 <= judgement.fake_probability <= 1
    assert judgement.reasons
    assert all(reason.isprintable() for reason in judgement.reasons)


def test_no_texts_at_all(detector):
    assert detector.judge(np.zeros(0, np.uint8), np.zeros(1, np.int64)) == []


def test_texts_do_not_depend_on_their_neighbours_or_on_threads(detector, monkeypatch):
    texts = [GETTYSBURG, "", stuffed(GETTYSBURG, 0.3, 3), GERMAN * 6, GETTYSBURG.upper(), salad(detector, 400, 4)]
    alone = [judged(detector, text) for text in texts]
    assert detector.judge(*laid(texts)) == alone
    monkeypatch.setattr("samehand.methods.language.detector._CHUNK_BYTES", 1000)
    assert detector.judge(*laid(texts), threads=3) == alone


def test_offsets_may_begin_and_end_anywhere(detector):
    data, _ = laid([b"skipped ", GETTYSBURG, b" skipped"])
    found = detector.judge(data, np.array([8, data.size - 8], np.int64))
    assert found == [judged(detector, GETTYSBURG)]


def test_capitals_blanks_and_lines_change_little(detector):
    plain = judged(detector, GETTYSBURG).fake_probability
    spaced = GETTYSBURG.replace(",", " ,").replace(".", " .").replace("\n", " ").lower()
    assert judged(detector, spaced).verdict == NATURAL
    assert abs(judged(detector, spaced).fake_probability - plain) < 0.2


def test_keywords_are_found_whatever_their_case(detector):
    text = stuffed(GETTYSBURG, 0.3, 1)
    words = words_of(tokenize(*laid([text, text.upper()])), detector.model)
    shares = measure_words(words, detector.model, detector.tables)[:, FEATURES.index("keywords")]
    assert shares[0] == shares[1] > 0.1


def test_saved_and_loaded_it_says_the_same(detector, tmp_path):
    detector.save(tmp_path / "mine.detector")
    again = Detector.load(tmp_path / "mine.detector", model=detector.model)
    assert judged(again, GETTYSBURG) == judged(detector, GETTYSBURG)
    assert (tmp_path / "mine.detector").read_bytes() == SHIPPED_DETECTOR.read_bytes()


def test_the_files_are_small():
    assert SHIPPED_DETECTOR.stat().st_size + SHIPPED_MODEL.stat().st_size <= 12_000_000


@pytest.mark.parametrize("content", [b"", b"no detector", b"PK\x03\x04 and nothing else"])
def test_a_file_that_is_no_detector_is_refused(detector, tmp_path, content):
    (tmp_path / "bad.detector").write_bytes(content)
    with pytest.raises(InputError, match="is not a detector"):
        Detector.load(tmp_path / "bad.detector", model=detector.model)


def test_a_truncated_or_missing_detector_is_refused(detector, tmp_path):
    (tmp_path / "half.detector").write_bytes(SHIPPED_DETECTOR.read_bytes()[:5000])
    for name in ("half.detector", "absent.detector"):
        with pytest.raises(InputError, match="is not a detector"):
            Detector.load(tmp_path / name, model=detector.model)


def test_a_detector_of_another_model_is_refused(detector, tmp_path):
    tables = dataclasses.replace(detector.tables, classes=detector.tables.classes[:-1])
    dataclasses.replace(detector, tables=tables).save(tmp_path / "other.detector")
    with pytest.raises(InputError, match="another model"):
        Detector.load(tmp_path / "other.detector", model=detector.model)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("logs3", lambda values: values[:-1]),
        ("logs2", lambda values: values.astype(np.float64)),
        ("classes", lambda values: values + np.uint8(200)),
        ("endings", lambda values: values[:100]),
        ("others", lambda values: np.full(3, 255, np.uint8)),
        ("topics", lambda values: values.ravel()),
        ("weights", lambda values: values[:10]),
        ("keywords", lambda values: values.reshape(1, -1)),
        ("knots", lambda values: values[::-1].copy()),
        ("means", lambda values: values[:, :-1]),
        ("leanings", lambda values: values[:, :2]),
        ("scale", lambda values: values * np.float32(np.nan)),
        ("forest_left", lambda values: np.where(values > 0, 1, 0).astype(np.int32)),
        ("forest_roots", lambda values: values + np.int32(1 << 30)),
        ("forest_bounds", lambda values: values[:-1]),
        ("forest_features", lambda values: values | np.uint8(128)),
        ("metadata", lambda values: np.frombuffer(b"[]", np.uint8)),
        ("metadata", lambda values: np.frombuffer(b"[" * 100_000, np.uint8)),
        ("metadata", lambda values: np.frombuffer(values.tobytes().replace(b'"own": 62', b'"own": "x"'), np.uint8)),
    ],
)
def test_arrays_that_would_lead_a_kernel_astray_are_refused(detector, tmp_path, name, change):
    with np.load(SHIPPED_DETECTOR) as stored:
        arrays = dict(stored)
    np.savez(tmp_path / "forged.npz", **{**arrays, name: change(arrays[name])})
    with pytest.raises(InputError, match="forged"):
        Detector.load(tmp_path / "forged.npz", model=detector.model)


def test_a_detector_too_large_for_memory_is_refused_before_it_is_unpacked(detector, tmp_path, monkeypatch):
    monkeypatch.setattr("samehand.methods.language.detector._MOST_BYTES", 1 << 20)
    monkeypatch.setattr(np, "load", lambda *_, **__: pytest.fail("it was unpacked"))
    np.savez_compressed(tmp_path / "bomb.npz", metadata=np.zeros(1 << 21, np.uint8))
    with pytest.raises(InputError, match="too large"):
        Detector.load(tmp_path / "bomb.npz", model=detector.model)


def test_a_judgement_has_the_columns_of_the_tables():
    assert [field.name for field in dataclasses.fields(Judgement)] == [field.name for field in JUDGEMENT_FIELDS]


def test_a_rule_decides_what_is_too_short_and_what_is_fake(detector):
    strict = dataclasses.replace(detector, rule=DetectorRule(fewest_words=1000))
    assert judged(strict, GETTYSBURG).verdict == TOO_SHORT
    suspicious = dataclasses.replace(detector, rule=DetectorRule(threshold=0.0))
    assert judged(suspicious, GETTYSBURG).verdict == FAKE


def test_votes_are_what_the_trees_say_and_what_each_measure_says_by_itself(detector):
    curves = detector.curves
    features = measure_words(
        words_of(tokenize(*laid([GETTYSBURG, stuffed(GETTYSBURG, 0.3, 1)])), detector.model),
        detector.model,
        detector.tables,
    )
    silent = dataclasses.replace(curves, leanings=np.zeros_like(curves.leanings))
    votes, parts = curves.votes(features)
    of_trees, parts_of_trees = silent.votes(features)
    for text, away in enumerate(curves.deviations(features).astype(float)):
        for kind, (constant, by_itself, by_length) in enumerate(curves.leanings.astype(float)):
            leanings = [
                one * (constant[place] + by_itself[place] * one + by_length[place] * away[0])
                for place, one in enumerate(away)
            ]
            assert votes[text, kind] == pytest.approx(of_trees[text, kind] + sum(leanings), abs=1e-4)
            assert (parts - parts_of_trees)[text, kind].tolist() == pytest.approx(leanings, abs=1e-5)


def test_hats_interpolate_and_stay_within_the_ends():
    knots = np.array([0.0, 1.0, 3.0])
    weights = hats(np.array([-5.0, 0.5, 1.0, 2.0, 9.0]), knots)
    assert (weights @ knots).tolist() == [0.0, 0.5, 1.0, 2.0, 3.0]
    assert weights.sum(1).tolist() == [1.0] * 5
