"""A small crawl with known truth, made from scratch: for trying the tool out and for testing it.

The same seed always gives the same bytes.
"""

from dataclasses import dataclass
from pathlib import Path

from samehand.demo.crawl import write_crawl, write_nameservers, write_truth
from samehand.demo.world import build_world

__all__ = ["DemoFiles", "write_demo"]


@dataclass(frozen=True)
class DemoFiles:
    """Where the parts of a demo crawl are."""

    crawl: Path
    nameservers: Path
    truth: Path


def write_demo(folder: Path | str, *, seed: int = 7) -> DemoFiles:
    """Writes crawl, name servers and truth into `folder`, which is created when missing."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = DemoFiles(folder / "crawl.warc.gz", folder / "nameservers.csv", folder / "truth.csv")
    world = build_world(seed)
    write_crawl(world, files.crawl, seed=seed)
    write_nameservers(world.nameservers, files.nameservers)
    write_truth(world.pages, files.truth)
    return files
