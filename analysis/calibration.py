# SPDX-License-Identifier: BSD-3-Clause
"""A figure for each device profile: latency by working set, loaded latency, bandwidth by mix, persistent writes.

Below them is how far the judged numbers are from the published ones. One more figure has all profiles: what a load
takes, and what all cores together get, by how many cores stream. `tables` are those of docs/calibration.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed import outputs
from testbed.studies import calibrate
from testbed.studies.calibrate import Measured, Rows, Verdict

from . import by_cores, markdown, persist, plotting

OURS, THEIRS = "#2b6cb0", "#cbd5e0"
Draw = Callable[[Any, Rows], None]


def _draw_chase(axes: Any, rows: Rows) -> None:
    axes.plot([row["set_bytes"] / 1024 for row in rows], [row["mean_ns"] for row in rows], "o-", color=OURS, ms=3)
    axes.set(xscale="log", yscale="log", xlabel="working set, KiB", ylabel="dependent load, ns", title="chase")


def _draw_loaded(axes: Any, rows: Rows) -> None:
    bandwidth = [row["bandwidth_mb_s"] / 1000 for row in rows]
    for name, label, style in (("mean_ns", "mean", "o-"), ("p950_ns", "p95", "^:")):
        axes.plot(bandwidth, [row[name] for row in rows], style, color=OURS, ms=3, label=label)
    axes.set(xlabel="all traffic, GB/s", ylabel="load, ns", title="loaded latency")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _draw_random(axes: Any, rows: Rows) -> None:
    axes.plot([row["miss_permille"] / 10 for row in rows], [row["mean_ns"] for row in rows], "o", color=OURS, ms=4)
    axes.set(yscale="log", xlabel="device-cache misses, %", ylabel="random load, ns", title="random access")


def _draw_mix(axes: Any, rows: Rows) -> None:
    bars = axes.bar(
        [f"{r['reads']}:{r['writes']}" for r in rows], [r["bandwidth_mb_s"] / 1000 for r in rows], color=OURS
    )
    axes.bar_label(bars, fmt="%.1f", fontsize=7)
    axes.set(xlabel="read:write", ylabel="GB/s", title="bandwidth by mix")


def _draw_loaded_cores(axes: Any, rows: Rows) -> None:
    for name, label, style in (("mean_ns", "mean", "o-"), ("p950_ns", "p95", "^:")):
        axes.plot([r["streams"] for r in rows], [r[name] for r in rows], style, color=OURS, ms=3, label=label)
    axes.set(xlabel="cores that stream", ylabel="load of one more, ns", title="loaded latency by cores")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def _draw_mix_cores(axes: Any, rows: Rows) -> None:
    _draw_mix(axes, rows)
    axes.set_title(f"by mix, {rows[0]['cores']} cores")


def _draw_persist(axes: Any, rows: Rows) -> None:
    published = persist.published_ns()
    for method, (_, colour) in persist.METHODS.items():
        ours = [row for row in rows if row["method"] == method and row["writes_per_fence"] == 1]
        sizes = [row["bytes"] for row in ours]
        axes.plot(sizes, [row["mean_ns"] for row in ours], "o-", color=colour, ms=3, label=method)
        theirs = [published[method, size, 1] for size in sizes]
        axes.plot(sizes, theirs, "x:", color=colour, ms=4, label=f"{method}, Optane (paper)")
    axes.set(xscale="log", yscale="log", xlabel="bytes a write, a fence each", ylabel="ns", title="persistent writes")
    axes.legend(frameon=False, fontsize=6)


PANELS: dict[str, Draw] = {
    "chase": _draw_chase,
    "random": _draw_random,
    "loaded": _draw_loaded,
    "mix": _draw_mix,
    "mix-cores": _draw_mix_cores,
    "paced": _draw_loaded,
    "loaded-cores": _draw_loaded_cores,
    "persist": _draw_persist,
}


def _draw_verdicts(axes: Any, verdicts: Sequence[Verdict]) -> None:
    places = range(len(verdicts))
    colours = [OURS if verdict.within else "#c53030" for verdict in verdicts]
    shown = [max(-60.0, min(60.0, verdict.error_percent)) for verdict in verdicts]
    bars = axes.barh(list(places), shown, color=colours)
    axes.bar_label(bars, [f"{v.error_percent:+.1f} % ({v.judged.basis})" for v in verdicts], fontsize=6, padding=2)
    axes.set_yticks(list(places), [v.judged.what for v in verdicts], fontsize=6)
    axes.axvline(0, color="black", linewidth=0.6)
    axes.set(xlim=(-100, 100), xlabel="model against published, %")
    axes.invert_yaxis()


def draw(device: str, measured: Sequence[Measured], verdicts: Sequence[Verdict]) -> Any:
    """The figure of one device: a panel for each test that its studies made, and its verdicts."""
    panels = [(t, m.paced() if t == "paced" else m.rows(t)) for m in measured for t in PANELS if t in m.study.tests]
    with plt.rc_context(plotting.STYLE):
        columns = len(panels)
        figure = plt.figure(figsize=(2.9 * columns, 5.2), layout="constrained")
        grid = figure.add_gridspec(2, columns)
        for place, (test, rows) in enumerate(panels):
            PANELS[test](figure.add_subplot(grid[0, place]), rows)
        if verdicts:
            _draw_verdicts(figure.add_subplot(grid[1, :]), verdicts)
        scales = ", ".join(f"{m.study.name} 1/{m.study.scale}" for m in measured)
        figure.suptitle(f"{device} (scale: {scales})", fontsize=9)
        return figure


def draw_by_cores(measured: Sequence[Measured]) -> Any:
    """Of all profiles: the latency of one core's loads while others stream, and what all of them get."""
    with plt.rc_context(plotting.STYLE):
        figure, (latency, bandwidth) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
        for m in measured:
            rows = m.rows("loaded-cores")
            streams, label = [row["streams"] for row in rows], m.study.device
            latency.plot(streams, [row["mean_ns"] for row in rows], "o-", ms=3, label=label)
            bandwidth.plot(streams, [row["bandwidth_mb_s"] / 1000 for row in rows], "o-", ms=3, label=label)
        latency.set(yscale="log", xlabel="cores that stream", ylabel="load of one more, mean ns")
        bandwidth.set(yscale="log", xlabel="cores that stream", ylabel="all cores, GB/s")
        latency.legend(frameon=False, fontsize=7)
        scales = ", ".join(f"{m.study.device} 1/{m.study.scale}" for m in measured)
        samples = measured[0].rows("loaded-cores")[0]["samples"]
        figure.suptitle(f"loaded latency by cores, {samples} loads a point, scaled down:\n{scales}", fontsize=8)
        return figure


def _loaded(measured: Sequence[Measured]) -> list[Measured]:
    return [m for m in measured if "loaded-cores" in m.study.tests]


def write(measured: Sequence[Measured], verdicts: Sequence[Verdict], folder: Path) -> list[Path]:
    """A figure for each device and the one by cores, in three formats; returns the paths."""
    written = []
    for device in dict.fromkeys(m.study.device for m in measured):
        mine = [m for m in measured if m.study.device == device]
        names = {m.study.name for m in mine}
        figure = draw(device, mine, [v for v in verdicts if v.judged.study in names])
        with plt.rc_context(plotting.STYLE):
            written += plotting.save(figure, folder / device)
        plt.close(figure)
    if loaded := _loaded(measured):
        figure = draw_by_cores(loaded)
        with plt.rc_context(plotting.STYLE):
            written += plotting.save(figure, folder / "loaded-latency-by-cores")
        plt.close(figure)
    return written


def tables(measured: Sequence[Measured], verdicts: Sequence[Verdict]) -> dict[str, str]:
    """By name: all judged numbers, those by one CPU and by real cores, and a load beside others that stream."""
    pairs = by_cores.pairs(verdicts)
    counts = "\n".join(f"    {line}" for line in by_cores.counts(pairs))
    both = markdown.table(by_cores.COLUMNS, [by_cores.cells(pair) for pair in pairs])
    return {
        "numbers": markdown.table(calibrate.COLUMNS, [_number_cells(v) for v in verdicts]),
        "one-and-many": f"{both}\n\nCounted as the [scorecard](figures.md#the-scorecard) counts:\n\n{counts}",
        "loaded": _loaded_table(_loaded(measured)),
    }


def _number_cells(verdict: Verdict) -> list[str]:
    """As they are printed, but that the unit stands once."""
    what, published, _, *more = calibrate.cells(verdict)
    return [what, published, verdict.shown, *more]


def _loaded_table(measured: Sequence[Measured]) -> str:
    """A row for each number of cores that stream, a column for each device; below, the closed form of its last row."""
    points = {m.study.device: {row["streams"]: row for row in m.rows("loaded-cores")} for m in measured}
    streams = sorted({n for rows in points.values() for n in rows})
    lines = [[str(n), *(_loaded_cell(rows.get(n)) for rows in points.values())] for n in streams]
    closed = [f"{calibrate.loaded_ns(m.run.guest, max(points[m.study.device])):.0f} ns" for m in measured]
    return markdown.table(["cores that stream", *points], [*lines, ["closed form of the last", *closed]])


def _loaded_cell(row: dict[str, Any] | None) -> str:
    return f"{row['mean_ns']:.0f} ns, {row['bandwidth_mb_s'] / 1000:.1f} GB/s" if row else ""


def write_tables(made: dict[str, str], folder: Path) -> list[Path]:
    """A file for each; returns the paths."""
    for name, table in made.items():
        outputs.write(folder / f"{name}.md", table + "\n")
    return [folder / f"{name}.md" for name in made]
