"""python -m tools.demo_crawl OUT [--seed N]: writes a demo crawl into OUT.

The crawl that ships has seed 7. After a change copy crawl.warc.gz, nameservers.csv and truth.csv to src/samehand/data
as demo.warc.gz, demo-nameservers.csv and demo-truth.csv.
"""

import argparse
from pathlib import Path

from tools.demo_crawl import SHIPPED_SEED, write_demo

parser = argparse.ArgumentParser(prog="python -m tools.demo_crawl", description="Writes a demo crawl into OUT.")
parser.add_argument("out", type=Path)
parser.add_argument("--seed", type=int, default=SHIPPED_SEED, help="another seed makes another crawl")
given = parser.parse_args()
files = write_demo(given.out, seed=given.seed)
print(files.crawl, files.nameservers, files.truth, sep="\n")
