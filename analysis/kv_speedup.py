# SPDX-License-Identifier: BSD-3-Clause
"""KV store on a memory-semantic SSD: speedup of Snapshot over PMDK under YCSB A-G, beside the published one.

The published values are compared with, never fitted to. Published E is not YCSB-E: it replays only the inserts and no
scans (see the reference's source), so it stands in the table but its error is not computed.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from testbed import units
from testbed.errors import RunFailed
from testbed.results import Result

from . import plotting
from .drawn import Comparison, Drawn, Gathered

REFERENCE = Path(__file__).parent / "reference" / "kv-mss.csv"
NOT_COMPARABLE = {"E": "published E replays only the inserts of YCSB-E, without scans"}


@dataclass(frozen=True)
class KvRow:
    """One workload: run times per engine in ns, speedups, and the published speedup."""

    workload: str
    scale: int
    pmdk_ns: int
    snapshot_ns: int
    volatile_ns: int | None
    published_pmdk_s: float
    published_snapshot_s: float
    machine: str = ""  # what of it the comparison depends on most

    @property
    def speedup(self) -> float:
        return self.pmdk_ns / self.snapshot_ns

    @property
    def published(self) -> float:
        return self.published_pmdk_s / self.published_snapshot_s

    @property
    def comparable(self) -> bool:
        return self.workload not in NOT_COMPARABLE

    @property
    def time_errors_percent(self) -> tuple[float, float]:
        """PMDK's and Snapshot's times, multiplied by the scale, against the published ones."""
        pairs = (self.pmdk_ns, self.published_pmdk_s), (self.snapshot_ns, self.published_snapshot_s)
        pmdk, snapshot = (100 * (ours_ns * self.scale / 1e9 / published_s - 1) for ours_ns, published_s in pairs)
        return pmdk, snapshot

    @property
    def error_percent(self) -> float | None:
        """How far ours is from the published one; None where the two do not measure the same."""
        return 100 * (self.speedup / self.published - 1) if self.comparable else None

    def as_data(self) -> dict[str, Any]:
        error = self.error_percent
        pmdk_error, snapshot_error = self.time_errors_percent if self.comparable else (None, None)
        return {
            "workload": self.workload,
            "scale": f"1/{self.scale}",
            "pmdk_ns": self.pmdk_ns,
            "snapshot_ns": self.snapshot_ns,
            "volatile_ns": self.volatile_ns,
            "speedup": round(self.speedup, 4),
            "published_speedup": round(self.published, 4),
            "error_percent": None if error is None else round(error, 2),
            "pmdk_error_percent": None if pmdk_error is None else round(pmdk_error, 2),
            "snapshot_error_percent": None if snapshot_error is None else round(snapshot_error, 2),
        }


def is_kv(results: Sequence[Result]) -> bool:
    """Whether these results hold what this figure compares."""
    engines = {result.point.get("engine") for result in results}
    compared = {"snapshot", "pmdk"} <= engines <= {"snapshot", "pmdk", "volatile"}
    return compared and all("workload" in result.point for result in results)


def published() -> dict[str, tuple[float, float]]:
    """Workload -> published seconds of PMDK and of Snapshot, at full size."""
    lines = [line for line in REFERENCE.read_text().splitlines() if not line.startswith("#")]
    return {r["workload"]: (float(r["pmdk_s"]), float(r["snapshot_s"])) for r in csv.DictReader(lines)}


def run_time_ns(result: Result) -> int:
    """The guest time of the operations, by CLOCK_MONOTONIC."""
    for row in result.rows:
        if "roi_ns" in row:
            return int(row["roi_ns"])
    raise RunFailed(f"{result.path}: the program reported no roi_ns")


def machine_text(result: Result) -> str:
    """The sizes that stand against the data's: they are scaled with it."""
    machine = result.data["identity"]["machine"]
    sizes = (units.show_size(machine["device"]["cache_size"]), units.show_size(machine["cpu"]["llc_size"]))
    return f"device cache {sizes[0]}, LLC {sizes[1]}"


def rows(results: Sequence[Result]) -> list[KvRow]:
    """One row a workload. Results with several seeds are averaged."""
    times: dict[tuple[str, str], list[int]] = {}
    for result in results:
        key = (str(result.point["workload"]), str(result.point["engine"]))
        times.setdefault(key, []).append(run_time_ns(result))
    mean = {key: round(sum(values) / len(values)) for key, values in times.items()}
    scale, machine = int(results[0].data["scale"]), machine_text(results[0])
    reference = published()
    return [
        KvRow(w, scale, mean[w, "pmdk"], mean[w, "snapshot"], mean.get((w, "volatile")), *reference[w], machine)
        for w in sorted({workload for workload, _ in mean})
    ]


COLUMNS = ("workload", "pmdk ms", "error", "snapshot ms", "error", "volatile ms", "speedup", "published", "error")
ERRORS = "errors of times: ours times the scale against the published seconds"


def _percent(value: float | None) -> str:
    return "(not comparable)" if value is None else f"{value:+.0f} %"


def _cells(row: KvRow) -> tuple[str, ...]:
    pmdk, snapshot = f"{row.pmdk_ns / 1e6:.2f}", f"{row.snapshot_ns / 1e6:.2f}"
    volatile = "-" if row.volatile_ns is None else f"{row.volatile_ns / 1e6:.2f}"
    pmdk_error, snapshot_error = (_percent(error) if row.comparable else "" for error in row.time_errors_percent)
    speedups = (f"{row.speedup:.2f}x", f"{row.published:.2f}x", _percent(row.error_percent))
    return (row.workload, pmdk, pmdk_error, snapshot, snapshot_error, volatile, *speedups)


def table_text(table: Sequence[KvRow]) -> str:
    """The table for people."""
    cells = [COLUMNS, *map(_cells, table)]
    shown = [i for i in range(len(COLUMNS)) if any(line[i] != "-" for line in cells[1:])]
    lines = [[line[i] for i in shown] for line in cells]
    widths = [max(len(line[i]) for line in lines) for i in range(len(shown))]
    text = [f"KV store, guest time, speedup of Snapshot over PMDK; scale 1/{table[0].scale} of the published study"]
    text += [f"in the guest: {table[0].machine}"]
    text += ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    text.append(ERRORS)
    text += [f"{w}: {why}" for w, why in NOT_COMPARABLE.items() if any(row.workload == w for row in table)]
    return "\n".join(text)


def table_csv(table: Sequence[KvRow]) -> str:
    """The table for programs."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(table[0].as_data()), lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.as_data() for row in table)
    return out.getvalue()


def draw(table: Sequence[KvRow]) -> Any:
    """The figure: ours beside the published, one pair of bars a workload."""
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
        places = range(len(table))
        ours = axes.bar([x - 0.2 for x in places], [row.speedup for row in table], 0.38, color="#2b6cb0")
        theirs = axes.bar([x + 0.2 for x in places], [row.published for row in table], 0.38, color="#cbd5e0")
        for bars in (ours, theirs):
            axes.bar_label(bars, fmt="%.1f", fontsize=7, padding=1)
        axes.axhline(1, color="black", linewidth=0.6)
        axes.set_xticks(list(places), [row.workload + ("*" if row.workload in NOT_COMPARABLE else "") for row in table])
        axes.set_xlabel("YCSB workload")
        axes.set_ylabel("speedup of Snapshot over PMDK")
        axes.legend(
            [ours, theirs],
            [f"testbed, scale 1/{table[0].scale} ({table[0].machine})", "published, full size"],
            frameon=False,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.2),
            ncols=2,
        )
        starred = [f"* {NOT_COMPARABLE[r.workload]}" for r in table if r.workload in NOT_COMPARABLE]
        axes.set_title("KV store on a CXL memory-semantic SSD" + "".join(f"\n{s}" for s in starred), fontsize=8)
        return figure


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure and its table, as the catalogue has them."""
    table = rows(gathered.results["kv-ycsb"])
    data = [row.as_data() for row in table]
    return Drawn(
        name="kv-ycsb",
        title="KV store on a memory-semantic SSD: Snapshot against PMDK",
        caption=f"Speedup of Snapshot over PMDK under YCSB A-G; scale 1/{table[0].scale}, {table[0].machine}.",
        notes=[ERRORS, *(f"{w}: {why}" for w, why in NOT_COMPARABLE.items())],
        columns=list(data[0]),
        rows=[list(row.values()) for row in data],
        comparisons=[comparison for row in table for comparison in comparisons(row)],
        files=write(table, folder),
    )


def comparisons(row: KvRow) -> list[Comparison]:
    """Both engines' seconds: ours times the scale, and the published."""
    times = {"pmdk": (row.pmdk_ns, row.published_pmdk_s), "snapshot": (row.snapshot_ns, row.published_snapshot_s)}
    group = f"kv {row.workload}, snapshot-paper-mss"
    return [
        Comparison("kv-ycsb", group, engine, "s", ns * row.scale / 1e9, s, row.comparable)
        for engine, (ns, s) in times.items()
    ]


def write(table: Sequence[KvRow], folder: Path) -> list[Path]:
    """The figure in three formats and the table in two; returns the paths."""
    figure = draw(table)
    with plt.rc_context(plotting.STYLE):
        written = plotting.save(figure, folder / "kv-ycsb")
    plt.close(figure)
    for suffix, text in ((".txt", table_text(table) + "\n"), (".csv", table_csv(table))):
        path = folder / f"kv-ycsb{suffix}"
        path.write_text(text)
        written.append(path)
    return written
