"""Style on Spark: clusters within the components of the tight cut, families within those of the loose one."""

from typing import TYPE_CHECKING

import numpy as np

from samehand.engine.spark import stages
from samehand.engine.spark.grouping import Steps, groups_of
from samehand.grouping.forest import CheckCounts
from samehand.methods.method import Counts
from samehand.methods.style.channels import probe_plan
from samehand.methods.style.search import miss_counts
from samehand.store.tables import STYLE_CLUSTERS, STYLE_EDGES, STYLE_MEMBERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def group_style(steps: Steps) -> Counts:
    """Families and clusters, just as the local engine finds them."""
    steps.total = 11
    settings = steps.settings
    pages = steps.pages("style")
    twins = steps.twins("style", pages)
    edges, found = steps.edges("style", pages, twins)
    inside = edges.join(steps.components("style", edges).withColumnRenamed("page_id", "left"), "left")
    cut = steps.by_component("forest", stages.make_forests, stages.FOREST, inside)
    forest, placed = cut.where("right is not null"), cut.where("right is null").withColumnRenamed("left", "page_id")
    compared = pages.select("page_id", "comparable", "filled", "words")
    tight = placed.where("label is not null").selectExpr("label as component", "page_id")
    tight_edges = forest.where("label is not null").selectExpr("label as component", "left", "right", "similarity")
    clusters = steps.by_component(
        "clusters", stages.find_clusters, stages.CLUSTERS, tight_edges, compared.join(tight, "page_id")
    )
    speaking = placed.where("speaks").selectExpr("component", "page_id", "coalesce(label, page_id) as label")
    loose_edges = forest.select("component", "left", "right", "similarity")
    families = steps.by_component(
        "families", stages.find_families, stages.FAMILIES, loose_edges, compared.join(speaking, "page_id")
    )
    counts = CheckCounts(probes=len(probe_plan(settings)))
    counts.add(np.array(found))
    counts.rows, counts.too_small = pages.selectExpr("count(*)", "count_if(not comparable)").collect()[0]
    counts.equal = twins.where("similarity is not null").count()
    return {**counts.stored(), **_publish(steps, forest, clusters, families), **miss_counts(settings)}


def _publish(steps: Steps, forest: "DataFrame", clusters: "DataFrame", families: "DataFrame") -> Counts:
    """Writes edges, clusters and members; returns their counts."""
    from pyspark.sql import functions as sql

    addresses = steps.addresses().select("page_id", "url", "doc_id", "host_hash", "site_hash")
    found = families.join(clusters.withColumnRenamed("label", "style_cluster_id"), "page_id", "left")
    found = found.withColumn("style_cluster_id", sql.coalesce("style_cluster_id", "page_id"))
    found = found.withColumn("similarity", sql.coalesce("similarity", sql.lit(1.0).cast("float")))
    named = steps.stored("named", found.join(addresses, "page_id"))
    family = sql.when(sql.col("page_id") == sql.col("style_cluster_id"), sql.col("style_family_id"))
    figures = ["pages", "mean_similarity", "weakest_link"]
    of_family = sql.max(family).alias("style_family_id")
    groups = groups_of(named, "style_cluster_id", figures, "host_hash", "site_hash", of_family)
    schema = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in groups.schema)
    scored = groups.mapInArrow(stages.score_clusters, f"{schema}, score double")
    count = steps.publish(STYLE_CLUSTERS, scored, sql.desc("score"), "style_cluster_id")
    numbers = steps.published(STYLE_CLUSTERS, "style_cluster_id", "cluster_number")
    steps.publish(STYLE_MEMBERS, named.where("in_family").join(numbers, "style_cluster_id", "left"), "page_id")
    columns = forest.selectExpr("left as left_page_id", "right as right_page_id", "similarity")
    steps.publish(STYLE_EDGES, columns, sql.desc("similarity"), "left_page_id", "right_page_id")
    counted = named.selectExpr(
        "coalesce(sum(pages), 0)", "count(distinct case when in_family then style_family_id end)"
    )
    clustered, in_all = counted.collect()[0]
    return {"clusters": count, "clustered_pages": clustered, "families": in_all}
