"""The report: one file that is whole, small and harmless, whatever the pages hold."""

import json
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tools.chromium import MISSING, chromium, is_there, resize

import samehand
from crawls import small_crawl, write_warc
from generated_pages import MIXED, written
from runs import Ended
from samehand.answers.report.layout import tree_layout

LARGEST = 300_000
HOSTILE = "<script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>\u202e</pre></style>"


class Tags(HTMLParser):
    """The tags of a document with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def report(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from samehand.answers.report.page import write_report

    out = tmp_path_factory.mktemp("report") / "report.html"
    write_report(demo_run, out)
    return out


def test_it_is_small_and_asks_for_nothing(report: Path) -> None:
    text = report.read_text()
    assert len(text.encode()) < LARGEST
    tags = Tags(text).found
    assert "script" not in {tag for tag, _ in tags}
    for _, attributes in tags:
        assert not {"src", "srcset", "data", "action", "background"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert "default-src 'none'" in text


def test_every_figure_is_told_in_words(report: Path) -> None:
    figures = [attributes for tag, attributes in Tags(report.read_text()).found if tag == "figure"]
    assert len(figures) >= 8
    assert all(len(attributes["aria-label"] or "") > 30 for attributes in figures)


def test_clusters_have_verdicts_and_marked_pages(report: Path, demo_run: samehand.Run) -> None:
    text = report.read_text()
    assert "log-odds that nobody needs it" in text
    assert text.count("<mark>") > 10
    assert f"{demo_run.counts('verdicts')['page_actions']['drop']:,}" in text


def test_the_same_run_gives_the_same_file(report: Path, demo_run: samehand.Run, tmp_path: Path) -> None:
    from samehand.answers.report.page import write_report

    write_report(demo_run, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == report.read_bytes()


@pytest.mark.parametrize("interactive", [False, True])
def test_hostile_pages_stay_text(tmp_path: Path, interactive: bool) -> None:
    from samehand.answers.report.page import report_html

    pages = {f"http://s{n}.example/?{HOSTILE}": page for n, page in enumerate(small_crawl().values())}
    hostile = {url: page.replace(b"<body", HOSTILE.encode() + b"<body", 1) for url, page in pages.items()}
    run = samehand.scan(write_warc(tmp_path / "c.warc", hostile), tmp_path / "run", signals="style", workers=1)
    text = report_html(run, interactive=interactive)
    tags = [tag for tag, _ in Tags(text).found]
    assert tags.count("script") == int(interactive)
    assert "img" not in tags
    assert "\u202e" not in text
    if interactive:
        assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]+'", text)


def test_a_run_without_clusters_has_a_report(tmp_path: Path) -> None:
    from samehand.answers.report.page import report_html

    file = write_warc(tmp_path / "c.warc", {"http://a.example/": b"<html><body><p>One page.</p></body></html>"})
    text = report_html(samehand.scan(file, tmp_path / "run", signals="style", workers=1))
    assert "From records to answers" in text


def test_the_command(samehand_command: Callable[..., Ended], demo_run: samehand.Run, tmp_path: Path) -> None:
    ended = samehand_command("report", demo_run.path, "-o", tmp_path / "r.html")
    assert ended.code == 0
    assert (tmp_path / "r.html").is_file()
    assert "kB" in ended.err


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not is_there():
        pytest.skip(MISSING)
    with chromium(logs=("browser", "performance")) as made:
        made.get("about:blank")
        made.get_log("performance")  # the first tab has pages of its own
        yield made


@pytest.mark.browser
@pytest.mark.parametrize("interactive", [False, True])
def test_it_opens_in_a_browser_without_a_request_or_a_complaint(
    browser: Any, report: Path, demo_run: samehand.Run, interactive: bool
) -> None:
    """Chromium opens the file from disk: no request leaves, nothing is logged, nothing overflows, at any width."""
    from samehand.answers.report.page import write_report

    if interactive:
        report = report.with_name("interactive.html")
        write_report(demo_run, report, cluster=2, interactive=True)
    for width, dark in ((1280, False), (390, True), (320, False)):
        resize(browser, width, 800, dark=dark)
        browser.get(report.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert len(browser.find_elements("css selector", "figure svg")) >= 8
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_another_cluster_can_be_drawn(demo_run: samehand.Run) -> None:
    from samehand.answers.report.page import report_html

    assert "The medoid of cluster 4 against all pages" in report_html(demo_run, cluster=4)
    with pytest.raises(samehand.UsageError, match="There is no cluster 4000"):
        report_html(demo_run, cluster=4000)


def test_text_groups_have_their_skeletons(tmp_path: Path) -> None:
    from samehand.answers.report.page import report_html

    source = written(tmp_path / "pages.jsonl", MIXED)
    run = samehand.scan(source, tmp_path / "run", signals="phrases", workers=1)
    text = report_html(run)
    assert "Text group 1:" in text
    assert run.skeleton(1).phrases[0][0] in text


def test_nodes_of_a_forest_have_places_of_their_own() -> None:
    places = tree_layout(6, np.array([[0, 1], [1, 2], [1, 3], [4, 5]]))
    assert places.shape == (6, 2)
    assert len({tuple(place) for place in places.tolist()}) == 6
    assert np.isfinite(places).all()
    assert tree_layout(0, np.zeros((0, 2), np.int64)).shape == (0, 2)
