"""What an engine is: where the stages run. The stages are the same for every engine, and so are the results."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from samehand.base.page import Reject
from samehand.base.settings import Settings
from samehand.engine.progress import OnProgress
from samehand.engine.tasks import Task, TaskOutcome
from samehand.methods.method import Counts, Method
from samehand.sources import Source, Unit, find_sources, plan_units
from samehand.store.folder import RunFolder


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """The sources that inputs stand for, their units of work, and inputs that are none."""

    sources: Sequence[Source]
    units: Sequence[Unit]
    unreadable: Sequence[Reject]


def plan_inputs(inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
    """The plan for inputs on this machine's file systems. Standard input is copied below `spool`."""
    sources, unreadable = find_sources(inputs, spool=spool, profile=settings.profile)
    return Plan(sources, plan_units(sources, settings.split_bytes), unreadable)


class Engine(Protocol):
    """Where the stages run."""

    def plan(self, inputs: Sequence[str], spool: Path, settings: Settings) -> Plan:
        """Finds what the inputs are and cuts it into units of work."""

    def read(
        self, folder: RunFolder, tasks: Sequence[Task], settings: Settings, on_progress: OnProgress
    ) -> Iterator[TaskOutcome]:
        """Runs `process_task` on each task, in any order."""

    def group(self, method: Method, folder: RunFolder, settings: Settings, on_progress: OnProgress) -> Counts:
        """Runs the `group` of a method: from its rows per page to its answers."""
