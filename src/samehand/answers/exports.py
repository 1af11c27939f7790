"""What leaves a run: lists of names, what to keep of a corpus, evidence on a cluster."""

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from samehand.answers.arguments import number_of
from samehand.answers.opened import OpenedRun
from samehand.answers.result import Result
from samehand.base.errors import UsageError
from samehand.base.setting import nearest

if TYPE_CHECKING:
    from samehand.answers.exporting import Export
    from samehand.answers.run import Run


class RunExports(OpenedRun):
    """The exports of a run: the part of `Run` that they are asked by."""

    def export(self, form: str, **choice: Any) -> "Export":
        """A list of unwanted sites in a format, with a guard over it. docs/exports.md describes formats and guard.

        Args:
            form: "rpz", "hosts", "adblock", "domains", "stix", "misp", "misp-warninglist", or a table of the entries:
                "csv", "jsonl", "parquet".
            choice: `clusters` and `seeds` choose what to list instead of the parked sites; `tiny` as in `spread`.
                `name_servers` adds those of parked providers, `kinds` limits the sites. `guard` and `reviewed` are
                files of names that are never listed, and that a person looked at. `until` is the day on which
                entries end, else they end `days` days after their page was fetched. `day`, `zone` and `serial` stand in
                the list.

        Returns:
            The list as text, its entries, and what was left out.

        Raises:
            UsageError: There is no such format or choice.
            RunError: The run has no answers on sites, and nothing else was chosen.
            InputError: A file of names cannot be read.

        Example:
            >>> run.export("domains", clusters=[1]).left_out.columns
            ['name', 'reason', 'detail']
        """
        from samehand.answers.exporting import Choice, export

        known = [field.name for field in dataclasses.fields(Choice)]
        for name in choice:
            if name not in known:
                raise UsageError(f"There is no choice {name!r}{nearest(name, known)}")
        return export(cast("Run", self), form, Choice(**choice))

    def keep_drop(self, survivor: str = "first") -> Result:
        """What to keep of a corpus: one document of each group of near replicas.

        Args:
            survivor: Which one: the "first" in the input, the "longest", the "oldest", or the "centre" of its group.

        Returns:
            One row per document of the input, rejected ones included: keep or drop, why, and what is kept instead.

        Raises:
            UsageError: There is no such choice.

        Example:
            >>> rows = run.keep_drop()
            >>> len(rows) == len(run.pages()) + len(run.rejects())
            True
        """
        from samehand.exports.keep_drop import KEEP_DROP_SCHEMA, SURVIVORS, keep_drop

        if survivor not in SURVIVORS:
            raise UsageError(f"There is no survivor {survivor!r}{nearest(str(survivor), SURVIVORS)}")
        self._ensure("replica")
        return Result(pa.Table.from_batches(keep_drop(self.folder, survivor, Counter()), KEEP_DROP_SCHEMA))

    def evidence(self, number: int) -> dict[str, bytes]:
        """The evidence on a cluster: a page to read, the facts as JSON, and the digests of both.

        Args:
            number: The `cluster_number`.

        Returns:
            Files by name. Pages whose input is out of reach have no digest, and the page says so.

        Example:
            >>> sorted(run.evidence(1))
            ['SHA256SUMS', 'evidence.json', 'report.html']
        """
        from samehand.answers.evidence import gather_evidence
        from samehand.exports.evidence import evidence_files

        self._require("style")
        return evidence_files(gather_evidence(cast("Run", self), number_of(number, "The number of a cluster")))
