# SPDX-License-Identifier: BSD-3-Clause
"""A figure for each device profile: latency by working set, loaded latency, bandwidth by mix, persistent writes.

Below them are the errors of the judged numbers against the published ones. One more figure shows all profiles: the
latency of a load and the bandwidth of all cores, by the number of streaming cores. `tables` fill
docs/results/calibration.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from testbed import outputs
from testbed.studies import calibrate
from testbed.studies.calibrate import Measured, Rows, Verdict

from ..charts import files
from ..data import markdown
from ..data.chart import Axis, Bars, Chart, Group, Line, Lines, Panel, Parts
from ..data.values import by_name, points
from ..figures import persist
from . import by_cores

Draw = Callable[[Rows], Panel]
SCORECARD = "figures.md#how-the-scorecard-counts"  # in docs/results/
SHOWN_PERCENT = 60.0  # a larger error is drawn with this length, and its text states the true value


def _chase(rows: Rows) -> Lines:
    line = Line("", points([row["set_bytes"] / 1024 for row in rows], [row["mean_ns"] for row in rows]))
    return Lines(Axis("working set, KiB", "log"), Axis("dependent load, ns", "log"), [line], "chase")


def _mean_and_late(xs: Sequence[float], rows: Rows) -> list[Line]:
    mean, late = (points(xs, [row[key] for row in rows]) for key in ("mean_ns", "p950_ns"))
    return [Line("mean", mean), Line("p95", late, style="dotted")]


def _loaded_latency(rows: Rows) -> Lines:
    lines = _mean_and_late([row["bandwidth_mb_s"] / 1000 for row in rows], rows)
    return Lines(Axis("all traffic, GB/s"), Axis("load, ns", from_zero=True), lines, "loaded latency")


def _random(rows: Rows) -> Lines:
    misses = points([row["miss_permille"] / 10 for row in rows], [row["mean_ns"] for row in rows])
    line = Line("", misses, style="none")
    return Lines(Axis("device-cache misses, %"), Axis("random load, ns", "log"), [line], "random access")


def _mix(rows: Rows, title: str = "bandwidth by mix") -> Bars:
    gb_s = by_name((f"{row['reads']}:{row['writes']}", row["bandwidth_mb_s"] / 1000) for row in rows)
    return Bars(list(gb_s), [Group("", gb_s)], "GB/s", title, "read:write", values_as=".1f")


def _loaded_by_cores(rows: Rows) -> Lines:
    lines = _mean_and_late([row["streams"] for row in rows], rows)
    x, y = Axis("cores that stream"), Axis("load of one more, ns", from_zero=True)
    return Lines(x, y, lines, "loaded latency by cores")


def _mix_of_cores(rows: Rows) -> Bars:
    return _mix(rows, f"by mix, {rows[0]['cores']} cores")


def _persist(rows: Rows) -> Lines:
    published, lines = persist.published_ns(), list[Line]()
    for method in persist.METHODS:
        ours = [row for row in rows if row["method"] == method and row["writes_per_fence"] == 1]
        sizes = [row["bytes"] for row in ours]
        lines.append(Line(method, points(sizes, [row["mean_ns"] for row in ours]), method))
        theirs = points(sizes, [published[method, size, 1] for size in sizes])
        lines.append(Line(f"{method} on Optane (paper)", theirs, method, published=True))
    x, y = Axis("bytes a write, a fence each", "log"), Axis("ns", "log")
    return Lines(x, y, lines, "persistent writes")


PANELS: dict[str, Draw] = {
    "chase": _chase,
    "random": _random,
    "loaded": _loaded_latency,
    "mix": _mix,
    "mix-cores": _mix_of_cores,
    "paced": _loaded_latency,
    "loaded-cores": _loaded_by_cores,
    "persist": _persist,
}


def _verdicts(verdicts: Sequence[Verdict]) -> Parts:
    shown = {v.judged.what: max(-SHOWN_PERCENT, min(SHOWN_PERCENT, v.error_percent)) for v in verdicts}
    parts = [
        Group(label, by_name((v.judged.what, shown[v.judged.what]) for v in verdicts if v.within == within))
        for label, within in (("within its bound", True), ("beyond its bound", False))
    ]
    said = {v.judged.what: f"{v.error_percent:+.1f} % ({v.judged.basis})" for v in verdicts}
    return Parts(list(shown), parts, Axis("model against published, %", limits=(-100, 100)), said=said)


def chart(device: str, measured: Sequence[Measured], verdicts: Sequence[Verdict]) -> Chart:
    """Make the chart of one device: a panel for each test that its studies made, and its verdicts."""
    made = [(t, m.paced() if t == "paced" else m.rows(t)) for m in measured for t in PANELS if t in m.study.tests]
    panels: list[Panel] = [PANELS[test](rows) for test, rows in made]
    scales = ", ".join(f"{m.study.name} 1/{m.study.scale}" for m in measured)
    return Chart([panels, *([[_verdicts(verdicts)]] if verdicts else [])], f"{device} (scale: {scales})")


def chart_by_cores(measured: Sequence[Measured]) -> Chart:
    """Make the chart of all profiles: the latency of one core's loads while others stream, and the total bandwidth."""
    latency, bandwidth = list[Line](), list[Line]()
    for m in measured:
        rows = m.rows("loaded-cores")
        streams, label = [row["streams"] for row in rows], m.study.device
        latency.append(Line(label, points(streams, [row["mean_ns"] for row in rows])))
        bandwidth.append(Line(label, points(streams, [row["bandwidth_mb_s"] / 1000 for row in rows])))
    x = Axis("cores that stream")
    panels = [
        Lines(x, Axis("load of one more, mean ns", "log"), latency),
        Lines(x, Axis("all cores, GB/s", "log"), bandwidth),
    ]
    scales = ", ".join(f"{m.study.device} 1/{m.study.scale}" for m in measured)
    samples = measured[0].rows("loaded-cores")[0]["samples"]
    return Chart([panels], f"loaded latency by cores, {samples} loads a point, scaled down:\n{scales}")


def _loaded(measured: Sequence[Measured]) -> list[Measured]:
    return [m for m in measured if "loaded-cores" in m.study.tests]


def write(measured: Sequence[Measured], verdicts: Sequence[Verdict], folder: Path) -> list[Path]:
    """Write a figure for each device and the figure by cores, in three formats; return the paths."""
    written = []
    for device in dict.fromkeys(m.study.device for m in measured):
        mine = [m for m in measured if m.study.device == device]
        names = {m.study.name for m in mine}
        written += files.draw(chart(device, mine, [v for v in verdicts if v.judged.study in names]), folder / device)
    if loaded := _loaded(measured):
        written += files.draw(chart_by_cores(loaded), folder / "loaded-latency-by-cores")
    return written


def tables(measured: Sequence[Measured], verdicts: Sequence[Verdict]) -> dict[str, str]:
    """Make the tables by name: all judged numbers, one CPU beside real cores, and loads while other cores stream."""
    pairs = by_cores.pairs(verdicts)
    counts = "\n".join(f"    {line}" for line in by_cores.counts(pairs))
    both = markdown.table(by_cores.COLUMNS, [by_cores.cells(pair) for pair in pairs])
    return {
        "numbers": markdown.table(calibrate.COLUMNS, [_number_cells(v) for v in verdicts]),
        "one-and-many": f"{both}\n\nCounted as the [scorecard]({SCORECARD}) counts:\n\n{counts}",
        "loaded": _loaded_table(_loaded(measured)),
    }


def _number_cells(verdict: Verdict) -> list[str]:
    """Return the cells as printed, but with the unit only once."""
    what, published, _, *more = calibrate.cells(verdict)
    return [what, published, verdict.shown, *more]


def _loaded_table(measured: Sequence[Measured]) -> str:
    """Make a row for each number of streaming cores, a column for each device, and the closed form of the last row."""
    points = {m.study.device: {row["streams"]: row for row in m.rows("loaded-cores")} for m in measured}
    streams = sorted({n for rows in points.values() for n in rows})
    lines = [[str(n), *(_loaded_cell(rows.get(n)) for rows in points.values())] for n in streams]
    closed = [f"{calibrate.loaded_ns(m.run.guest, max(points[m.study.device])):.0f} ns" for m in measured]
    return markdown.table(["cores that stream", *points], [*lines, ["closed form of the last", *closed]])


def _loaded_cell(row: dict[str, Any] | None) -> str:
    return f"{row['mean_ns']:.0f} ns, {row['bandwidth_mb_s'] / 1000:.1f} GB/s" if row else ""


def write_tables(made: dict[str, str], folder: Path) -> list[Path]:
    """Write a file for each table; return the paths."""
    for name, table in made.items():
        outputs.write(folder / f"{name}.md", table + "\n")
    return [folder / f"{name}.md" for name in made]
