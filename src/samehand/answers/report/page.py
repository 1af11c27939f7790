"""The report as one HTML file: what the run holds, drawn and in tables, with the evidence behind the top clusters."""

import base64
import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from samehand import __version__
from samehand.answers.report import charts
from samehand.answers.report.evidence import Pair, pair_of
from samehand.answers.report.figures import Figure, figures
from samehand.answers.run import Run
from samehand.answers.verdicts import Verdict
from samehand.base.errors import SamehandError
from samehand.base.files import write_whole
from samehand.base.neutral import neutral
from samehand.base.wording import count

TOP_CLUSTERS = 10
_PAIRS = 5
_TEMPLATES = Path(__file__).parent / "templates"


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
    """A figure with its chart as SVG."""

    figure: Figure
    svg: str


def write_report(run: Run, out: Path, *, interactive: bool = False) -> int:
    """Writes the report of a run whole or not at all. Returns its size in bytes."""
    made = report_html(run, interactive=interactive).encode()
    with write_whole(out) as handle:
        handle.write(made)
    return len(made)


def report_html(run: Run, *, interactive: bool = False) -> str:
    """The report of a run. With `interactive`, charts can be looked at closely; that needs scripts, 0.9 MB of them."""
    jinja2, vega = _imported("jinja2"), _imported("vl_convert")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["neutral"] = lambda value: neutral(str(value))
    drawn = [Drawn(figure, _svg(vega, figure.spec)) for figure in [*_counts(run), *figures(run)]]
    script = _script(vega, drawn) if interactive else ""
    return str(
        environment.get_template("report.html").render(
            run=run,
            version=__version__,
            inputs=count(len(run.manifest["inputs"]), "input"),
            style=(_TEMPLATES / "report.css").read_text(encoding="utf-8"),
            funnel=_funnel(run),
            drawn=drawn,
            clusters=_clusters(run),
            script=script,
            script_hash=_hash(script),
        )
    )


def _imported(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise SamehandError("A report needs more packages: pip install 'samehand[report]'") from None


def _svg(vega: Any, spec: charts.Spec) -> str:
    """A chart as SVG without a size of its own: it takes that of its figure."""
    svg = str(vega.vegalite_to_svg(json.dumps(spec)))
    head, rest = svg.split(">", 1)
    kept = " ".join(part for part in head.split(" ") if not part.startswith(("width=", "height=")))
    return f'{kept} aria-hidden="true">{rest}'


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _script(vega: Any, drawn: list[Drawn]) -> str:
    """Vega and the specifications as one script. `<` is written as an escape, so that no text can end the script."""
    specs = {item.figure.name: item.figure.spec for item in drawn}
    data = json.dumps(specs).replace("<", "\\u003c")
    draw = (
        f"const specs = {data}; for (const [name, spec] of Object.entries(specs)) "
        "vegaEmbed('#' + name, spec, {ast: true, actions: false, renderer: 'svg'});"
    )
    return str(vega.javascript_bundle(draw))


def _funnel(run: Run) -> list[tuple[str, int]]:
    """How many records became pages, how many pages are in clusters, and what the verdicts say to do."""
    stages = run.manifest["stages"]
    read = stages["read"]
    others = sum(read["skipped"].values()) + sum(read["rejected"].values())
    steps = [("records", read["pages"] + others), ("pages", read["pages"])]
    if "style" in stages:
        steps.append(("pages in clusters", stages["style"]["clustered_pages"]))
    if "verdicts" in run.methods:
        steps += [(f"pages to {action}", number) for action, number in run.counts("verdicts")["page_actions"].items()]
        steps += [(f"sites to {action}", number) for action, number in run.counts("verdicts")["site_actions"].items()]
    return steps


def _counts(run: Run) -> list[Figure]:
    """Records that are no pages, by reason."""
    read = run.manifest["stages"]["read"]
    rows = [
        {"reason": f"{what}: {reason}", "records": number}
        for what in ("skipped", "rejected")
        for reason, number in sorted(read[what].items(), key=lambda item: (-item[1], item[0]))
    ]
    if not rows:
        return []
    spec = charts.bars(rows, label="reason", value="records", title="records")
    rejected, skipped = sum(read["rejected"].values()), sum(read["skipped"].values())
    caption = f"{skipped:,} records are no pages by nature, {rejected:,} could have been pages and were rejected."
    return [Figure("records", "Records that are no pages", caption, spec)]


@dataclasses.dataclass(frozen=True, slots=True)
class ShownCluster:
    """A cluster, its verdict if the run has one, and two of its pages side by side."""

    row: dict[str, Any]
    verdict: Verdict | None
    pair: Pair | None


def _clusters(run: Run) -> list[ShownCluster]:
    """The first clusters, and for the first of these two pages side by side."""
    if "style" not in run.methods:
        return []
    rows = list(run.clusters().head(TOP_CLUSTERS))
    has_verdicts = "verdicts" in run.methods
    return [
        ShownCluster(
            row,
            run.verdict(row["cluster_number"]) if has_verdicts else None,
            pair_of(run, row["cluster_number"]) if place < _PAIRS else None,
        )
        for place, row in enumerate(rows)
    ]
