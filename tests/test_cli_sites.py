"""The commands sites, structure and label: views, tags side by side, answers from files and people."""

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import samehand
from dns_server import dns_server
from runs import judge_run, kinds_of
from samehand.cli import label as cli_label
from samehand.cli.demo import DemoFiles

Command = Callable[..., "tuple[int, str, str]"]


@pytest.fixture(scope="module")
def judged(demo: DemoFiles, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with verdicts that nobody may change."""
    out = tmp_path_factory.mktemp("cli") / "run"
    samehand.scan(str(demo.crawl), out, workers=1, signals=("style", "sites"))
    judge_run(out, nameservers=[demo.nameservers])
    return out


@pytest.fixture
def run(judged: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(judged, tmp_path / "run"))


def forget_name_servers(run: Path) -> None:
    """The run as it was before any name server was known."""
    (run / "sites" / "nameservers.parquet").unlink()
    (run / "done" / "sites.json").unlink()
    manifest = json.loads((run / "run.json").read_text())
    del manifest["stages"]["sites"]
    (run / "run.json").write_text(json.dumps(manifest))


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_providers_by_verdict_and_size_with_their_name_servers(
    demo: DemoFiles, run: Path, samehand_command: Command
) -> None:
    forget_name_servers(run)
    ended = samehand_command("sites", run, "--nameservers", demo.nameservers, "--workers", "1", "--providers")
    assert ended.code == 0
    heading, *lines = ended.out.splitlines()
    assert heading.split()[:3] == ["provider", "verdict", "sites"]
    assert [line.split()[0] for line in lines if line.split()[1] == "parked"] == ["parkwell.example", "lotside.test"]
    assert lines[0].endswith("ns1.parkwell.example, ns2.parkwell.example")
    assert "44 providers: 2 parked, 4 ok, 38 with too few sites." in ended.err


def test_further_files_may_follow(demo: DemoFiles, run: Path, tmp_path: Path, samehand_command: Command) -> None:
    lines = demo.nameservers.read_text().splitlines(keepends=True)
    for name, part in (("one.csv", lines[:200]), ("two.csv", [lines[0], *lines[200:], "bad..name,ns.x.net\n"])):
        (tmp_path / name).write_text("".join(part))
    before = samehand_command("sites", run).out
    ended = samehand_command("sites", run, "--nameservers", tmp_path / "one.csv", tmp_path / "two.csv")
    assert ended.out == before
    assert "Passed over among the name servers: 1 bad name." in ended.err


def test_sites_and_clusters_in_every_form(judged: Path, samehand_command: Command) -> None:
    sites = rows_of(samehand_command("sites", judged, "--format", "csv").out)
    assert len({row["site"] for row in sites}) == 232
    assert {"parked-ads", "real"} <= {row["kind"] for row in sites}
    some = rows_of(samehand_command("sites", judged, "--kind", "copies", "--kind", "empty", "--format", "csv").out)
    assert {row["kind"] for row in some} == {"copies", "empty"}
    assert "There is no kind" in samehand_command("sites", judged, "--kind", "parkd").err
    clusters = samehand_command("sites", judged, "--clusters", "--format", "jsonl", "--top", "2").out.splitlines()
    assert [json.loads(line)["kind"] for line in clusters] == ["parked-ads", "parked-ads"]
    shown = samehand_command("sites", judged, "--top", "1").out.splitlines()
    assert shown[0].split()[:3] == ["site", "kind", "p"]
    assert len(shown) > 2  # the reason stands below
    providers = rows_of(samehand_command("sites", judged, "--providers", "--format", "csv").out)
    assert providers[0]["calls_r"].isdigit()


def test_without_name_servers_it_says_what_to_add(run: Path, samehand_command: Command) -> None:
    forget_name_servers(run)
    ended = samehand_command("sites", run)
    assert ended.code == 0
    assert ended.out.splitlines()[0].split()[:3] == ["site", "kind", "p"]
    assert "no provider" in ended.err
    assert f"ask DNS: samehand sites {run} --resolve" in ended.err


def test_dns_only_when_asked(run: Path, samehand_command: Command) -> None:
    forget_name_servers(run)
    with dns_server({}) as server:
        options = ["--dns-resolvers", server.address, "--dns-rate", "10000"]
        samehand_command("sites", run, *options)
        assert server.log == []
        ended = samehand_command("sites", run, "--resolve", *options)
    assert ended.code == 0
    assert "DNS: 232 of 232 domains, 232 queries." in ended.err
    assert "DNS said: 232 nxdomain." in ended.err
    assert len((run / "sites" / "dns.jsonl").read_text().splitlines()) == 232


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("sites", "RUN", "--nameservers", "none.csv"), 4, "Check the path"),
        (("sites", "RUN", "--max-mean-distance", "7"), 2, "max_mean_distance is 7"),
        (("sites", "RUN", "--resolve", "--dns-resolvers", "nobody"), 2, "is no resolver"),
        (("sites", "nothing"), 2, "samehand scan"),
        (("structure", "none.html", "none.html"), 4, "Give two HTML files"),
        (("label", "nothing"), 2, "not a run folder"),
        (("label", "RUN", "--answers", "none.csv"), 4, "none.csv cannot be read"),
    ],
)
def test_errors_say_the_next_step(
    run: Path, samehand_command: Command, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ended = samehand_command(*(str(run) if part == "RUN" else part for part in arguments))
    assert (ended.code, said in ended.err) == (code, True), ended.err
    assert ended.err.count("\n") == 1


def test_settings_of_sites_are_no_options_of_scan(samehand_command: Command) -> None:
    scan, sites = (samehand_command(name, "--help-all").out for name in ("scan", "sites"))
    assert "--max-tags" in scan
    assert "--max-mean-distance" not in scan
    for option in ("--max-tags", "--max-mean-distance", "--dns-rate", "--min-sites"):
        assert option in sites


def pages(tmp_path: Path) -> tuple[Path, Path]:
    left, right = tmp_path / "left.html", tmp_path / "right.html"
    inside = "<p>x</p>" * 30
    left.write_text(f"<html><body>{inside}<div><b>x</b></div></body></html>")
    right.write_text(f"<html><body>{inside}<div><x{'y' * 60}-\u202e></div></body></html>")
    return left, right


def test_tags_side_by_side(tmp_path: Path, samehand_command: Command) -> None:
    left, right = pages(tmp_path)
    ended = samehand_command("structure", left, right)
    lines = ended.out.splitlines()
    assert lines[0] == "D 0.0294: 66 of 68 tags in common, in order"
    assert lines[1] == "R 0.0147 <= F 0.0294 <= B 0.0294 <= D 0.0294"
    assert max(map(len, lines)) <= 80
    assert "    … 61 equal tags …" in lines
    assert [line.split()[1:] for line in lines if "  <" in line] == [["<"], ["<"]]
    assert "\u202e" not in ended.out
    assert "more lines: --top 0 shows all" in samehand_command("structure", left, right, "--top", "1").out
    same = samehand_command("structure", left, left).out.splitlines()
    assert same[-1] == "    … 68 equal tags …"


def test_structure_as_json(tmp_path: Path, samehand_command: Command) -> None:
    left, right = pages(tmp_path)
    found = json.loads(samehand_command("structure", left, right, "--format", "jsonl").out)
    assert found["r"] <= found["f"] <= found["b"] <= found["d"]
    assert found["alignment"][0] == ["html", "html"]
    cut = samehand_command("structure", left, right, "--max-tags", "5").out
    assert cut.startswith("D 0.0000: 5 of 5")
    assert "only their first tags were compared" in cut


def known_answers(demo: DemoFiles, path: Path) -> Path:
    kinds = kinds_of(demo, "domain")
    lines = [f"{site},{'spam' if kind == 'parked' else 'ok'}\n" for site, kind in kinds.items()]
    path.write_text("site,label\n" + "".join(lines))
    return path


def test_labels_from_a_file(demo: DemoFiles, run: Path, tmp_path: Path, samehand_command: Command) -> None:
    ended = samehand_command("label", run, "--answers", known_answers(demo, tmp_path / "known.csv"))
    assert ended.code == 0
    assert "232 of 232 sites have a label" in ended.err
    assert f"Answers are in {run / 'labels.jsonl'}" in ended.err
    again = samehand_command("label", run)
    assert (again.out, "232 of 232 sites" in again.err) == ("", True)


def test_nobody_there_gets_the_questions_and_may_fill_them_in(
    run: Path, tmp_path: Path, samehand_command: Command
) -> None:
    ended = samehand_command("label", run)
    questions = rows_of(ended.out)
    assert "fill in the labels" in ended.err
    looks: dict[str, int] = {}
    for row in questions:
        looks[row["cluster"]] = looks.get(row["cluster"], 0) + 1
    assert max(count for cluster, count in looks.items() if cluster) == 2
    filled = "".join(f"{row['page_id']},spam\n" for row in questions)
    (tmp_path / "filled.csv").write_text("page_id,label\n" + filled)
    done = samehand_command("label", run, "--answers", tmp_path / "filled.csv")
    assert "232 of 232 sites have a label" in done.err


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Somebody at a terminal who types these lines."""

    def type_lines(lines: str) -> None:
        monkeypatch.setattr(cli_label, "_is_terminal", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO(lines))

    return type_lines


def test_labels_in_the_terminal(run: Path, samehand_command: Command, people: Callable[[str], None]) -> None:
    people("u\ns\nspam\nok\nu\nreel\nq\n")
    ended = samehand_command("label", run)
    assert ended.code == 0
    assert "There is nothing to undo." in ended.out
    assert "Undone: " in ended.out
    assert "'reel' is no label: did you mean real?" in ended.out
    assert "title: " in ended.out
    assert " words, " in ended.out
    assert "asked because: " in ended.out
    assert not {"probability", "parked-ads:"} & set(ended.out.split())

    def said() -> list[tuple[str, str]]:
        rows = [json.loads(line) for line in (run / "labels.jsonl").read_text().splitlines()]
        return [(row["answer"], row["kind"]) for row in rows]

    assert said() == [("skip", ""), ("unwanted", "spam"), ("wanted", "ok"), ("undo", "")]
    people("ok\n")  # and then the line is cut
    later = samehand_command("label", run)
    assert said()[4:] == [("wanted", "ok")]
    assert f"Answers are in {run / 'labels.jsonl'}" in later.err


def test_a_page_that_is_gone_is_still_asked_for(
    demo: DemoFiles, tmp_path: Path, samehand_command: Command, people: Callable[[str], None]
) -> None:
    crawl = Path(shutil.copy(demo.crawl, tmp_path))
    samehand.scan(str(crawl), tmp_path / "run", workers=1, signals=("style", "sites"))
    assert samehand_command("sites", tmp_path / "run", "--workers", "1").code == 0
    crawl.unlink()
    people("q\n")
    assert "its input has gone" in samehand_command("label", tmp_path / "run").out


def test_what_pages_say_cannot_steer_the_terminal(
    tmp_path: Path, samehand_command: Command, people: Callable[[str], None]
) -> None:
    page = {"url": "http://a.com/", "html": "<title>\x1b[2Jtitle</title><p>\x1b]0;word\x07 and others \u202e"}
    (tmp_path / "pages.jsonl").write_text(json.dumps(page) + "\n")
    samehand.scan(str(tmp_path / "pages.jsonl"), tmp_path / "run", workers=1, signals=("style", "sites"))
    shown = samehand_command("sites", tmp_path / "run").out
    people("q\n")
    shown += samehand_command("label", tmp_path / "run").out
    assert "title: \\x1b[2Jtitle" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
