"""Charts as Vega-Lite specifications: plain dictionaries from plain numbers.

Text and axes take the colour of the page (`currentColor`), so one chart serves light and dark screens and print.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
WIDTH, HEIGHT = 460, 210
INK, MARK, SECOND, CUT = "currentColor", "#4c78a8", "#e1812c", "#c23b3b"
PALETTE = ("#4c78a8", "#e1812c", "#54a24b", "#b279a2", "#9d755d", "#72b7b2", "#c23b3b", "#8a8a8a", "#eeca3b", "#d67195")
_CONFIG: Spec = {
    "background": None,
    "padding": {"left": 24, "right": 16, "top": 5, "bottom": 5},
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "aria": False,
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": "#888",
        "gridOpacity": 0.25,
        "titleFontWeight": "normal",
        "labelLimit": 220,
    },
    "legend": {"aria": False, "labelColor": INK, "titleColor": INK},
    "range": {"category": list(PALETTE)},
    "mark": {"aria": False},
}


def chart(layers: Sequence[Spec], *, height: int = HEIGHT) -> Spec:
    """A specification of one or more layers over each other."""
    return {"$schema": SCHEMA, "width": WIDTH, "height": height, "layer": list(layers), "config": _CONFIG}


def interactive(spec: Spec) -> Spec:
    """The same chart for a browser with scripts: values under the pointer, and where both axes have numbers, zoom."""
    first, *rest = spec["layer"]
    axes = [first["encoding"].get(axis, {}) for axis in ("x", "y")]
    zooms = all(axis.get("type") == "quantitative" for axis in axes)
    zoom = {"params": [{"name": "zoom", "select": "interval", "bind": "scales"}]} if zooms else {}
    config = {**spec["config"], "mark": {**spec["config"]["mark"], "tooltip": {"content": "data"}}}
    return {**spec, "layer": [{**first, **zoom}, *rest], "config": config}


def bars(rows: Rows, *, label: str, value: str, title: str) -> Spec:
    """Horizontal bars, in the order of the rows, with their values behind them."""
    y = {"field": label, "type": "nominal", "sort": None, "title": None}
    x = {"field": value, "type": "quantitative", "title": title}
    shown = {"field": value, "type": "quantitative", "format": ",d"}
    return chart(
        [
            {"data": {"values": list(rows)}, "mark": {"type": "bar", "color": MARK}, "encoding": {"x": x, "y": y}},
            {
                "data": {"values": list(rows)},
                "mark": {"type": "text", "align": "left", "dx": 4, "color": INK},
                "encoding": {"x": x, "y": y, "text": shown},
            },
        ],
        height=max(40, 22 * len(rows)),
    )


def stacked_bars(rows: Rows, *, label: str, value: str, colour: str, title: str) -> Spec:
    """Horizontal bars in coloured parts, in the order of the rows."""
    encoding = {
        "y": {"field": label, "type": "nominal", "sort": None, "title": None},
        "x": {"field": value, "type": "quantitative", "title": title},
        "color": {"field": colour, "type": "nominal", "title": None},
    }
    layer = {"data": {"values": list(rows)}, "mark": {"type": "bar"}, "encoding": encoding}
    return chart([layer], height=max(60, 22 * len({row[label] for row in rows})))


def histogram(rows: Rows, *, cuts: Mapping[str, float], title: str) -> Spec:
    """Counts (`count`) of values between `start` and `end`, with thresholds marked by name."""
    layers: list[Spec] = [
        {
            "data": {"values": list(rows)},
            "mark": {"type": "bar", "color": MARK},
            "encoding": {
                "x": {"field": "start", "bin": "binned", "title": title, "scale": {"domain": [0, 1]}},
                "x2": {"field": "end"},
                "y": {"field": "count", "type": "quantitative", "title": "number"},
            },
        }
    ]
    return chart([*layers, *_cut_marks(cuts)])


def _cut_marks(cuts: Mapping[str, float]) -> list[Spec]:
    rows = [{"x": place, "name": name} for name, place in cuts.items()]
    x = {"field": "x", "type": "quantitative"}
    return [
        {
            "data": {"values": rows},
            "mark": {"type": "rule", "color": CUT, "strokeDash": [4, 3]},
            "encoding": {"x": x},
        },
        {
            "data": {"values": rows},
            "mark": {"type": "text", "align": "left", "dx": 3, "y": 8, "color": INK},
            "encoding": {"x": x, "text": {"field": "name"}},
        },
    ]


def points(rows: Rows, *, x: Spec, y: Spec, colour: str | None = None, diagonal: bool = False) -> Spec:
    """Points at `x` and `y`; `diagonal` adds the line on which both are equal."""
    number = {"type": "quantitative"}
    encoding: Spec = {"x": {"field": "x", **number, **x}, "y": {"field": "y", **number, **y}}
    mark: Spec = {"type": "point", "filled": True, "size": 22, "opacity": 0.55, "color": MARK}
    if colour:
        encoding["color"] = {"field": colour, "type": "nominal", "title": None}
    layers: list[Spec] = [{"data": {"values": list(rows)}, "mark": mark, "encoding": encoding}]
    if diagonal:
        ends = [{"x": 0, "y": 0}, {"x": 1, "y": 1}]
        line = {"x": {"field": "x", **number}, "y": {"field": "y", **number}}
        layers.append({"data": {"values": ends}, "mark": {"type": "line", "color": CUT, "size": 1}, "encoding": line})
    return chart(layers)


def falling_curve(rows: Rows, gaps: Rows) -> Spec:
    """Similarity (`y`) by rank (`x`), with named gaps (the paper's figure 4)."""
    x = {"field": "x", "type": "quantitative", "title": "pages by similarity", "scale": {"type": "log"}}
    y = {"field": "y", "type": "quantitative", "title": "similarity", "scale": {"domain": [0, 1]}}
    return chart(
        [
            {
                "data": {"values": list(rows)},
                "mark": {"type": "line", "color": MARK, "interpolate": "step-after"},
                "encoding": {"x": x, "y": y},
            },
            {
                "data": {"values": list(gaps)},
                "mark": {"type": "rule", "color": CUT},
                "encoding": {"x": x, "y": {"field": "above", "type": "quantitative"}, "y2": {"field": "below"}},
            },
            {
                "data": {"values": list(gaps)},
                "mark": {"type": "text", "align": "left", "dx": 4, "color": INK},
                "encoding": {"x": x, "y": {"field": "above", "type": "quantitative"}, "text": {"field": "name"}},
            },
        ]
    )


def network(nodes: Rows, links: Rows) -> Spec:
    """Nodes at (`x`, `y`) coloured by `group`, links from (`x`, `y`) to (`x2`, `y2`) (the paper's figure 3)."""
    bare = {"type": "quantitative", "axis": None}
    return chart(
        [
            {
                "data": {"values": list(links)},
                "mark": {"type": "rule", "color": INK, "opacity": 0.25},
                "encoding": {
                    "x": {"field": "x", **bare},
                    "y": {"field": "y", **bare},
                    "x2": {"field": "x2"},
                    "y2": {"field": "y2"},
                },
            },
            {
                "data": {"values": list(nodes)},
                "mark": {"type": "point", "filled": True, "size": 40, "opacity": 0.9},
                "encoding": {
                    "x": {"field": "x", **bare},
                    "y": {"field": "y", **bare},
                    "color": {"field": "group", "type": "nominal", "title": "cluster"},
                },
            },
        ],
        height=320,
    )
