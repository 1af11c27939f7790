"""A run folder, opened: what it holds, its pages, and how more is computed."""

import functools
from collections.abc import Iterable
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from samehand.answers.arguments import Path, engine_of, number_of, path_of, progress_of, texts_of
from samehand.answers.pages import PageName, RunPages
from samehand.answers.result import Result
from samehand.base.errors import RunError, SettingsError, UsageError
from samehand.base.setting import nearest
from samehand.base.settings import Settings, fields_of
from samehand.methods import ORDER
from samehand.store.folder import RunFolder
from samehand.store.tables import PAGES, REJECTS

if TYPE_CHECKING:
    import pyarrow as pa

    from samehand.engine.engine import Engine
    from samehand.engine.progress import OnProgress
    from samehand.methods.style.answers import StyleAnswers


class OpenedRun:
    """The state of a run, and its pages."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder.open(path_of(path, "path"))
        self.settings: Settings = self.folder.settings()

    def __repr__(self) -> str:
        read = self.manifest["stages"].get("read", {})
        methods = ", ".join(self.methods) or "no method"
        return f"<samehand.Run {str(self.path)!r}: {read.get('pages', 0):,} pages; {methods}>"

    @property
    def path(self) -> FilePath:
        """The run folder."""
        return self.folder.path

    @property
    def manifest(self) -> dict[str, Any]:
        """The content of run.json: settings, inputs, counts and times of each stage."""
        return self.folder.manifest()

    @property
    def methods(self) -> list[str]:
        """The methods that the run has answers of; `classes` follows from style and replica."""
        stages = self.manifest["stages"]
        return [name for name in ORDER if name in stages]

    def pages(self, columns: str | Iterable[str] | None = None) -> Result:
        """All pages, in the order of their `page_id`.

        Args:
            columns: Names of the columns; all if not given.

        Returns:
            One row per page (docs/run-folder.md lists the columns).

        Example:
            >>> run.pages(["url", "url_host_name"]).columns
            ['url', 'url_host_name']
        """
        names = None if columns is None else texts_of(columns, "columns")
        known = [column.name for column in PAGES.columns]
        for name in names or ():
            if name not in known:
                raise UsageError(f"There is no column {name!r}{nearest(name, known)}")
        return Result(self.folder.read(PAGES, names))

    def rejects(self) -> Result:
        """The records that could have been pages and are not.

        Returns:
            One row per record, with the reason.
        """
        return Result(self.folder.read(REJECTS))

    def content(self, page: PageName) -> bytes:
        """The HTML of a page: out of the run folder if it keeps pages, else out of its input.

        Args:
            page: A page of the run.

        Returns:
            The bytes, decoded and cut as the scan read them.

        Raises:
            InputError: The input changed since the scan, or is gone.
        """
        return self._pages.content(self._pages.row_of(page))

    def text(self, page: PageName) -> str:
        """The visible text of a page.

        Args:
            page: A page of the run.

        Returns:
            The text that the methods replica and language work with.

        Raises:
            InputError: The input changed since the scan, or is gone.
        """
        return self._pages.text(self._pages.row_of(page))

    def counts(self, method: str) -> dict[str, Any]:
        """What a method reported of its work, as `samehand status` shows it.

        Args:
            method: "style", "replica", "classes", "language", "phrases" or "sites".

        Returns:
            Counts by name.

        Raises:
            UsageError: There is no such method.
            RunError: The run has no answers of it.
        """
        from samehand.methods.registry import methods

        if not isinstance(method, str) or method not in methods():
            raise UsageError(f"There is no method {method!r}{nearest(str(method), methods())}")
        self._require(method)
        return methods()[method].checked(self.manifest["stages"][method])

    def compute(
        self,
        method: str | Iterable[str],
        *,
        workers: int | None = None,
        engine: "Engine | None" = None,
        on_progress: "OnProgress | None" = None,
        **settings: Any,
    ) -> None:
        """Computes methods for the pages of the run. What is done already is not done again.

        Args:
            method: "style", "replica", "language", "phrases" or "sites", several of them, or "all".
            workers: Processes on this machine; one per core if not given.
            engine: Another engine, such as `SparkEngine`.
            on_progress: A function that is told of `Progress`.
            settings: Settings of the method by name, where they are to differ from those of the run.

        Raises:
            UsageError: There is no such method.
            SettingsError: There is no such setting, or it cannot change once pages are read.
            InputError: An input changed since the scan, or is gone, and its pages are not kept in the run.
            RunError: The scan is not finished.
        """
        from samehand.engine.pipeline import run_method
        from samehand.methods.registry import chosen

        names = chosen(texts_of(method, "method"), self.settings.profile)
        self._check_changes(names, settings)
        worker, told = engine_of(engine, workers), progress_of(on_progress)
        for name in names:
            run_method(self.path, name, changes=settings, engine=worker, on_progress=told)
        self._forget()

    def _check_changes(self, names: Iterable[str], settings: Iterable[str]) -> None:
        """Settings of other methods would contradict the rows that these methods have."""
        from samehand.methods.registry import methods

        groups = [group for name in names for group in methods()[name].changeable]
        known = [field.name for field in fields_of(*groups)]
        for name in settings:
            if name not in known:
                raise SettingsError(
                    f"{name} is no setting that can change for {', '.join(names)} in a finished scan"
                    f"{nearest(name, known)}"
                )

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
        raise RunError(
            f"{self.path} has no answers of the method {method}. {has} Compute it in Python with "
            f"run.compute({method!r}), or name it in --signals of the same scan."
        )

    def _numbered(self, table: "pa.Table", number: int, what: str, id_column: str) -> int:
        """The stable id of a cluster or group by its number, which is its place in the table."""
        if not 1 <= number_of(number, f"The number of a {what}") <= table.num_rows:
            known = f"the numbers are 1 to {table.num_rows:,}" if table.num_rows else f"the run has no {what}"
            raise UsageError(f"There is no {what} {number} in {self.path}: {known}.")
        return int(table.column(id_column)[number_of(number, what) - 1].as_py())

    def _ensure(self, method: str) -> None:
        """Computes a method that the run does not have."""
        if method not in self.manifest["stages"]:
            self.compute(method)
        self._require(method)

    @functools.cached_property
    def _style(self) -> "StyleAnswers":
        from samehand.methods.style.answers import StyleAnswers

        return StyleAnswers(self.folder, self.settings)

    @functools.cached_property
    def _pages(self) -> RunPages:
        return RunPages(self.folder, self.settings)
