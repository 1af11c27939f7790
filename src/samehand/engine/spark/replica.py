"""Near replicas on Spark: groups within the components of documents that agree."""

from typing import TYPE_CHECKING

from samehand.engine.spark import stages
from samehand.engine.spark.grouping import Steps, groups_of
from samehand.methods.method import Counts
from samehand.store.tables import REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SIGNATURES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def group_replicas(steps: Steps) -> Counts:
    """Groups of near replicas, just as the local engine finds them."""
    from pyspark.sql import functions as sql

    steps.total = 8
    pages = steps.pages()
    edges, found = steps.edges(pages, steps.twins(pages))
    joined = steps.components(edges)
    inside = edges.join(joined.withColumnRenamed("page_id", "left"), "left")
    documents = steps.by_component(
        "documents", stages.find_documents, stages.DOCUMENTS, inside, pages.join(joined, "page_id")
    )
    groups, members = _publish(steps, documents)
    read = steps.parts(REPLICA_SIGNATURES, stages.read_statuses, stages.STATUSES)
    statuses = read.groupBy("status").agg(sql.count("*"), sql.count_if("is_capped")).collect()
    return {
        "groups": groups,
        "grouped_documents": members,
        "statuses": dict(sorted((status, count) for status, count, _ in statuses)),
        "markup_capped": sum(capped for _, _, capped in statuses),
        "checks": found[2],
        "leader_cap_hits": found[3],
    }


def _publish(steps: Steps, documents: "DataFrame") -> tuple[int, int]:
    """Writes groups and members; returns how many there are."""
    from pyspark.sql import functions as sql

    named = steps.stored("named", documents.join(steps.addresses(), "page_id"))
    figures = ["documents", "weakest_cosine", "mean_cosine"]
    groups = groups_of(named, "replica_group_id", figures, "host", "site")
    count = steps.publish(REPLICA_GROUPS, groups, sql.desc("documents"), "replica_group_id")
    numbers = steps.published(REPLICA_GROUPS, "replica_group_id", "group_number")
    members = named.join(numbers, "replica_group_id")
    return count, steps.publish(REPLICA_MEMBERS, members, "replica_group_id", "page_id")
