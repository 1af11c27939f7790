"""What a method is. Resume, `--signals`, `clear`, `status`, the docs and the command line are loops over the methods.

A method has rows per page (`stage`), which are computed while pages are read, and answers over all pages (`group`),
which are computed from those rows. Each is done once for what it was made from: `page_source` and `group_source` say
what that is, beside the pages themselves and the methods named in `needs`.

A `method.py` says what a method is. It imports what computes, and with it numba, only where something is to be
computed: who reads answers should not have to wait for kernels.
"""

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import pyarrow as pa

from samehand.base.errors import RunError
from samehand.base.settings import Settings
from samehand.store.folder import DAMAGED, RunFolder
from samehand.store.shape import fits
from samehand.store.table import Table

if TYPE_CHECKING:
    from samehand.methods.page_batch import PageBatch

Counts = dict[str, Any]
"""What a method reports of its work, as plain JSON; run.json and `samehand status` show it."""

OnGroupProgress = Callable[[int, int], None]
"""Is told how many steps of how many are done."""


class Stage(Protocol):
    """Maps batches of pages to batches of rows. Made once per unit of work."""

    def batch(self, pages: "PageBatch") -> pa.RecordBatch:
        """A row for each page."""


class Method:
    """One kind of evidence. A subclass names its tables and overrides what it needs."""

    name: ClassVar[str]
    about: ClassVar[str]
    """One line for help and docs."""
    page_table: ClassVar[Table | None] = None
    """The rows per page; None for a method that only combines others."""
    tables: ClassVar[tuple[Table, ...]]
    """The answers over all pages."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Methods whose answers `group` reads, through the run folder."""
    uses: ClassVar[tuple[str, ...]] = ()
    """Methods whose answers `group` reads too where the run has them."""
    profiles: ClassVar[tuple[str, ...]] = ("web",)
    """What the pages may be: web pages, or mail."""
    changeable: ClassVar[tuple[str, ...]] = ()
    """Groups of settings that concern this method alone, so they may change after the scan."""
    command: ClassVar[str]
    """The command that computes it for an existing run."""
    counted: ClassVar[dict[Any, Any]]
    """The shape (samehand.store.shape) of what `group` reports."""

    def follows_from(self, names: Collection[str]) -> bool:
        """Whether a method without rows per page is grouped in a run that has these methods."""
        return self.page_table is None and set(self.needs) <= set(names)

    def prepare(self, folder: RunFolder, settings: Settings) -> None:
        """Puts into the run folder what every worker needs."""

    def page_source(self, folder: RunFolder, settings: Settings) -> str:
        """Digest of all that the rows per page depend on, beside the pages."""
        raise NotImplementedError

    def stage(self, folder: RunFolder, settings: Settings) -> Stage:
        """The stage that computes the rows per page."""
        raise NotImplementedError

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """Digest of all that the answers depend on, beside the rows per page and the answers of `needs`."""
        raise NotImplementedError

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Computes the answers from the rows per page, and writes `tables`."""
        raise NotImplementedError

    def status(self, counts: Counts) -> Sequence[str]:
        """Sentences about what the method found."""
        raise NotImplementedError

    def checked(self, counts: Counts) -> Counts:
        """Counts out of a run folder. RunError if they are not what `group` reports."""
        if not fits(counts, self.counted):
            raise RunError(f"The counts of the method {self.name} are damaged. {DAMAGED}")
        return counts
