"""python -m tools.demo_crawl OUT [--seed N]: writes the demo crawl into OUT; with seed 7 the one that ships."""

import argparse
from pathlib import Path

from tools.demo_crawl import SHIPPED_SEED, write_demo

parser = argparse.ArgumentParser(prog="python -m tools.demo_crawl", description="Writes a demo crawl into OUT.")
parser.add_argument("out", type=Path)
parser.add_argument("--seed", type=int, default=SHIPPED_SEED, help="another seed makes another crawl")
given = parser.parse_args()
files = write_demo(given.out, seed=given.seed)
print(files.crawl, files.nameservers, files.truth, sep="\n")
