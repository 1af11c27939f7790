"""A run and the questions one can ask it. Questions about a method that the run lacks compute it first."""

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.pages import RunPages, page_of
from samehand.answers.result import Result
from samehand.base.errors import RunError, UsageError
from samehand.base.page import Page
from samehand.base.settings import Settings, nearest
from samehand.store.folder import DAMAGED, RunFolder
from samehand.store.tables import (
    CLASSES,
    PAGES,
    PROVIDERS,
    REJECTS,
    REPLICA_GROUPS,
    REPLICA_MEMBERS,
    SITE_CLUSTERS,
    SITES,
    STYLE_CLUSTERS,
    STYLE_GROWTH,
    STYLE_MEMBERS,
)

if TYPE_CHECKING:
    from samehand.answers.explain import Explanation
    from samehand.answers.sites import SiteAnswers
    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress
    from samehand.methods.style.answers import Likeness, StyleAnswers, WeakestLink


class Run:
    """A run folder, opened. Made by `samehand.open_run` and returned by `samehand.scan`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.folder = RunFolder.open(path)
        self.settings: Settings = self.folder.settings()

    def __repr__(self) -> str:
        read = self.manifest["stages"].get("read", {})
        return f"<samehand.Run {str(self.folder.path)!r}: {read.get('pages', 0)} pages>"

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    @property
    def manifest(self) -> dict[str, Any]:
        """run.json: settings, inputs, counts and times of each stage."""
        return self.folder.manifest()

    @property
    def methods(self) -> list[str]:
        """The methods that the run has answers of."""
        return [name for name in self.manifest["stages"] if name != "read"]

    def compute(
        self,
        method: str,
        *,
        engine: "Engine | None" = None,
        workers: int | None = None,
        on_progress: "OnProgress | None" = None,
        **changes: Any,
    ) -> None:
        """Computes a method ("style", "replica", "language" or "sites") for the pages of the run.

        `changes` are settings that differ from those of the run. Run again, it does only what is missing.
        """
        from samehand.engine.local import LocalEngine
        from samehand.engine.pipeline import run_method
        from samehand.engine.progress import silent

        run_method(
            self.path,
            method,
            changes=changes,
            engine=engine or LocalEngine(workers),
            on_progress=on_progress or silent,
        )
        self._forget()

    def _forget(self) -> None:
        """The run has changed on disk: nothing that was read of it is kept."""
        self.folder = RunFolder.open(self.path)
        self.settings = self.folder.settings()
        for name in ("_style", "_pages"):
            self.__dict__.pop(name, None)

    def _require(self, method: str) -> None:
        """RunError, with what to do, where the run has no answers of a method."""
        self.folder.check_finished()
        if method in self.manifest["stages"] and self.folder.done.get(method) is not None:
            return
        from samehand.methods.registry import methods

        has = f"It has: {', '.join(self.methods) or 'no method'}."
        if self.settings.profile not in methods()[method].profiles:
            raise RunError(f"{self.path} holds mail, and {method} is a method for web pages. {has}")
        command = methods()[method].command
        how = "Scan its inputs again" if command == "scan" else f"Run: samehand {command} {self.path}"
        raise RunError(f"{self.path} has no answers of the method {method}. {has} {how}")

    def _ensure(self, method: str) -> None:
        if method not in self.manifest["stages"]:
            self.compute(method)
        self._require(method)

    # Pages.

    def pages(self, columns: Sequence[str] | None = None) -> Result:
        """All pages, in page_id order; of their columns those named, if any are."""
        known = PAGES.fixed_schema.names
        for column in columns or ():
            if column not in known:
                raise UsageError(f"There is no column {column!r} in pages{nearest(str(column), known)}")
        return Result(self.folder.read(PAGES, columns))

    def rejects(self) -> Result:
        """All records that could have been a page and are not, with their reasons."""
        return Result(self.folder.read(REJECTS))

    def content(self, page: str | int) -> bytes:
        """The bytes of a page: out of the run folder if it keeps pages, else out of its input."""
        return self._pages.content(self._pages.row_of(page))

    def text(self, page: str | int) -> str:
        """The visible text of a page."""
        return self._pages.text(self._pages.row_of(page))

    # Style.

    def clusters(self, *, cut: float | None = None, families: bool = False) -> Result:
        """Clusters by rank (the paper's table 1): at another threshold with `cut`, families with `families`.

        The stored clusters carry their class once near replicas were computed.
        """
        self._require("style")
        if cut is not None or families:
            return Result(self._style.clusters(cut=cut, families=families))
        clusters = self.folder.read(STYLE_CLUSTERS)
        if "classes" not in self.methods:
            return Result(clusters)
        classes = self.folder.read(CLASSES)
        rows = pc.index_in(clusters.column("style_cluster_id"), classes.column("style_cluster_id").combine_chunks())
        if rows.null_count:
            raise RunError(f"{self.path / CLASSES.path} lacks clusters of the run. {DAMAGED}")
        for name in classes.column_names[1:]:
            clusters = clusters.append_column(name, classes.column(name).take(rows))
        return Result(clusters)

    def members(self, number: int, *, cut: float | None = None, families: bool = False) -> Result:
        """Members of the cluster with this number, by similarity to its medoid (the paper's table 2)."""
        self._require("style")
        if cut is None and not families:
            clusters = self.folder.read(STYLE_CLUSTERS, ["cluster_number", "style_cluster_id"])
        else:
            clusters = self._style.clusters(cut=cut, families=families)
        cluster_id = self._numbered(clusters, number, "cluster", "style_cluster_id")
        if cut is None and not families:
            found = self._members(number)
        else:
            found = self._style.members(cluster_id, cut=cut, families=families)
        return Result(found.sort_by([("similarity", "descending"), ("page_id", "ascending")]))

    def _members(self, number: int) -> pa.Table:
        members = self.folder.read(STYLE_MEMBERS)
        found = members.filter(pc.equal(members.column("cluster_number"), number))
        if not len(found):
            raise RunError(f"{self.path / STYLE_MEMBERS.path} lacks the members of cluster {number}. {DAMAGED}")
        rows = self.folder.page_ids.rows(found.column("page_id").to_numpy())
        return self._pages.listed(rows, found.column("similarity").to_numpy())

    def _numbered(self, table: pa.Table, number: int, what: str, id_column: str) -> int:
        is_number = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if not is_number or not 1 <= number <= table.num_rows:
            known = f"the numbers are 1 to {table.num_rows}" if table.num_rows else f"the run has no {what}"
            raise UsageError(f"There is no {what} {number!r} in {self.path}: {known}.")
        return int(table.column(id_column)[number - 1].as_py())

    def growth(self) -> Result:
        """The clusters that changed with the last addition."""
        self._require("style")
        return Result(self.folder.read(STYLE_GROWTH))

    def like(self, page: bytes | str | int, *, url: str | None = None) -> "Likeness":
        """One to all (section 4.1): every page by similarity to one.

        `page` is HTML, or a URL or page_id of the run. Give the `url` of HTML if it is known.
        """
        self._require("style")
        if isinstance(page, bytes) or (isinstance(page, str) and "<" in page):
            return self._style.like_page(page_of(page, url, self.settings))
        return self._style.like_row(self._pages.row_of(page))

    def like_each(self, pages: Iterable[tuple[str, Page | bytes | str]], *, top: int = 10) -> Iterator[pa.Table]:
        """The `top` most similar pages of each of many pages, which are given with their names."""
        self._require("style")
        made = ((name, page if isinstance(page, Page) else page_of(page, None, self.settings)) for name, page in pages)
        return self._style.like_each(made, top=top)

    def spread(self, seeds: Sequence[str], *, cut: float | None = None) -> Result:
        """From known bad URLs, hosts or sites to the pages of the same hand, each with the path that leads there."""
        self._require("style")
        return Result(self._style.spread(seeds, cut=cut))

    def weakest_link(self, page_ids: Sequence[int]) -> "WeakestLink | None":
        """The weakest of the links that hold these pages together; None if no link joins them directly."""
        self._require("style")
        return self._style.weakest_link(np.asarray(page_ids, np.int64))

    def explain(self, left: str | int, right: str | int) -> "Explanation":
        """Why two pages of the run are alike: the noise they share, and the words they share."""
        from samehand.answers.explain import explain

        return explain(self._pages, self._pages.row_of(left), self._pages.row_of(right), self.settings)

    # The other methods.

    def replicas(self) -> Result:
        """Groups of near replicas, largest first."""
        self._ensure("replica")
        return Result(self.folder.read(REPLICA_GROUPS))

    def replica_members(self, number: int | None = None) -> Result:
        """Documents in groups of near replicas, with the evidence; of one group by cosine to its medoid."""
        self._ensure("replica")
        members = self.folder.read(REPLICA_MEMBERS)
        if number is None:
            return Result(members)
        self._numbered(self.folder.read(REPLICA_GROUPS), number, "group", "replica_group_id")
        found = members.filter(pc.equal(members.column("group_number"), number))
        return Result(found.sort_by([("cosine", "descending"), ("page_id", "ascending")]))

    def language(self, by: str = "page") -> Result:
        """Judgements of the text of each page, likeliest fakes first; or sums by "host" or "cluster"."""
        from samehand.methods.language.scores import sums_by_cluster, sums_by_host, worst_first

        answers = {"page": worst_first, "host": sums_by_host, "cluster": sums_by_cluster}
        if by not in answers:
            raise UsageError(f"by is {by!r}: choose page, host or cluster.")
        self._ensure("language")
        return Result(answers[by](self.folder))

    def sites(
        self,
        *,
        nameservers: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        resolve: bool = False,
        **options: Any,
    ) -> "SiteAnswers":
        """Verdicts on sites, their clusters and providers.

        Name servers come from files, and from DNS with `resolve`; without either they are those of the last time.
        """
        from samehand.answers.sites import judge

        judge(self, nameservers=nameservers, resolve=resolve, **options)
        return self.site_answers()

    def site_answers(self) -> "SiteAnswers":
        """The stored verdicts on sites."""
        from samehand.answers.sites import SiteAnswers

        self._require("sites")
        sites, clusters, providers = (Result(self.folder.read(table)) for table in (SITES, SITE_CLUSTERS, PROVIDERS))
        return SiteAnswers(sites, clusters, providers, self.counts("sites"))

    def counts(self, method: str) -> dict[str, Any]:
        """What a method reported of its work."""
        self._require(method)
        counts: dict[str, Any] = self.manifest["stages"][method]
        return counts

    def sql(self, query: str) -> Result:
        """The answer of a DuckDB query. Every table of the run is a view: style/clusters is `style_clusters`."""
        from samehand.answers.sql import run_query

        return Result(run_query(self.folder, query))

    @functools.cached_property
    def _style(self) -> "StyleAnswers":
        from samehand.methods.style.answers import StyleAnswers

        return StyleAnswers(self.folder, self.settings)

    @functools.cached_property
    def _pages(self) -> RunPages:
        return RunPages(self.folder, self.settings)
