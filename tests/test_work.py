"""How often each page is read: its markup, prose, links and words once, whatever the number of methods."""

import pkgutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import samehand
from samehand.cli.demo import DemoFiles
from samehand.methods.language.verdicts import FAKE, NATURAL
from samehand.methods.page_batch import PageBatch
from samehand.methods.registry import methods
from samehand.sources import find_sources, plan_units, read_unit
from samehand.sources.runs import batched

Size = Callable[..., int]


def _offsets(_: Any, offsets: NDArray[np.int64], *rest: Any) -> int:
    return offsets.size - 1


def _starts(_: Any, starts: NDArray[np.int64], *rest: Any) -> int:
    return starts.size


ONCE: dict[str, Size] = {
    "samehand.kernels.html.markup.parse_pages": _offsets,
    "samehand.kernels.text.prose.find_prose": _offsets,
    "samehand.kernels.html.links.link_hosts": _starts,
    "samehand.kernels.text.tokens.read_texts": _offsets,
    "samehand.kernels.text.pairs.read_documents": _offsets,
    "samehand.methods.phrases.words.page_words": _offsets,
    "samehand.methods.sites.features.owner_ids": _offsets,
    "samehand.methods.sites.signs.site_links": _starts,
}
"""The kernels that read a page, where they are asked for, and the pages of a call."""
WALK = "samehand.kernels.ngrams.scores.text_sums"
"""Walks through the trie of the language model."""


def counted(name: str, pages: Size, work: Counter[str]) -> Callable[..., Any]:
    """The kernel, which counts its pages now."""
    kernel = pkgutil.resolve_name(name)

    def run(*arguments: Any) -> Any:
        work[name] += pages(*arguments)
        return kernel(*arguments)

    return run


def test_each_page_is_read_once_for_all_methods(
    demo: DemoFiles, demo_run: samehand.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    work: Counter[str] = Counter()
    for name, pages in {**ONCE, WALK: lambda _, __, texts, *rest: texts.size - 1}.items():
        monkeypatch.setattr(name, counted(name, pages, work))
    folder, settings = demo_run.folder, demo_run.folder.settings()
    stages = {name: method.stage(folder, settings) for name, method in methods().items() if method.page_table}
    (source,), _ = find_sources([str(demo.crawl)])
    seen, judged = 0, 0
    for unit in plan_units([source], 1 << 62):
        for rows, _ in batched(read_unit(unit, settings).items(), Counter()):
            pages_read = PageBatch(rows.batch(0), settings)
            found = {name: stage.batch(pages_read) for name, stage in stages.items()}
            seen += len(pages_read)
            judged += sum(verdict in (FAKE, NATURAL) for verdict in found["language"].column("verdict").to_pylist())
    walks = work.pop(WALK)
    assert work == dict.fromkeys(ONCE, seen)
    assert 0 < walks <= judged < seen  # texts that are too short, foreign or salad are left before
