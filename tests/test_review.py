"""The review server without a browser: its guard, its screens and their twins, its queue, its labels."""

import json
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from benchmarks.review import make_run

import samehand
from crawls import small_crawl, write_warc
from review_run import HOST, PORT, TOKEN, Client, served
from runs import Ended, copy_of
from samehand.review.queue import SAMPLE
from samehand.review.review import Review
from samehand.store import row_groups
from samehand.store.folder import RunFolder
from samehand.store.labels import LabelFile

CONTROLS = "".join(map(chr, [*range(1, 32), 127, *range(128, 160), 0x200B, 0x202E, 0x2028, 0xFEFF]))


@pytest.fixture
def client(demo_run: samehand.Run, tmp_path: Path) -> Client:
    return Client(Review(copy_of(demo_run, tmp_path / "run")))


@pytest.fixture(scope="module")
def reader(demo_run: samehand.Run) -> Client:
    """A client that nobody answers through."""
    return Client(Review(demo_run))


# The guard.

HOSTS = [
    "evil.test",
    "evil.test:4321",
    "127.0.0.1",
    "127.0.0.1:4322",
    "127.0.0.1.nip.io:4321",
    "localhost",
    "",
    "[::1]",
]
HOSTS += [
    "127.0.0.1:4321.evil.test",
    "LOCALHOST:4321",
    "127.0.0.1:04321",
    "0.0.0.0:4321",
    "127.1:4321",
    " 127.0.0.1:4321",
]


@pytest.mark.parametrize("host", HOSTS)
def test_other_names_are_refused(reader: Client, host: str) -> None:
    """DNS rebinding: the name is the attacker's, the address is ours."""
    for target in ("/", "/queue.json", f"/launch?token={TOKEN}", "/static/review.js"):
        assert reader.get(target, host=host).status == 421


def test_a_request_without_a_host_or_with_two_is_refused(reader: Client) -> None:
    cookie = (b"cookie", reader.cookie.encode())
    assert reader.raw("GET", "/", [cookie]).status == 421
    twice = [(b"host", HOST.encode()), (b"host", b"evil.test"), cookie]
    assert reader.raw("GET", "/", twice).status == 400


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_names_of_this_machine_are_accepted(reader: Client, name: str) -> None:
    assert reader.get("/", host=f"{name}:{PORT}").status == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "cross-origin", "", "None"])
def test_requests_from_other_sites_are_refused(reader: Client, site: str) -> None:
    """A page on another port of this machine is `same-site`: it is another program's."""
    assert reader.get("/", sec_fetch_site=site).status == 403
    assert reader.get("/", sec_fetch_site="same-origin").status == 200


def test_nothing_is_there_without_the_cookie(reader: Client) -> None:
    name, _, value = reader.cookie.partition("=")
    wrong = [
        "",
        name,
        f"{name}=",
        f"{name}={TOKEN}",
        f"{name}={value[:-1]}",
        f"samehand-1={value}",
        "\x01=;;,",
        f"x={value}",
    ]
    for cookie in wrong:
        for target in ("/", "/overview.json", "/queue.json", "/page/0", "/static/review.js", "/nothing"):
            assert reader.get(target, cookie=cookie).status == 403
    assert reader.get("/", cookie=f"other=1; {reader.cookie}").status == 200


@pytest.mark.parametrize(
    "query", ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?x={TOKEN}", "?token=%00", "?" + "a&" * 40]
)
def test_a_wrong_token_gives_no_cookie(reader: Client, query: str) -> None:
    answer = reader.get(f"/launch{query}", cookie="")
    assert answer.status in (400, 403)
    assert "set-cookie" not in answer.headers


def test_the_token_leads_on_to_an_address_without_it(reader: Client) -> None:
    answer = reader.get(f"/launch?token={TOKEN}", cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert TOKEN not in answer.headers["set-cookie"]
    for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert word in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "origin",
    [None, "null", "http://evil.test", "http://127.0.0.1:1", "https://127.0.0.1:4321", f"http://localhost:{PORT}"],
)
def test_writes_need_our_origin(client: Client, origin: str | None) -> None:
    """CSRF. The last one is ours, but not the one that was asked."""
    said = {"unit": "cluster", "name": "0", "answer": "wanted"}
    assert client.post("/answer.json", said, origin=origin).status == 403
    assert client.review.labels() == []


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "application/jsonp"]
)
def test_writes_are_json(client: Client, kind: str) -> None:
    assert client.post("/answer.json", {}, content_type=kind).status == 415


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"x" * 5000, {}, 413),
        (b"x" * 5000, {"content_length": "10"}, 413),
        (b"{}", {"content_length": "99999999999"}, 411),
        (b"{}", {"content_length": "-1"}, 411),
        (b"{}", {"content_length": None}, 411),
        (b"", {}, 400),
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b"\xff\xfe", {}, 400),
        (b"[" * 4000, {}, 400),
        (b'{"unit": "cluster"}', {}, 400),
        (b'{"unit": "cluster", "name": 0, "answer": "wanted"}', {}, 400),
        (b'{"unit": "cluster", "name": "0", "answer": "undo"}', {}, 400),
        (b'{"unit": "cluster", "name": "0", "answer": "different hands"}', {}, 400),
        (b'{"unit": "cluster", "name": "99999", "answer": "wanted"}', {}, 400),
        (b'{"unit": "cluster", "name": "-1", "answer": "wanted"}', {}, 400),
        (b'{"unit": "cluster", "name": "9999999999999999999999", "answer": "wanted"}', {}, 400),
        (b'{"unit": "page", "name": "../..", "answer": "wanted"}', {}, 400),
        (b'{"unit": "pair", "name": "1", "answer": "different hands"}', {}, 400),
        (b'{"unit": "pair", "name": "2 1", "answer": "different hands"}', {}, 400),
        (b'{"unit": "site", "name": "no.such.site", "answer": "wanted"}', {}, 400),
        (b'{"unit": "moon", "name": "1", "answer": "wanted"}', {}, 400),
    ],
)
def test_bad_writes_change_nothing(client: Client, body: bytes, headers: dict[str, str], status: int) -> None:
    assert client.post("/answer.json", body, **headers).status == status
    assert client.review.labels() == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_other_methods_are_refused(reader: Client, method: str) -> None:
    assert reader.request(method, "/").status == 405


def test_reading_is_no_writing(client: Client) -> None:
    for target in ("/answer.json", "/undo.json"):
        assert client.get(target).status == 405
    assert client.post("/queue.json", {}).status == 405


PATHS = ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2f..%2fapp.py", "/static/%00", "/static//etc/passwd"]
PATHS += [
    "/..",
    "/cluster/0",
    "/cluster/-1",
    "/cluster/99999999999999999999",
    "/cluster/x",
    "/cluster/1/2",
    "/page/x.json",
]
PATHS += [
    "/page/123456",
    "/page/9223372036854775808",
    "/provider/%2e%2e",
    "/provider/nobody",
    "/compare/0/999999.json",
    "/nothing",
]
PATHS += ["/cluster/%D9%A1", "/page/%EF%BC%91", "/cluster/1%0a"]


@pytest.mark.parametrize("path", PATHS)
def test_what_is_not_there_is_not_found(reader: Client, path: str) -> None:
    assert reader.get(path).status == 404


def test_addresses_have_a_length(reader: Client) -> None:
    assert reader.get("/provider/" + "a" * 5000).status == 414


def test_a_preview_is_for_its_frame_only(reader: Client) -> None:
    assert reader.get("/preview/0").status == 403
    for place in ("document", "empty", "image", "object", "embed", "frame"):
        assert reader.get("/preview/0", sec_fetch_dest=place).status == 403
    shown = reader.get("/preview/0", sec_fetch_dest="iframe")
    assert shown.status == 200
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("sandbox; default-src 'none'")
    assert "script-src" not in policy


def test_every_answer_carries_the_headers(reader: Client) -> None:
    for target, cookie in (
        ("/", None),
        ("/queue.json", None),
        ("/nothing", None),
        ("/static/review.js", None),
        ("/", "x"),
    ):
        headers = reader.get(target, **({"cookie": cookie} if cookie else {})).headers
        assert "trusted-types 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


# The screens.


def test_every_page_has_a_twin(reader: Client, demo_run: samehand.Run) -> None:
    provider = demo_run.sites().providers[0]["provider"]
    for page, twin in [
        ("/", "/overview.json"),
        ("/queue", "/queue.json"),
        ("/cluster/1", "/cluster/1.json"),
        ("/page/0", "/page/0.json"),
        (f"/provider/{quote(provider)}", f"/provider/{quote(provider)}.json"),
    ]:
        assert reader.get(page).headers["content-type"].startswith("text/html")
        assert reader.get(twin).json


def test_the_twins_say_what_the_command_line_says(reader: Client, demo_run: samehand.Run) -> None:
    """One function gives the number everywhere."""
    for number in range(1, len(demo_run.clusters()) + 1):
        shown = reader.get(f"/cluster/{number}.json").json
        verdict = demo_run.verdict(number)
        assert shown["verdict"]["probability"] == verdict.probability
        assert [item["symbol"] for item in shown["verdict"]["items"]] == [item.symbol for item in verdict.items]
        members = demo_run.members(number)
        assert shown["total"] == len(members)
        assert [row["url"] for row in shown["members"]] == members["url"][:50]


def test_members_come_in_pieces(reader: Client, demo_run: samehand.Run) -> None:
    total = len(demo_run.members(1))
    urls = []
    for start in range(0, total, 50):
        urls += [row["url"] for row in reader.get(f"/cluster/1.json?start={start}").json["members"]]
    assert urls == demo_run.members(1)["url"]
    assert reader.get("/cluster/1.json?start=1000000").json["members"] == []
    assert reader.get("/cluster/1?start=1000000").status == 200


def test_a_page_shows_source_text_and_preview(reader: Client, demo_run: samehand.Run) -> None:
    member = demo_run.members(1)[1]["page_id"]
    source = reader.get(f"/page/{member}.json").json
    assert "".join(part["text"] for part in source["source"]).replace("\n", "")[:40] in demo_run.content(
        member
    ).decode().replace("\n", "")
    assert any(part["shared"] for part in source["source"])
    assert reader.get(f"/page/{member}.json?view=text").json["text"] == demo_run.text(member)
    assert (
        f'<iframe sandbox referrerpolicy="no-referrer" src="/preview/{member}"'
        in reader.get(f"/page/{member}?view=preview").body.decode()
    )
    assert reader.get(f"/page/{member}?view=nothing").status == 404


def test_pages_that_cannot_be_read_again_say_so(demo_run: samehand.Run, demo: object, tmp_path: Path) -> None:
    crawl = tmp_path / "c.warc"
    pages = {f"http://s{n}.example/": page for n, page in enumerate(small_crawl().values())}
    run = samehand.scan(write_warc(crawl, pages), tmp_path / "run", signals="all", workers=1)
    crawl.unlink()
    reader = Client(Review(run))
    for target in ("/page/0.json", "/page/0.json?view=text", "/compare/0/1.json"):
        assert "went since the scan" in reader.get(target).json["problem"]
    assert reader.get("/cluster/1").status == 200
    assert reader.get("/preview/0", sec_fetch_dest="iframe").status == 500


# The queue.


def test_the_cards_with_the_largest_worth_come_first(reader: Client) -> None:
    queue = reader.review.queue
    assert sorted(queue.order.tolist()) == list(range(len(queue)))
    rest = [place for place in queue.order.tolist() if not queue.is_sample[place]]
    assert list(np.diff(queue.worth[rest]) <= 1e-12) == [True] * (len(rest) - 1)
    assert queue.is_sample.sum() == -(-len(queue) // SAMPLE)
    assert queue.is_sample[queue.order[9]]


def test_the_sample_depends_on_the_run_alone(client: Client, reader: Client) -> None:
    assert np.array_equal(client.review.queue.is_sample, reader.review.queue.is_sample)


def answer(client: Client, card: dict, said: str) -> dict:
    unit, name = (
        ("pair", card["pair"]["name"])
        if said == "different hands"
        else ("cluster", card["cluster"]["style_cluster_id"])
    )
    done = client.post("/answer.json", {"unit": unit, "name": name, "answer": said, "only_open": True})
    assert done.status == 200, done.body
    return done.json


def test_answers_lead_through_the_whole_queue_and_back(client: Client) -> None:
    """Every cluster is asked about once; then everything is undone, one by one."""
    state, seen = client.get("/queue.json").json, []
    while state["cards"]:
        card = state["cards"][0]
        said = (
            "different hands" if card["pair"] and len(seen) % 5 == 4 else ("unwanted", "wanted", "skip")[len(seen) % 3]
        )
        seen.append(card["number"])
        state = answer(client, card, said)
    assert sorted(seen) == list(range(1, len(client.review.queue) + 1))
    assert (state["open"], state["answered"] + state["skipped"]) == (0, len(seen))
    assert client.get("/queue").status == client.get("/").status == 200
    assert len(LabelFile.of(client.review.run.folder).labels()) == len(seen)
    for number in reversed(seen):
        assert client.post("/undo.json", {}).json["cards"][0]["number"] == number
    assert client.post("/undo.json", {}).json["undone"] is None
    assert client.get("/queue.json").json["open"] == len(seen)


def test_skips_and_answers_survive_a_new_server(client: Client) -> None:
    cards = client.get("/queue.json").json["cards"]
    answer(client, cards[0], "skip")
    answer(client, cards[1], "wanted")
    again = Client(Review(samehand.open_run(client.review.run.path)))
    state = again.get("/queue.json").json
    assert (state["skipped"], state["answered"]) == (1, 1)
    assert not {card["number"] for card in state["cards"]} & {card["number"] for card in cards}


def test_a_card_that_another_tab_answered_is_a_conflict(client: Client) -> None:
    card = client.get("/queue.json").json["cards"][0]
    answer(client, card, "wanted")
    said = {"unit": "cluster", "name": card["cluster"]["style_cluster_id"], "answer": "unwanted", "only_open": True}
    assert client.post("/answer.json", said).status == 409
    assert client.post("/answer.json", {**said, "only_open": False}).status == 200  # on its own screen it may change


def test_the_sample_alone_estimates_precision(client: Client) -> None:
    queue = client.review.queue
    for place in range(len(queue)):
        said = "unwanted" if queue.probability[place] >= 0.5 and place % 2 else "wanted"
        client.post("/answer.json", {"unit": "cluster", "name": str(queue.ids[place]), "answer": said})
    sample = client.get("/queue.json").json["sample"]
    called = [place for place in np.flatnonzero(queue.is_sample) if queue.probability[place] >= 0.5]
    assert sample["answered"] == sample["size"]
    assert (sample["called"], sample["right"]) == (len(called), sum(int(place) % 2 for place in called))
    assert sample["low"] <= sample["high"]


def test_what_was_seen_is_kept_unless_blind(client: Client) -> None:
    name = str(client.review.queue.ids[0])
    verdict = client.review.run.verdict(1)
    client.post("/answer.json", {"unit": "cluster", "name": name, "answer": "wanted"})
    assert client.review.labels()[-1].seen == f"{verdict.action} {verdict.kind} {verdict.probability:.3f}"
    client.post("/answer.json", {"unit": "cluster", "name": name, "answer": "unwanted", "blind": True})
    assert client.review.labels()[-1].seen == ""


def test_labels_of_clusters_that_are_gone_do_no_harm(client: Client) -> None:
    """Labels outlive the clusters that they were given for."""
    path = client.review.run.path / "labels.jsonl"
    label = {"unit": "cluster", "name": "123456789", "answer": "wanted", "time": "2026-01-01T00:00:00+00:00"}
    pair = {**label, "unit": "pair", "name": "1 99999999999", "answer": "different hands"}
    path.write_text("".join(json.dumps({**row, "who": "", "kind": "", "seen": ""}) + "\n" for row in (label, pair)))
    again = Client(Review(samehand.open_run(client.review.run.path)))
    assert again.get("/queue.json").json["answered"] == 0
    assert again.get("/cluster/1").status == 200


# Odd runs.


def test_a_run_without_clusters_can_be_looked_at(tmp_path: Path) -> None:
    file = write_warc(tmp_path / "c.warc", {"http://a.example/": b"<html><body><p>One page.</p></body></html>"})
    reader = Client(Review(samehand.scan(file, tmp_path / "run", signals="all", workers=1)))
    assert reader.get("/").status == reader.get("/page/0").status == reader.get("/queue").status == 200
    assert reader.get("/queue.json").json["cards"] == []
    assert reader.get("/cluster/1").status == 404


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Client:
    """A made-up run with a cluster of 100,000 pages, one of 3, one of 1 and one of none."""
    path = tmp_path_factory.mktemp("made") / "run"
    make_run(path, 110_000, sizes=[100_000, 3, 1, 0])
    return Client(Review(samehand.open_run(path)))


def test_a_cluster_of_100_000_pages(made: Client) -> None:
    shown = made.get("/cluster/1.json?start=99960").json
    assert (shown["total"], len(shown["members"])) == (100_000, 40)
    assert shown["touches"]["unwanted"]["pages"] == 100_000
    similarities = [row["similarity"] for row in made.get("/cluster/1.json").json["members"]]
    assert similarities == sorted(similarities, reverse=True)
    assert made.get("/cluster/1").status == 200


@pytest.mark.parametrize(("number", "members"), [(3, 1), (4, 0)])
def test_a_cluster_of_one_page_and_of_none(made: Client, number: int, members: int) -> None:
    shown = made.get(f"/cluster/{number}.json").json
    assert (shown["total"], shown["pair"]) == (members, None)
    assert made.get(f"/cluster/{number}").status == 200


def test_no_card_reads_a_table_whole(made: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    first = made.get("/queue.json").json  # what is read once is read now
    read = []
    monkeypatch.setattr(RunFolder, "read", lambda *arguments: read.append(arguments))
    monkeypatch.setattr(row_groups, "rows_at", counting := Counting(row_groups.rows_at))
    monkeypatch.setattr("samehand.store.folder.rows_at", counting)
    made.review._cards.clear()  # cards that are kept would read nothing
    for number in (1, 2, 3):
        made.review.card(number)
    assert made.get("/queue.json").json == first
    assert read == []
    assert 0 < counting.most <= 2


class Counting:
    """Counts the row groups that each reading of rows needs."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work, self.most = work, 0

    def __call__(self, part: Any, places: Any, columns: Any) -> Any:
        self.most = max(self.most, len({int(place) // row_groups.ROW_GROUP_ROWS for place in places}))
        return self._work(part, places, columns)


def test_titles_and_urls_with_every_control_character(tmp_path: Path) -> None:
    page = next(iter(small_crawl().values()))
    hostile = f"{CONTROLS}<script>alert(1)</script>\"'&<!--"
    file = tmp_path / "c.jsonl"
    rows = [
        {
            "url": f"http://s{n}.example/{hostile}",
            "html": page.decode("latin-1").replace("<title>", f"<title>{hostile}"),
        }
        for n in range(3)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader = Client(Review(samehand.scan(str(file), tmp_path / "run", signals="all", workers=1)))
    for target in ("/", "/queue", "/cluster/1", "/page/0", "/page/0?view=text", "/provider/(unknown)"):
        text = reader.get(target).body.decode()
        assert "<script>alert" not in text
        assert not set(CONTROLS) - {"\n", "\t"} & set(text), target
    reader.get("/queue.json").body.decode("ascii")


def test_a_run_without_verdicts_says_what_to_do(
    style_run: samehand.Run, samehand_command: Callable[..., Ended]
) -> None:
    ended = samehand_command("review", style_run.path, "--no-browser")
    assert ended.code == 2
    assert "verdicts" in ended.err


# The command.


def test_the_command_serves_this_machine_alone(demo_run: samehand.Run, tmp_path: Path) -> None:
    run = copy_of(demo_run, tmp_path / "run")
    with served(run) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/launch\?token=[\w-]{43}", server.address)
        port = int(server.base.rpartition(":")[2])
        for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), port, socket.AF_INET)} - {
            "127.0.0.1",
            "127.0.1.1",
        }:
            with pytest.raises(ConnectionRefusedError), socket.create_connection((address, port), 1):
                pass
        assert malformed(port, b"GET / HTTP/1.1\r\n\r\n").startswith((b"HTTP/1.1 400", b"HTTP/1.1 421"))
        assert malformed(port, b"\x16\x03\x01 hello\r\n\r\n").startswith(b"HTTP/1.1 400")
        two = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nHost: evil.test\r\n\r\n" % port
        assert malformed(port, two).startswith(b"HTTP/1.1 400")
        long = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: %s\r\n\r\n" % (port, b"a" * 100_000)
        assert malformed(port, long).startswith(b"HTTP/1.1 4")
        upgrade = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" % port
        assert not malformed(port, upgrade).startswith(b"HTTP/1.1 101")
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0


def malformed(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(5)
        try:
            connection.sendall(request)
            return connection.recv(200)
        except ConnectionError:
            return b"HTTP/1.1 4 closed"


def test_a_port_that_is_taken_is_one_sentence(demo_run: samehand.Run, samehand_command: Callable[..., Ended]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = samehand_command("review", demo_run.path, "--no-browser", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "--port" in ended.err
