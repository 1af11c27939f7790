"""Draws the figures of the papers from real pages, with the charts of the report: `make evaluate`, or
python -m evaluation.figures --data FOLDER [--out docs/figures].

Figures 1, 3 and 4 of the paper on hidden style similarity, from the pages of 41 Debian documentation packages: the
estimate against the exact similarity, the graph of a family, and one page against all.
"""

import argparse
import tempfile
from pathlib import Path

from evaluation.corpora import debian_pages
from evaluation.style import Corpus
from samehand import Settings
from samehand.answers.report.figures import estimate_against_exact, family_graph, one_against_all
from samehand.answers.report.page import svg_of

INK = "#767676"
"""A picture in a document does not know the colour of the page around it: this one can be read on white and black."""


def main() -> None:
    """Writes one SVG file per figure, and prints what it shows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run = Corpus(debian_pages(chosen.data), Path(folder) / "pages").scan(Path(folder) / "run", Settings())
        drawn = {1: estimate_against_exact(run), 3: family_graph(run, 1), 4: one_against_all(run, 1)}
        for number, figures in drawn.items():
            for figure in figures:
                path = chosen.out / f"style-figure-{number}.svg"
                svg = svg_of(figure.spec).replace("currentColor", INK).replace(' aria-hidden="true"', "", 1)
                path.write_text(svg, encoding="utf-8")
                print(f"{path}: {figure.title}. {figure.caption}")


if __name__ == "__main__":
    main()
