"""The demo crawl and its generator: the shipped files come from it, and their truth is one that noise can tell.

The noise is computed here in plain Python, apart from the package, since these tests say what the right answers are.
"""

import csv
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecordType
from numpy.typing import NDArray
from tools.demo_crawl import SHIPPED_SEED
from tools.demo_crawl.generated import GENERATORS
from tools.demo_crawl.world import build_world
from warcio.archiveiterator import ArchiveIterator

from samehand.cli.demo import DemoFiles

ROOT = Path(__file__).parent.parent
WIDTHS = (16, 32)
NON_PAGE_RESPONSES = 4
"""An image, a robots.txt, a redirect and a missing page."""
FEWEST_WINDOWS = 60
"""Pages with fewer say too little about their maker to be compared."""
ZLIB_DECIDES = ("Content-Length", "WARC-Block-Digest", "WARC-Payload-Digest")
"""What a record says of answers that are packed by another version of zlib."""
PAGES_PER_KIND = {"forum": 144, "farm": 156, "mirror": 60, "copy": 10, "parked": 80, "fake": 20, "honest": 161}


# --- reading a demo --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Response:
    url: str
    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True)
class Demo:
    """A written demo, read back."""

    files: DemoFiles

    @cached_property
    def truth(self) -> list[dict[str, str]]:
        return read_table(self.files.truth)

    @cached_property
    def responses(self) -> list[Response]:
        return list(read_with_fastwarc(self.files.crawl))

    @cached_property
    def bodies(self) -> list[bytes]:
        """Of the pages, in the order of the truth."""
        by_url = {response.url: response.body for response in self.responses}
        return [by_url[row["url"]] for row in self.truth]

    @cached_property
    def noises(self) -> list[bytes]:
        return [noise_of(body) for body in self.bodies]

    @cached_property
    def hands(self) -> NDArray[np.str_]:
        return np.array([row["hand"] for row in self.truth])


def read_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_with_fastwarc(path: Path) -> Iterator[Response]:
    for record in FastIterator(str(path), record_types=WarcRecordType.response, auto_decode="all", verify_digests=True):
        url, status = record.headers["WARC-Target-URI"], record.http_headers.status_code
        yield Response(url, status or 0, record.http_headers["Content-Type"], record.reader.read())


def read_with_warcio(path: Path) -> Iterator[Response]:
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            if record.rec_type == "response":
                url, http = record.rec_headers.get_header("WARC-Target-URI"), record.http_headers
                body, content_type = record.content_stream().read(), http.get_header("Content-Type")
                yield Response(url, int(http.get_statuscode()), content_type, body)


@pytest.fixture(scope="module")
def shipped(demo: DemoFiles) -> Demo:
    return Demo(demo)


# --- the noise, in plain words ---------------------------------------------------------------------------------------


def noise_of(page: bytes) -> bytes:
    """What is left of a page without letters, digits and non-ASCII bytes, each run of white space as one blank."""
    without_content = re.sub(rb"[0-9A-Za-z\x80-\xff]", b"", page)
    return re.sub(rb"\s+", b" ", without_content)


def windows_of(noise: bytes, width: int) -> set[bytes]:
    return {noise[start : start + width] for start in range(len(noise) - width + 1)}


def jaccard(left: set[bytes], right: set[bytes]) -> float:
    return len(left & right) / len(left | right) if left | right else 0.0


def all_similarities(window_sets: list[set[bytes]]) -> NDArray[np.float64]:
    """`jaccard` of every pair. Windows found on exactly the same pages are counted together, which makes it fast."""
    pages_of_window = defaultdict(list)
    for page, windows in enumerate(window_sets):
        for window in windows:
            pages_of_window[window].append(page)
    shared: NDArray[np.float64] = np.zeros((len(window_sets), len(window_sets)))
    for pages, count in Counter(map(tuple, pages_of_window.values())).items():
        shared[np.ix_(pages, pages)] += count
    sizes: NDArray[np.float64] = np.array([float(len(windows)) for windows in window_sets])
    return shared / np.maximum(sizes[:, None] + sizes - shared, 1)


def largest_component(similarities: NDArray[np.float64], threshold: float) -> int:
    """Number of pages in the largest group that single linkage at `threshold` finds."""
    unseen, largest = set(range(len(similarities))), 0
    while unseen:
        waiting, size = [unseen.pop()], 1
        while waiting:
            page = waiting.pop()
            linked = [other for other in unseen if similarities[page, other] >= threshold]
            unseen.difference_update(linked)
            waiting += linked
            size += len(linked)
        largest = max(largest, size)
    return largest


@dataclass(frozen=True)
class Comparison:
    """All pages of a demo against each other."""

    demo: Demo
    windows: list[set[bytes]]
    similarities: NDArray[np.float64]

    @cached_property
    def comparable(self) -> NDArray[np.bool_]:
        return np.array([len(windows) >= FEWEST_WINDOWS for windows in self.windows])

    def within(self, hand: str) -> NDArray[np.float64]:
        members = np.flatnonzero(self.demo.hands == hand)
        return self.similarities[np.ix_(members, members)]


@pytest.fixture(scope="module", params=WIDTHS)
def comparison(request: pytest.FixtureRequest, shipped: Demo) -> Comparison:
    windows = [windows_of(noise, request.param) for noise in shipped.noises]
    return Comparison(shipped, windows, all_similarities(windows))


def test_similarities_of_all_pairs_equal_the_plain_ones() -> None:
    sets = [windows_of(noise, 2) for noise in (b"<=><=>", b"<=>", b"", b"<>", b"=><")]
    expected = [[jaccard(left, right) for right in sets] for left in sets]
    assert all_similarities(sets).tolist() == expected


def test_pages_of_one_hand_hang_together(comparison: Comparison) -> None:
    """Single linkage at 0.4 joins all pages of nearly every hand: at least 99.5% of pages are in the main group."""
    counts = Counter(comparison.demo.hands.tolist())
    several = {hand: count for hand, count in counts.items() if count > 1}
    joined = {hand: largest_component(comparison.within(hand), 0.4) for hand in several}
    assert sum(joined.values()) >= 0.995 * sum(several.values())
    assert all(joined[hand] >= 0.9 * count for hand, count in several.items())


def test_most_pages_have_a_close_sibling(comparison: Comparison) -> None:
    """At least 98% of pages with siblings are more than half alike to one of them."""
    same_hand = comparison.demo.hands[:, None] == comparison.demo.hands
    np.fill_diagonal(same_hand, False)
    closest = np.where(same_hand, comparison.similarities, 0).max(axis=1)
    assert np.mean(closest[same_hand.any(axis=1)] > 0.5) >= 0.98


def test_pages_of_different_hands_are_unlike(comparison: Comparison) -> None:
    """Never 0.3 alike, and 0.2 only where two sites share a content management system."""
    strangers = comparison.demo.hands[:, None] != comparison.demo.hands
    strangers &= comparison.comparable[:, None] & comparison.comparable
    assert comparison.similarities[strangers].max() < 0.3
    one_system = np.array([row["note"].startswith("Pressroom") for row in comparison.demo.truth])
    assert comparison.similarities[strangers & ~(one_system[:, None] & one_system)].max() < 0.2


def test_users_of_one_system_share_some_noise(comparison: Comparison) -> None:
    """Otherwise the Pressroom sites would be no harder to tell apart than any others."""
    system = np.array([row["note"].startswith("Pressroom") for row in comparison.demo.truth])
    strangers = (comparison.demo.hands[:, None] != comparison.demo.hands) & system[:, None] & system
    assert np.median(comparison.similarities[strangers]) > 0.03


def test_tiny_pages_of_different_hands_differ(shipped: Demo) -> None:
    hands_of_noise = defaultdict(set)
    for noise, hand in zip(shipped.noises, shipped.hands.tolist(), strict=True):
        if len(windows_of(noise, max(WIDTHS))) < FEWEST_WINDOWS:
            hands_of_noise[noise].add(hand)
    assert hands_of_noise
    assert all(len(hands) == 1 for hands in hands_of_noise.values())


# --- the generator ---------------------------------------------------------------------------------------------------


def records_of(path: Path) -> Iterator[tuple[list[tuple[str, str]], list[tuple[str, str]], bytes]]:
    """Every record unpacked: its headers, those of HTTP and the body, but for what depends on the version of zlib."""
    for record in FastIterator(str(path), record_types=WarcRecordType.any_type, auto_decode="all"):
        heads = [list(headers or ()) for headers in (record.headers, record.http_headers)]
        mine, http = ([(name, value) for name, value in head if name not in ZLIB_DECIDES] for head in heads)
        yield mine, http, record.reader.read()


def test_the_generator_makes_the_shipped_files(demo: DemoFiles, tmp_path: Path) -> None:
    """In a process with other hashes and another time zone. Packed bytes are not compared: zlib's versions differ."""
    command = [sys.executable, "-m", "tools.demo_crawl", str(tmp_path / "new" / "folder")]
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "TZ": "Asia/Tokyo"}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    made = DemoFiles.inside(tmp_path / "new" / "folder")
    assert list(records_of(made.crawl)) == list(records_of(demo.crawl))
    assert made.nameservers.read_bytes() == demo.nameservers.read_bytes()
    assert made.truth.read_bytes() == demo.truth.read_bytes()


def test_another_seed_gives_another_world(shipped: Demo, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {"word salad": GENERATORS["word salad"]}  # chains take seconds
    monkeypatch.setattr("tools.demo_crawl.world.GENERATORS", quick)
    other = build_world(SHIPPED_SEED + 1).pages
    assert Counter(page.kind for page in other) == PAGES_PER_KIND
    assert len({page.body for page in other} & set(shipped.bodies)) <= 2


# --- the crawl file --------------------------------------------------------------------------------------------------


def test_both_readers_see_the_same_responses(shipped: Demo) -> None:
    assert list(read_with_warcio(shipped.files.crawl)) == shipped.responses
    assert len(shipped.responses) == len(shipped.truth) + NON_PAGE_RESPONSES


def test_pages_are_the_good_answers_of_type_html(shipped: Demo) -> None:
    pages = [r.url for r in shipped.responses if r.status == 200 and r.content_type.startswith("text/html")]
    assert pages == [row["url"] for row in shipped.truth]
    assert len(set(pages)) == len(pages)


def test_non_pages_are_an_image_a_text_a_redirect_and_a_missing_page(shipped: Demo) -> None:
    pages = {row["url"] for row in shipped.truth}
    others = {(r.status, r.content_type.partition(";")[0]) for r in shipped.responses if r.url not in pages}
    assert others == {(200, "image/gif"), (200, "text/plain"), (301, "text/html"), (404, "text/html")}


def test_records_are_those_of_a_crawler(shipped: Demo) -> None:
    records = list(FastIterator(str(shipped.files.crawl), record_types=WarcRecordType.any_type))
    kinds = [record.headers["WARC-Type"] for record in records]
    exchanges = len(shipped.responses)
    assert kinds[0] == "warcinfo"
    assert Counter(kinds) == {"warcinfo": 1, "request": exchanges, "response": exchanges, "metadata": 1}
    assert len({record.record_id for record in records}) == len(records)
    dates = [record.record_date for record in records]
    assert dates == sorted(dates)


def test_every_record_is_a_gzip_member_of_its_own(shipped: Demo) -> None:
    data = shipped.files.crawl.read_bytes()
    for record in FastIterator(str(shipped.files.crawl), record_types=WarcRecordType.any_type):
        assert data[record.stream_pos : record.stream_pos + 3] == b"\x1f\x8b\x08"


def test_some_answers_are_compressed(shipped: Demo) -> None:
    records = FastIterator(str(shipped.files.crawl), record_types=WarcRecordType.response)
    compressed = sum(record.http_headers.get("Content-Encoding") == "gzip" for record in records)
    assert 0.2 * len(shipped.truth) < compressed < 0.4 * len(shipped.truth)


# --- truth and name servers ------------------------------------------------------------------------------------------


def test_kinds_and_numbers_of_pages(shipped: Demo) -> None:
    assert Counter(row["kind"] for row in shipped.truth) == PAGES_PER_KIND


def test_truth_columns(shipped: Demo) -> None:
    assert list(shipped.truth[0]) == ["url", "host", "domain", "kind", "hand", "group", "note"]
    for row in shipped.truth:
        assert row["url"].split("/")[2] == row["host"]
        assert row["host"].endswith(row["domain"])
        assert row["domain"].count(".") == 1
        assert row["hand"].startswith(row["kind"] + ":")
        assert bool(row["group"]) == (row["kind"] in {"mirror", "copy"})


def test_groups_hold_one_text_on_different_hosts(shipped: Demo) -> None:
    hosts_of_group = defaultdict(list)
    for row in shipped.truth:
        if row["group"]:
            hosts_of_group[row["group"]].append(row["host"])
    assert len(hosts_of_group) == 13
    assert all(len(set(hosts)) == len(hosts) for hosts in hosts_of_group.values())
    assert sorted(map(len, hosts_of_group.values())) == [5] * 12 + [10]


def test_odd_pages_are_there(shipped: Demo) -> None:
    body_of_note = {row["note"]: body for row, body in zip(shipped.truth, shipped.bodies, strict=True)}
    assert body_of_note["empty body"] == b""
    assert len(body_of_note["large"]) > 300_000
    assert body_of_note["UTF-16 with a byte order mark"].startswith(b"\xff\xfe")
    assert "html" in body_of_note["UTF-16 with a byte order mark"].decode("utf-16").lower()
    greek = re.findall("[\u03b1-\u03c9]", body_of_note["another script"].decode())
    assert len(greek) > 1000


def test_many_parked_pages_are_small(shipped: Demo) -> None:
    sizes = [len(body) for row, body in zip(shipped.truth, shipped.bodies, strict=True) if row["kind"] == "parked"]
    assert sum(400 <= size <= 800 for size in sizes) > 40


def test_every_domain_has_name_servers(shipped: Demo) -> None:
    servers_of = defaultdict(set)
    for row in read_table(shipped.files.nameservers):
        servers_of[row["domain"]].add(row["ns"])
    assert set(servers_of) == {row["domain"] for row in shipped.truth}
    assert all(2 <= len(servers) <= 3 for servers in servers_of.values())


def test_parked_domains_are_with_their_providers(shipped: Demo) -> None:
    provider_of = {row["domain"]: ".".join(row["ns"].split(".")[1:]) for row in read_table(shipped.files.nameservers)}
    providers = Counter(provider_of[row["domain"]] for row in shipped.truth if row["kind"] == "parked")
    assert providers == {"parkwell.example": 50, "lotside.test": 30}
    guests = {
        row["domain"] for row in shipped.truth if row["kind"] != "parked" and provider_of[row["domain"]] in providers
    }
    assert len(guests) == 1
    own = sum(domain == provider for domain, provider in provider_of.items())
    assert own > 10


def test_no_real_host_is_named(shipped: Demo) -> None:
    """In addresses, tables and pages; the one exception is where document types are defined."""
    hosts = {row["host"] for row in shipped.truth} | {row["ns"] for row in read_table(shipped.files.nameservers)}
    for body in shipped.bodies:
        hosts.update(host.decode() for host in re.findall(rb"(?:https?:|['\"=])//([\w.-]+\.[A-Za-z]+)", body))
    assert {host for host in hosts if not host.endswith((".example", ".test"))} == {"www.w3.org"}
