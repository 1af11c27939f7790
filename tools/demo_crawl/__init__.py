"""Makes a small crawl with known truth: the demo that ships as data, and others like it for the tests.

The same seed always gives the same pages. Packed bytes depend on the version of zlib.
"""

from pathlib import Path

from samehand.cli.demo import DemoFiles
from tools.demo_crawl.crawl import write_crawl, write_nameservers, write_truth
from tools.demo_crawl.world import build_world

__all__ = ["SHIPPED_SEED", "write_demo"]

SHIPPED_SEED = 7


def write_demo(folder: Path | str, *, seed: int = SHIPPED_SEED) -> DemoFiles:
    """Writes crawl, name servers and truth into `folder`, which is created when missing."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    files = DemoFiles.inside(folder)
    world = build_world(seed)
    write_crawl(world, files.crawl, seed=seed)
    write_nameservers(world.nameservers, files.nameservers)
    write_truth(world.pages, files.truth)
    return files
