"""The language commands: train (resumable), score (with reasons, whatever the input), markers, generate, ARPA."""

import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from language_corpus import article, chained, count_of, trained, write_articles
from samehand.base.errors import InputError, RunBusyError, UsageError
from samehand.cli.demo import DemoFiles
from samehand.methods.language.detector import SHIPPED_DETECTOR, SHIPPED_MODEL
from samehand.methods.language.generators import KINDS, SPAM_KEYWORDS
from samehand.methods.language.model import Model
from samehand.methods.language.reference import PlainJudge, Reference, open_judge
from samehand.methods.language.texts import generate_from_model, successors_of
from samehand.methods.language.training import TrainingRule, train_model

Command = Callable[..., "tuple[int, str, str]"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "own.lm"
    path.write_bytes(trained())
    return path


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_articles(tmp_path_factory.mktemp("articles"), 20)


def nothing(_: str) -> None:
    return


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_train_counts_every_word_of_a_small_text(articles: Path, tmp_path: Path, samehand_command: Command) -> None:
    ended = samehand_command("language", "train", articles, "-o", tmp_path / "small.lm", "--order", "3")
    assert ended.code == 0
    assert "order 3" in ended.out
    assert "20 texts" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.lm"]
    whole = " ".join(path.read_text() for path in sorted(articles.iterdir()))
    made = Model.open(tmp_path / "small.lm")
    assert count_of(made, "kitchen") == whole.count("kitchen")
    assert count_of(made, "nobody", "at", "the") == whole.count("nobody at the")
    assert made.order == 3


def test_train_with_every_option(articles: Path, tmp_path: Path, samehand_command: Command) -> None:
    options = ("--cutoffs", "1,1,2,2", "--prune", "1e-6", "--vocabulary", "200", "--lower", "--compact")
    assert samehand_command("language", "train", articles, "-o", tmp_path / "a.lm", *options, "--memory", "1").code == 0
    assert samehand_command("language", "train", articles, "-o", tmp_path / "b.lm").code == 0
    small, large = Model.open(tmp_path / "a.lm"), Model.open(tmp_path / "b.lm")
    assert len(small.vocabulary) == 203
    assert len(small.trie) < len(large.trie)
    assert count_of(small, "the") == count_of(large, "the") + count_of(large, "The")
    (tmp_path / "words.txt").write_text("the\nold\nthe\n\nkitchen\n")
    ended = samehand_command(
        "language", "train", articles, "-o", tmp_path / "c.lm", "--vocabulary", tmp_path / "words.txt"
    )
    assert ended.code == 0
    assert len(Model.open(tmp_path / "c.lm").vocabulary) == 6


@pytest.mark.parametrize(
    "options",
    [
        ("--order", "6"),
        ("--cutoffs", "one"),
        ("--cutoffs", "0,1"),
        ("--prune", "2"),
        ("--vocabulary", "0"),
        ("--vocabulary", "absent.txt"),
    ],
)
def test_options_that_make_no_sense(
    articles: Path, tmp_path: Path, samehand_command: Command, options: tuple[str, str]
) -> None:
    ended = samehand_command("language", "train", articles, "-o", tmp_path / "x.lm", *options)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    assert not (tmp_path / "x.lm").exists()


def test_train_reads_jsonl_warc_and_packed_text(demo: DemoFiles, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"One packed sentence of text. " * 20))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": article(seed)}) + "\n" for seed in range(3)))
    inputs = (tmp_path / "a.txt.gz", tmp_path / "b.jsonl", demo.crawl)
    assert samehand_command("language", "train", *inputs, "-o", tmp_path / "x.lm").code == 0
    made = Model.open(tmp_path / "x.lm")
    assert count_of(made, "packed", "sentence") == 20
    assert made.tokens > 50_000


def test_train_reads_web_1t_counts(tmp_path: Path, samehand_command: Command) -> None:
    counts = tmp_path / "web"
    (counts / "2gms").mkdir(parents=True)
    (counts / "vocab.gz").write_bytes(gzip.compress(b"<S>\t5\n</S>\t5\nthe\t9\ncat\t4\nsat\t3\n"))
    (counts / "2gms" / "2gm-0000.gz").write_bytes(gzip.compress(b"<S> the\t5\nthe cat\t4\ncat sat\t3\nsat </S>\t3\n"))
    ended = samehand_command("language", "train", counts, "-o", tmp_path / "web.lm", "--order", "2")
    assert ended.code == 0
    assert count_of(Model.open(tmp_path / "web.lm"), "the", "cat") == 4
    again = samehand_command("language", "train", counts, counts, "-o", tmp_path / "web.lm", "--order", "2")
    assert (again.code, again.err.count("\n")) == (2, 1)


def test_training_that_was_stopped_goes_on(articles: Path, tmp_path: Path) -> None:
    rule = TrainingRule(order=3, memory_bytes=1)
    said: list[str] = []

    def stop(line: str) -> None:
        said.append(line)
        if line.startswith("counted portion 4"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_model([str(articles)], tmp_path / "x.lm", rule=rule, on_progress=stop)
    assert (tmp_path / "x.lm.counting").is_dir()
    said.clear()
    train_model([str(articles)], tmp_path / "x.lm", rule=rule, on_progress=said.append)
    assert sum("kept" in line for line in said) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["x.lm"]
    train_model([str(articles)], tmp_path / "y.lm", rule=rule, on_progress=nothing)
    assert (tmp_path / "x.lm").read_bytes() == (tmp_path / "y.lm").read_bytes()


def test_a_killed_training_goes_on(articles: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.lm"
    code = (
        "import sys, time; from samehand.methods.language.training import *\n"
        "say = lambda line: line.startswith('counted portion 3') and (print('there', flush=True), time.sleep(60))\n"
        "train_model([sys.argv[1]], sys.argv[2], rule=TrainingRule(memory_bytes=1), on_progress=say)"
    )
    with subprocess.Popen([sys.executable, "-c", code, articles, out], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        with pytest.raises(RunBusyError):
            train_model([str(articles)], out, rule=TrainingRule(memory_bytes=1), on_progress=nothing)
        process.send_signal(signal.SIGKILL)
    assert not out.exists()
    said: list[str] = []
    train_model([str(articles)], out, rule=TrainingRule(memory_bytes=1), on_progress=said.append)
    assert sum("kept" in line for line in said) >= 3
    assert [path.name for path in tmp_path.iterdir()] == ["x.lm"]


def test_other_options_start_anew(articles: Path, tmp_path: Path) -> None:
    def stop(line: str) -> None:
        if line.startswith("counted portion 2"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_model([str(articles)], tmp_path / "x.lm", rule=TrainingRule(memory_bytes=1), on_progress=stop)
    said: list[str] = []
    train_model([str(articles)], tmp_path / "x.lm", rule=TrainingRule(order=2, memory_bytes=1), on_progress=said.append)
    assert not any("kept" in line for line in said)


def test_train_refuses_what_it_cannot_do(articles: Path, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "empty.txt").write_text(" \n")
    (tmp_path / "marks.bin").write_bytes(bytes(range(256)) * 10)
    for inputs, code in (("empty.txt", 4), ("marks.bin", 4), ("absent.txt", 2)):
        ended = samehand_command("language", "train", tmp_path / inputs, "-o", tmp_path / "x.lm")
        assert (ended.code, "Traceback" in ended.err) == (code, False)
    with pytest.raises(UsageError, match="is an input"):
        train_model([str(tmp_path / "empty.txt")], tmp_path / "empty.txt", rule=TrainingRule(), on_progress=nothing)


def test_a_model_tells_fakes_from_text_it_has_not_seen(model: Path) -> None:
    judge = open_judge(model)
    assert isinstance(judge, PlainJudge)
    assert judge.reference is not None
    assert judge.reference.false_alarms <= 0.05
    assert min(share for kind, share in judge.reference.found.items() if kind != "ws25") >= 0.8
    assert "fakes of 500 words" in judge.reference.described()
    natural = [article(9000 + seed) for seed in range(20)]
    fakes = [chained(seed) for seed in range(20)]
    assert [judged(judge, text).verdict for text in natural].count("fake") <= 1
    assert [judged(judge, text).verdict for text in fakes].count("fake") >= 18
    # Words that the model's own text has not: another kind of text, or stuffing. Neither is called fake.
    stuffed = article(9000).replace("the ", "the casino ").replace("We ", "We payday ")
    assert judged(judge, stuffed).verdict == "not judged"


@pytest.mark.parametrize("order", [1, 2, 5])
def test_models_of_every_order_answer(tmp_path: Path, order: int) -> None:
    (tmp_path / "a.txt").write_text("\n\n".join(article(seed) for seed in range(200)))
    rule = TrainingRule(order=order, is_lower=True)
    train_model([str(tmp_path / "a.txt")], tmp_path / "x.lm", rule=rule, on_progress=nothing)
    judge = open_judge(tmp_path / "x.lm")
    assert isinstance(judge, PlainJudge)
    found = judged(judge, article(9000))
    assert found.verdict == "natural"
    assert (found.relative_entropy3 is None, found.relative_entropy4 is None) == (order < 3, order < 4)
    kind = f"lm{min(order, 4)}"
    if order > 1:
        assert generate_from_model(kind, judge.model, words=50, seed=1)
    else:
        with pytest.raises(UsageError, match="order 2"):
            generate_from_model("lm2", judge.model, words=50, seed=1)


def judged(judge: PlainJudge, text: str):  # type: ignore[no-untyped-def]
    raw = np.frombuffer(text.encode(), np.uint8)
    return judge.judge(raw, np.array([0, raw.size]))[0]


def test_a_text_is_judged_alike_alone_and_among_others(model: Path) -> None:
    judge = open_judge(model)
    texts = [article(9000), "", chained(3), "short", article(9001)]
    raw = [text.encode() for text in texts]
    data, offsets = np.frombuffer(b"".join(raw), np.uint8), np.cumsum([0, *map(len, raw)])
    together = judge.judge(data, offsets)
    assert together == [judged(judge, text) for text in texts]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [{"means": [1.0]}, {"weights": "abc"}, {"found": 3}, {"spreads": [float("nan")] * 8}, {"kinds": [[1], [2, 3]]}],
)
def test_a_reference_that_makes_no_sense(model: Path, change: dict[str, object]) -> None:
    stored = Model.open(model).metadata["natural"]
    assert Reference.from_dict(stored).as_dict() == stored
    with pytest.raises(InputError, match="train it anew"):
        Reference.from_dict({**stored, **change})
    with pytest.raises(InputError):
        Reference.from_dict([])


KEYS = {
    "input",
    "judged_words",
    "fake_probability",
    "verdict",
    "reasons",
    "perplexity3",
    "relative_entropy3",
    "known_histories3",
}


def test_score_has_a_line_for_each_input(model: Path, tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "page.html").write_text(f"<html><title>x</title><p>{article(9000)}</p></html>")
    (tmp_path / "made.txt").write_text(chained(1))
    (tmp_path / "lines.jsonl").write_text(json.dumps({"url": "http://a.test/", "text": article(9001)}) + "\n{}\n")
    paths = [tmp_path / name for name in ("page.html", "made.txt", "lines.jsonl")]
    ended = samehand_command("language", "score", "--model", model, *paths, "--format", "jsonl")
    rows = rows_of(ended.out)
    assert [row["input"] for row in rows] == [str(path) for path in paths]
    assert all(set(row) >= KEYS for row in rows)
    assert [row["verdict"] for row in rows] == ["natural", "fake", "natural"]
    table = samehand_command("language", "score", "--model", model, *paths)
    lines = table.out.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["input", *map(str, paths)]
    assert sum(line.startswith("    ") for line in lines) == 3  # one reason for each
    one = samehand_command("language", "score", "--model", model, paths[1])
    assert len(one.out.splitlines()) > 3
    folder = samehand_command("language", "score", "--model", model, tmp_path, "--format", "csv")
    assert len(folder.out.splitlines()) == 4


BAD_TEXTS = {
    "empty.txt": (b"", "too short"),
    "blank.txt": (b" \n\t ", "too short"),
    "empty.html": (b"", "too short"),
    "nothing.html": (b"<html><body></body></html>", "too short"),
    "control.txt": (bytes(range(1, 32)) * 300, "too short"),
    "nospaces.txt": (b"abcdefghij" * 20_000, None),
    "same.txt": (b"word " * 100_000, None),
    "chinese.txt": ("\u4f60\u597d\u4e16\u754c\u3002".encode() * 500, "unknown language"),
    "russian.txt": ("Это текст на языке, которого модель не знает. ".encode() * 50, "unknown language"),
    "binary.txt": (np.random.Generator(np.random.PCG64(1)).bytes(5000), "not prose"),
    "binary.bin": (np.random.Generator(np.random.PCG64(1)).bytes(5000), "unreadable"),
    "plain": (b"just a few words", "too short"),
}


def test_bad_texts_get_a_clear_answer(model: Path, tmp_path: Path, samehand_command: Command) -> None:
    for name, (content, _) in BAD_TEXTS.items():
        (tmp_path / name).write_bytes(content)
    paths = [tmp_path / name for name in BAD_TEXTS]
    ended = samehand_command("language", "score", "--model", model, *paths, "--format", "jsonl")
    assert ended.code == 3  # one input could not be read
    rows = {Path(str(row["input"])).name: row for row in rows_of(ended.out)}
    assert list(rows) == list(BAD_TEXTS)
    for name, (_, verdict) in BAD_TEXTS.items():
        assert rows[name]["reasons"]
        if verdict is not None:
            assert (name, rows[name]["verdict"], rows[name]["fake_probability"]) == (name, verdict, None)
    assert rows["nospaces.txt"]["verdict"] in ("too short", "not prose")
    assert samehand_command("language", "score", "--model", model, tmp_path / "binary.bin").code == 4
    assert samehand_command("language", "score", "--model", model, tmp_path / "absent.txt").code == 2


def test_nothing_reaches_the_terminal_as_it_was(model: Path, tmp_path: Path, samehand_command: Command) -> None:
    name = tmp_path / "\x1b[31mred.txt"
    name.write_text("\x1b[2J" + chained(1))
    for form in ("table", "csv"):
        ended = samehand_command("language", "score", "--model", model, name, "--format", form)
        assert "\x1b" not in ended.out + ended.err
    assert "\x1b" not in samehand_command("language", "score", "--model", name, name).err
    (tmp_path / "a.txt").write_text("left\u202eright and \u200fmore \x9b31m. " * 30)
    made = samehand_command("language", "generate", "--kind", "pw5", "--text", tmp_path / "a.txt", "--words", "50")
    assert not any(character in made.out for character in "\x1b\x9b\u202e\u200f")


@pytest.mark.parametrize(
    "content", [b"", b"no model at all", bytes(1000), b"SAMEHLM\0" + bytes(100), "truncated", "changed"]
)
@pytest.mark.parametrize("command", ["score", "generate", "export", "markers"])
def test_a_file_that_is_no_model(
    tmp_path: Path, samehand_command: Command, articles: Path, content: bytes | str, command: str
) -> None:
    whole = trained()
    spoilt = {"truncated": whole[: len(whole) // 2], "changed": whole[:60] + b"xxxx" + whole[64:]}
    path = tmp_path / "bad.lm"
    path.write_bytes(spoilt[content] if isinstance(content, str) else content)
    arguments = {
        "score": ("--model", path, articles),
        "generate": (path, "--kind", "lm2"),
        "export": (path,),
        "markers": (articles, "--against", path),
    }[command]
    ended = samehand_command("language", command, *arguments)
    assert (ended.code, ended.err.count("\n"), ended.out) == (4, 1, "")
    assert str(path) in ended.err


def test_markers_are_what_the_model_has_not(model: Path, tmp_path: Path, samehand_command: Command) -> None:
    for number in range(4):
        text = article(number, 3) + " Buy our wonderful quantum toasters today. The kitchen is quite full."
        (tmp_path / f"{number}.txt").write_text(text)
    ended = samehand_command("language", "markers", tmp_path, "--against", model, "--format", "jsonl")
    found = {str(row["ngram"]): row for row in rows_of(ended.out)}
    best = next(row for ngram, row in list(found.items())[:2] if "quantum toasters" in ngram)
    assert (best["count"], best["texts"], best["reference_count"]) == (4, 4, 0)
    assert not any(ngram == "nobody at the" for ngram in found)
    assert "Absent from the model's text: " in ended.err
    table = samehand_command("language", "markers", tmp_path, "--against", model, "--top", "1")
    assert len(table.out.splitlines()) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_generate_every_kind_from_text(tmp_path: Path, samehand_command: Command, kind: str) -> None:
    (tmp_path / "a.txt").write_text(article(1))
    arguments = ("language", "generate", "--kind", kind, "--words", "120", "--text", tmp_path / "a.txt")
    one, same, other = (samehand_command(*arguments, "--seed", seed).out for seed in ("1", "1", "2"))
    assert one == same != other
    assert 60 < len(one.split()) <= 125
    if kind.startswith("ws"):
        assert len(set(one.split()) - set(article(1).split())) >= 5


def test_generate_from_a_model(model: Path, samehand_command: Command) -> None:
    for kind in ("lm2", "lm3", "lm4"):
        ended = samehand_command("language", "generate", model, "--kind", kind, "--words", "100", "--seed", "3")
        assert (ended.code, 60 < len(ended.out.split()) <= 105) == (0, True)
        assert "<unk>" not in ended.out
    needs_text = samehand_command("language", "generate", model, "--kind", "ws25")
    assert (needs_text.code, "--text" in needs_text.err) == (2, True)


def test_successors_are_the_probabilities_of_the_model(model: Path) -> None:
    opened = Model.open(model)
    numbers = opened.vocabulary.ids_of_words([b"nobody", b"at", b"the", b"kitchen"])
    for length in range(4):
        history = numbers[:length].tolist()
        words, chances = successors_of(opened)([1, *history][-3:])
        rows = np.arange(3, 40)
        for word in rows.tolist():
            sentence = np.array([*history, word], np.int32)
            log = opened.log_probabilities(sentence, np.array([0, sentence.size]))[length]
            assert chances[words == word] == pytest.approx(10 ** float(log), rel=1e-4)
        assert chances[:2].sum() == 0
        assert 0.5 < chances.sum() <= 1.0001


def test_export_and_import_keep_every_probability(articles: Path, tmp_path: Path, samehand_command: Command) -> None:
    model = tmp_path / "own.lm"
    train_model([str(articles)], model, rule=TrainingRule(), on_progress=nothing)
    assert samehand_command("language", "export", model, "-o", tmp_path / "new" / "own.arpa.gz").code == 0
    ended = samehand_command("language", "import", tmp_path / "new" / "own.arpa.gz", "-o", tmp_path / "back.lm")
    assert (ended.code, "order 4" in ended.out) == (0, True)
    before, after = Model.open(model), Model.open(tmp_path / "back.lm")
    assert np.allclose(before.logs[3:], after.logs[3:], atol=1e-5)
    (tmp_path / "a.txt").write_text(article(9000))
    scored = samehand_command(
        "language", "score", "--model", tmp_path / "back.lm", tmp_path / "a.txt", "--format", "jsonl"
    )
    row = rows_of(scored.out)[0]
    assert (row["verdict"], row["fake_probability"], row["relative_entropy3"]) == ("not judged", None, None)
    assert float(str(row["known_words"])) > 0.9
    nowhere = samehand_command("language", "export", model, "-o", tmp_path / "a.txt" / "x.arpa")
    assert (nowhere.code, nowhere.err.count("\n")) == (2, 1)
    (tmp_path / "bad.arpa").write_text("nothing of the kind")
    assert samehand_command("language", "import", tmp_path / "bad.arpa", "-o", tmp_path / "x.lm").code == 4
    assert samehand_command("language", "markers", tmp_path, "--against", tmp_path / "back.lm").code == 2


def test_the_shipped_detector_answers(tmp_path: Path, samehand_command: Command) -> None:
    if not (SHIPPED_MODEL.is_file() and SHIPPED_DETECTOR.is_file()):
        pytest.skip("the English model is not there: python -m evaluation.english_model makes it")
    for name, (content, _) in BAD_TEXTS.items():
        (tmp_path / name).write_bytes(content)
    keywords = random.Random(1)
    stuffed = " ".join(f"{word} {keywords.choice(SPAM_KEYWORDS)}" for word in article(1).split())
    (tmp_path / "stuffed.txt").write_text(stuffed)
    paths = [tmp_path / name for name in (*BAD_TEXTS, "stuffed.txt")]
    ended = samehand_command("language", "score", *paths, "--format", "jsonl")
    rows = {Path(str(row["input"])).name: row for row in rows_of(ended.out)}
    for name, (_, verdict) in BAD_TEXTS.items():
        assert verdict is None or (name, rows[name]["verdict"], rows[name]["fake_probability"]) == (name, verdict, None)
    assert rows["stuffed.txt"]["verdict"] == "fake"
    assert len(rows["stuffed.txt"]["reasons"]) > 1  # type: ignore[arg-type]
