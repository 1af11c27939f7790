"""For the anti-abuse analyst: from one bad page to the sites of the same hand, with evidence.

The run is made before: samehand scan crawl.warc.gz -o run

python examples/analyst.py run bad.html http://bad.example/
"""

import sys
from pathlib import Path

import samehand


def report(folder: str, page: str, url: str) -> list[str]:
    """Lines about the pages of the same hand as one bad page, which need not be in the run."""
    run = samehand.open_run(folder)
    # The URL matters: a page's own host name is in its source, and says nothing about who made it.
    like = run.like(Path(page).read_bytes(), url=url)
    # Above the first gap in the curve are pages of the same template, below it is everybody else.
    alike = like.pages[: like.gaps[0].pages] if like.gaps else like.pages
    if not len(alike):
        return [f"No page of {folder} is like {url}."]
    # Links lead on from these to pages that are less like the first one, and still of the same hand.
    reached = run.spread(alike["url"])
    sites = sorted({site for site in reached["site"] if site is not None})
    # A registrar wants evidence. The page that is reached by the weakest link is the hardest to believe.
    hardest = min(reached, key=lambda row: row["weakest"])
    return [
        f"{len(alike)} pages are like {url}; {len(reached)} pages on {len(sites)} sites are of the same hand:",
        *(f"  {site}" for site in sites),
        "The page that is linked most weakly, compared with the most similar one:",
        str(run.explain(alike[0], hardest)),
    ]


if __name__ == "__main__":
    print("\n".join(report(*sys.argv[1:4])))
