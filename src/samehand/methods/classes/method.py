"""The classes of style clusters, as a method of a run: it combines what style, replica and language found."""

from collections import Counter
from typing import ClassVar

from samehand.base.settings import Settings
from samehand.methods.method import Counts, Method, OnGroupProgress
from samehand.store.folder import RunFolder
from samehand.store.tables import CLASSES, STYLE_CLUSTERS


class ClassesMethod(Method):
    """Mirror, identical, copy, link farm or template."""

    name = "classes"
    about = "what kind of cluster each style cluster is: mirror, identical, copy, link farm or template"
    command = "replicas"
    tables = (CLASSES,)
    counted: ClassVar = {str: int}
    needs = ("style", "replica")
    uses = ("language",)

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """Nothing beside other methods. Without language no text counts as made."""
        return ""

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Writes the class of each cluster."""
        from samehand.methods.classes.classes import classify
        from samehand.methods.classes.members import read_members

        cluster_ids = folder.read(STYLE_CLUSTERS, ["style_cluster_id"]).column("style_cluster_id").to_numpy()
        table = classify(cluster_ids, read_members(folder, cluster_ids))
        folder.write(CLASSES, table)
        return dict(sorted(Counter(table.column("class").to_pylist()).items()))

    def status(self, counts: Counts) -> list[str]:
        """How many clusters are of each class."""
        return ["classes of clusters: " + (", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none")]


METHOD = ClassesMethod()
