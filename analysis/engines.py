# SPDX-License-Identifier: BSD-3-Clause
"""Engines against PMDK, operation by operation, beside the published ratios of the same kind of device.

Ratios above 1 are faster than PMDK. The published values are compared with, never fitted to.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed.errors import RunFailed
from testbed.results import Result

from . import plotting
from .kv_speedup import NOT_COMPARABLE, machine_text

REFERENCE = Path(__file__).parent / "reference"
BASELINE = "pmdk"
FILES = {"kv": "kv", "list": "linkedlist", "btree": "btree"}
SETUPS = {"snapshot-paper-mss": "mss", "optane-dcpmm": "pm"}
# Engine -> its column in the reference, and PMDK's of the same run.
COLUMNS = {
    "snapshot": ("snapshot_s", "pmdk_s"),
    "snapshot-nv": ("snapshot_nv_s", "pmdk_run2_s"),
    "msync-4k": ("msync_4k_s", "pmdk_s"),
    "msync-2m": ("msync_2m_s", "pmdk_s"),
    "msync-journal": ("msync_data_journal_s", "pmdk_s"),
}
COLOURS = ("#2b6cb0", "#63b3ed", "#dd6b20", "#f6ad55", "#805ad5", "#38a169", "#a0aec0", "#4a5568")


@dataclass(frozen=True)
class EngineRow:
    """One operation on one engine."""

    program: str
    operation: str
    engine: str
    time_ns: int
    ratio: float  # PMDK's time over this engine's
    published: float | None

    @property
    def comparable(self) -> bool:
        return not (self.program == "kv" and self.operation in NOT_COMPARABLE)

    def as_data(self) -> dict[str, Any]:
        published = None if self.published is None else round(self.published, 4)
        return {**vars(self), "ratio": round(self.ratio, 4), "published": published}


def is_engines(results: Sequence[Result]) -> bool:
    """Whether these results hold engines to compare with PMDK."""
    engines = {result.point.get("engine") for result in results}
    return BASELINE in engines and len(engines) > 1 and None not in engines


def published(program: str, setup: str | None) -> dict[tuple[str, str], float]:
    """(Operation, engine) -> PMDK's published time over the engine's."""
    path = REFERENCE / f"{FILES.get(program)}-{setup}.csv"
    if not path.exists():
        return {}
    ratios = {}
    for line in csv.DictReader(text for text in path.read_text().splitlines() if not text.startswith("#")):
        operation = next(iter(line.values()))
        for engine, (own, pmdk) in COLUMNS.items():
            if own in line and pmdk in line:
                ratios[operation, engine] = float(line[pmdk]) / float(line[own])
    return ratios


def times_ns(results: Sequence[Result]) -> dict[tuple[str, str, str], int]:
    """(Program, operation, engine) -> guest time, in the order of the results."""
    times = {}
    for result in results:
        measured = [row for row in result.rows if "roi_ns" in row]
        if not measured:
            raise RunFailed(f"{result.path}: the program reported no roi_ns")
        for row in measured:
            times[row["program"], row.get("workload") or row["phase"], row["engine"]] = int(row["roi_ns"])
    return times


def rows(results: Sequence[Result]) -> list[EngineRow]:
    """One row an operation and engine."""
    setup = SETUPS.get(results[0].data["identity"]["machine"]["device"]["name"])
    times = times_ns(results)
    table = []
    for (program, operation, engine), time_ns in times.items():
        ratio = times[program, operation, BASELINE] / time_ns
        reference = published(program, setup).get((operation, engine))
        table.append(EngineRow(program, operation, engine, time_ns, ratio, reference))
    return table


def axes_of(table: Sequence[EngineRow]) -> tuple[list[str], list[str]]:
    """The operations and the engines, each once, in order."""
    return list(dict.fromkeys(r.operation for r in table)), list(dict.fromkeys(r.engine for r in table))


def _cell(row: EngineRow) -> str:
    if row.engine == BASELINE:
        return f"{row.time_ns / 1e6:.3f} ms"
    reference = "-" if row.published is None else f"{row.published:.2f}" + ("" if row.comparable else "*")
    return f"{row.ratio:.2f} ({reference})"


def title(table: Sequence[EngineRow], results: Sequence[Result]) -> str:
    return f"{table[0].program}, scale 1/{results[0].data['scale']} ({machine_text(results[0])})"


def table_text(table: Sequence[EngineRow], results: Sequence[Result]) -> str:
    """The table for people: a line an operation, a column an engine."""
    operations, engines = axes_of(table)
    cells = {(row.operation, row.engine): _cell(row) for row in table}
    lines = [["", *engines]] + [[o, *(cells.get((o, e), "") for e in engines)] for o in operations]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    text = [f"{title(table, results)}: times faster than PMDK (published, full size)"]
    text += ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    starred = [row.operation for row in table if not row.comparable and row.published is not None]
    text += [f"* {NOT_COMPARABLE[operation]}" for operation in dict.fromkeys(starred)]
    return "\n".join(text)


def table_csv(table: Sequence[EngineRow]) -> str:
    """The table for programs."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0].as_data()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.as_data() for row in table)
    return out.getvalue()


def draw(table: Sequence[EngineRow], results: Sequence[Result]) -> Any:
    """A group of bars an operation; a mark where there is a published ratio."""
    operations, engines = axes_of(table)
    others = [engine for engine in engines if engine != BASELINE]
    width = 0.8 / len(others)
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
        for number, engine in enumerate(others):
            ours = {row.operation: row for row in table if row.engine == engine}
            places = [operations.index(o) - 0.4 + (number + 0.5) * width for o in ours]
            axes.bar(places, [r.ratio for r in ours.values()], width * 0.9, color=COLOURS[number], label=engine)
            marks = [(x, r.published) for x, r in zip(places, ours.values(), strict=True) if r.published]
            label = "published" if number == 0 else None
            axes.plot(*zip(*marks, strict=True), "k_", markersize=7, label=label) if marks else None
        axes.set_yscale("log")
        axes.axhline(1, color="black", linewidth=0.6)
        axes.set_xticks(range(len(operations)), operations)
        axes.set_ylabel("times faster than PMDK")
        axes.set_title(title(table, results), fontsize=8)
        axes.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12), fontsize=7)
        return figure


def write(table: Sequence[EngineRow], results: Sequence[Result], folder: Path) -> list[Path]:
    """The figure in three formats and the table in two, named for the manifest; returns the paths."""
    stem = folder / f"engines-{results[0].data['manifest']}"
    figure = draw(table, results)
    with plt.rc_context(plotting.STYLE):
        written = plotting.save(figure, stem)
    plt.close(figure)
    for suffix, text in ((".txt", table_text(table, results) + "\n"), (".csv", table_csv(table))):
        path = stem.with_suffix(suffix)
        path.write_text(text)
        written.append(path)
    return written
