# SPDX-License-Identifier: BSD-3-Clause
"""Tables for the terminal, and the same rows as JSON."""

import sys
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from .. import canonical, outputs
from ..console import out, show
from ..crash.campaign import Found
from ..crash.report import Report
from ..results import mapped_files, spread, time_shares
from ..results.results import Result, roi_counters
from ..results.time_shares import Roi
from ..studies.latency import Row
from ..studies.sweep import Replayed, summary
from ..units import show_count, show_time

REGIONS_SHOWN = 100  # rows of a table
REGIONS_BESIDE = 6  # columns of a table
# Group -> prefixes of its counters' names. The shares of time show the stalls.
COUNTERS = {
    "CPU": ("loads", "stream-loads", "stores", "nt-stores", "flushes", "fences"),
    "mapped files": ("page-faults-", "kernel-flushes", "sync-calls"),
    "CPU caches": ("l1-", "l2-", "llc-", "prefetches"),
    "local DRAM": ("dram-",),
    "link": ("cxl-", "link-"),
    "device cache": ("cache-",),
    "write log": ("log-",),
    "flash": ("flash-",),
}


def save_json(path: Path | None, value: Any) -> None:
    """Write the value to the path of `--json`, if it is given."""
    if path:
        outputs.write(path, canonical.dumps(value))


def show_latency(rows: Sequence[Row], title: str) -> None:
    cells = [
        (
            row.what,
            show_time(row.expected_ps),
            show_time(row.measured_ps),
            f"{100 * row.deviation:+.2f} %",
            "ok" if row.ok else "OFF",
        )
        for row in rows
    ]
    show(title, ("primitive", "configured", "measured", "deviation", ""), cells)


def show_crash_tests(subjects: Mapping[str, Mapping[str, str]]) -> None:
    """Print the names of crash tests with their summaries, one per line, under their subjects."""
    width = max(len(name) for tests in subjects.values() for name in tests)
    for subject, tests in subjects.items():
        lines = [f"{subject}:", *(f"  {name:{width}}  {summary}" for name, summary in tests.items())]
        out.print("\n".join(lines), soft_wrap=True, highlight=False, markup=False)


def show_crash(report: Report, name: str, test: str, seed: int = 0) -> None:
    """Show each violation at its smallest loss, and the explored operations. `test` is the name that the user gave."""
    least, title = report.least(), f"{name} with seed {seed}" if seed else name
    rows = [
        (report.name_of(v.mark), v.state, len(v.lost), "\n".join(v.stores) or f"none; cut at {v.cut}", v.said)
        for v in least
    ]
    if rows:
        columns = ("operation", "state", "lines lost", "stores lost", "said")
        show(f"violations of {title}", columns, rows, left=(0, 1, 3, 4))
    explored = [(o.name, o.points, o.states, o.images, o.violations) for o in report.operations]
    show(f"explored of {title}", ("operation", "points", "states", "new images", "violations"), explored)
    if report.measured:
        said = [(m.name, m.states, m.least, m.half, m.nine_tenths, m.most) for m in report.measured]
        show(f"measured of {title}", ("number", "states", "least", "50 %", "90 %", "most"), said)
    counts = report.counts
    tried = f"{show_count(counts.tried)} of {show_count(counts.combinations)}"
    out.print(
        f"{title}: {counts.states} states at {counts.points} ordering points, {len(report.violations)} violations; "
        f"{counts.points_in_part} points in part, {tried} combinations tried",
        soft_wrap=True,
    )
    if least:
        same = f" --seed {seed}" if seed else ""
        out.print(f"see one: testbed crash {test}{same} --state {least[0].state}", soft_wrap=True, highlight=False)


def show_crash_seeds(reports: Mapping[int, Report], title: str) -> None:
    """Show the points, states and violations of each seed, and their sums over all seeds."""
    rows = [(seed, r.counts.points, r.counts.states, len(r.violations)) for seed, r in reports.items()]
    total = ("all", *(sum(row[n] for row in rows) for n in (1, 2, 3)))
    show(f"seeds of {title}", ("seed", "points", "states", "violations"), [*rows, total])


def crash_data(reports: Mapping[int, Report]) -> dict[str, Any]:
    """The reports by seed, as data for JSON."""
    return {"seeds": {str(seed): report.as_data() for seed, report in reports.items()}}


def show_state(found: Found, title: str) -> None:
    """Show one state: the stores that each line has lost, its outcome, and the full output of its check."""
    rows = [(place.device, f"{place.dpa:#x}", "\n".join(names)) for place, names in found.lost.items()]
    show(
        f"state {found.name} of {title}: lines that are not the newest",
        ("device", "address", "stores lost"),
        rows,
        left=(2,),
    )
    out.print(f"{found.name}: {found.detail.outcome}", soft_wrap=True)
    out.print(found.detail.text, soft_wrap=True, highlight=False, markup=False)


def show_regions(rois: Sequence[Roi], console: Console = out, by_cpu: bool = False) -> None:
    """Show the shares of time of each region of interest, and the model's counters of the last regions."""
    if by_cpu:
        show_cpus([(str(n), [roi]) for n, roi in enumerate(rois[:REGIONS_SHOWN], 1)], "region", console)
    elif len(rois) <= 1:
        show_time_shares(rois, console)
    else:
        found = [time_shares.shares([roi]) for roi in rois[:REGIONS_SHOWN]]
        cells = [(n, _length(rois[n - 1 : n]), time_shares.bar(one)) for n, one in enumerate(found, 1)]
        title = f"where the time of the {len(rois)} regions of interest went{_of_cpus(found)}"
        show(title, ("region", "time", ""), cells, console, left=(0, 2))
        console.print(time_shares.legend(found), soft_wrap=True, highlight=False)
    shown = range(max(len(rois) - REGIONS_BESIDE, 0), len(rois))
    show_counters({f"region {n + 1}": roi_counters(rois[n]) for n in shown}, len(rois), console)


def show_devices(devices: Sequence[Mapping[str, int]], console: Console = out) -> None:
    """Show the counters of each device in the last region of interest, if there are several devices."""
    if len(devices) > 1:
        names = sorted({name for counters in devices for name, value in counters.items() if value})
        heads = ("counter", *(f"device {n}" for n in range(len(devices))))
        show("counters by device", heads, [_counted(name, devices) for name in names], console, left=(0,))


def show_power_cut(said: Mapping[str, Any], console: Console = out) -> None:
    """Show the device's report of a power cut."""
    cells = [(key.replace("-", " ").removesuffix(" ps"), _of_cut(key, value)) for key, value in sorted(said.items())]
    show("the power was cut", ("", ""), cells, console, left=(0,))


def _of_cut(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return ("no", "yes")[value]
    return show_time(value) if key.endswith("-ps") else f"{value:,}" if isinstance(value, int) else str(value)


def show_time_shares(rois: Sequence[Roi], console: Console = out) -> None:
    """Show the shares of time of the last region of interest as a table with bars, if there is a region."""
    found = time_shares.shares(rois[-1:])
    if found[0].of_ps:
        cells = [(s.place.name, show_time(s.mean_ps), f"{s.percent:.1f} %", s.bar) for s in found if s.time_ps]
        title = f"where the {_length(rois[-1:])} of the region of interest went{_of_cpus([found])}"
        show(title, ("", "time", "share", ""), cells, console, left=(0, 3))


def show_shares_of_results(done: Sequence[Result], by_cpu: bool = False) -> None:
    """Show the shares of time of each result's regions of interest, with one line and a bar of letters per result."""
    every = [(result, time_shares.shares(result.rois)) for result in done]
    every = [(result, found) for result, found in every if found[0].of_ps]
    if every and by_cpu:
        show_cpus([(_point(result), result.rois) for result, _ in every], "point", out)
    elif every:
        cells = [(_point(result), _length(result.rois), time_shares.bar(found)) for result, found in every]
        title = f"where the time of the regions of interest went{_of_cpus([found for _, found in every])}"
        show(title, ("point", "time", ""), cells, left=(0, 2))
        out.print(time_shares.legend([found for _, found in every]), soft_wrap=True, highlight=False)


def show_mapped_files(done: Sequence[Result]) -> None:
    """Show how the points of one matrix mapped files, if they differ so much that the mapping dominates the results."""
    asked = [str(result.data["identity"]["machine"].get("page_size", "")) for result in done]
    every = [
        mapped_files.of_point(_point(result), page_size, result.rois)
        for result, page_size in zip(done, asked, strict=True)
    ]
    points = [one for one in every if one]
    said = list(mapped_files.warnings(points))
    if said:
        heads = ("point", "faults of 4 KiB", "of 2 MiB", "msync and fsync", "lines flushed a call")
        show("how files were mapped", heads, [one.cells for one in points], left=(0,))
    if len(points) < len(every):
        said.append(f"{len(every) - len(points)} results are of a build that did not count page faults of mapped files")
    for sentence in said:
        out.print(f"WARNING: {sentence}", soft_wrap=True, highlight=False, markup=False)


def show_cpus(runs: Sequence[tuple[str, Sequence[Roi]]], what: str, console: Console) -> None:
    """Show the shares of each CPU in per cent, by letters, one line per run and CPU. A run is a name with regions."""
    every = [(name, cpu, found) for name, rois in runs for cpu, found in enumerate(time_shares.by_cpu(rois))]
    used = [n for n, _ in enumerate(time_shares.PLACES) if any(found[n].time_ps for _, _, found in every)]
    if used:
        places = [time_shares.PLACES[n] for n in used]
        cells = [
            (name, cpu, show_time(found[0].of_ps), *(f"{found[n].percent:.1f}" for n in used))
            for name, cpu, found in every
        ]
        heads = (what, "CPU", "time", *(place.letter for place in places))
        show("where the time of each CPU went, in per cent", heads, cells, console, left=(0,))
        letters = ", ".join(f"{place.letter} {place.name}" for place in places)
        console.print(letters, soft_wrap=True, highlight=False)


def _length(rois: Sequence[Roi]) -> str:
    return show_time(sum(roi["end-ps"] - roi["begin-ps"] for roi in rois))


def _of_cpus(every: Sequence[Sequence[time_shares.Share]]) -> str:
    """The words that a title adds if the shares are means over several CPUs."""
    most = max(found[0].cpus for found in every)
    return "" if most == 1 else ", mean of all CPUs"


def show_counters(counted: Mapping[str, Mapping[str, int]], of: int, console: Console = out) -> None:
    """Show the model's counters of some of `of` regions of interest, in groups, without stalls and zeros."""
    cells: list[tuple[str, ...]] = []
    names = sorted({name for counters in counted.values() for name, value in counters.items() if value})
    for group, begins in COUNTERS.items():
        rows = [_counted(name, counted.values()) for name in names if name.startswith(begins)]
        cells += [(group if index == 0 else "", *row) for index, row in enumerate(rows)]
    heads = list(counted) if of > 1 else ["value"]
    which = f"the last {len(counted)} of {of} regions" if len(counted) < of else f"the region{'s' * (of > 1)}"
    nothing = [("", "(all are 0)", *("" for _ in heads))]
    show(f"counters of {which} of interest", ("", "counter", *heads), cells or nothing, console, left=(0, 1))


def _counted(name: str, regions: Collection[Mapping[str, int]]) -> tuple[str, ...]:
    """The name and the values of a counter for people; the values carry the unit."""
    plain, _, unit = name.rpartition("-")
    values = [counters.get(name, 0) for counters in regions]
    if unit == "ps":
        return (plain.replace("-", " "), *map(show_time, values))
    if unit == "bytes":
        return (plain.replace("-", " "), *(f"{value:,} B" for value in values))
    return (name.replace("-", " "), *(f"{value:,}" for value in values))


def _point(result: Result) -> str:
    """The point of a result in its matrix, with the seed unless it is 0."""
    seed = [f"seed {result.seed}"] if result.seed else []
    return " ".join([*(f"{key}={value}" for key, value in result.point.items()), *seed]) or "-"


def data_of_seeds(done: Sequence[Result]) -> dict[str, Any]:
    """All results, and the median and the range of each point's numbers, as data for JSON."""
    numbers = [
        {"point": group[0].point, "seeds": len(group), "number": name, **number.as_data()}
        for group in spread.by_point(done)
        for name, number in spread.numbers(group).items()
    ]
    return {"results": [result.data for result in done], "spread": numbers}


def show_spread(done: Sequence[Result]) -> None:
    """Show the median and the range of each point's time and stated numbers over its seeds."""
    rows = [
        (_point(group[0]), len(group), name, number.text(partial(spread.shown, name)))
        for group in spread.by_point(done)
        if len(group) > 1
        for name, number in spread.numbers(group).items()
    ]
    if rows:
        show("medians over the seeds, with the range", ("point", "seeds", "number", ""), rows, left=(0, 2))


def show_results(results: Sequence[Result]) -> None:
    """Show one line per result: its manifest, point, scale, outcome and file."""
    cells = []
    for result in results:
        cells.append(
            (result.data["manifest"], _point(result), f"1/{result.data['scale']}", result.outcome, result.path.name)
        )
    show("results", ("manifest", "point", "scale", "outcome", "file"), cells)


def show_output(results: Sequence[Result]) -> None:
    """Print the stdout and stderr of each program to the same streams; several are preceded by the file's name."""
    for result in results:
        if len(results) > 1:
            print(f"==> {result.path} <==")
        sys.stdout.write(result.data["stdout"])
        sys.stdout.flush()
        sys.stderr.write(result.data["stderr"])
        sys.stderr.flush()


def show_sweep(rows: Sequence[Replayed], title: str) -> None:
    """Show the fastest, the median and the slowest configuration of each point, with their values in the grid."""
    cells = []
    for point, which, row in summary(rows):
        where = " ".join(f"{key}={value}" for key, value in row.values.items())
        speed = f"{row.captured_ps / row.roi_ps:.3g}x" if row.roi_ps else "-"
        cells.append((point, which, show_time(row.roi_ps), speed, f"{100 * row.hit_rate:.2f} %", where))
    count = len(rows) // max(len({row.point for row in rows}), 1)
    columns = ("point", "", "time", "speed", "hits", "where")
    show(f"{title}: {count} configurations a point; speed is against the captured device", columns, cells)
