# SPDX-License-Identifier: BSD-3-Clause
"""Engines operation by operation: list, B-tree and KV store, beside the published times and ratios to PMDK.

A published time covers a published number of operations. Ours is the mean time of an operation times that number,
because scaled studies make fewer operations, and slow engines fewer still. The model is never fitted to these values.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from testbed.errors import RunFailed
from testbed.results.results import Result

from ..data import published, ratios
from ..data.chart import Chart, Dots, Group
from ..data.drawn import Cell, Comparison, Drawn, Gathered
from ..data.tables import aligned, short
from ..data.values import Value

BASELINE = "pmdk"
SHOWN = ("engine", "workload", "device")  # axes of a matrix that every table already shows
REFERENCES = {"kv": "kv", "list": "linkedlist", "btree": "btree"}
PUBLISHED_OPERATIONS = {"kv": 5_000_000, "list": 1_000_000, "btree": 1_000_000}
COUNTED_BY = {"kv": "operations", "list": "nodes", "btree": "keys"}
# Engine -> its column in the reference, and PMDK's column of the same run.
COLUMNS = {
    "pmdk": ("pmdk_s", "pmdk_s"),
    "snapshot": ("snapshot_s", "pmdk_s"),
    "snapshot-nv": ("snapshot_nv_s", "pmdk_run2_s"),
    "msync-4k": ("msync_4k_s", "pmdk_s"),
    "msync-2m": ("msync_2m_s", "pmdk_s"),
    "msync-journal": ("msync_data_journal_s", "pmdk_s"),
}
NOT_COMPARABLE = {("kv", "E"): "published E replays only the inserts of YCSB-E, without scans"}
READS = {("list", "traverse"), ("btree", "read"), ("btree", "depth-first")}


@dataclass(frozen=True)
class Timing:
    """The time of one operation on one engine."""

    device: str
    program: str
    operation: str
    engine: str
    operations: int
    time_ns: int
    fewer: int  # PMDK made this many times as many operations

    @property
    def mean_ns(self) -> float:
        return self.time_ns / self.operations

    @property
    def full_s(self) -> float:
        """Seconds for the published number of operations at this pace."""
        return self.mean_ns * PUBLISHED_OPERATIONS[self.program] / 1e9

    @property
    def published_s(self) -> float | None:
        return _published(self, COLUMNS.get(self.engine, ("", ""))[0])

    @property
    def published_ratio(self) -> float | None:
        """PMDK's published time over this engine's."""
        own, pmdk = (_published(self, column) for column in COLUMNS.get(self.engine, ("", "")))
        return pmdk / own if own and pmdk else None

    @property
    def comparable(self) -> bool:
        return (self.program, self.operation) not in NOT_COMPARABLE and not self.reads_less

    @property
    def reads_less(self) -> bool:
        """Whether the engine reads a smaller structure than the others, because it made fewer operations."""
        return self.fewer > 1 and (self.program, self.operation) in READS


def _published(timing: Timing, column: str) -> float | None:
    for row in published.of_device(REFERENCES[timing.program], timing.device):
        if next(iter(row.values())) == timing.operation and column in row:
            return float(row[column])
    return None


def timings(results: Sequence[Result]) -> list[Timing]:
    """Return the timing of every operation of every engine, in the order of the results."""
    made = [timing for result in results for timing in _timings_of(result)]
    most = {_place(t): t.operations for t in made if t.engine == BASELINE}
    return [Timing(**{**vars(t), "fewer": max(1, round(most.get(_place(t), 0) / t.operations))}) for t in made]


def _place(timing: Timing) -> tuple[str, str]:
    return timing.device, timing.operation


def _timings_of(result: Result) -> Iterable[Timing]:
    measured = [row for row in result.rows if "roi_ns" in row]
    if not measured:
        raise RunFailed(f"{result.path}: the program reported no roi_ns")
    device = result.data["identity"]["machine"]["device"]["name"]
    for row in measured:
        operation, program = row.get("workload") or row["phase"], row["program"]
        yield Timing(device, program, operation, row["engine"], int(row[COUNTED_BY[program]]), int(row["roi_ns"]), 1)


def is_engines(results: Sequence[Result]) -> bool:
    """Whether these results hold engines to compare with PMDK."""
    engines = {result.point.get("engine") for result in results}
    programs = {row.get("program") for result in results for row in result.rows}
    return BASELINE in engines and len(engines) > 1 and programs <= set(REFERENCES)


class Table:
    """The timings of one program on one device. `setting` names the values of the matrix's other axes, if they vary."""

    def __init__(self, results: Sequence[Result], device: str, setting: str = "") -> None:
        self.results = results
        self.device = device
        self.setting = setting
        self.timings = timings(self.results)
        self.cells = {(t.operation, t.engine): t for t in self.timings}
        self.operations = list(dict.fromkeys(t.operation for t in self.timings))
        self.engines = list(dict.fromkeys(t.engine for t in self.timings))

    def ratio(self, timing: Timing) -> float:
        """How many times faster than PMDK the engine is."""
        return self.cells[timing.operation, BASELINE].mean_ns / timing.mean_ns

    def star(self, operation: str) -> str:
        """Return a star if an engine's time of the operation is not comparable with the published time."""
        return "" if all(t.comparable for t in self.timings if t.operation == operation) else "*"

    @property
    def title(self) -> str:
        return f"{self.timings[0].program} on {self.device}{self.setting}, {ratios.text(self.results[0])}"

    @property
    def notes(self) -> list[str]:
        """The differences between this table's measurements and the published ones."""
        fewer = {t.engine: t.fewer for t in self.timings if t.fewer > 1}
        kinds = {(t.program, t.operation) for t in self.timings}
        said = [f"{engine} made 1/{times} of the operations, to come to an end" for engine, times in fewer.items()]
        said += ["those engines' reads are of so much less data: not compared"] if fewer and kinds & READS else []
        return said + [f"{what}: {why}" for (program, what), why in NOT_COMPARABLE.items() if (program, what) in kinds]

    def text(self) -> str:
        """Format the table for people: one line per operation, one column per engine."""
        faster = self._grid(self._faster)
        seconds = self._grid(lambda t: _beside(f"{t.full_s:.3g}", t.published_s, ".3g", t))
        count = f"{PUBLISHED_OPERATIONS[self.timings[0].program]:,} operations"
        lines = [self.title, "times faster than PMDK (published):", *faster]
        lines += [f"seconds for {count} at the measured pace (published):", *seconds]
        return "\n".join(lines + [f"* {note}" for note in self.notes])

    def _faster(self, t: Timing) -> str:
        if t.engine == BASELINE:
            return f"{t.time_ns / 1e6:.2f} ms"
        return _beside(f"{self.ratio(t):.2f}", t.published_ratio, ".2f", t)

    def _grid(self, show: Callable[[Timing], str]) -> list[str]:
        lines = [["", *self.engines]]
        for operation in self.operations:
            cells = [self.cells.get((operation, engine)) for engine in self.engines]
            lines.append([operation, *(show(cell) if cell else "" for cell in cells)])
        return aligned(lines)

    def rows(self) -> list[list[Cell]]:
        """Return the table for programs: one row per operation and engine, with the columns of ROW."""
        return [
            [
                *(self.device, t.operation, t.engine, t.operations, t.time_ns, short(t.full_s), short(t.published_s)),
                *(short(self.ratio(t)), short(t.published_ratio), t.comparable),
            ]
            for t in self.timings
        ]


ROW = (
    *("device", "operation", "engine", "operations", "roi_ns", "full_s", "published_s"),
    *("times_faster_than_pmdk", "published_times_faster", "comparable"),
)


def _beside(ours: str, reference: float | None, form: str, timing: Timing) -> str:
    """Format ours and the published value as `5.02 (4.83)`, with a star if the two measure different things."""
    star = "" if timing.comparable else "*"
    return ours + (f" ({reference:{form}})" if reference else "") + (star if reference or timing.reads_less else "")


# ---- Drawing ----


def drawn(name: str, manifest: str, title: str) -> Callable[[Gathered], Drawn]:
    """Return the function that draws the figure `name` of a manifest, with a panel for each table."""

    def draw(gathered: Gathered) -> Drawn:
        tables = tables_of(gathered.results[manifest])
        rows = [row for table in tables for row in table.rows()]
        text = "\n\n".join(table.text() for table in tables)
        return Drawn(
            name=name,
            title=title,
            caption="Points: times faster than PMDK; marks: published. " + "; ".join(t.title for t in tables) + ".",
            notes=list(dict.fromkeys(note for table in tables for note in table.notes)),
            columns=ROW,
            rows=rows,
            comparisons=[c for table in tables for c in comparisons(name, table)],
            chart=_chart(tables),
            text=text,
        )

    return draw


def tables_of(results: Sequence[Result]) -> list[Table]:
    """Make a table for each device and each combination of the axes outside SHOWN, in the order of the results."""
    places: dict[tuple[str, str], list[Result]] = {}
    axes = _other_axes(results)
    for result in results:
        device = result.data["identity"]["machine"]["device"]["name"]
        setting = "".join(f", {axis} {result.point[axis]}" for axis in axes if axis in result.point)
        places.setdefault((device, setting), []).append(result)
    return [Table(mine, *place) for place, mine in places.items()]


def _other_axes(results: Sequence[Result]) -> list[str]:
    """List the axes with several values, except the axes that every table already shows."""
    values: dict[str, set[str | int]] = {}
    for result in results:
        for axis, value in result.point.items():
            values.setdefault(axis, set()).add(value)
    return [axis for axis, found in values.items() if len(found) > 1 and axis not in SHOWN]


def comparisons(figure: str, table: Table) -> list[Comparison]:
    """Compare every published time with ours for the same number of operations."""
    return [
        Comparison(
            figure, f"{t.program} {t.operation}, {t.device}", t.engine, "s", t.full_s, t.published_s, t.comparable
        )
        for t in table.timings
        if t.published_s is not None
    ]


def _chart(tables: Sequence[Table]) -> Chart:
    return Chart([[_panel(table)] for table in tables])


def _panel(table: Table) -> Dots:
    """Make the panel of a table, with a star at operations that are not comparable with the published ones."""
    names = {what: f"{what}{table.star(what)}" for what in table.operations}
    return Dots(
        categories=list(names.values()),
        groups=[_group(table, engine, names) for engine in table.engines if engine != BASELINE],
        y_label="times faster than PMDK",
        title=table.title,
        notes=[f"* {note}" for note in table.notes],
        base=1,
    )


def _group(table: Table, engine: str, names: Mapping[str, str]) -> Group:
    ours = [(names[t.operation], t) for t in table.timings if t.engine == engine]
    theirs = {name: t.published_ratio for name, t in ours if t.published_ratio}
    return Group(engine, {name: Value(table.ratio(t)) for name, t in ours}, published=theirs)
