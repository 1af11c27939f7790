"""For the anti-abuse analyst: from one bad page to the sites of the same hand, a block list, and evidence.

The run is made before: samehand scan crawl.warc.gz -o run

python examples/analyst.py run bad.html http://bad.example/ case
"""

import sys
from pathlib import Path

import samehand


def report(folder: str, page: str, url: str, case: str) -> list[str]:
    """Lines about the pages of the same hand as one bad page, which need not be in the run; files go to `case`."""
    run = samehand.open_run(folder)
    # The URL matters: a page's own host name is in its source, and says nothing about who made it.
    like = run.like(Path(page).read_bytes(), url=url)
    # Above the first gap in the curve are pages of the same template, below it is everybody else.
    alike = like.pages[: like.gaps[0].pages] if like.gaps else like.pages
    if not len(alike):
        return [f"No page of {folder} is like {url}."]
    # Links lead on from these to pages that are less like the first one, and still of the same hand.
    block = run.export("rpz", seeds=alike["url"])
    Path(case).mkdir(exist_ok=True)
    Path(case, "block.rpz").write_text(block.text)
    # A registrar wants evidence: URLs, times, places in the archive, digests, the source that the pages share.
    cluster = next(row["cluster_number"] for row in run.members() if row["page_id"] == alike[0]["page_id"])
    for name, data in run.evidence(cluster).items():
        Path(case, name).write_bytes(data)
    return [
        f"{len(alike)} pages are like {url}; {len(block.entries)} sites are of the same hand:",
        *(f"  {name}" for name in block.entries["name"]),
        *(f"not listed: {left['name']} ({left['reason']})" for left in block.left_out),
    ]


if __name__ == "__main__":
    print("\n".join(report(*sys.argv[1:5])))
