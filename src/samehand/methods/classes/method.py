"""The classes of style clusters, as a method of a run: it combines what style and replica found."""

from collections import Counter
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from samehand.base.settings import Settings
from samehand.methods.classes.classes import classify
from samehand.methods.method import Counts, Method, OnGroupProgress
from samehand.store.folder import RunFolder
from samehand.store.tables import CLASSES, PAGES, REPLICA_MEMBERS, REPLICA_SIGNATURES, STYLE_CLUSTERS, STYLE_MEMBERS


class ClassesMethod(Method):
    """Mirror, copy, link farm or template."""

    name = "classes"
    about = "what kind of cluster each style cluster is: mirror, copy, link farm or template"
    command = "replicas"
    tables = (CLASSES,)
    counted: ClassVar = {str: int}
    needs = ("style", "replica")

    def group_source(self, folder: RunFolder, settings: Settings) -> str:
        """Nothing beside style and replica."""
        return ""

    def group(self, folder: RunFolder, settings: Settings, *, threads: int, on_progress: OnGroupProgress) -> Counts:
        """Writes the class of each cluster."""
        clusters = folder.read(STYLE_CLUSTERS, ["style_cluster_id"])
        members = folder.read(STYLE_MEMBERS, ["page_id", "style_cluster_id", "cluster_number"])
        members = members.filter(pc.is_valid(members.column("cluster_number")))
        rows = pa.array(folder.page_ids.rows(members.column("page_id").to_numpy()))
        table = classify(
            clusters,
            members,
            pages=folder.read(PAGES, ["url", "url_host_name"]).take(rows),
            replicas=folder.read(REPLICA_MEMBERS, ["page_id", "replica_group_id"]),
            links=folder.read(REPLICA_SIGNATURES, ["link_hosts"]).take(rows),
        )
        folder.write(CLASSES, table)
        return dict(sorted(Counter(table.column("class").to_pylist()).items()))

    def status(self, counts: Counts) -> list[str]:
        """How many clusters are of each class."""
        return ["classes of clusters: " + (", ".join(f"{count:,} {name}" for name, count in counts.items()) or "none")]


METHOD = ClassesMethod()
