"""For a crawl that is too large for one machine: the same scan in the executors of a Spark cluster.

Install samehand[spark] and a Java 17 runtime. Give the master of a cluster instead of local[2], or hand SparkEngine
the session of your own program. Executors and driver share the run folder; inputs may be s3a:// or hdfs:// URIs.

python examples/on_spark.py "crawl/*.warc.gz" run "local[2]"
"""

import sys

import samehand


def scan_on_spark(crawl: str, folder: str, master: str) -> samehand.Run:
    """A run with the same rows as that of the local engine."""
    engine = samehand.SparkEngine(master)
    try:
        return samehand.scan(crawl, folder, engine=engine)
    finally:
        engine.session.stop()


if __name__ == "__main__":
    run = scan_on_spark(*sys.argv[1:4])
    # The engine is needed for the scan alone: questions are answered on this machine, from the run folder.
    print(run.clusters().head(5))
