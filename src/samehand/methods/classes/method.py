"""The classes of style clusters, as a method of a run: it combines what style, replica and language found."""

from collections import Counter
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.settings import Settings
from samehand.methods.method import Counts, Method, OnGroupProgress
from samehand.store.folder import RunFolder
from samehand.store.tables import (
    CLASSES,
    LANGUAGE_PAGES,
    PAGES,
    REPLICA_MEMBERS,
    REPLICA_SIGNATURES,
    STYLE_CLUSTERS,
    STYLE_MEMBERS,
)
from samehand.store.taken import taken

_SIGNATURES = ["distinct_words", "status", "word_set", "link_hosts"]


class ClassesMethod(Method):
    """Mirror, identical, copy, link farm or template."""

    name = "classes"
    about = "what kind of cluster each style cluster is: mirror, identical, copy, link farm or template"
    command = "replicas"
    tables = (CLASSES,)
    counted: ClassVar = {str: int}
    needs = ("style", "replica")

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """The judged texts, where the run has them. They are no need: without them no text counts as made."""
        judged = folder.done.get("language")
        return judged["source"] if judged else ""

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Writes the class of each cluster."""
        from samehand.methods.classes.classes import classify, read_members

        clusters = folder.read(STYLE_CLUSTERS, ["style_cluster_id"])
        members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "similarity"])
        ids = clusters.column("style_cluster_id").combine_chunks()
        members = members.filter(pc.is_in(members.column("style_cluster_id"), ids))
        members = members.sort_by("page_id")
        rows = folder.page_ids.rows(members.column("page_id").to_numpy())
        found = read_members(
            members.append_column("made", _made(folder, pa.array(rows))),
            taken(folder, PAGES, ["url", "url_host_name"], rows),
            folder.read(REPLICA_MEMBERS, ["page_id", "replica_group_id"]),
            taken(folder, REPLICA_SIGNATURES, _SIGNATURES, rows),
            clusters,
        )
        table = classify(clusters, found)
        folder.write(CLASSES, table)
        return dict(sorted(Counter(table.column("class").to_pylist()).items()))

    def status(self, counts: Counts) -> list[str]:
        """How many clusters are of each class."""
        return ["classes of clusters: " + (", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none")]


def _made(folder: RunFolder, rows: pa.Array) -> pa.Array:
    """1 for a page whose text a machine made, 0 for natural text, NaN where the run has not judged it."""
    if folder.done.get("language") is None:
        return pa.array(np.full(len(rows), np.nan))
    verdicts = folder.read(LANGUAGE_PAGES, ["verdict"]).column("verdict").take(rows)
    judged = pc.is_in(verdicts, pa.array(["fake", "natural"]))
    return pc.if_else(judged, pc.cast(pc.equal(verdicts, "fake"), pa.float64()), np.nan).combine_chunks()


METHOD = ClassesMethod()
