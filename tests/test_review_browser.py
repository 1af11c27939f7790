"""The review server in a real Chromium: keys, undo, two tabs, a killed server; nothing leaves for a hostile page."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.chromium import MISSING, chromium, is_there, resize

import samehand
from crawls import write_warc
from hostile_page import NAMES, WAYS, Sink, bare_server, hostile_page, sink
from review_run import Served, served
from runs import copy_of
from samehand.review.guard import PREVIEW_POLICY
from samehand.review.preview import preview
from samehand.store.labels import LabelFile

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not is_there(), reason=MISSING)]
WAIT = 60
"""Seconds: long, because machines that run tests are busy. Nothing waits longer than it must."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as made:
        made.set_script_timeout(WAIT)
        yield made


@pytest.fixture(scope="module")
def server(demo_run: samehand.Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, samehand.Run]]:
    run = copy_of(demo_run, tmp_path_factory.mktemp("review") / "run")
    with served(run) as made:
        yield made, run


@pytest.fixture
def queue(browser: Any, server: tuple[Served, samehand.Run]) -> Iterator["Queue"]:
    """The queue in the browser, with no answer yet."""
    served_run, run = server
    (run.path / "labels.jsonl").unlink(missing_ok=True)
    browser.get(served_run.address)
    browser.get(f"{served_run.base}/queue")
    made = Queue(browser, run)
    made.wait_for(lambda: made.card > 0)
    yield made
    assert browser.get_log("browser") == []


class Queue:
    """What a person sees of the queue, and does with keys."""

    def __init__(self, browser: Any, run: samehand.Run) -> None:
        self.browser, self.run = browser, run

    def text(self, name: str) -> str:
        return str(self.browser.execute_script(f"return document.querySelector('[data-field={name}]').textContent"))

    @property
    def card(self) -> int:
        """The number of the cluster that is shown; 0 for none."""
        words = self.text("heading").split()
        return int(words[1]) if words else 0

    def press(self, key: str) -> None:
        from selenium.webdriver import ActionChains

        ActionChains(self.browser, duration=0).send_keys(key).perform()

    def wait_for(self, is_so: Callable[[], bool]) -> None:
        end = time.monotonic() + WAIT
        while not is_so():
            assert time.monotonic() < end, (self.text("status"), self.text("alert"))
            time.sleep(0.02)

    def answer(self, key: str) -> int:
        """Presses a key, waits until the answer is saved and the next card is there. Returns the old card."""
        before = self.card
        self.press(key)
        self.wait_for(lambda: self.text("status").startswith(f"Saved cluster {before}:") and self.card != before)
        return before

    @property
    def labels(self) -> list[tuple[str, str]]:
        return [(label.unit, label.answer) for label in LabelFile.of(self.run.folder).labels()]


def test_every_key(queue: Queue) -> None:
    first = queue.answer("a")
    queue.answer("x")
    queue.wait_for(lambda: not queue.browser.execute_script("return document.querySelector('[data-key=d]').disabled"))
    queue.answer("d")
    queue.answer("s")
    assert queue.labels == [
        ("cluster", "unwanted"),
        ("cluster", "wanted"),
        ("pair", "different hands"),
        ("cluster", "skip"),
    ]
    assert "3 answered · 1 skipped" in queue.text("progress")
    for _ in range(4):
        before = queue.text("progress")
        queue.press("u")
        queue.wait_for(lambda was=before: queue.text("progress") != was)
    assert (queue.card, queue.labels) == (first, [])
    queue.press("u")
    queue.wait_for(lambda: queue.text("status") == "There is nothing to undo.")
    queue.press("z")
    assert not queue.browser.find_element("css selector", ".card .secret").is_displayed()
    queue.browser.refresh()
    queue.wait_for(lambda: queue.card == first)
    assert not queue.browser.find_element("css selector", ".card .secret").is_displayed()
    queue.press("z")
    assert queue.browser.find_element("css selector", ".card .secret").is_displayed()
    queue.press("?")
    dialog = queue.browser.find_element("css selector", "dialog")
    assert dialog.is_displayed()
    queue.press("a")  # behind the dialog nothing happens
    queue.press("?")
    assert not dialog.is_displayed()
    assert queue.labels == []


def test_the_keys_are_those_printed_on_the_buttons(queue: Queue) -> None:
    buttons = queue.browser.find_elements("css selector", "[data-queue] button")
    printed = [button.find_element("css selector", "kbd").text for button in buttons]
    assert printed == [button.get_attribute("data-key") for button in buttons] == list("axdsuz?")


def test_a_hundred_answers_and_a_hundred_undos(queue: Queue) -> None:
    """Fifty at a time: the demo has fewer than a hundred clusters."""
    for _ in range(2):
        seen = [queue.answer("axs"[number % 3]) for number in range(50)]
        assert len(set(seen)) == 50
        for number in reversed(seen):
            queue.press("u")
            queue.wait_for(lambda wanted=number: queue.card == wanted and queue.text("status").startswith("Took back"))
        assert queue.labels == []
    lines = (queue.run.path / "labels.jsonl").read_text().splitlines()
    assert len(lines) == 200


def test_fast_keys_lose_nothing(queue: Queue) -> None:
    """Ten answers without waiting: whatever card was shown is what is saved."""
    for number in range(10):
        queue.press("ax"[number % 2])
    queue.wait_for(lambda: "Saving" not in queue.text("status") and queue.card > 0)
    queue.wait_for(lambda: f"{len(queue.labels)} answered" in queue.text("progress"))
    assert 1 <= len(queue.labels) <= 10


def test_two_tabs(queue: Queue) -> None:
    browser = queue.browser
    first, address = browser.current_window_handle, browser.current_url
    browser.switch_to.new_window("tab")
    try:
        browser.get(address)
        queue.wait_for(lambda: queue.card > 0)
        same = queue.card
        browser.switch_to.window(first)
        assert queue.card == same
        queue.answer("a")
        browser.switch_to.window(browser.window_handles[1])
        queue.press("x")  # the same card, answered in the other tab
        queue.wait_for(lambda: "Another tab answered this card: unwanted" in queue.text("status"))
        queue.wait_for(lambda: queue.card not in (0, same))
        assert queue.labels == [("cluster", "unwanted")]
        browser.get_log("browser")  # the conflict is a failed request
    finally:
        browser.close()
        browser.switch_to.window(first)


def test_a_reload_asks_the_same_card(queue: Queue) -> None:
    queue.answer("s")
    card = queue.card
    queue.browser.refresh()
    queue.wait_for(lambda: queue.card == card)
    assert "1 skipped" in queue.text("progress")


def test_a_killed_server_loses_nothing_that_it_acknowledged(
    demo_run: samehand.Run, browser: Any, tmp_path: Path
) -> None:
    run = copy_of(demo_run, tmp_path / "run")
    acknowledged = [number for _ in range(3) for number in answers_until_killed(run, browser)]
    ids = run.clusters()["style_cluster_id"]
    kept = {label.name: label.answer for label in LabelFile.of(run.folder).labels()}
    assert len(set(acknowledged)) == 9
    assert [kept.get(str(ids[number - 1])) for number in acknowledged] == ["unwanted"] * 9
    browser.get_log("browser")


def answers_until_killed(run: samehand.Run, browser: Any) -> list[int]:
    """Answers three cards, sends a fourth answer, and kills the server then. Returns what was acknowledged."""
    with served(run) as made:
        browser.get(made.address)
        browser.get(f"{made.base}/queue")
        queue = Queue(browser, run)
        queue.wait_for(lambda: queue.card > 0)
        acknowledged = [queue.answer("a") for _ in range(3)]
        queue.press("x")  # this one may be lost: nobody said that it is saved
        os.kill(made.process.pid, signal.SIGKILL)
        made.process.wait(10)
        queue.press("a")
        queue.wait_for(lambda: "not saved" in queue.text("alert"))
    return acknowledged


# Looks.

SCREENS = [
    "/",
    "/queue",
    "/cluster/1",
    "/page/0",
    "/page/0?view=text",
    "/page/0?view=preview",
    "/provider/(unknown)",
    "/cluster/0",
]


@pytest.mark.parametrize("path", SCREENS)
def test_screens_fit_and_can_be_read(browser: Any, server: tuple[Served, samehand.Run], path: str) -> None:
    """At 400 % zoom a screen of 1,280 pixels is 320 wide. Contrast is that of WCAG AA, in light and dark."""
    browser.get(server[0].address)
    for width, dark in ((1280, False), (390, True), (320, False)):
        resize(browser, width, 900, dark=dark)
        browser.get(server[0].base + path)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        assert browser.execute_script(CONTRAST) == []
    resize(browser, 1280, 900)
    complaints = [entry["message"] for entry in browser.get_log("browser")]
    assert [said for said in complaints if "404" not in said or path != "/cluster/0"] == []


CONTRAST = """
const parse = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
const light = ([r, g, b]) => {
  const part = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const behind = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = parse(getComputedStyle(at).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour;
  }
  return [255, 255, 255];
};
const poor = [];
for (const element of document.querySelectorAll("body *")) {
  const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  if (!own || !element.getClientRects().length || element.closest("svg, :disabled")) continue;
  const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) poor.push(`${element.tagName} ${ratio.toFixed(2)} ${element.textContent.slice(0, 40)}`);
}
return poor;
"""


def test_the_keyboard_reaches_everything_and_focus_is_seen(browser: Any, server: tuple[Served, samehand.Run]) -> None:
    from selenium.webdriver import ActionChains, Keys

    browser.get(server[0].address)
    browser.get(f"{server[0].base}/cluster/1")
    reachable = "return document.querySelectorAll('a[href], button:not(:disabled), [tabindex=\"0\"]').length"
    count = browser.execute_script(reachable)
    seen = set()
    for _ in range(count):
        ActionChains(browser, duration=0).send_keys(Keys.TAB).perform()
        found = browser.execute_script(
            "const at = document.activeElement; const style = getComputedStyle(at);"
            "const place = [...document.querySelectorAll('*')].indexOf(at);"
            "return [place, style.outlineStyle, parseFloat(style.outlineWidth)]"
        )
        seen.add(found[0])
        assert found[1] != "none", found
        assert found[2] >= 2
    assert len(seen) == count


# The hostile page.


class Measured:
    """What left for one page."""

    def __init__(self, tag: str, target: Sink) -> None:
        self.tag, self.sink, self.lookups, self.owned = tag, target, 0, False

    @property
    def escaped(self) -> int:
        return len(self.sink.paths) + self.sink.connections + self.lookups + self.owned


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Measured]]:
    """The page shown without a wall, with each wall alone, and with all three, in one browser with a netlog."""
    folder = tmp_path_factory.mktemp("hostile")
    with sink() as bare, sink() as rewritten, sink() as headed, sink() as framed, sink() as walled:
        sinks = {"control": bare, "rewrite": rewritten, "headers": headed, "frame": framed, "walls": walled}
        found = {tag: Measured(tag, target) for tag, target in sinks.items()}
        raw = {tag: hostile_page(target.port, tag) for tag, target in sinks.items()}
        run = samehand.scan(
            write_warc(folder / "c.warc", twins(raw["walls"])), folder / "run", signals="all", workers=1
        )
        with chromium(f"--log-net-log={folder / 'net.json'}", "--disable-features=HttpsUpgrades") as browser:
            browser.set_page_load_timeout(WAIT)
            answers = {
                "/control": ({}, raw["control"]),
                "/rewrite": ({}, preview(raw["rewrite"]).encode()),
                "/headers": ({"Content-Security-Policy": PREVIEW_POLICY}, raw["headers"]),
                "/frame": ({}, raw["frame"]),
                **{f"/shell-{tag}": ({}, shell(tag).encode()) for tag in sinks},
            }
            with bare_server(answers) as address:
                for tag in ("control", "rewrite", "headers", "frame"):
                    show(browser, f"{address}/shell-{tag}", found[tag], click=tag == "frame")
            with served(run) as made:
                browser.get(made.address)
                show(browser, f"{made.base}/page/0?view=preview", found["walls"], click=True)
                for view in ("source", "text"):
                    show(browser, f"{made.base}/page/0?view={view}", found["walls"], click=True)
                show(browser, f"{made.base}/cluster/1", found["walls"])
        for tag, one in found.items():
            one.lookups = lookups(folder / "net.json", f".{tag}.{NAMES}")
        yield found


def twins(page: bytes) -> dict[str, bytes]:
    return {f"http://s{number}.example/": page for number in range(3)}


def shell(tag: str) -> str:
    sandbox = " sandbox" if tag == "frame" else ""
    return f"<!DOCTYPE html><title>shell</title><iframe{sandbox} width=900 height=700 src='/{tag}'></iframe>"


def show(browser: Any, address: str, one: Measured, *, click: bool = False) -> None:
    """Opens a page, waits until it is still, and clicks on everything in its frame."""
    from selenium.common.exceptions import TimeoutException, UnexpectedAlertPresentException

    first = browser.current_window_handle
    title = ""
    try:
        browser.get(address)
        title = browser.title
        if click:
            click_everything(browser)
        time.sleep(2.5)
        one.owned |= browser.title != title or len(browser.window_handles) > 1 or browser.current_url != address
    except (TimeoutException, UnexpectedAlertPresentException):
        one.owned = True
    for handle in browser.window_handles:
        if handle != first:
            browser.switch_to.window(handle)
            browser.close()
    browser.switch_to.window(first)
    browser.get("about:blank")


def click_everything(browser: Any) -> None:
    """Clicks along lines through the frame, or through the page where it has none."""
    frames = browser.find_elements("css selector", "iframe, pre.source")
    browser.execute_script("arguments[0].scrollIntoView()", frames[0])
    box = browser.execute_script(
        "const r = arguments[0].getBoundingClientRect(); return [r.left, r.top, r.width, r.height]", frames[0]
    )
    left, top, width, height = box
    for x in (left + 40, left + width / 2):
        for y in range(int(top) + 6, int(min(top + height, 880)), 12):
            for kind in ("mousePressed", "mouseReleased"):
                event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
                browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def lookups(netlog: Path, ending: str) -> int:
    """Different hostile names that the host resolver was asked for."""
    text = netlog.read_text(errors="replace")
    try:
        log = json.loads(text)
    except ValueError:
        log = json.loads(text.rstrip().rstrip(",") + "]}")
    kinds = {number for name, number in log["constants"]["logEventTypes"].items() if name.startswith("HOST_RESOLVER")}
    asked = [json.dumps(event.get("params", "")) for event in log["events"] if event["type"] in kinds]
    return len(
        {
            part
            for line in asked
            for part in line.replace("/", " ").replace('"', " ").replace(":", " ").split()
            if part.endswith(ending)
        }
    )


def test_without_walls_the_page_gets_out(measured: dict[str, Measured]) -> None:
    """So that a test that sees nothing because it is blind is noticed."""
    control = measured["control"]
    assert WAYS >= 86
    assert len(control.sink.paths) >= 50, sorted(control.sink.paths)
    assert control.lookups >= 2
    assert control.owned


@pytest.mark.parametrize("wall", ["rewrite", "headers", "frame"])
def test_no_wall_is_enough_alone(measured: dict[str, Measured], wall: str) -> None:
    assert measured[wall].escaped > 0


def test_clicks_arrive(measured: dict[str, Measured]) -> None:
    """A sandboxed frame may navigate itself: so the clicks in these tests hit links, where there are links."""
    assert any(path.startswith("/click-") for path in measured["frame"].sink.paths)


def test_nothing_gets_through_three_walls(measured: dict[str, Measured]) -> None:
    walls = measured["walls"]
    assert walls.sink.paths == set()
    assert walls.sink.connections == 0
    assert walls.lookups == 0
    assert not walls.owned
