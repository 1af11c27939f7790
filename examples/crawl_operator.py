"""For the operator of a crawler: the sites to leave out of the next crawl, as a list that is safe to load.

python examples/crawl_operator.py "crawl/*.warc.gz" run ours.txt > drop.txt
"""

import sys

import samehand

FEWEST_SITES = 3


def sites_to_drop(crawl: str, folder: str, ours: str) -> dict[str, str]:
    """Sites that bring nothing new, each with the reason. Names in the file `ours` are never among them."""
    # Style alone finds templates, and many honest sites share one. The other methods tell which clusters are link farms
    # and mirrors.
    run = samehand.scan(crawl, folder)
    drop = {}
    for cluster in run.clusters():
        number, kind = cluster["cluster_number"], cluster["class"]
        if kind not in ("link farm", "mirror") or cluster["sites"] < FEWEST_SITES:
            continue
        # The guard stands over every list: well-known sites, shared hosts and our own names are left out.
        names = run.export("domains", clusters=[number], guard=[ours]).entries["name"]
        if kind == "mirror":
            names = names[1:]  # the text of a mirror is wanted once
        drop |= dict.fromkeys(names, f"cluster {number}: {kind}")
    return drop


if __name__ == "__main__":
    for name, reason in sorted(sites_to_drop(*sys.argv[1:4]).items()):
        print(f"{name}\t{reason}")
