"""Texts for the detection game, by genre: read from where they lie, cut into documents, parted for its players.

A document is a session of the parliament, a novel, a news item, a page or a mail. Authors of novels stay together.
"""

import csv
import html
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evaluation.texts import HAM, SPAM, mails, members, reuters, written_news
from samehand.base.buffers import end_to_end
from samehand.html import prose_of_texts, prose_text
from samehand.methods.language.generators import WordText
from samehand.methods.language.tokens import Tokens, tokenize
from samehand.sources.http.charset import as_utf8

_BLOCK_END = re.compile(r"</(?:p|head|l|div)>")
_TAG = re.compile(r"<[^>]*>")
_AUTHOR = re.compile(r"_([A-Za-z]+)")
_LONG_WORD = re.compile(r"[a-z]{4,16}")
_ALWAYS_SOLD = """casino casinos poker blackjack roulette slots jackpot bingo lottery betting gambling sportsbook viagra
cialis levitra kamagra pharmacy pills meds prescription xanax valium tramadol ambien vicodin hydrocodone phentermine
hoodia steroids botox herbal supplements enlargement erection libido mortgage mortgages refinance lenders loan loans
payday credit debt insurance forex bitcoin crypto porn porno sex sexy nude xxx adult hardcore webcam webcams dating
singles escort escorts teens milf replica replicas rolex handbags watches cheap cheapest discount discounts coupon
coupons bonus free buy online download downloads warez torrent keygen antivirus ringtones ringtone mp3 dvd diet acne
weight hosting domain seo backlinks affiliate earn diploma essay hotels flights vacation lawyer attorney mesothelioma"""


class Document(NamedTuple):
    """A natural text, and who wrote or published it."""

    owner: str
    text: bytes


def parliament(data: Path) -> list[Document]:
    """133 sessions of the European Parliament."""
    files = members(data, "europarl_en_sub.tar.xz")
    return [Document(name.rpartition("/")[2], text) for name, text in files if name.endswith(".txt")]


def novels(data: Path) -> list[Document]:
    """99 novels, by author."""
    files = members(data, "eltec_level1.tar.xz")
    return [Document(_author(name), _novel_text(raw)) for name, raw in files if name.endswith(".xml")]


def _author(name: str) -> str:
    found = _AUTHOR.search(name.rpartition("/")[2])
    return found.group(1) if found else name


def _novel_text(raw: bytes) -> bytes:
    text = raw.decode("utf-8", "replace")
    body = _BLOCK_END.sub("\n\n", text[max(0, text.find("<body")) :])
    return html.unescape(_TAG.sub("", body)).encode()


def newswire(data: Path) -> list[Document]:
    """Reuters news items: 19,043 of them, each its own owner."""
    return [Document(str(number), text + b"\n\n") for number, text in enumerate(reuters(data))]


def pages(data: Path) -> list[Document]:
    """The prose of the documentation pages of 41 packages."""
    return _prose_of_pages(
        (name, page) for name, page in members(data, "debdoc_shared.tar.xz") if name.endswith(".html")
    )


def web_pages(data: Path) -> list[Document]:
    """The prose of pages of many sites: articles, shops, forums, home pages, in several languages."""
    files = members(data, "webpages.tar.xz")
    return _prose_of_pages((f"web/{name}/", page) for name, page in files if "/pages/" in name)


def home_pages(data: Path) -> list[Document]:
    """The prose of home pages of popular sites that are labelled as real, in several languages."""
    with (data / "homepages2018_labels.tsv").open() as file:
        real = {row["domain"] for row in csv.DictReader(file, delimiter="\t") if row["kind"] == "real"}
    files = members(data, "homepages2018.tar.xz")
    return _prose_of_pages((name, page) for name, page in files if name.split("/")[-2] in real)


def _prose_of_pages(files: Iterable[tuple[str, bytes]]) -> list[Document]:
    """The prose of pages, which are owned by the folder that they lie in."""
    return [Document(name.split("/")[-2], prose_text(as_utf8(page, None)).encode()) for name, page in files]


def ham(data: Path) -> list[Document]:
    """The prose of mails that are no spam."""
    folders = mails(data)
    return [Document(folder, text) for folder in HAM for text in prose_of_plain(folders[folder])]


def blogs(data: Path) -> list[Document]:
    """1,528 blog posts."""
    return _genre(data, "/blogs/")


def reviews(data: Path) -> list[Document]:
    """1,235 film reviews."""
    return _genre(data, "/imdb/")


def _genre(data: Path, folder: str) -> list[Document]:
    files = [(name, text) for name, text in members(data, "genres.tar.xz") if folder in name and name.endswith(".txt")]
    owners = [name.rpartition("/")[2].rpartition("-")[0] for name, _ in files]
    return [Document(*row) for row in zip(owners, prose_of_plain(text for _, text in files), strict=True)]


def prose_of_plain(texts: Iterable[bytes]) -> list[bytes]:
    """The prose of plain texts."""
    found = prose_of_texts(*end_to_end(texts))
    whole = found.text.tobytes()
    return [whole[first:last] for first, last in itertools.pairwise(found.offsets.tolist())]


def news_of_people_and_machines(data: Path) -> dict[str, list[Document]]:
    """News texts by who wrote them: `human`, or a machine and how it was asked."""
    files = members(data, "ghostbuster_reuter.tar.xz")
    found: dict[str, list[Document]] = {}
    for name, text in files:
        if name.endswith(".txt") and "/headlines/" not in name:
            found.setdefault(name.split("/")[2], []).append(Document(name, text))
    return found


def spam_words(data: Path, most: int = 200) -> list[str]:
    """Words of content that stand in spam far more often than in other mail, and what spam has always sold."""
    folders = mails(data)
    spam, good = (_mails_with([text for name in names for text in folders[name]]) for names in (SPAM, HAM))
    sizes = [sum(len(folders[name]) for name in names) for names in (SPAM, HAM)]
    scores = {}
    for word, number in spam.items():
        share, other = number / sizes[0], (good[word] + 2) / sizes[1]
        if number >= 12 and share > 12 * other:
            scores[word] = share * math.log(share / other)
    return sorted({*sorted(scores, key=lambda word: (-scores[word], word))[:most], *_ALWAYS_SOLD.split()})


def _mails_with(texts: Iterable[bytes]) -> Counter[str]:
    return Counter(word for text in texts for word in set(_LONG_WORD.findall(text.decode("utf-8", "replace").lower())))


def parted(documents: Sequence[Document], parts: int, seed: int) -> list[list[Document]]:
    """Documents in `parts` parts of about equal size, an owner's all in one."""
    owners = sorted({document.owner for document in documents})
    sizes = dict.fromkeys(owners, 0)
    for document in documents:
        sizes[document.owner] += len(document.text)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(owners))
    totals = np.zeros(parts)
    part_of: dict[str, int] = {}
    for place in sorted(order.tolist(), key=lambda i: -sizes[owners[i]] // 100_000):
        part = int(totals.argmin())
        part_of[owners[place]] = part
        totals[part] += sizes[owners[place]] + 1
    return [[document for document in documents if part_of[document.owner] == part] for part in range(parts)]


def pieces(documents: Sequence[Document]) -> list[Document]:
    """Documents of one owner as documents of several, or a genre of few owners could not be parted evenly."""
    owners = {document.owner for document in documents}
    if len(owners) >= 8:
        return list(documents)
    return [Document(f"{document.owner} {place // 50}", document.text) for place, document in enumerate(documents)]


def tokens_of(documents: Iterable[Document]) -> Tokens:
    """The tokens of documents."""
    return tokenize(*end_to_end(document.text for document in documents))


class Corpus(NamedTuple):
    """A run of words with what they are: what generators work on, and what they give back."""

    text: WordText
    words: Mapping[int, str] | Sequence[str]

    def passages(self, size: int, most: int | None = None) -> list[str]:
        """The corpus in passages of `size` words as a person writes them; what is left over at the end is dropped."""
        number = self.text.ids.size // size
        number = number if most is None else min(number, most)
        return [written(self, place * size, (place + 1) * size) for place in range(number)]


def corpus_of(tokens: Tokens, most: int | None = None) -> Corpus:
    """Tokens with numbers of their own."""
    last = tokens.starts.size if most is None else min(most, tokens.starts.size)
    spans = zip(tokens.starts[:last].tolist(), tokens.ends[:last].tolist(), strict=True)
    whole = tokens.data.tobytes()
    numbers: dict[bytes, int] = {}
    ids = np.fromiter((numbers.setdefault(whole[a:b], len(numbers) + 3) for a, b in spans), np.int32, last)
    words = ["", "", "", *(word.decode("utf-8", "replace") for word in numbers)]
    bounds = tokens.sentences[tokens.sentences < last]
    return Corpus(WordText(ids, np.unique(np.concatenate([[0], bounds, [last]])).astype(np.int64)), words)


def written(corpus: Corpus, first: int, last: int, join: Callable[[list[str]], str] | None = None) -> str:
    """The words `first` to `last` of a corpus, one sentence a line."""
    bounds = corpus.text.sentences
    inner = bounds[(bounds > first) & (bounds < last)]
    edges = [first, *inner.tolist(), last]
    join = join or " ".join
    ids, words = corpus.text.ids, corpus.words
    return "\n".join(join([words[number] for number in ids[a:b].tolist()]) for a, b in itertools.pairwise(edges))


HELD_OUT: dict[str, Callable[[Path], list[Document]]] = {
    "newswire": newswire,
    "mail": ham,
    "pages": pages,
    "parliament": parliament,
    "novels": novels,
}
"""Genres of natural text."""

__all__ = ["HELD_OUT", "Corpus", "Document", "written_news"]
