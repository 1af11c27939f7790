"""Verdicts as a method of a run: it has no rows per page of its own, and reads what the other methods found."""

from collections.abc import Collection
from typing import ClassVar

from samehand.base.settings import Settings
from samehand.methods.guard import never_guard
from samehand.methods.method import Counts, Method, OnGroupProgress
from samehand.methods.verdicts.model import run_weights
from samehand.methods.verdicts.policy import read_policy
from samehand.store.folder import RunFolder
from samehand.store.labels import LabelFile, digest_of
from samehand.store.tables import VERDICT_CLUSTERS, VERDICT_PAGES, VERDICT_PROVIDERS, VERDICT_SITES

UNITS = ("page", "site")


class VerdictsMethod(Method):
    """What to keep, review, drop or block, and why."""

    name = "verdicts"
    about = "what to do with each page, site, cluster and provider, from the evidence of all methods"
    command = "verdicts"
    tables = (VERDICT_PAGES, VERDICT_SITES, VERDICT_CLUSTERS, VERDICT_PROVIDERS)
    uses = ("style", "replica", "classes", "language", "phrases", "sites")
    profiles = ("web", "mail")
    changeable = ("verdicts",)
    counted: ClassVar = {
        **{name: {str: int} for name in ("page_actions", "page_kinds", "site_actions", "site_kinds")},
        **dict.fromkeys(("labels", "unknown_labels", "label_digest"), int),
    }

    def follows_from(self, names: Collection[str]) -> bool:
        """Style alone says who made a page, and nothing against it."""
        return bool({"replica", "language", "phrases", "sites"} & set(names))

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The policy, the weights, the labels by hand, and the guard."""
        labels = digest_of(LabelFile.of(folder).labels())
        return f"{read_policy(settings.policy)} {run_weights(folder).digest} {labels} {never_guard().digest()}"

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Judges pages, sites, clusters and providers."""
        from samehand.methods.verdicts.judge import judge_run

        return judge_run(folder, run_weights(folder), read_policy(settings.policy))

    def status(self, counts: Counts) -> list[str]:
        """How many pages and sites are to be kept, reviewed, dropped or blocked."""
        found = [(unit, counts[f"{unit}_actions"], counts[f"{unit}_kinds"]) for unit in UNITS]
        lines = [f"{unit}s to {_listed(actions)}; {_kinds(kinds)}" for unit, actions, kinds in found]
        if counts["labels"]:
            lines.append(f"{counts['labels']:,} labels by hand, {counts['unknown_labels']:,} of units that it lacks")
        return lines


def _listed(actions: dict[str, int]) -> str:
    return ", ".join(f"{action}: {number:,}" for action, number in actions.items()) or "judge: none"


def _kinds(kinds: dict[str, int]) -> str:
    """The commonest kinds first."""
    return ", ".join(
        f"{number:,} {kind}" for kind, number in sorted(kinds.items(), key=lambda pair: (-pair[1], pair[0]))
    )


METHOD = VerdictsMethod()
