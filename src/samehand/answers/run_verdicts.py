"""The verdicts of a run: the part of `Run` that they are asked by."""

from typing import TYPE_CHECKING

from samehand.answers.arguments import texts_of, told
from samehand.answers.opened import OpenedRun
from samehand.answers.result import Result
from samehand.base.errors import UsageError
from samehand.store.labels import LabelFile, digest_of

if TYPE_CHECKING:
    from samehand.answers.refitting import Refitted
    from samehand.answers.verdicts import Verdict


class RunVerdicts(OpenedRun):
    """The verdicts of a run, and the sums behind them."""

    def _judge(self) -> None:
        """Verdicts follow labels: they are computed anew if people said something else since."""
        self._require("verdicts")
        said = digest_of(LabelFile.of(self.folder).labels())
        if self.manifest["stages"]["verdicts"].get("label_digest") != said:
            self._judge_again()

    def _judge_again(self) -> None:
        from samehand.engine.local import LocalEngine
        from samehand.engine.pipeline import judge_again

        judge_again(self.path, engine=LocalEngine(1), on_progress=lambda _: None)
        self._forget()

    def verdicts(self, unit: str = "sites", *, policy: str | None = None, kind: str | None = None) -> Result:
        """What to do with each site, page, cluster or provider: keep, review, drop or block.

        Args:
            unit: "sites", "pages", "clusters" or "providers".
            policy: Another policy than that of the run: "crawl", "corpus", "block", or the path of a TOML file.
            kind: Only verdicts of this kind, such as "parked-ads".

        Returns:
            One row per unit, strongest action and likeliest unwanted first; clusters by their number.

        Example:
            >>> run.verdicts("pages", policy="corpus").filter(action="drop").columns[:3]
            ['url', 'doc_id', 'page_id']
        """
        from samehand.answers.verdicts import verdict_rows

        self._judge()
        return verdict_rows(self.folder, unit, policy, kind)

    def refit(self) -> "Refitted":
        """Fits the weights of the run to what people said about its sites, and judges anew.

        Labels change no weights by themselves. Each hand is one voice, and a weight moves little: it is pulled towards
        the shipped one. The file weights.toml of the run has the weights; without it the shipped ones count.

        Returns:
            The old and the new weights, and how many pages and sites change from which action to which.

        Raises:
            RunError: No site of the run has a label.
        """
        from samehand.answers.refitting import refitted

        self._judge()
        return refitted(self)

    def verdict(self, name: str | int) -> "Verdict":
        """The verdict on one unit, with the sum of evidence behind it.

        Args:
            name: A URL, a site, a provider, or the number of a cluster.

        Returns:
            Kind, probability and action, and what each piece of evidence adds.

        Raises:
            UsageError: The run has no such unit.
        """
        from samehand.answers.verdicts import verdict_of

        self._judge()
        wanted = name if isinstance(name, int) and not isinstance(name, bool) else texts_of(name, "name")[0]
        found = verdict_of(self.folder, wanted)
        if found is None:
            raise UsageError(f"{told(name)} is no page, site, provider or cluster of {self.path}.")
        return found
