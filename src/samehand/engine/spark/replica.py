"""Near replicas on Spark: groups within the components of documents that agree, and who shares text."""

from typing import TYPE_CHECKING

from samehand.engine.spark import stages
from samehand.engine.spark.grouping import Steps, groups_of
from samehand.engine.spark.kinds import PAIRS
from samehand.methods.method import Counts
from samehand.store.tables import REPLICA_GROUPS, REPLICA_MEMBERS, REPLICA_SHARES, REPLICA_SIGNATURES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def group_replicas(steps: Steps) -> Counts:
    """Groups of near replicas and shared text, just as the local engine finds them."""
    from pyspark.sql import functions as sql

    steps.total = 14
    words, sketches = steps.pages("replica"), steps.pages(PAIRS)
    by_words, found = steps.edges("replica", words, steps.twins("replica", words))
    by_pairs, found_pairs = steps.edges(PAIRS, sketches, steps.twins(PAIRS, sketches))
    near = by_pairs.where(sql.col("similarity") >= sql.lit(steps.settings.replica_jaccard).cast("float"))
    edges = by_words.withColumn("is_cosine", sql.lit(True)).union(near.withColumn("is_cosine", sql.lit(False)))
    joined = steps.components("replica", edges)
    inside = edges.join(joined.withColumnRenamed("page_id", "left"), "left")
    pages = words.join(sketches.selectExpr("page_id", "words as sketch"), "page_id").join(joined, "page_id")
    documents = steps.by_component("documents", stages.find_documents, stages.DOCUMENTS, inside, pages)
    together = steps.components(PAIRS, by_pairs)
    sharing = steps.by_component(
        "sharing",
        stages.find_shares,
        stages.SHARES,
        by_pairs.join(together.withColumnRenamed("page_id", "left"), "left"),
        sketches.drop("buckets").join(together, "page_id"),
    )
    groups, members = _publish(steps, documents)
    shares = _publish_shares(steps, sharing, documents)
    read = steps.parts(REPLICA_SIGNATURES, stages.read_statuses, stages.STATUSES)
    statuses = read.groupBy("status").agg(sql.count("*"), sql.count_if("is_capped")).collect()
    return {
        "groups": groups,
        "grouped_documents": members,
        "sharing_documents": shares,
        "statuses": dict(sorted((status, count) for status, count, _ in statuses)),
        "markup_capped": sum(capped for _, _, capped in statuses),
        "checks": found[2] + found_pairs[2],
        "leader_cap_hits": found[3] + found_pairs[3],
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


def _publish_shares(steps: Steps, sharing: "DataFrame", documents: "DataFrame") -> int:
    """Writes who shares text with a document of another group; returns how many there are."""
    group = documents.select("page_id", "replica_group_id")
    own = sharing.join(group, "page_id", "left")
    other = group.selectExpr("page_id as with_page_id", "replica_group_id as with_group_id")
    apart = own.join(other, "with_page_id", "left").where(
        "replica_group_id is null or with_group_id is null or replica_group_id != with_group_id"
    )
    addresses = steps.addresses()
    urls = addresses.selectExpr("page_id as with_page_id", "url as with_url")
    named = apart.join(addresses.select("page_id", "url", "doc_id"), "page_id").join(urls, "with_page_id")
    return steps.publish(REPLICA_SHARES, named, "page_id")
