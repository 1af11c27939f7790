"""Near replicas on the spine: groups and classes of the demo, added later or at once, from mail, by filter."""

import csv
import io
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

import samehand
from runs import copy_of, kinds_of, tables, truth_of
from samehand.base.settings import Settings
from samehand.cli.demo import DemoFiles
from samehand.store.tables import REPLICA_MEMBERS

Command = Callable[..., "tuple[int, str, str]"]
CLASSES = {"forum": "template", "farm": "link farm", "mirror": "mirror", "copy": "copy", "parked": "template"}


@pytest.fixture(scope="module")
def run(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> samehand.Run:
    return copy_of(demo_run, tmp_path_factory.mktemp("replicas") / "run")


def test_clusters_of_the_demo_get_their_right_classes(demo: DemoFiles, run: samehand.Run) -> None:
    kinds = kinds_of(demo)
    wrong = [
        (row["centre_url"], row["class"], row["same_text"], row["same_path"], row["inner_links"])
        for row in run.clusters().table.to_pylist()
        if row["sites"] > 1 and row["class"] != CLASSES.get(kinds[row["centre_url"]], "template")
    ]
    assert wrong == []
    found = Counter(row["class"] for row in run.clusters().table.to_pylist())
    assert set(found) == {"template", "link farm", "mirror", "copy"}


def test_same_template_with_other_content_is_no_replica(demo: DemoFiles, run: samehand.Run) -> None:
    kinds = kinds_of(demo)
    grouped = run.replica_members().table.to_pylist()
    assert not [row["url"] for row in grouped if kinds[row["url"]] in ("forum", "honest", "fake")]


def test_mirrors_and_copies_are_found_whole(demo: DemoFiles, run: samehand.Run) -> None:
    groups = {row["url"]: row["replica_group_id"] for row in run.replica_members().table.to_pylist()}
    by_label: dict[str, set[int | None]] = {}
    for url, row in truth_of(demo).items():
        if row["group"]:
            by_label.setdefault(row["group"], set()).add(groups.get(url))
    assert all(len(found) == 1 and None not in found for found in by_label.values())
    assert len({next(iter(found)) for found in by_label.values()}) == len(by_label)


def test_every_grouped_document_once_with_its_evidence(run: samehand.Run) -> None:
    members = run.replica_members()
    assert members.columns == REPLICA_MEMBERS.fixed_schema.names
    ids = members["page_id"]
    assert len(ids) == len(set(ids))
    by_words = [row for row in members.table.to_pylist() if row["found_by"] != "pairs"]
    assert min(row["linked_cosine"] for row in by_words) >= 0.8
    for group in run.replicas():
        inside = run.replica_members(group["group_number"])
        assert len(inside) == group["documents"]
        assert set(inside["replica_group_id"]) == {group["replica_group_id"]}
        assert min(inside["cosine"]) == pytest.approx(group["weakest_cosine"])
        assert group["weakest_cosine"] >= 0.7


def test_added_later_is_the_same_as_at_once(
    style_run: samehand.Run, run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    copy_of(style_run, tmp_path / "run")
    ended = samehand_command("replicas", tmp_path / "run", "--workers", "1")
    assert ended.code == 0
    rooms = ("pages", "style", "replica", "classes")
    assert tables(tmp_path / "run", *rooms) == tables(run.folder.path, *rooms)
    assert "class" in samehand_command("clusters", tmp_path / "run").out.splitlines()[0]


def test_other_thresholds_keep_the_classes_up_to_date(demo: DemoFiles, tmp_path: Path) -> None:
    for tight in (0.6, 0.9):
        run = samehand.scan(
            str(demo.crawl),
            tmp_path / "run",
            settings=Settings(cluster_threshold=tight),
            workers=1,
            signals=("style", "replica"),
        )
        assert None not in run.clusters().table.column("class").to_pylist()


def test_replicas_in_every_form(run: samehand.Run, samehand_command: Command) -> None:
    path = run.folder.path
    groups = [json.loads(line) for line in samehand_command("replicas", path, "--format", "jsonl").out.splitlines()]
    assert [row["documents"] for row in groups] == sorted((row["documents"] for row in groups), reverse=True)
    members = samehand_command("replicas", path, "--members", "--format", "csv").out
    assert len(list(csv.DictReader(io.StringIO(members)))) == sum(row["documents"] for row in groups)
    one = samehand_command("replicas", path, "--group", str(groups[2]["group_number"]))
    assert "The medoid and the document least like it share " in one.out
    assert "only in the other:" in one.out
    assert samehand_command("replicas", path, "--group", "99999999").code == 2
    assert samehand_command("replicas", path.parent / "nothing").code == 2


def test_letters_count_whatever_the_charset(tmp_path: Path) -> None:
    """The same Russian page in three charsets, one of them not named; and a French one in windows-1252, unnamed."""
    russian = "<title>Банк</title><p>счёт перевод деньги договор партнёр министр компания"
    french = "<p>créé élève forêt hôtel naïveté garçon protégé événement"
    pages = {
        "a/1.html": f"<meta charset=windows-1251>{russian}".encode("windows-1251"),
        "b/1.html": f"<meta charset=koi8-r>{russian}".encode("koi8-r"),
        "c/1.html": russian.encode(),
        "d/1.html": french.encode("windows-1252"),
        "e/1.html": french.encode(),
    }
    for name, content in pages.items():
        (tmp_path / "crawl" / name).parent.mkdir(parents=True)
        (tmp_path / "crawl" / name).write_bytes(b"<html>" + content)
    run = samehand.scan(str(tmp_path / "crawl"), tmp_path / "run", workers=1, signals=("style", "replica"))
    groups = {row["url"]: row["replica_group_id"] for row in run.replica_members().table.to_pylist()}
    assert groups == {f"http://{host}/1.html": 0 if host in "abc" else 3 for host in "abcde"}


@pytest.mark.parametrize("counted", [False, True])
def test_texts_of_attributes_count_when_asked_for(tmp_path: Path, counted: bool) -> None:
    for host, words in (("a", WORDS), ("b", WORDS)):
        (tmp_path / "crawl" / host).mkdir(parents=True)
        page = f"<html><p>{host * 5}</p><img alt='{' '.join(words)}'>"
        (tmp_path / "crawl" / host / "1.html").write_text(page)
    settings = Settings(attribute_texts=counted)
    run = samehand.scan(
        str(tmp_path / "crawl"), tmp_path / "run", settings=settings, workers=1, signals=("style", "replica")
    )
    assert run.replicas().table.num_rows == int(counted)


def test_a_limit_of_markup_is_counted(tmp_path: Path, samehand_command: Command) -> None:
    for host in ("a", "b"):
        (tmp_path / "crawl" / host).mkdir(parents=True)
        (tmp_path / "crawl" / host / "1.html").write_text("<html><p>" + " ".join(WORDS) + "<b>x</b>" * 200)
    samehand_command(
        "scan",
        "--signals",
        "style",
        tmp_path / "crawl",
        "-o",
        tmp_path / "run",
        "--max-tokens",
        "100",
        "--workers",
        "1",
    )
    ended = samehand_command("replicas", tmp_path / "run", "--workers", "1")
    assert "2 pages hit a limit of the markup pass" in ended.err
    assert samehand.open_run(tmp_path / "run").replicas().table.num_rows == 1


def test_show_tells_the_class_and_its_reasons(run: samehand.Run, samehand_command: Command) -> None:
    mirror = next(row for row in run.clusters().table.to_pylist() if row["class"] == "mirror")
    assert "near replicas; " in samehand_command("status", run.folder.path).out
    assert "class" not in samehand_command("show", run.folder.path, mirror["cluster_number"], "--families").out
    shown = samehand_command("show", run.folder.path, mirror["cluster_number"]).out
    assert "class mirror: 100% of the pages have their text on another host of it too" in shown


def test_lexicon_from_text_files(tmp_path: Path, samehand_command: Command) -> None:
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(" ".join(WORDS[number % 5 :]))
    (tmp_path / "book.txt").write_text("chapter and verse about something else entirely " * 3000)
    inputs = sorted(tmp_path.glob("*.txt"))
    ended = samehand_command("lexicon", "learn", *inputs, "-o", tmp_path / "own.lexicon")
    assert ended.code == 0
    assert int(ended.out.split()[0]) > 20
    empty = samehand_command("lexicon", "learn", tmp_path / "0.txt", "-o", tmp_path / "one.lexicon")
    assert (empty.code, "larger collection" in empty.err) == (2, True)


def test_lexicon_from_a_run_serves_another(
    style_run: samehand.Run, run: samehand.Run, tmp_path: Path, samehand_command: Command
) -> None:
    ended = samehand_command("lexicon", "learn", run.folder.path, "-o", tmp_path / "own.lexicon")
    assert ended.code == 0
    assert "words with nidf 0.2 to 0.8" in ended.out
    assert "typical:" in ended.out
    copy_of(style_run, tmp_path / "run")
    used = samehand_command("replicas", tmp_path / "run", "--lexicon", tmp_path / "own.lexicon", "--workers", "1")
    assert used.code == 0
    (tmp_path / "broken.lexicon").write_bytes(b"PAR1 nothing")
    refused = samehand_command("replicas", tmp_path / "run", "--lexicon", tmp_path / "broken.lexicon")
    assert (refused.code, "not a whole lexicon" in refused.err) == (2, True)


LETTER = """account balance transfer bank confidential partner million dollars urgent reply business proposal
minister foreign contract government payment honest family security company deposit release documents assistance"""
WORDS = LETTER.split()


def message(number: int, words: list[str]) -> bytes:
    return b"From a@b Mon Jan  1 00:00:00 2026\nSubject: offer %d\n\n%s\n\n" % (number, " ".join(words).encode())


def mailbox(count: int) -> bytes:
    """Every third message is the known letter with a word changed, the others talk about something else."""
    letters = []
    for number in range(count):
        if number % 3 == 0:
            letters.append(message(number, [*WORDS[:-1], "changed", f"words{chr(97 + number % 26)}here"]))
        else:
            letters.append(
                message(number, [f"topic{chr(97 + (number * 7 + i) % 26)}thing{chr(97 + i)}" for i in range(20)])
            )
    return b"".join(letters)


def test_replicas_in_mail(tmp_path: Path, samehand_command: Command) -> None:
    (tmp_path / "box.mbox").write_bytes(mailbox(30))
    ended = samehand_command("replicas", tmp_path / "box.mbox", "--profile", "mail", "-o", tmp_path / "run")
    assert ended.code == 0
    run = samehand.open_run(tmp_path / "run")
    assert run.replicas().table.to_pylist()[0]["documents"] == 10
    places = run.replica_members(1)["url"]
    assert str(tmp_path / "box.mbox#1") in places
    assert run.content(places[0]).startswith(b"offer ")
    again = samehand_command("replicas", tmp_path / "run")
    assert again.out == ended.out
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "1.eml").write_bytes(message(1, WORDS))
    (tmp_path / "mixed" / "empty.eml").write_bytes(b"")
    damaged = samehand_command("replicas", tmp_path / "mixed", "--profile", "mail", "-o", tmp_path / "run2")
    assert damaged.code == 3


def test_match_answers_each_message_as_it_comes(tmp_path: Path) -> None:
    """The answer to the first message is there before the second has been sent."""
    (tmp_path / "known").mkdir()
    (tmp_path / "known" / "letter.eml").write_bytes(b"Subject: offer\n\n" + " ".join(WORDS).encode())
    command = [
        sys.executable,
        "-m",
        "samehand.cli.start",
        "match",
        "--prototypes",
        str(tmp_path / "known"),
        "--format",
        "jsonl",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(message(0, WORDS) + b"From c@d Mon Jan  1 00:00:00 2026\nSubject: x\n\n")
        first = json.loads(process.stdout.readline())
        process.stdin.write(b"quite other words stand here today\n")
        process.stdin.close()
        second = json.loads(process.stdout.readline())
        assert process.wait() == 0
    assert (first["message"], first["prototype"]) == ("stdin#1", str(tmp_path / "known" / "letter.eml"))
    assert first["cosine"] > 0.9
    assert second["prototype"] is None


def test_match_of_many_messages_and_a_closed_pipe(tmp_path: Path) -> None:
    (tmp_path / "known.eml").write_bytes(b"Subject: offer\n\n" + " ".join(WORDS).encode())
    (tmp_path / "stream.mbox").write_bytes(mailbox(2000))
    command = f"{sys.executable} -m samehand.cli.main match --prototypes {tmp_path}/known.eml < {tmp_path}/stream.mbox"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 2000
    assert sum(bool(row["prototype"]) for row in rows) == 667
    closed = subprocess.run(["bash", "-c", command + " | head -2"], capture_output=True, text=True, check=False)
    assert "Traceback" not in closed.stderr
    assert len(closed.stdout.splitlines()) == 2
