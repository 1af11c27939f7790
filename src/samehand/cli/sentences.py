"""Sentences about a run, a cluster, a likeness, a comparison: what the command line says around its tables."""

import bisect
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import samehand
from samehand.answers.likeness import Likeness
from samehand.answers.result import Result
from samehand.base.neutral import neutral
from samehand.base.page import PLAIN_TEXT
from samehand.base.wording import count
from samehand.cli.footer import completeness, read_sentence
from samehand.cli.render import layout
from samehand.methods.registry import methods
from samehand.methods.style.links import weakest_edge
from samehand.store.folder import RunFolder
from samehand.store.manifest import DONE
from samehand.store.tables import PAGES

if TYPE_CHECKING:
    from samehand.methods.style.compare import Comparison
    from samehand.methods.style.skeleton import MarkupComparison, SharedMarkup

_HOSTS_SHOWN = 10
_EXCERPT = 60


def scan_summary(run: "samehand.Run") -> list[str]:
    """What a scan did, and whether its result is complete."""
    manifest = run.manifest
    read, unreadable, failed = manifest["stages"]["read"], manifest["unreadable"], len(manifest["failures"])
    lines = [read_sentence(read["pages"], read["skipped"], read["rejected"])]
    lines += _url_lines(read["pages"], read["without_url"], manifest["inputs"]) + _text_lines(run)
    for name in run.methods:
        said = methods()[name].status(run.counts(name))
        lines += [f"{line}." for line in (said if name == "verdicts" else said[:1])]
    caps = sum(run.counts(name).get("leader_cap_hits", 0) for name in run.methods)
    return lines + completeness(
        str(run.path),
        inputs=len(manifest["inputs"]) + len(unreadable),
        unreadable_inputs=len(unreadable),
        unread_parts=failed,
        damaged_records=read["damaged"] - len(unreadable) - failed,
        leader_cap_hits=caps,
    )


def _url_lines(pages: int, without: int, inputs: list[dict[str, Any]]) -> list[str]:
    """What is missing where pages have no URL, and where it may be."""
    if not without:
        return []
    in_tables = {"jsonl", "parquet", "csv"} & {source["kind"] for source in inputs}
    hint = " Name their column with --url-column." if in_tables else ""
    if without < pages:
        return [f"{count(without, 'page')} of {pages:,} have no URL: no host or site is known.{hint}"]
    return [f"WARNING: no page has a URL, so no host and no site is known, and no list of them can be made.{hint}"]


def _text_lines(run: "samehand.Run") -> list[str]:
    """Which methods have nothing to say of plain text."""
    silent = [name for name in ("style", "sites") if name in run.methods]
    if not silent:
        return []
    batches = run.folder.iterate(PAGES, ["content_mime_detected"])
    texts = sum(batch.column("content_mime_detected").to_pylist().count(PLAIN_TEXT) for batch in batches)
    of = f"{texts:,} of {count(run.manifest['stages']['read']['pages'], 'page')}"
    return [f"{of} are plain text, which has no markup for {' and '.join(silent)} to judge."] if texts else []


def growth_line(growth: dict[str, int]) -> str:
    """What the last addition did to the clusters."""
    return (
        f"{count(growth['grew'], 'cluster')} grew, {growth['merged']:,} merged from several, {growth['new']:,} are "
        f"new, {growth['split']:,} split."
    )


def cluster_summary(run: "samehand.Run", number: int, members: Result, *, is_stored: bool) -> list[str]:
    """Size, hosts and weakest link of one cluster; its class if it is one of the stored ones, which alone have any."""
    hosts = Counter(host or "(no host)" for host in members["host"])
    sites = {site for site in members["site"] if site}
    mean = float(np.mean(members["similarity"]))
    most = ", ".join(f"{host} {pages}" for host, pages in hosts.most_common(_HOSTS_SHOWN))
    more = f" and {len(hosts) - _HOSTS_SHOWN} more" if len(hosts) > _HOSTS_SHOWN else ""
    lines = [
        f"cluster {number}: {count(len(members), 'page')}, {count(len(hosts), 'host')}, {count(len(sites), 'site')}, "
        f"mean similarity {mean:.2f}",
        f"hosts: {most}{more}",
    ]
    if is_stored:
        lines += _class_line(run, number)
    link = weakest_edge(run.folder, np.array(members["page_id"]))
    if link is not None:
        similarity, *ends = link
        urls = dict(zip(members["page_id"], members["url"], strict=True))
        lines += [
            f"weakest link {similarity:.2f}: {' - '.join(urls[page] for page in ends)}",
            f"  what they share: samehand compare {ends[0]} {ends[1]} --run {run.path}",
        ]
    return lines


def _class_line(run: "samehand.Run", number: int) -> list[str]:
    """The class of a cluster and the figures that led there, once replicas were computed."""
    if "classes" not in run.methods:
        return []
    (row,) = run.clusters().filter(cluster_number=number)
    return [
        f"class {row['class']}: {row['same_text']:.0%} of the pages have their text on another host of it too, "
        f"{row['same_path']:.0%} of those under the same path; "
        f"{row['inner_links']:.0%} of the hosts that a page links to are in the cluster"
    ]


def likeness_summary(found: Likeness, examples: int, width: int | None) -> list[str]:
    """The curve in steps: what lies above each gap, with a few pages of each step."""
    lines = [f"{len(found.pages)} of {found.compared} pages share something with it."]
    start = 0
    for gap in found.gaps:
        lines += _step(found, start, gap.pages, examples, width)
        inside = f", {count(gap.inside, 'page')} inside" if gap.inside else ""
        lines.append(f"-- {gap.name}: {gap.above:.2f} to {gap.below:.2f} after {count(gap.pages, 'page')}{inside}")
        start = gap.pages
    return lines + _step(found, start, len(found.pages), examples, width)


def _step(found: Likeness, start: int, end: int, examples: int, width: int | None) -> list[str]:
    if end <= start:
        return []
    step = found.pages.table.slice(start, end - start)
    sites = len(set(step.column("site").to_pylist()))
    shown = step.slice(0, examples) if examples else step
    similarities = step.column("similarity").to_numpy()
    table = layout(
        ["similarity", "url"],
        zip(shown.column("similarity").to_pylist(), shown.column("url").to_pylist(), strict=True),
        width=width and width - 3,
    )
    heading = (
        f"{count(step.num_rows, 'page')} on {count(sites, 'site')}, "
        f"similarity {similarities[0]:.2f} to {similarities[-1]:.2f}"
    )
    return [heading, *(f"   {line}" for line in table.splitlines()[1:])]


def comparison_row(found: "Comparison", left: str, right: str) -> dict[str, Any]:
    """A comparison as one object."""
    return {
        "left": left,
        "right": right,
        "jaccard": found.jaccard,
        "dice": found.dice,
        "estimate": found.estimate,
        "left_shingles": found.left_shingles,
        "right_shingles": found.right_shingles,
        "shared_shingles": found.shared_shingles,
        "same_noise": found.same_noise,
        "markup_jaccard": found.markup.jaccard if found.markup else None,
        "markup_runs": [{"markup": run.markup, "shingles": run.shingles} for run in _markup_runs(found)],
        "runs": [{"left": run.left, "right": run.right, "shingles": run.shingles} for run in found.runs],
    }


def comparison_lines(found: "Comparison", left: bytes, right: bytes, *, top: int, width: int | None) -> list[str]:
    """A comparison for people: the figures, then the longest shared stretches with their places in both sources."""
    lines = [
        f"Jaccard   {found.jaccard:.4f}   ({found.shared_shingles} of "
        f"{found.left_shingles + found.right_shingles - found.shared_shingles} shingles)",
        f"Dice      {found.dice:.4f}",
        *([_markup_line(found.markup)] if found.markup else []),
        f"estimate  {found.estimate:.4f}   (from the fingerprints{' of both' if found.markup else ''})",
    ]
    if found.same_noise:
        lines.append("The noise of both is the same.")
    shown = found.runs[:top] if top else found.runs
    if shown:
        places = [_Places(left), _Places(right)]
        rows = [
            [run.shingles, places[0].at(*run.left), places[1].at(*run.right), _excerpt(left[slice(*run.left)])]
            for run in shown
        ]
        lines += ["", *layout(["shingles", "in A", "in B", "source of A"], rows, width=width).splitlines()]
    if len(shown) < len(found.runs):
        lines.append(f"{len(shown)} of {len(found.runs)} shared stretches; --top 0 shows all.")
    return lines + _skeleton_lines(_markup_runs(found), top=top, width=width)


def _markup_line(markup: "MarkupComparison") -> str:
    either = markup.left_shingles + markup.right_shingles - markup.shared_shingles
    return f"markup    {markup.jaccard:.4f}   ({markup.shared_shingles} of {either} shingles of the canonical markup)"


def _markup_runs(found: "Comparison") -> "tuple[SharedMarkup, ...]":
    return found.markup.runs if found.markup else ()


def _skeleton_lines(runs: "tuple[SharedMarkup, ...]", *, top: int, width: int | None) -> list[str]:
    """The longest stretches of the skeleton that both pages have."""
    shown = [run for run in (runs[:top] if top else runs) if run.markup]
    if not shown:
        return []
    rows = [[run.shingles, _excerpt(run.markup.encode())] for run in shown]
    return ["", *layout(["shingles", "skeleton of both"], rows, width=width).splitlines()]


class _Places:
    """Turns byte offsets of a source into line:column."""

    def __init__(self, content: bytes) -> None:
        self._line_starts = [0, *(i + 1 for i, byte in enumerate(content) if byte == 10)]

    def at(self, start: int, end: int) -> str:
        return f"{self._place(start)}-{self._place(end - 1)}"

    def _place(self, offset: int) -> str:
        line = bisect.bisect_right(self._line_starts, offset)
        return f"{line}:{offset - self._line_starts[line - 1] + 1}"


def _excerpt(content: bytes) -> str:
    text = " ".join(content[: 4 * _EXCERPT].decode("utf-8", errors="replace").split())
    return neutral(text[:_EXCERPT]) + ("…" if len(text) > _EXCERPT else "")


def sites_of(found: Result) -> pa.Table:
    """Pages reached by a spread, summed up by site."""
    rows: dict[str, dict[str, Any]] = {}
    for row in found:
        site = row["site"] or "(none)"
        entry = rows.setdefault(site, {"site": site, "pages": 0, "seeds": 0, "strongest": 0.0})
        entry["pages"] += 1
        entry["seeds"] += row["is_seed"]
        entry["strongest"] = max(entry["strongest"], row["weakest"])
    ordered = sorted(rows.values(), key=lambda entry: (-entry["pages"], entry["site"]))
    return pa.Table.from_pylist(ordered)


def run_status(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is done and what was skipped and rejected, for a finished run or one that was stopped half-way."""
    folder = RunFolder.open(path)
    manifest = folder.manifest()
    records = folder.done.parts(PAGES.name)
    rejected = Counter(reject["reason"] for reject in manifest["unreadable"])
    skipped: Counter[str] = Counter()
    for record in records.values():
        rejected.update(record["rejected"])
        skipped.update(record["skipped"])
    pages = len(folder.page_ids)
    return {
        "run": str(path),
        "state": manifest["state"],
        "inputs": len(manifest["inputs"]) + len(manifest["unreadable"]),
        "units": manifest["units"],
        "units_done": len(records),
        "records": pages + rejected.total() + skipped.total(),
        "pages": pages,
        "skipped": dict(skipped.most_common()),
        "rejected": dict(rejected.most_common()),
        "damaged": sum(record["damaged"] for record in records.values()) + len(manifest["unreadable"]),
        "failures": manifest["failures"],
        "unreadable": [f"{reject['source_path']}: {reject['reason']}" for reject in manifest["unreadable"]],
        "content_bytes": sum(record["content_bytes"] for record in records.values()),
        "growth": manifest.get("growth", {}),
        "methods": {name: _method_status(folder, name, manifest["stages"]) for name in manifest["methods"]},
        "classes": methods()["classes"].checked(manifest["stages"].get("classes", {})),
    }


def _method_status(folder: RunFolder, name: str, stages: dict[str, Any]) -> dict[str, Any]:
    """How far a method is: how many units have their rows, and what it reported if it is complete."""
    counts = methods()[name].checked(stages[name]) if name in stages else None
    return {"units_done": len(folder.done.parts(name)), "counts": counts}


def status_lines(found: dict[str, Any]) -> list[str]:
    """A run's status for people."""
    lines = [
        f"{found['run']}: {found['state']}, {found['units_done']} of {found['units']} units of work read",
        read_sentence(found["pages"], found["skipped"], found["rejected"]),
        f"{count(found['records'], 'record')} in {count(found['inputs'], 'input')}, "
        f"{found['content_bytes'] / 1e6:,.1f} MB of HTML",
    ]
    lines += [f"  {number:>10,}  skipped: {reason}" for reason, number in found["skipped"].items()]
    lines += [f"  {number:>10,}  rejected: {reason}" for reason, number in found["rejected"].items()]
    lines += [f"unreadable input: {line}" for line in found["unreadable"]]
    lines += [f"failed: {failure['input']} at {failure['start']}: {failure['reason']}" for failure in found["failures"]]
    for name, state in found["methods"].items():
        if state["counts"] is None:
            lines.append(f"{name}: not complete, {state['units_done']} of {found['units']} units of work done")
        else:
            lines += [f"{name}: {line}" for line in methods()[name].status(state["counts"])]
    if found["classes"]:
        lines += methods()["classes"].status(found["classes"])
    if found["growth"]:
        lines.append(f"since pages were added: {growth_line(found['growth'])}")
    if found["state"] != DONE:
        lines.append("Not finished: run the same scan or add again to go on.")
    return lines
