# SPDX-License-Identifier: BSD-3-Clause
"""One figure with a panel of every kind, with spreads, published values and text that HTML and Plotly would read."""

from analysis.data.chart import Axis, Band, Bars, Chart, Dots, Group, Line, Lines, Map, Panel, Parts
from analysis.data.drawn import Cell, Drawn
from analysis.data.values import Value, points

NAME = "gallery"
TITLE = "Panels of every kind"
HEADING = "invented <b>values</b> & <img src=x onerror=alert(1)>, scale 1/64"
SPREAD = Value(4.0, 3.0, 6.0)
COLUMNS = ("engine", "threads", "us", "command")
ROWS: list[list[Cell]] = [
    [engine, threads, float(us), f"run --engine {engine} --threads {threads}"]
    for us, (engine, threads) in enumerate(
        ((engine, threads) for engine in ("snapshot", "pmdk", "msync-4k") for threads in (1, 2, 4, 8, 16)), 2
    )
]


def chart() -> Chart:
    """A chart of lines, bars, points, parts and maps."""
    ours = [(1.0, Value(8.0)), (2.0, SPREAD), (4.0, Value(2.0))]
    lines = [Line("snapshot", ours), Line("snapshot", points([1, 4], [7, 3]), published=True)]
    lines += [Line("pmdk", points([1, 2, 4], [9, 9, 8]), style="dashed")]
    band = Band(4, 7, "published, of all programs")
    clusters = [
        Group("snapshot", {"A": SPREAD, "C*": Value(2.0)}, published={"A": 5.0, "C*": 1.0}),
        Group("msync-4k", {"A": Value(1.0), "C*": Value(0.5)}, published={"A": 0.6}),
    ]
    across, up = {0.0: "1us", 1.0: "3us"}, {0.0: "1GiB", 1.0: "4GiB"}
    parts = [Group("holds", {"x": Value(2.0), "y": SPREAD}), Group("does not hold", {"x": SPREAD})]
    rows: list[list[Panel]] = [
        [
            Lines(Axis("threads", "log2"), Axis("us", from_zero=True), lines, "lines", bands=[band]),
            Lines(Axis("aborts", "counts"), Axis("us", "log"), [Line("snapshot", points([0, 1, 64], [1, 9, 200]))]),
        ],
        [
            Bars(["A", "C*"], clusters, "us", "bars", "workload", notes=["* C: not comparable"]),
            Dots(["A", "C*"], clusters, "times faster", "points", base=1),
        ],
        [Parts(["x", "y"], parts, Axis("claims"), "parts", said={"x": "2 of 6"})],
        [
            Map(across, up, [[0.5, 2.0], [4.0, 8.0]], 8.0, "high", "more is better", "flash", "cache"),
            Map(across, up, [[0.5, 2.0], [4.0, 8.0]], 8.0, "low", "less is better", "flash", "cache"),
        ],
    ]
    return Chart(rows, HEADING, scaled_down=True)


def drawn() -> Drawn:
    """Draw the figure."""
    return Drawn(NAME, TITLE, "Every kind of panel, once.", [], COLUMNS, ROWS, chart())
