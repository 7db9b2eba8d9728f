# SPDX-License-Identifier: BSD-3-Clause
"""Panels as Plotly's traces, shapes and annotations, for figures that show their values under the pointer.

The functions return plain data, which the report's page passes to Plotly. Plotly treats text as HTML, so that every
text passes through plain(). The sizes of shapes are in units of the data; the places of annotations on a logarithmic
axis are logarithms.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data.chart import Axis, Band, Bars, Dots, Group, Line, Lines, Map, Panel, Parts
from ..data.values import Value
from . import palette
from .maps import shown_ratio
from .panels import Colours, clusters, colour_of, published_marks

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "none": "solid"}
MARK: dict[str, Any] = {
    "symbol": "line-ew-open",
    "size": 16,
    "line": {"width": 2.5, "color": palette.RULE},
    "color": palette.RULE,
}
TICKS_MAX = 9  # of a logarithmic axis to the base 2
Data = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """The parts of one panel. `x` and `y` are the attributes of the axes that its traces refer to."""

    traces: list[Data]
    x: Data
    y: Data
    shapes: list[Data] = field(default_factory=list)
    annotations: list[Data] = field(default_factory=list)
    colours: Data | None = None  # the scale of a map's colours


def plain(text: str) -> str:
    """Escape text for Plotly, which would read it as HTML; a line break becomes the element for one."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("\n", "<br>")


def drawn(panel: Panel, colours: Colours) -> Drawn:
    """Return the parts of the panel."""
    match panel:
        case Lines():
            return _lines(panel, colours)
        case Bars():
            return _bars(panel, colours)
        case Dots():
            return _dots(panel, colours)
        case Parts():
            return _parts(panel, colours)
        case Map():
            return _map(panel)


def series(label: str, shown: str, **more: Any) -> Data:
    """Return the settings that the traces of one series share: name, entry in the legend, mark of the group there."""
    return {"name": plain(shown), "legendgroup": plain(label), "showlegend": bool(label), "hoverinfo": "text", **more}


def hover(*lines: str) -> str:
    return "<br>".join(plain(line) for line in lines if line)


def said(value: Value, unit: str) -> tuple[str, str]:
    """State a value with its unit, and its range over runs, if it has one."""
    spread = f"range over seeds: {value.ends[0]:.4g} to {value.ends[1]:.4g}" if value.has_spread else ""
    return f"{value.value:.4g} {unit}".rstrip(), spread


def spread(places: Sequence[float], values: Sequence[Value], label: str, colour: str) -> list[Data]:
    """Return a trace of error bars at the values that have a spread; none if no value has one.

    The bars are a separate trace, because Plotly draws the ends of a bar of length 0.
    """
    known = [(place, value) for place, value in zip(places, values, strict=True) if value.has_spread]
    if not known:
        return []
    up, down = ([abs(value.ends[end] - value.value) for _, value in known] for end in (1, 0))
    look = {"color": colour, "thickness": 1.3, "width": 4}
    ends = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, **look}
    trace: Data = {"type": "scatter", "mode": "markers", "marker": {"size": 1, "color": colour}, "error_y": ends}
    trace |= {"x": [place for place, _ in known], "y": [value.value for _, value in known], "hoverinfo": "skip"}
    return [trace | {"legendgroup": plain(label), "showlegend": False}]


def turned(trace: Data) -> Data:
    """Exchange the axes of error bars."""
    return {{"x": "y", "y": "x", "error_y": "error_x"}.get(key, key): value for key, value in trace.items()}


# ---- Lines ----


def _lines(panel: Lines, colours: Colours) -> Drawn:
    traces = [trace for line in panel.lines for trace in _line(line, panel, colours[line.coloured_as])]
    shapes = [_band(band, panel.y) for band in sorted(panel.bands, key=lambda band: -(band.nearness or 0))]
    shapes += [_rule("x", _place(panel.x, place)) for place in panel.rules]
    xs = [x for line in panel.lines for x, _ in line.points]
    ys = [end for line in panel.lines for _, value in line.points for end in value.ends]
    return Drawn(traces, axis(panel.x, xs), axis(panel.y, ys), shapes)


def _line(line: Line, panel: Lines, colour: str) -> list[Data]:
    label = f"{line.label}, published" if line.published else line.label
    values = [value for _, value in line.points]
    texts = [
        hover(label, f"{panel.x.label}: {panel.x.names.get(x, f'{x:.6g}')}", *_said_on(panel.y, value))
        for x, value in line.points
    ]
    mode = "lines" if line.stepped else "markers" if line.style == "none" else "lines+markers"
    look = {"color": colour, "dash": "dot" if line.published else DASHES[line.style], "width": 2}
    trace = series(
        label, label, type="scatter", mode=mode, hovertext=texts, x=[_place(panel.x, x) for x, _ in line.points]
    )
    trace |= {"y": [_place(panel.y, value.value) for value in values]}
    trace |= {"line": look | ({"shape": "hv"} if line.stepped else {})}
    trace |= {"marker": {"color": colour, "symbol": "x-thin-open" if line.published else "circle", "size": 7}}
    if line.published:
        trace["marker"] |= {"line": {"width": 2, "color": colour}}
    return [trace, *spread(trace["x"], values, label, colour)]


def _said_on(of: Axis, value: Value) -> tuple[str, str]:
    """State a value on an axis, unless its place only separates marks from each other."""
    return ("", "") if of.names else said(value, of.label)


def _band(band: Band, y: Axis) -> Data:
    low, high = (band.low, band.high) if band.across else (_place(y, band.low), _place(y, band.high))
    near = band.nearness is not None
    colour = palette.NEARNESS[band.nearness or 0] if near else palette.BAND
    look = {"type": "rect", "layer": "below", "line": {"width": 0}, "fillcolor": colour, "opacity": 1 if near else 0.5}
    named = {"showlegend": True, "name": plain(band.label), "legendgroup": plain(band.label)} if band.label else {}
    along, over = ("x", "y") if band.across else ("y", "x")
    return look | named | {f"{along}0": low, f"{along}1": high, f"{over}0": 0, f"{over}1": 1, "domain": over}


def _rule(along: str, place: float) -> Data:
    """Return a line across the panel at a place of the axis `along`."""
    over = "y" if along == "x" else "x"
    ends = {f"{along}0": place, f"{along}1": place, f"{over}0": 0, f"{over}1": 1, "domain": over}
    return {"type": "line", "layer": "below", "line": {"width": 1, "color": palette.RULE}, **ends}


# ---- Clusters ----


def _bars(panel: Bars, colours: Colours) -> Drawn:
    traces = list[Data]()
    for group, places, width in clusters(panel.categories, panel.groups):
        values = list(group.values.values())
        trace = _group(group, places, panel.y_label, type="bar", width=[0.94 * width] * len(places))
        trace["marker"] = {"color": colour_of(group, colours)}
        if panel.values_as:
            trace |= {"text": [format(v.value, panel.values_as) for v in values], "textposition": "outside"}
        traces += [trace, *spread(places, values, group.label, palette.RULE)]
    shapes = [_band(band, Axis()) for band in panel.bands] + [_rule("y", 0)]
    y = {"title": plain(panel.y_label), "rangemode": "tozero"}
    return Drawn(traces + _published(panel), _categories(panel), y, shapes)


def _dots(panel: Dots, colours: Colours) -> Drawn:
    traces = list[Data]()
    for group, places, _ in clusters(panel.categories, panel.groups):
        colour, values = colour_of(group, colours), list(group.values.values())
        mode = "markers+text" if panel.values_as else "markers"
        trace = _group(group, places, panel.y_label, type="scatter", mode=mode)
        trace["marker"] = {"color": colour, "size": 8}
        if panel.values_as:
            trace |= {"text": [format(v.value, panel.values_as) for v in values], "textposition": "top center"}
        traces += [trace, *spread(places, values, group.label, colour)]
    shapes = [] if panel.base is None else [_rule("y", panel.base)]
    return Drawn(traces + _published(panel), _categories(panel), {"title": plain(panel.y_label), "type": "log"}, shapes)


def _group(group: Group, places: Sequence[float], unit: str, **more: Any) -> Data:
    texts = [hover(group.label, name, *said(value, unit)) for name, value in group.values.items()]
    values = [value.value for value in group.values.values()]
    return series(group.label if values else "", group.label, x=list(places), y=values, hovertext=texts, **more)


def _published(panel: Bars | Dots) -> list[Data]:
    """Return a trace with a mark at each published value; none if nothing was published."""
    marks = published_marks(panel.categories, panel.groups)
    if not marks:
        return []
    texts = [hover("published", *filter(None, (m.label, m.category)), f"{m.y:.4g} {panel.y_label}") for m in marks]
    trace = series("published", "published", type="scatter", mode="markers", marker=MARK, hovertext=texts)
    return [trace | {"x": [mark.x for mark in marks], "y": [mark.y for mark in marks]}]


def _categories(panel: Bars | Dots) -> Data:
    names: dict[float, str] = {float(place): name for place, name in enumerate(panel.categories)}
    return axis(Axis("\n".join(filter(None, (panel.x_label, *panel.notes))), names=names), ()) | {
        "range": [-0.5, len(names) - 0.5],
        "showgrid": False,
    }


# ---- Parts ----


def _parts(panel: Parts, colours: Colours) -> Drawn:
    traces, begins = list[Data](), dict.fromkeys(panel.categories, 0.0)
    farthest = dict(begins)
    published = [name in panel.published for name in panel.categories]
    for part in panel.parts:
        values = [part.values.get(name, Value(0.0)) for name in panel.categories]
        texts = [hover(name, part.label, *said(v, panel.x.label)) for name, v in zip(begins, values, strict=True)]
        trace = series(part.label, part.label, type="bar", orientation="h", hovertext=texts)
        trace |= {"x": [v.value for v in values], "y": list(range(len(values))), "base": list(begins.values())}
        trace["marker"] = {"color": colour_of(part, colours)}
        if any(published):
            trace["marker"]["pattern"] = {"shape": ["/" if told else "" for told in published], "fillmode": "overlay"}
        ends = [_moved(value, begin) for value, begin in zip(values, begins.values(), strict=True)]
        traces += [trace, *map(turned, spread(range(len(ends)), ends, part.label, palette.RULE))]
        farthest = {name: max(farthest[name], end.ends[1]) for name, end in zip(begins, ends, strict=True)}
        begins = {name: end.value for name, end in zip(begins, ends, strict=True)}
    if any(published):
        hatched = {"color": palette.GREY, "pattern": {"shape": "/"}}
        traces.append(series("published", "published", type="bar", x=[None], y=[0], marker=hatched))
    annotations = [
        {
            "x": farthest[name] if begins[name] >= 0 else begins[name],
            "y": place,
            "text": plain(text),
            "showarrow": False,
        }
        | ({"xanchor": "left", "xshift": 3} if begins[name] >= 0 else {"xanchor": "right", "xshift": -3})
        for place, name in enumerate(panel.categories)
        if (text := panel.said.get(name))
    ]
    y = axis(Axis(names=dict(enumerate(panel.categories)), downwards=True), ()) | {"showgrid": False}
    return Drawn(traces, axis(panel.x, ()) | {"rangemode": "tozero"}, y, [_rule("x", 0)], annotations)


def _moved(value: Value, begin: float) -> Value:
    """Return the value and its spread behind the parts that end at `begin`."""
    if not value.has_spread:
        return Value(begin + value.value)
    return Value(begin + value.value, *(begin + end for end in value.ends))


# ---- Maps ----


def _map(panel: Map) -> Drawn:
    limit, across, up = math.log10(panel.limit), list(panel.across), list(panel.up)
    logs = [[math.log10(ratio) for ratio in row] for row in panel.ratios]
    texts = [
        [hover(f"{panel.x_label}: {x}", f"{panel.y_label}: {y}", f"ratio {shown_ratio(ratio)}")
         for x, ratio in zip(panel.across.values(), row, strict=True)]
        for y, row in zip(panel.up.values(), panel.ratios, strict=True)
    ]  # fmt: skip
    ends = [f"1/{panel.limit:.3g}", "1", f"{panel.limit:.3g}"]
    mesh = {"type": "heatmap", "x": across, "y": up, "z": logs, "hoverinfo": "text", "textfont": {"size": 9}}
    mesh |= {"hovertext": texts, "text": [[shown_ratio(ratio) for ratio in row] for row in panel.ratios]}
    mesh["texttemplate"] = "%{text}"
    bar = {"tickvals": [-limit, 0, limit], "ticktext": ends, "thickness": 10, "tickfont": {"size": 10}}
    colours = {"cmin": -limit, "cmax": limit, "colorscale": _colour_scale(panel.good), "colorbar": bar}
    traces: list[Data] = [mesh]
    every = [ratio for row in panel.ratios for ratio in row]
    if min(every) < 1 < max(every):
        line = {"color": palette.GREEN, "width": 2}
        even = {"start": 0, "end": 0, "size": 1, "coloring": "none"}
        traces.append({"type": "contour", "x": across, "y": up, "z": logs, "contours": even, "line": line})
        traces[-1] |= {"showscale": False, "showlegend": False, "hoverinfo": "skip", "autocontour": False}
    x, y = Axis(panel.x_label, names=panel.across), Axis(panel.y_label, names=panel.up)
    return Drawn(traces, axis(x, ()), axis(y, ()), colours=colours)


def _colour_scale(good: str) -> list[list[Any]]:
    stops = palette.BAD_TO_GOOD if good == "high" else palette.BAD_TO_GOOD[::-1]
    return [[place / (len(stops) - 1), colour] for place, colour in enumerate(stops)]


# ---- Axes ----


def axis(of: Axis, values: Sequence[float]) -> Data:
    """Return the attributes of an axis that shows these values."""
    data: Data = {"title": plain(of.label)}
    if of.scale in ("log", "log2"):
        data["type"] = "log"
    if of.names:
        data |= {"tickvals": list(of.names), "ticktext": [plain(name) for name in of.names.values()]}
    elif of.scale in ("log2", "counts"):
        ticks = _powers_of_two(values, with_zero=of.scale == "counts")
        data |= {"tickvals": [_place(of, tick) for tick in ticks], "ticktext": [f"{tick:g}" for tick in ticks]}
    if of.scale == "counts" and values:
        data["range"] = [_place(of, min(values)) - 0.3, _place(of, max(values)) + 0.3]
    if of.from_zero:
        data["rangemode"] = "tozero"
    if of.limits:
        low, high = (math.log10(end) if "type" in data else end for end in of.limits)
        data["range"] = [high, low] if of.downwards else [low, high]
    elif of.downwards:
        data["autorange"] = "reversed"
    return data


def _place(of: Axis, value: float) -> float:
    """Return the place of a value; Plotly has no axis of powers of two with a zero, so its places are computed."""
    if of.scale != "counts":
        return value
    return math.log2(value) + 1 if value >= 1 else value


def _powers_of_two(values: Sequence[float], with_zero: bool) -> list[float]:
    """Return ticks at powers of two around the values, at most TICKS_MAX."""
    above = [value for value in values if value > 0] or [1.0]
    least, most = math.floor(math.log2(min(above))), math.ceil(math.log2(max(above)))
    if with_zero:
        least = max(0, least)
    step = max(1, math.ceil((most - least + 1) / TICKS_MAX))
    begin = least - least % step  # so that 1 has a tick
    ticks = [2.0**power for power in range(begin, most + 1, step)]
    return [0.0, *ticks] if with_zero else ticks


def referring(items: Sequence[Mapping[str, Any]], x: str, y: str, logarithmic: Mapping[str, bool]) -> list[Data]:
    """Bind shapes or annotations to the axes `x` and `y` of their panel."""
    bound = []
    for item in items:
        data = {key: value for key, value in item.items() if key != "domain"}
        over = item.get("domain", "")
        data |= {"xref": f"{x} domain" if over == "x" else x, "yref": f"{y} domain" if over == "y" else y}
        if "text" in item:
            data |= {a: math.log10(item[a]) for a in "xy" if logarithmic[a] and item[a] > 0}
        bound.append(data)
    return bound
