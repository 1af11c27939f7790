"""For the operator of a crawler: the hosts to leave out of the next crawl.

python examples/crawl_operator.py "crawl/*.warc.gz" run > drop.txt
"""

import sys

import samehand

FEWEST_SITES = 3


def hosts_to_drop(crawl: str, folder: str) -> dict[str, str]:
    """Hosts that bring nothing new, each with the reason."""
    # Style alone finds templates, and many honest sites share one. Near replicas tell which clusters are link farms
    # and mirrors, so both methods are needed.
    run = samehand.scan(crawl, folder, signals=["style", "replica"])
    drop = {}
    for cluster in run.clusters():
        number, kind = cluster["cluster_number"], cluster["class"]
        if kind not in ("link farm", "mirror") or cluster["sites"] < FEWEST_SITES:
            continue
        # Members come by similarity to the medoid, which is first.
        hosts = list(dict.fromkeys(run.members(number)["host"]))
        if kind == "mirror":
            hosts = hosts[1:]  # the text of a mirror is wanted once
        drop |= {host: f"cluster {number}: {kind}" for host in hosts if host is not None}
    return drop


if __name__ == "__main__":
    for host, reason in sorted(hosts_to_drop(*sys.argv[1:3]).items()):
        print(f"{host}\t{reason}")
