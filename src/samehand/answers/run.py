"""A run and the questions one can ask it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.arguments import Paths, fraction_of, items_of, number_of, texts_of, told
from samehand.answers.exports import RunExports
from samehand.answers.pages import PageName, page_of
from samehand.answers.phrases import TextGroups
from samehand.answers.result import Result
from samehand.answers.run_verdicts import RunVerdicts
from samehand.base.errors import RunError, UsageError
from samehand.base.page import Page
from samehand.store.folder import DAMAGED
from samehand.store.table import Table
from samehand.store.tables import (
    CLASSES,
    PROVIDERS,
    REPLICA_GROUPS,
    REPLICA_MEMBERS,
    REPLICA_SHARES,
    SITE_CLUSTERS,
    SITES,
    STYLE_CLUSTERS,
    STYLE_GROWTH,
    STYLE_MEMBERS,
    VERDICT_CLUSTERS,
)

if TYPE_CHECKING:
    from samehand.answers.explain import Explanation
    from samehand.answers.likeness import Likeness
    from samehand.answers.sites import SiteAnswers
    from samehand.methods.style.answers import WeakestLink


_TEXT_COLUMNS = ("cluster_number", "fake_probability", "verdict", "judged_words", "url", "reasons")
_SITE_COLUMNS = ("site", "provider", "sites", "kind", "verdict", "probability", "reason")
"""What people look at first."""
_ACTION_COLUMNS = ("action", "kind", "probability")


class Run(RunExports, RunVerdicts, TextGroups):
    """A run folder, opened: `samehand.open_run` and `samehand.scan` return it.

    A page is named by its URL, its `page_id`, the `doc_id` of the input, or a row of an answer that has one of these.
    A host or a site stands for its page with the shortest URL. Wrong arguments raise UsageError. A run that is
    damaged, not finished, or without style where it is asked for raises RunError. `replicas`, `language`, `phrases`
    and `sites` are computed first where the run lacks them; `compute` does that with the workers, engine and settings
    you choose.

    Attributes:
        settings: The `Settings` that the run was made with.
    """

    def clusters(self, *, cut: float | None = None, families: bool = False) -> Result:
        """Clusters of pages made by the same hand, best rank first (the paper's table 1).

        Args:
            cut: Another threshold than that of the run.
            families: Families, which are pages of the same software, instead of clusters.

        Returns:
            One row per cluster. The stored clusters have their `class` (mirror, identical, copy, link farm, template)
            if the run has near replicas too, and `action`, `kind` and `probability` if it has verdicts.

        Example:
            >>> run.clusters()["cluster_number"][:3]
            [1, 2, 3]
        """
        self._require("style")
        if cut is not None or families:
            return Result(self._style.clusters(cut=fraction_of(cut, "cut"), families=families))
        clusters = self.folder.read(STYLE_CLUSTERS)
        for method, table, columns in (("classes", CLASSES, None), ("verdicts", VERDICT_CLUSTERS, _ACTION_COLUMNS)):
            if method in self.methods:
                clusters = self._joined(clusters, table, columns)
        return Result(clusters)

    def _joined(self, clusters: pa.Table, table: Table, columns: Sequence[str] | None) -> pa.Table:
        """Clusters with columns of another table of clusters."""
        more = self.folder.read(table)
        rows = pc.index_in(clusters.column("style_cluster_id"), more.column("style_cluster_id").combine_chunks())
        if rows.null_count:
            raise RunError(f"{self.path / table.path} lacks clusters of the run. {DAMAGED}")
        for name in columns or more.column_names[1:]:
            clusters = clusters.append_column(name, more.column(name).take(rows))
        return clusters

    def members(self, number: int | None = None, *, cut: float | None = None, families: bool = False) -> Result:
        """The pages of a cluster by similarity to its medoid (the paper's table 2).

        Args:
            number: The `cluster_number`; the stored members of all clusters if not given.
            cut: The threshold at which the cluster was asked for.
            families: Whether the number is that of a family.

        Returns:
            One row per page: similarity, url, doc_id, page_id, host, site.

        Example:
            >>> members = run.members(1)
            >>> len(members) == run.clusters()[0]["pages"]
            True
        """
        self._require("style")
        cut = fraction_of(cut, "cut")
        is_stored = cut is None and not families
        if number is None:
            if not is_stored:
                raise UsageError("cut and families need the number of a cluster: give one.")
            return Result(self.folder.read(STYLE_MEMBERS))
        clusters = self.folder.read(STYLE_CLUSTERS) if is_stored else self._style.clusters(cut=cut, families=families)
        cluster_id = self._numbered(clusters, number, "cluster", "style_cluster_id")
        if is_stored:
            found = self._stored_members(cluster_id)
        else:
            found = self._style.members(cluster_id, cut=cut, families=families)
        if not len(found):
            raise RunError(f"{self.path / STYLE_MEMBERS.path} lacks the members of cluster {number}. {DAMAGED}")
        return Result(found.sort_by([("similarity", "descending"), ("page_id", "ascending")]))

    def _stored_members(self, cluster_id: int) -> pa.Table:
        members = self.folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "similarity"])
        found = members.filter(pc.equal(members.column("style_cluster_id"), cluster_id))
        rows = self.folder.page_ids.rows(found.column("page_id").to_numpy())
        return self._pages.listed(rows, found.column("similarity").to_numpy())

    def growth(self) -> Result:
        """The clusters that the last `samehand.add` changed.

        Returns:
            One row per cluster: new, grew, merged or split, and the pages it had before.

        Raises:
            RunError: Nothing was added to the run.
        """
        self._require("style")
        if not self.folder.has(STYLE_GROWTH):
            raise RunError(f"Nothing was added to {self.path} yet: see samehand.add.")
        return Result(self.folder.read(STYLE_GROWTH))

    def like(self, page: bytes | PageName, *, url: str | None = None) -> "Likeness":
        """One to all: every page by similarity to one (the paper's section 4.1).

        Args:
            page: HTML from anywhere, or a page of the run.
            url: URL of the HTML, if it is known: a small page's own host name does not count.

        Returns:
            The pages, most similar first, and the gaps in the curve of similarities.

        Example:
            >>> page = run.members(1)[0]
            >>> found = run.like(run.content(page), url=page["url"])
            >>> found.pages[0]["similarity"]
            1.0
        """
        from samehand.answers.likeness import Likeness

        self._require("style")
        is_html = isinstance(page, str) and "<" in page and not page.startswith(("http://", "https://"))
        if isinstance(page, bytes) or is_html:
            found = self._style.like_page(page_of(page, url, self.settings))
        elif url is not None:
            raise UsageError(f"url is the URL of HTML, and {told(page)} is a page of the run: leave url out.")
        else:
            found = self._style.like_row(self._pages.row_of(page))
        return Likeness.of(found, len(self.folder.page_ids))

    def like_each(self, pages: Iterable[tuple[str, bytes | str | Page]], *, top: int = 10) -> Iterator[Result]:
        """The most similar pages to each of many pages, in one pass over the run.

        Args:
            pages: Pairs of a name and HTML.
            top: How many to list for each.

        Returns:
            Results with the columns of `like`, the name (`query`) and the `rank`. A result covers several pages.
        """
        self._require("style")
        if number_of(top, "top") < 1:
            raise UsageError(f"top is {top}: give 1 or more.")
        if not isinstance(pages, Iterable):
            raise UsageError(f"pages is {told(pages)}: give pairs of a name and HTML.")
        made = (self._named_page(pair) for pair in pages)
        return (Result(table) for table in self._style.like_each(made, top=top))

    def _named_page(self, pair: Any) -> tuple[str, Page]:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[0], str):
            raise UsageError(f"{told(pair)} is no pair of a name and HTML.")
        (name,), page = texts_of(pair[0], "The name of a page"), pair[1]
        return name, page if isinstance(page, Page) else page_of(page, None, self.settings)

    def spread(self, seeds: str | Iterable[str], *, cut: float | None = None, tiny: bool = False) -> Result:
        """From known bad pages to the pages of the same hand.

        Args:
            seeds: URLs, hosts or sites of the run.
            cut: Another threshold than that of the run.
            tiny: Whether to follow pages of a few tags too, which strangers write alike.

        Returns:
            One row per page that shares a cluster with a seed: the seeds first, then the pages reached, each with the
            `path` from a seed to it and the `weakest` similarity on that path.
        """
        from samehand.answers.spreading import spread

        self._require("style")
        found = spread(self, texts_of(seeds, "seeds"), cut=fraction_of(cut, "cut"))
        return Result(pa.concat_tables([found.reached.table, found.refused.table])) if tiny else found.reached

    def weakest_link(self, page_ids: Iterable[int]) -> "WeakestLink | None":
        """The weakest of the links that hold pages together.

        Args:
            page_ids: The `page_id` of each page.

        Returns:
            `similarity`, `left_url` and `right_url`; None if no link joins the pages directly.
        """
        self._require("style")
        try:
            ids = np.array([number_of(page_id, "A page_id") for page_id in items_of(page_ids, "page_ids")], np.int64)
            self.folder.page_ids.rows(ids)
        except (RunError, OverflowError):
            raise UsageError(f"Not all of these are pages of {self.path}: give values of the column page_id.") from None
        return self._style.weakest_link(ids)

    def explain(self, left: PageName, right: PageName) -> "Explanation":
        """Why two pages are alike: the noise they share, and the words they share.

        Args:
            left: A page of the run.
            right: Another one.

        Returns:
            The comparison of both, shingle by shingle and word by word.

        Raises:
            InputError: The input changed since the scan, or is gone.

        Example:
            >>> members = run.members(1)
            >>> run.explain(members[0], members[1]).style.jaccard > 0.5
            True
        """
        from samehand.answers.explain import explain

        return explain(self._pages, self._pages.row_of(left), self._pages.row_of(right), self.settings)

    # The other methods. They are computed first where the run lacks them.

    def replicas(self) -> Result:
        """Groups of near replicas, largest first.

        Returns:
            One row per group.
        """
        self._ensure("replica")
        return Result(self.folder.read(REPLICA_GROUPS))

    def replica_members(self, number: int | None = None) -> Result:
        """The documents in groups of near replicas, with the evidence.

        Args:
            number: The `group_number`; the members of all groups if not given.

        Returns:
            One row per document; those of one group by cosine to its medoid.
        """
        self._ensure("replica")
        members = self.folder.read(REPLICA_MEMBERS)
        if number is None:
            return Result(members)
        group_id = self._numbered(self.folder.read(REPLICA_GROUPS), number, "group", "replica_group_id")
        found = members.filter(pc.equal(members.column("replica_group_id"), group_id))
        if not len(found):
            raise RunError(f"{self.path / REPLICA_MEMBERS.path} lacks the members of group {number}. {DAMAGED}")
        return Result(found.sort_by([("cosine", "descending"), ("page_id", "ascending")]))

    def shared_texts(self) -> Result:
        """The documents that share text with another one and are not in its group of near replicas.

        Returns:
            One row per document: what it shares most text with, and how much.
        """
        self._ensure("replica")
        return Result(self.folder.read(REPLICA_SHARES))

    def language(self, by: str = "page") -> Result:
        """How the text of the pages reads to the language model, likeliest fakes first.

        Args:
            by: "page" for each page, or "host" or "cluster" for how many of their pages are fake.

        Returns:
            One row per page, host or cluster. Pages that could not be judged come last.

        Example:
            >>> pages = run.language()
            >>> pages[0]["verdict"], pages[0]["fake_probability"] > 0.9
            ('fake', True)
        """
        from samehand.methods.language.scores import sums_by_cluster, sums_by_host, worst_first

        answers = {"page": worst_first, "host": sums_by_host, "cluster": sums_by_cluster}
        if not isinstance(by, str) or by not in answers:
            raise UsageError(f"by is {told(by)}: choose page, host or cluster.")
        self._ensure("language")
        return Result(answers[by](self.folder), shown_first=_TEXT_COLUMNS)

    def sites(
        self,
        *,
        kind: str | Sequence[str] | None = None,
        nameservers: Paths = (),
        resolve: bool = False,
        retry: bool = False,
    ) -> "SiteAnswers":
        """What kind of site each is, with evidence, and the providers whose name servers they use.

        Args:
            kind: Only sites of this kind, or of one of these; all if not given.
            nameservers: Files of name servers: CSV with the columns domain and ns, zone files, answers of dig.
            resolve: Whether to ask DNS for the name servers that no file knows.
            retry: Whether to ask DNS again for those that it could not say before.

        Returns:
            Kinds of sites, their clusters and providers. Without new name servers they are judged once.

        Raises:
            UsageError: There is no such kind.
            InputError: A file of name servers cannot be read.
            SamehandError: `resolve` needs dnspython, which is not installed.
        """
        from samehand.answers.sites import SiteAnswers, judge, of_kind

        judge(self, nameservers=nameservers, resolve=resolve, retry=retry)
        self._require("sites")
        tables = [of_kind(self.folder.read(SITES), kind), *map(self.folder.read, (SITE_CLUSTERS, PROVIDERS))]
        sites, clusters, providers = (Result(table, shown_first=_SITE_COLUMNS) for table in tables)
        return SiteAnswers(sites, clusters, providers, self.counts("sites"))

    def sql(self, query: str) -> Result:
        """The answer of a query in SQL, by DuckDB. It sees the tables of the run, and no file or variable.

        Args:
            query: SQL. The table style/clusters has the name `style_clusters`; `show tables` lists them all.

        Returns:
            The rows.

        Raises:
            UsageError: DuckDB cannot answer that.
            SamehandError: DuckDB is not installed.

        Example:
            >>> run.sql('''
            ...     select class, count(*) as clusters, sum(pages) as pages
            ...     from classes_clusters join style_clusters using (style_cluster_id)
            ...     where class <> 'template' group by class order by class
            ... ''')
            class      clusters  pages
            copy              1     10
            identical         1     25
            link farm         3    176
            mirror            1     60
            [4 rows]
        """
        from samehand.answers.sql import run_query

        return Result(run_query(self.folder, query))
