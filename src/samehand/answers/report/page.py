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
from samehand.base.errors import InputError, SamehandError
from samehand.base.files import write_whole
from samehand.base.neutral import neutral
from samehand.base.wording import count

TOP_CLUSTERS = 10
TEXT_GROUPS = 5
_SKELETON = 1_200
_TEMPLATES = Path(__file__).parent / "templates"


@dataclasses.dataclass(frozen=True, slots=True)
class Drawn:
    """A figure with its chart as SVG."""

    figure: Figure
    svg: str


def write_report(run: Run, out: Path, *, cluster: int = 1, interactive: bool = False) -> int:
    """Writes the report of a run whole or not at all. Returns its size in bytes."""
    made = report_html(run, cluster=cluster, interactive=interactive).encode()
    with write_whole(out) as handle:
        handle.write(made)
    return len(made)


def report_html(run: Run, *, cluster: int = 1, interactive: bool = False) -> str:
    """The report of a run. The family of `cluster` is drawn, and its medoid is compared with all pages.

    With `interactive`, charts can be looked at closely; that needs scripts, 0.9 MB of them.
    """
    jinja2, vega = _imported("jinja2"), _imported("vl_convert")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["neutral"] = lambda value: neutral(str(value))
    drawn = [Drawn(figure, svg_of(figure.spec)) for figure in [*_counts(run), *figures(run, cluster)]]
    script = _script(vega, drawn) if interactive else ""
    style = (_TEMPLATES / "report.css").read_text(encoding="utf-8")
    return str(
        environment.get_template("report.html").render(
            run=run,
            version=__version__,
            inputs=count(len(run.manifest["inputs"]), "input"),
            style=style,
            style_hash=_hash(style),
            funnel=_funnel(run),
            drawn=drawn,
            clusters=_clusters(run),
            text_groups=_text_groups(run),
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


def svg_of(spec: charts.Spec) -> str:
    """A chart as SVG without a size of its own: it takes that of its figure."""
    svg = str(_imported("vl_convert").vegalite_to_svg(json.dumps(spec)))
    head, rest = svg.split(">", 1)
    kept = " ".join(part for part in head.split(" ") if not part.startswith(("width=", "height=")))
    return f'{kept} aria-hidden="true">{rest}'


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _script(vega: Any, drawn: list[Drawn]) -> str:
    """Vega and the specifications as one script. `<` is written as an escape, so that no text can end the script."""
    specs = {item.figure.name: charts.interactive(item.figure.spec) for item in drawn}
    data = json.dumps(specs).replace("<", "\\u003c")
    draw = (
        f"const specs = {data}; for (const [name, spec] of Object.entries(specs)) "
        "vegaEmbed('#' + name, spec, {ast: true, actions: false, renderer: 'svg', defaultStyle: false, "
        "tooltip: {disableDefaultStyle: true}});"
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
    """The first clusters, each with two of its pages side by side."""
    if "style" not in run.methods:
        return []
    has_verdicts = "verdicts" in run.methods
    numbers = ((row, row["cluster_number"]) for row in run.clusters().head(TOP_CLUSTERS))
    return [
        ShownCluster(row, run.verdict(number) if has_verdicts else None, pair_of(run, number))
        for row, number in numbers
    ]


@dataclasses.dataclass(frozen=True, slots=True)
class ShownGroup:
    """A text group, the phrases that most of its pages hold, and one page with its slots."""

    row: dict[str, Any]
    phrases: tuple[tuple[str, int], ...]
    text: str


def _text_groups(run: Run) -> list[ShownGroup]:
    """The largest text groups. Their skeletons are left out if their pages cannot be read again."""
    if "phrases" not in run.methods:
        return []
    shown = []
    for row in run.phrases().head(TEXT_GROUPS):
        try:
            skeleton = run.skeleton(row["text_group_number"])
        except InputError:
            shown.append(ShownGroup(row, (), ""))
            continue
        text = skeleton.text if len(skeleton.text) <= _SKELETON else f"{skeleton.text[:_SKELETON]} …"
        shown.append(ShownGroup(row, skeleton.phrases, text))
    return shown
