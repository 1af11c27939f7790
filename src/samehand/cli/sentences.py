"""Sentences about a run, a cluster, a likeness, a comparison: what the command line says around its tables."""

import bisect
import os
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from samehand.answers.run import Likeness, Run
from samehand.cli.footer import completeness, count, read_sentence
from samehand.cli.render import layout, neutral
from samehand.engine.tasks import part_name
from samehand.methods.style.noise import Comparison
from samehand.store.folder import RunFolder

_HOSTS_SHOWN = 10
_EXCERPT = 60


def scan_summary(run: Run) -> list[str]:
    """What a scan did, and how sure it can be."""
    manifest = run.manifest
    read, style = manifest["stages"]["read"], manifest["stages"]["style"]
    reasons, unreadable = read["reasons"], manifest["unreadable"]
    skipped = {reason: number for reason, number in reasons.items() if reason.startswith("record_type_")}
    rejected = {reason: number for reason, number in reasons.items() if reason not in skipped}
    failed = len(manifest["failures"])
    return [
        read_sentence(read["pages"], skipped, rejected),
        f"{count(style['clusters'], 'cluster')} of {count(style['clustered_pages'], 'page')}; "
        f"{count(style['families'], 'family')}.",
        f"{count(style['probes'], 'probe')}: a pair at similarity {run.settings.family_threshold:.2f} is missed "
        f"with probability {style['family_miss_probability']:.1g}, at {run.settings.cluster_threshold:.2f} "
        f"with {style['cluster_miss_probability']:.1g}.",
        *completeness(
            str(run.folder.path),
            inputs=len(manifest["inputs"]) + len(unreadable),
            unreadable_inputs=len(unreadable),
            unread_parts=failed,
            damaged_records=read["damaged"] - len(unreadable) - failed,
            leader_cap_hits=style["leader_cap_hits"],
        ),
    ]


def growth_line(growth: dict[str, int]) -> str:
    """What the last addition did to the clusters."""
    return (
        f"{count(growth['grew'], 'cluster')} grew, {growth['merged']:,} merged from several, {growth['new']:,} are "
        f"new, {growth['parted']:,} parted."
    )


def cluster_summary(run: Run, cluster_id: int, members: pa.Table, *, is_stored: bool) -> list[str]:
    """Size, hosts and weakest link of one cluster; its class if it is one of the stored ones, which alone have any."""
    hosts = Counter(host or "(no host)" for host in members.column("host").to_pylist())
    domains = {domain for domain in members.column("domain").to_pylist() if domain}
    mean = float(np.mean(members.column("similarity").to_numpy()))
    most = ", ".join(f"{host} {count}" for host, count in hosts.most_common(_HOSTS_SHOWN))
    more = f" and {len(hosts) - _HOSTS_SHOWN} more" if len(hosts) > _HOSTS_SHOWN else ""
    lines = [
        f"cluster {cluster_id}: {members.num_rows} pages, {len(hosts)} hosts, {len(domains)} domains, "
        f"mean similarity {mean:.2f}",
        f"hosts: {most}{more}",
    ]
    if is_stored:
        lines += _class_line(run, cluster_id)
    link = run.weakest_link(members.column("page_id").to_numpy())
    if link is not None:
        lines.append(f"weakest link {link.similarity:.2f}: {link.left_url} - {link.right_url}")
    return lines


def _class_line(run: Run, cluster_id: int) -> list[str]:
    """The class of a cluster and the figures that led there, once replicas were computed."""
    clusters = run.clusters()
    if "class" not in clusters.column_names:
        return []
    found = clusters.filter(pc.equal(clusters.column("cluster_id"), cluster_id)).to_pylist()
    return [
        f"class {row['class']}: {row['same_text']:.0%} of the pages have their text on another host too, "
        f"{row['same_path']:.0%} of those under the same path; "
        f"{row['inner_links']:.0%} of the hosts a page links to are in the cluster"
        for row in found
    ]


def likeness_summary(found: Likeness, examples: int, width: int | None) -> list[str]:
    """The curve in steps: what lies above each gap, with a few pages of each step."""
    lines = [f"{found.pages.num_rows} of {found.compared} pages share something with it."]
    start = 0
    for gap in found.gaps:
        lines += _step(found, start, gap.pages, examples, width)
        inside = f", {count(gap.inside, 'page')} inside" if gap.inside else ""
        lines.append(f"-- {gap.name}: {gap.above:.2f} to {gap.below:.2f} after {count(gap.pages, 'page')}{inside}")
        start = gap.pages
    return lines + _step(found, start, found.pages.num_rows, examples, width)


def _step(found: Likeness, start: int, end: int, examples: int, width: int | None) -> list[str]:
    if end <= start:
        return []
    step = found.pages.slice(start, end - start)
    domains = len(set(step.column("domain").to_pylist()))
    shown = step.slice(0, examples) if examples else step
    similarities = step.column("similarity").to_numpy()
    table = layout(
        ["similarity", "url"],
        zip(shown.column("similarity").to_pylist(), shown.column("url").to_pylist(), strict=True),
        width=width and width - 3,
    )
    heading = (
        f"{count(step.num_rows, 'page')} on {count(domains, 'domain')}, "
        f"similarity {similarities[0]:.2f} to {similarities[-1]:.2f}"
    )
    return [heading, *(f"   {line}" for line in table.splitlines()[1:])]


def comparison_row(found: Comparison, left: str, right: str) -> dict[str, Any]:
    """A comparison as one object."""
    return {
        "left": left,
        "right": right,
        "jaccard": found.jaccard,
        "dice": found.dice,
        "estimate": found.estimate,
        "left_parts": found.left_parts,
        "right_parts": found.right_parts,
        "shared_parts": found.shared_parts,
        "same_noise": found.same_noise,
        "runs": [{"left": run.left, "right": run.right, "parts": run.parts} for run in found.runs],
    }


def comparison_lines(found: Comparison, left: bytes, right: bytes, *, top: int, width: int | None) -> list[str]:
    """A comparison for people: the figures, then the longest shared stretches with their places in both sources."""
    lines = [
        f"Jaccard   {found.jaccard:.4f}   ({found.shared_parts} of "
        f"{found.left_parts + found.right_parts - found.shared_parts} parts)",
        f"Dice      {found.dice:.4f}",
        f"estimate  {found.estimate:.4f}   (from the fingerprints)",
    ]
    if found.same_noise:
        lines.append("The noise of both is the same.")
    shown = found.runs[:top] if top else found.runs
    if shown:
        places = [_Places(left), _Places(right)]
        rows = [
            [run.parts, places[0].at(*run.left), places[1].at(*run.right), _excerpt(left[slice(*run.left)])]
            for run in shown
        ]
        lines += ["", *layout(["parts", "in A", "in B", "source of A"], rows, width=width).splitlines()]
    if len(shown) < len(found.runs):
        lines.append(f"{len(shown)} of {len(found.runs)} shared stretches; --top 0 shows all.")
    return lines


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


def domains_of(found: pa.Table) -> pa.Table:
    """Pages reached by a spread, summed up by domain."""
    rows: dict[str, dict[str, Any]] = {}
    for row in found.to_pylist():
        domain = row["domain"] or "(none)"
        entry = rows.setdefault(domain, {"domain": domain, "pages": 0, "seeds": 0, "strongest": 0.0})
        entry["pages"] += 1
        entry["seeds"] += row["is_seed"]
        entry["strongest"] = max(entry["strongest"], row["weakest"])
    ordered = sorted(rows.values(), key=lambda entry: (-entry["pages"], entry["domain"]))
    return pa.Table.from_pylist(ordered)


def run_status(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What is done and what was rejected, for a finished run or one that was stopped half-way."""
    folder = RunFolder.open(path)
    manifest = folder.manifest()
    markers = [marker for number in range(manifest["units"]) if (marker := folder.marker(part_name(number)))]
    reasons = Counter(reject["reason"] for reject in manifest["unreadable"])
    for marker in markers:
        reasons.update(marker["reasons"])
    pages = sum(marker["pages"] for marker in markers)
    return {
        "run": str(path),
        "state": manifest["state"],
        "inputs": len(manifest["inputs"]) + len(manifest["unreadable"]),
        "units": manifest["units"],
        "units_done": len(markers),
        "records": pages + reasons.total(),
        "pages": pages,
        "rejects": reasons.total(),
        "reasons": dict(reasons.most_common()),
        "damaged": sum(marker["damaged"] for marker in markers) + len(manifest["unreadable"]),
        "failures": manifest.get("failures", []),
        "unreadable": [f"{reject['source_path']}: {reject['reason']}" for reject in manifest["unreadable"]],
        "content_bytes": sum(marker["content_bytes"] for marker in markers),
        "style": manifest["stages"].get("style", {}),
        "growth": manifest.get("growth", {}),
        "replica": (folder.marker("replica") or {}).get("facts", {}),
    }


def status_lines(facts: dict[str, Any]) -> list[str]:
    """A run's status for people."""
    lines = [
        f"{facts['run']}: {facts['state']}, {facts['units_done']} of {facts['units']} units of work read",
        f"{facts['records']:,} records read = {facts['pages']:,} pages + {facts['rejects']:,} rejects, "
        f"{facts['content_bytes'] / 1e6:,.1f} MB of HTML",
    ]
    lines += [f"  {count:>10,}  {reason}" for reason, count in facts["reasons"].items()]
    lines += [f"unreadable input: {line}" for line in facts["unreadable"]]
    lines += [f"failed: {failure['input']} at {failure['start']}: {failure['reason']}" for failure in facts["failures"]]
    style = facts["style"]
    if style:
        lines.append(
            f"{count(style['clusters'], 'cluster')} of {count(style['clustered_pages'], 'page')}; "
            f"{count(style['checks'], 'check')} in {count(style['buckets'], 'bucket')} of {style['probes']} probes; "
            f"{count(style['too_small'], 'page')} too small to compare, {style['equal']:,} equal to another; "
            f"{count(style['leader_cap_hits'], 'leader cap hit')}"
        )
    replica = facts["replica"]
    if replica:
        statuses = ", ".join(f"{count:,} {status}" for status, count in replica["statuses"].items())
        lines.append(
            f"{count(replica['groups'], 'group')} of {count(replica['grouped_documents'], 'near replica')}; "
            f"{statuses}; "
            f"{count(replica['markup_capped'], 'page')} at a limit of their markup; "
            f"{count(replica['leader_cap_hits'], 'leader cap hit')}"
        )
    if facts["growth"]:
        lines.append(f"since pages were added: {growth_line(facts['growth'])}")
    if facts["state"] != "done":
        lines.append("Not finished: run the same scan again to go on.")
    return lines
