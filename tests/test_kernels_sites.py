"""Kernels of the sites method equal readable references: phrases, words, links, account ids."""

import itertools
import re
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samehand.base.buffers import end_to_end
from samehand.html import link_hosts, parse_pages
from samehand.kernels.html import site_links as link_columns
from samehand.kernels.html.owner_ids import KIND_BITS, NUMBER_BITS, owner_ids
from samehand.kernels.html.site_links import site_links
from samehand.kernels.text import site_words as columns
from samehand.kernels.text.site_words import NO_PAIR, PROSE_WORDS, SKETCH_SIZE, Names, site_words
from samehand.methods.sites.phrases import FEWEST_BYTES, compile_phrases, fold, fold_character, folded, folding_table

TEXTS = st.lists(st.text(alphabet="ab c\n-é域名ก1.", max_size=40), min_size=1, max_size=4)


def ends_in(text: bytes, phrases: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Where phrases end first, and their size below 0; a phrase that begins with a letter must begin a word."""
    ends = {}
    for phrase in phrases:
        guard = r"(?<![0-9A-Za-z\x80-\xff])" if phrase[0].isalnum() and ord(phrase[0]) < 0x530 else ""
        blank = re.escape(phrase.encode()).replace(rb"\ ", rb"[ \t\r\n]")
        if match := re.search(guard.encode("latin-1") + blank, text, re.IGNORECASE):
            ends[phrase] = match.end(), -len(match[0])
    return ends


@given(TEXTS, st.dictionaries(st.text(alphabet="ab é域-", min_size=3, max_size=7), st.sampled_from("xyz"), min_size=1))
def test_phrases(texts: list[str], raw: dict[str, str]) -> None:
    phrases = {fold(phrase): name for phrase, name in raw.items() if len(fold(phrase).encode()) >= FEWEST_BYTES}
    if not phrases:
        return
    compiled = compile_phrases([(name, phrase) for phrase, name in phrases.items()])
    data, offsets = folded(*end_to_end([text.encode() for text in texts]), 1 << 20)
    found = compiled.find(data, offsets, most=1 << 20)
    for row in range(len(texts)):
        text = data[offsets[row] : offsets[row + 1]].tobytes()
        ends = ends_in(text, phrases)
        for column, name in enumerate(compiled.classes):
            shown = {phrase: end for phrase, end in ends.items() if phrases[phrase] == name}
            assert found.counts[row, column] == len(shown)
            assert found.longest[row, column] == max((-size for _, size in shown.values()), default=0)
            first = found.first[row, column]
            assert (compiled.phrases[first] if first >= 0 else None) == min(shown, key=shown.__getitem__, default=None)


SOURCES = st.lists(st.text(alphabet="aAbB=- \t\r\n", max_size=60), min_size=1, max_size=3)


@given(SOURCES, st.lists(st.text(alphabet="ab=- ", min_size=3, max_size=12), min_size=1, max_size=20))
def test_phrases_of_sources_ignore_case_and_the_kind_of_blank(texts: list[str], phrases: list[str]) -> None:
    compiled = compile_phrases([("source-x", phrase) for phrase in phrases])
    data, offsets = end_to_end([text.encode() for text in texts])
    found = compiled.find(data, offsets, most=40)
    for row, text in enumerate(texts):
        ends = ends_in(text.encode()[:40], dict.fromkeys(phrases, ""))
        assert found.counts[row, 0] == len(ends)
        first = found.first[row, 0]
        assert (compiled.phrases[first] if first >= 0 else None) == min(ends, key=ends.__getitem__, default=None)


def test_folding_never_makes_a_character_longer() -> None:
    table = folding_table()
    for code in (*range(0x2100), *range(0xFE00, 0x10000)):
        if table[code] != 0xFFFF and not 0xD800 <= code < 0xE000:
            assert len(chr(table[code]).encode()) <= len(chr(code).encode())
    assert fold_character(ord("É")) == ord("e")


def folded_one_by_one(text: bytes) -> bytes:
    """The characters one after the other. Bytes that are no UTF-8 vanish, as NUL does."""
    found, gap = "", ""
    for character in text.decode("utf-8", "surrogateescape"):
        code = ord(character)
        entry = 0xFFFF if 0xDC80 <= code <= 0xDCFF else int(folding_table()[code]) if code < 0x10000 else code
        if entry == 0xFFFF:
            continue
        if entry == 0x20:
            gap = "\n" if "\n" in (character, gap) else " "
            continue
        found += (gap if found else "") + chr(entry)
        gap = ""
    return found.encode()


_BLANKS = [b" ", b"   ", b"\n", b" \n ", b"\t", b"\r\n", b" " * 70, b"\x0b", b"\x1c", b"\xc2\xa0", b"\n" + b" " * 40]
_PIECES = [
    b"a",
    b"Word",
    b"x" * 40,
    b".",
    b"`",
    b"\xc3\x89",
    "Ж日😀".encode(),
    b"\x01",
    b"\x7f",
    b"\xff",
    b"\xc3",
    b"\x00",
]


@given(st.lists(st.lists(st.sampled_from([*_PIECES, *_BLANKS])).map(b"".join)), st.sampled_from([b"", b"z" * 64]))
def test_texts_are_folded_as_one_character_after_the_other(texts: list[bytes], behind: bytes) -> None:
    data, offsets = end_to_end([*texts, behind])
    found, starts = folded(data, offsets, 1 << 20)
    assert [found[start:end].tobytes() for start, end in itertools.pairwise(starts[:-1])] == [
        folded_one_by_one(text) for text in texts
    ]


WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]{1,2}|[\u0e00-\u0e7f]{1,4}|[a-z\u0080-\u0dff]+")


def words_of(text: str, names: list[str]) -> list[list[str]]:
    """The words of each line, the site's names left out."""
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    return [WORD.findall(line) for line in text.split("\n")]


@given(TEXTS)
def test_words(texts: list[str]) -> None:
    data, offsets = folded(*end_to_end([text.encode() for text in texts]), 1 << 20)
    names, starts = end_to_end([b"a.b"] * len(texts))
    found = site_words(data, offsets, Names(names, starts, np.repeat(np.arange(len(texts) + 1), 2)[1:]))
    for row in range(len(texts)):
        text = data[offsets[row] : offsets[row + 1]].tobytes().decode()
        lines = words_of(text, ["a.b"])
        sizes = [len(line) for line in lines]
        counts = found.counts[row]
        assert counts[columns.WORDS] == sum(sizes)
        assert counts[columns.PROSE] == sum(size for size in sizes if size >= PROSE_WORDS)
        assert counts[columns.NAMED] == text.count("a.b")
        assert counts[columns.LONGEST_LINE] == max(sizes)
        words = [word for line in lines for word in line]
        pairs = set(zip(["", *words], words, strict=False))
        assert int((found.sketches[row] != NO_PAIR).sum()) == min(len(pairs), SKETCH_SIZE)


def test_sketches_keep_the_smallest_pairs_and_forget_the_name() -> None:
    texts = [f"{name} word{chr(97 + n % 26)}{chr(97 + n // 26)} " for name in ("xx.yy", "zz.ww") for n in range(200)]
    one, other = "".join(texts[:200]), "".join(texts[200:])
    data, offsets = end_to_end([one.encode(), other.encode()])
    names, starts = end_to_end([b"xx.yy", b"zz.ww"])
    found = site_words(data, offsets, Names(names, starts, np.array([0, 1, 1, 2, 2])))
    assert (found.sketches[0] == found.sketches[1]).all()
    assert (np.diff(found.sketches[0].astype(np.int64)) > 0).all()
    assert found.counts[:, columns.NAMED].tolist() == [200, 200]
    assert found.sums[0] == found.sums[1]


HREFS = st.sampled_from(
    ["/a", "/s?q=1", "/s?q=2", "/s?q=3", "http://own.test/x", "http://www.own.test/s?q=9", "//ad.test/1", "http://ad.test/2",
     "http://b.test", "http://notown.test/", "http://ad.test/?d=own.test", "http://ad.test/buy/own.test",
     "http://ad.test/?u=http://own.test", "http://ad.test/?d=own.tests", "/s?q=two+words", "/s?q=two%20words",
     "//ad.test/?q=%D0%B0", "http://shop.own.test/s?q=1", "#top", ""]
)  # fmt: skip


@given(st.lists(HREFS, max_size=12), st.sampled_from([1, 40]))
def test_links(hrefs: list[str], behind: int) -> None:
    page = "".join(f"<a href='{href}'>x</a>" for href in hrefs).encode()
    data, offsets = end_to_end([page + b" " * behind])
    found = parse_pages(data, offsets)
    domains = end_to_end([b"own.test"])
    spans = (found.link_offsets, found.link_starts, found.link_lengths, link_hosts(data, offsets, found))
    counted = site_links(data, offsets[:-1], *spans, *domains)
    hosts = Counter(
        host[1] for href in hrefs if (host := re.match(r"(?:http:)?//([^/?]+)", href)) and not is_own(host[1])
    )
    assert counted.counts[0, link_columns.FOREIGN] == hosts.total()
    assert counted.counts[0, link_columns.OWN] == len(hrefs) - hosts.total()
    telling = ("http://ad.test/?d=own.test", "http://ad.test/buy/own.test")
    assert counted.counts[0, link_columns.TO_NAME] == sum(href in telling for href in hrefs)
    wordy = ("/s?q=two+words", "/s?q=two%20words", "//ad.test/?q=%D0%B0")
    assert counted.counts[0, link_columns.WORDS] == sum(href in wordy for href in hrefs)
    assert counted.target_links[0, : len(hosts)].tolist() == sorted(hosts.values(), reverse=True)
    asked: dict[str, set[str]] = {}
    for href in hrefs:
        path, mark, query = re.sub(r"^http://(?:www\.)?own\.test", "", href).partition("?")
        if mark and (not re.match(r"(?:http:)?//", path) or path.startswith("http://shop.own.test")):
            asked.setdefault(path, set()).add(query)
    most = max((len(queries) for queries in asked.values()), default=0)
    assert counted.counts[0, link_columns.QUERIES] == (most if most >= link_columns.LEAST_QUERIES else 0)


def is_own(host: str) -> bool:
    return host == "own.test" or host.endswith(".own.test")


_ID = re.compile(r"(?:(?<![a-z0-9])(ua)-(\d{5,})(?:-(\d+))?|(pub)-(\d{12,})|(gtm)-([A-Z0-9]{4,}))", re.IGNORECASE)
_PARTS = [
    "UA-12345-1",
    "ua-12345-2",
    "UA-12345",
    "UA-54321-1",
    "UA-00000",
    "aUA-99999",
    "pub-123456789012345",
    "GTM-AB12",
    "-",
    "x",
]


@given(st.lists(st.sampled_from(_PARTS)), st.sampled_from([0, 40]))
def test_account_ids(parts: list[str], behind: int) -> None:
    page = " ".join(["", *parts, " " * behind])
    data, offsets = end_to_end([b"   ", page.encode()])
    ids, starts = owner_ids(data, offsets, 1 << 20)
    found = [
        (kind, account, max(1, int(number or 0)) if kind == 1 else 0)
        for ua, account_a, number, pub, account_p, _, account_g in _ID.findall(page)
        for kind, account in [(1, account_a) if ua else (2, account_p) if pub else (3, account_g)]
        if account.strip("0")
    ]
    wanted = list(dict.fromkeys(found))
    assert starts.tolist() == [0, 0, len(wanted)]
    low = [(int(one) & 3, int(one) >> KIND_BITS & (1 << NUMBER_BITS) - 1) for one in ids]
    assert low == [(kind, number) for kind, _, number in wanted]
    accounts = [int(one) >> KIND_BITS + NUMBER_BITS for one in ids]
    assert [accounts.index(one) for one in accounts] == [
        [account for _, account, _ in wanted].index(account) for _, account, _ in wanted
    ]
