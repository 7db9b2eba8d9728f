# SPDX-License-Identifier: BSD-3-Clause
"""The drawing layer: bars begin at zero, spreads are drawn, and one module has all style."""

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from plotly import graph_objects

from analysis.charts import files, interactive, palette
from analysis.charts.page import figure_of
from analysis.data.chart import Axis, Band, Bars, Chart, Dots, Group, Line, Lines, Map, Panel, Parts
from analysis.data.drawn import Drawn
from analysis.data.values import Value, points
from rigs import report_gallery
from testbed.paths import REPO

SPREAD = Value(4.0, 3.0, 6.0)
ONE_RUN = Value(8.0)
CATEGORIES = ("A", "C")


def log_bars(axes: Axes) -> None:
    axes.bar([0, 1], [2, 3])
    axes.set_yscale("log")


def cut_bars(axes: Axes) -> None:
    axes.bar([0, 1], [2, 3])
    axes.set_ylim(0.7, 4)


def cut_wide_bars(axes: Axes) -> None:
    axes.barh([0, 1], [2, 3])
    axes.set_xlim(1, 4)


def whole_bars(axes: Axes) -> None:
    axes.bar([10, 11], [2, 3])


def wide_bars(axes: Axes) -> None:
    axes.barh([10, 11], [2, 3])
    axes.set_yscale("log")


def log_points(axes: Axes) -> None:
    axes.plot([0, 1], [2, 3], "o", color="black", label="ours")
    axes.set_yscale("log")


@pytest.mark.parametrize("draw", [log_bars, cut_bars, cut_wide_bars])
def test_bars_without_a_zero_are_not_saved(draw: Callable[[Any], None], tmp_path: Path) -> None:
    figure, axes = pyplot.subplots()
    draw(axes)
    with pytest.raises(AssertionError, match="bars need a linear axis"):
        files.save(figure, tmp_path / "cut")
    pyplot.close(figure)


@pytest.mark.parametrize("draw", [whole_bars, wide_bars, log_points])
def test_other_figures_are_saved(draw: Callable[[Any], None], tmp_path: Path) -> None:
    figure, axes = pyplot.subplots()
    draw(axes)
    assert len(files.save(figure, tmp_path / "whole")) == 3
    pyplot.close(figure)


# ---- Values ----


@pytest.mark.parametrize("ends", [(None, 5.0), (3.0, None), (4.5, 5.0), (3.0, 3.5)])
def test_a_value_lies_within_its_spread(ends: tuple[float | None, float | None]) -> None:
    with pytest.raises(ValueError, match="4 does not lie between"):
        Value(4.0, *ends)


def test_a_value_of_one_run_has_no_spread() -> None:
    assert (SPREAD.has_spread, ONE_RUN.has_spread, ONE_RUN.ends) == (True, False, (8.0, 8.0))


# ---- Drawing ----


def lines(*values: Value, scale: Any = "linear") -> Lines:
    return Lines(Axis("threads"), Axis("us", scale), [Line("snapshot", list(enumerate(values, 1)))])


def bars(*values: Value) -> Bars:
    return Bars(CATEGORIES, [Group("snapshot", dict(zip(CATEGORIES, values, strict=True)))], "us")


def dots(*values: Value) -> Dots:
    return Dots(CATEGORIES, [Group("snapshot", dict(zip(CATEGORIES, values, strict=True)))], "times")


def drawn(*panels: Panel, **more: Any) -> Figure:
    with matplotlib.rc_context(files.STYLE):
        figure = figure_of(Chart([panels], **more))
        figure.draw_without_rendering()
    return figure


def error_bars(axes: Axes) -> list[tuple[float, float, float]]:
    """The position of each error bar, and its ends."""
    found = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    segments = [segment for container in found for segment in container[2][0].get_segments()]
    return [(float(segment[0][0]), float(segment[0][1]), float(segment[1][1])) for segment in segments]


@pytest.mark.parametrize("make", [lines, bars, dots])
def test_a_spread_is_drawn_where_there_is_one(make: Callable[..., Panel]) -> None:
    """The second of the two values comes from one run, so it has no spread."""
    (axes,) = drawn(make(SPREAD, ONE_RUN)).axes
    ((place, low, high),) = error_bars(axes)
    assert [place, low, high] == pytest.approx([1.0 if make is lines else 0.0, 3.0, 6.0])


@pytest.mark.parametrize("make", [lines, bars, dots])
def test_values_of_one_run_have_no_error_bar(make: Callable[..., Panel]) -> None:
    (axes,) = drawn(make(ONE_RUN, ONE_RUN)).axes
    assert error_bars(axes) == []


def test_a_part_has_its_spread_where_it_ends() -> None:
    parts = [Group("holds", {"A": Value(2.0), "C": SPREAD}), Group("does not hold", {"A": SPREAD})]
    (axes,) = drawn(Parts(CATEGORIES, parts, Axis("claims"))).axes
    found = [c for c in axes.containers if isinstance(c, ErrorbarContainer)]
    spans = [[float(x) for x in segment[:, 0]] for c in found for segment in c[2][0].get_segments()]
    assert spans == [[3.0, 6.0], [5.0, 8.0]]


def test_a_spread_is_drawn_on_a_logarithmic_axis() -> None:
    (axes,) = drawn(lines(SPREAD, scale="log")).axes
    assert axes.get_yscale() == "log"
    assert error_bars(axes)[0] == pytest.approx((1.0, 3.0, 6.0))


def test_bars_stand_on_zero_and_points_on_a_logarithmic_axis() -> None:
    one, two = drawn(bars(SPREAD, ONE_RUN), dots(SPREAD, ONE_RUN)).axes
    assert (one.get_yscale(), two.get_yscale()) == ("linear", "log")
    assert [type(c) for c in one.containers if isinstance(c, BarContainer)] == [BarContainer]
    assert not [c for c in two.containers if isinstance(c, BarContainer)]
    assert files.cut_bars(one.figure) == []  # type: ignore[arg-type]


def test_published_values_stand_at_ours_and_are_said_to_be_published() -> None:
    pair = [
        Group("snapshot", {"A": Value(4.0), "C": Value(2.0)}, published={"A": 5.0}),
        Group("msync-4k", {"A": Value(1.0)}, published={"A": 0.5}),
    ]
    figure = drawn(Dots(CATEGORIES, pair, "times faster"))
    shown: dict[str, Any] = {str(line.get_label()): line for line in figure.axes[0].lines}
    marks = shown["published"]
    assert list(marks.get_xdata()) == [shown[name].get_xdata()[0] for name in ("snapshot", "msync-4k")]
    assert list(marks.get_ydata()) == [5.0, 0.5]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["snapshot", "msync-4k", "published"]


def test_a_published_line_has_its_engines_colour_and_says_so() -> None:
    ours, theirs = (Line("Snapshot", points([1, 2], [3, 4]), "snapshot", published=p) for p in (False, True))
    (axes,) = drawn(Lines(Axis("updates"), Axis("s"), [ours, theirs])).axes
    assert [line.get_label() for line in axes.lines] == ["Snapshot", "Snapshot, published"]
    assert {line.get_color() for line in axes.lines} == {palette.COLOURS["snapshot"]}


def test_what_is_scaled_down_says_so_and_panels_share_one_legend() -> None:
    figure = drawn(bars(SPREAD, ONE_RUN), bars(ONE_RUN, ONE_RUN), heading="one device", scaled_down=True)
    assert figure.get_suptitle() == "one device (scaled down)"
    assert [[text.get_text() for text in legend.get_texts()] for legend in figure.legends] == [["snapshot"]]


def test_a_band_and_a_rule_are_drawn_where_they_are_asked_for() -> None:
    near = Lines(
        Axis("ours / published", "log2"),
        Axis(names={0: "list"}, downwards=True),
        [Line("", points([0.5, 2.0], [0, 0]), style="none")],
        bands=[Band(1 / 1.1, 1.1, nearness=0, across=True), Band(1 / 2, 2, nearness=1, across=True)],
        rules=[1],
    )
    (axes,) = drawn(near).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["list"]
    wide, band = axes.patches  # the narrow band is drawn last, so it is not hidden
    assert wide.get_width() > band.get_width()  # type: ignore[attr-defined]
    assert (band.get_x(), band.get_x() + band.get_width()) == (pytest.approx(1 / 1.1), pytest.approx(1.1))  # type: ignore[attr-defined]
    rule: Any = axes.lines[1]
    assert list(rule.get_xdata()) == [1, 1]


def test_parts_stand_one_behind_the_other() -> None:
    parts = [Group("holds", {"A": Value(2), "C": Value(1)}), Group("does not hold", {"A": Value(3)})]
    (axes,) = drawn(Parts(CATEGORIES, parts, Axis("claims"), said={"A": "2 of 5"})).axes
    spans = [(bar.get_x(), bar.get_width()) for row in axes.containers for bar in row]
    assert spans == [(0, 2), (0, 1), (2, 3), (1, 0)]
    assert [text.get_text() for text in axes.texts] == ["2 of 5"]


def test_a_map_shows_its_ratios_as_numbers_and_where_they_are_one() -> None:
    shown = Map({0: "1us", 1: "3us"}, {0: "1GiB", 1: "4GiB"}, [[0.5, 2.0], [4.0, 8.0]], 8.0, "high")
    figure = drawn(shown)
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["0.50", "2.00", "4.00", "8.00"]
    assert len(figure.axes[0].collections) == 2  # the colours, and the line at ratio 1
    assert [tick.get_text() for tick in figure.axes[1].get_yticklabels()] == ["1/8", "1", "8"]


def test_a_group_without_values_is_not_in_the_legend() -> None:
    figure = drawn(Bars(CATEGORIES, [Group("snapshot", {"A": ONE_RUN}), Group("cpnvm", {})], "us"))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["snapshot"]


def test_published_parts_are_hatched_and_the_legend_says_so() -> None:
    parts = [Group("holds", {"A": Value(2), "C": Value(1)})]
    figure = drawn(Parts(CATEGORIES, parts, Axis("%"), published=["C"]))
    (row,) = [c for c in figure.axes[0].containers if isinstance(c, BarContainer)]
    assert [bool(bar.get_hatch()) for bar in row] == [False, True]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["published", "holds"]


def test_a_chart_that_hides_its_scale_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="states the scale"):
        files.write(Drawn("hidden", "", "", [], [], [], Chart([[bars(SPREAD, ONE_RUN)]])), tmp_path)
    one = Chart([[bars(SPREAD, ONE_RUN)]])
    for chart in (
        replace(one, scaled_down=True, heading="x"),
        replace(one, unscaled=True),
        replace(one, heading="scale 1/64"),
    ):
        assert chart.states_scale


# ---- Figures of the report ----


def plotted(*panels: Panel, **more: Any) -> dict[str, Any]:
    return interactive.as_json_data(Chart([panels], **more))


def traces(figure: dict[str, Any], **wanted: Any) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if all(trace.get(key) == value for key, value in wanted.items())]


@pytest.mark.parametrize("page", ["wide", "narrow"])
def test_plotly_accepts_every_kind_of_panel(page: str) -> None:
    """Plotly's own validator rejects unknown attributes and values of a wrong type."""
    figure = interactive.as_json_data(report_gallery.chart())
    assert len(graph_objects.Figure(figure["data"], figure[page]).data) == len(figure["data"])


@pytest.mark.parametrize("make", [lines, bars, dots])
def test_an_interactive_figure_has_the_spread_and_states_it(make: Callable[..., Panel]) -> None:
    trace, bar = plotted(make(SPREAD, ONE_RUN))["data"]
    assert (bar["x"], bar["y"]) == (trace["x"][:1], [4.0])
    assert (bar["error_y"]["array"], bar["error_y"]["arrayminus"]) == ([2.0], [1.0])
    assert ["range over seeds: 3 to 6" in text for text in trace["hovertext"]] == [True, False]
    assert all(f"{value:g}" in text for value, text in zip((4, 8), trace["hovertext"], strict=True))


def test_interactive_bars_begin_at_zero_and_points_are_on_a_logarithmic_axis() -> None:
    figure = plotted(bars(ONE_RUN, ONE_RUN), dots(ONE_RUN, ONE_RUN))
    assert "type" not in figure["wide"]["yaxis"]
    assert figure["wide"]["yaxis"]["rangemode"] == "tozero"
    assert figure["wide"]["yaxis2"]["type"] == "log"
    assert [(trace["type"], trace["yaxis"]) for trace in figure["data"]] == [("bar", "y"), ("scatter", "y2")]


def test_interactive_marks_of_published_values_have_a_legend_and_their_own_shape() -> None:
    groups = [Group("snapshot", {"A": Value(4.0)}, published={"A": 5.0})]
    line = Line("snapshot", points([1, 2], [3, 4]))
    figure = plotted(Dots(["A"], groups, "x"), Lines(Axis(), Axis(), [line, replace(line, published=True)]))
    marks, ours, theirs = (traces(figure, name=n)[0] for n in ("published", "snapshot", "snapshot, published"))
    assert (marks["x"], marks["y"], marks["showlegend"]) == (ours["x"], [5.0], True)
    assert len({trace["marker"].get("symbol") for trace in (marks, ours, theirs)}) == 3


def test_a_series_is_in_the_legend_once_and_an_interactive_figure_states_its_scale() -> None:
    figure = plotted(bars(ONE_RUN, ONE_RUN), bars(ONE_RUN, ONE_RUN), heading="one device", scaled_down=True)
    assert [trace["showlegend"] for trace in figure["data"]] == [True, False]
    assert figure["wide"]["title"]["text"] == figure["narrow"]["title"]["text"] == "one device (scaled down)"


def test_panels_are_side_by_side_on_a_wide_page_and_stacked_on_a_narrow_one() -> None:
    figure = plotted(bars(SPREAD, ONE_RUN), bars(ONE_RUN, ONE_RUN))
    wide, narrow = ([figure[page][f"{a}axis2"]["domain"] for a in "xy"] for page in ("wide", "narrow"))
    assert (wide[0][0] > 0.5, wide[1]) == (True, figure["wide"]["yaxis"]["domain"])
    assert (narrow[0], narrow[1][1] < figure["narrow"]["yaxis"]["domain"][0]) == ([0.0, 1.0], True)


def test_text_of_an_interactive_figure_is_escaped() -> None:
    name = "<b>a</b>&"
    figure = plotted(Bars([name], [Group(name, {name: ONE_RUN})], name, name, name), heading=f"{name} scale")
    text = json.dumps(figure)
    assert "<b>" not in text
    assert text.count("&lt;b&gt;a&lt;/b&gt;&amp;") >= 10


def test_counts_have_a_place_for_zero_and_values_that_are_no_numbers_are_left_out() -> None:
    line = Line("a", [(0.0, Value(1.0)), (1.0, Value(2.0)), (4.0, Value(math.inf))])
    figure = plotted(Lines(Axis("aborts", "counts"), Axis("us"), [line]))
    assert (figure["data"][0]["x"], figure["data"][0]["y"]) == ([0.0, 1.0, 3.0], [1.0, 2.0, None])
    assert figure["wide"]["xaxis"]["ticktext"] == ["0", "1", "2", "4"]


def test_every_dark_colour_is_visible_on_a_dark_page_and_belongs_to_the_palette() -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    series = {*palette.COLOURS.values(), *palette.CYCLE}
    paper = luminance("#14181f")
    faint = [c for c in series if (luminance(palette.ON_DARK.get(c, c)) + 0.05) / (paper + 0.05) < 3]
    assert faint == []


def test_labels_that_neighbours_share_stand_once() -> None:
    figure = drawn(bars(ONE_RUN, ONE_RUN), bars(ONE_RUN, ONE_RUN), share_y="row")
    assert [axes.get_ylabel() for axes in figure.axes] == ["us", ""]


# ---- One place for style ----


def modules_outside_of_charts() -> list[Path]:
    return [path for path in (REPO / "analysis").rglob("*.py") if path.parent.name != "charts"]


def test_only_charts_imports_the_library_for_drawing() -> None:
    def imports(path: Path) -> set[str]:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
        names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        return {name.partition(".")[0] for name in names}

    assert [str(path) for path in modules_outside_of_charts() if "matplotlib" in imports(path)] == []
    assert "matplotlib" in imports(REPO / "analysis" / "charts" / "files.py")


def test_only_the_palette_has_colours() -> None:
    """Pages of documents and reports are not charts and have a separate style."""
    hue = re.compile(r"#[0-9a-f]{6}\b")
    paths = [path for path in (REPO / "analysis").rglob("*.py") if path.parent.name not in ("documents", "report")]
    assert [path.name for path in paths if hue.search(path.read_text())] == ["palette.py"]
    assert all(hue.fullmatch(colour) for colour in palette.COLOURS.values())


def test_what_has_no_own_colour_takes_one_that_the_chart_does_not_have() -> None:
    found = palette.assigned(["a user's", "snapshot", "another", "a user's"])
    assert found == {"snapshot": palette.BLUE, "a user's": palette.CYCLE[1], "another": palette.CYCLE[2]}
    assert palette.faint(palette.BLUE) not in {*palette.COLOURS.values(), *palette.CYCLE}


def test_a_series_has_one_colour_in_all_panels_of_a_chart() -> None:
    two, one = (
        Lines(Axis("x"), Axis("y"), [Line(name, points([1], [1])) for name in names]) for names in (("a", "b"), ("b",))
    )
    axes = drawn(two, one).axes
    assert axes[0].lines[1].get_color() == axes[1].lines[0].get_color() != axes[0].lines[0].get_color()
