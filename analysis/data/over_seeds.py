# SPDX-License-Identifier: BSD-3-Clause
"""A figure over several seeds: its numbers are medians, and its chart and tables show the range of each.

A figure's function sees one seed at a time. So its chart is data here: each measured value has a name, its place among
the panels, the series, and its category or x. Values of one name are merged.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from testbed.results import spread
from testbed.results.spread import Spread

from . import tables
from .chart import Bars, Chart, Dots, Group, Line, Lines, Map, Panel, Parts
from .drawn import Cell, Drawn
from .tables import short
from .values import Value

Change = Callable[[str, Value], Value]  # of a value with this name


def merged(each: Sequence[Drawn]) -> Drawn:
    """Merge the drawings of one figure by seed. Text and everything that is not a number are those of the first."""
    first, said = each[0], f"medians and ranges of {len(each)} seeds"
    ranges = ranges_of([drawn.chart for drawn in each])
    rows = _merged_rows(each)
    ours = [spread.of([c.ours for c in same]).median for same in zip(*(d.comparisons for d in each), strict=True)]
    return replace(
        first,
        notes=[*first.notes, f"Numbers are {said}."],
        rows=[[cell.median if isinstance(cell, Spread) else cell for cell in row] for row in rows],
        chart=replace(mapped(first.chart, partial(_in_range, ranges)), ranges=said),
        comparisons=[replace(c, ours=number) for c, number in zip(first.comparisons, ours, strict=True)],
        text="\n".join(
            [first.title, first.caption, *_aligned(first.columns, rows), *first.notes, f"Numbers are {said}."]
        ),
        csv=tables.csv_text(*_with_ends(first.columns, rows)),
    )


def with_recorded(drawn: Drawn, ranges: Mapping[str, Spread], seeds: int) -> Drawn:
    """Give the chart's values recorded ranges: the ends of a range are as far from a value as from their median."""
    found = values(drawn.chart).keys() & ranges.keys()
    if not any(ranges[name].low != ranges[name].high for name in found):
        return drawn
    chart = mapped(drawn.chart, partial(_around, ranges))
    return replace(drawn, chart=replace(chart, ranges=f"ranges as recorded over {seeds} seeds"))


def ranges_of(charts: Sequence[Chart]) -> dict[str, Spread]:
    """Return the range of each measured value; `charts` has one chart for each seed."""
    of_seeds = [values(chart) for chart in charts]
    # The x of a line can be measured, and then differs between seeds.
    names = [name for name in of_seeds[0] if all(name in found for found in of_seeds)]
    return {name: spread.of([found[name].value for found in of_seeds]) for name in names}


def values(chart: Chart) -> dict[str, Value]:
    """Return the measured values of a chart by name. The numbers of maps and published values are not among them."""
    found: dict[str, Value] = {}

    def note(name: str, value: Value) -> Value:
        found[name] = value
        return value

    mapped(chart, note)
    return found


def mapped(chart: Chart, change: Change) -> Chart:
    """Replace every measured value of a chart. A series may have two values at one place; they get different names."""
    seen = Counter[str]()

    def named(name: str, value: Value) -> Value:
        seen[name] += 1
        return change(name if seen[name] == 1 else f"{name} #{seen[name]}", value)

    rows = [
        [_panel(panel, named, f"{row}.{column}") for column, panel in enumerate(panels)]
        for row, panels in enumerate(chart.rows)
    ]
    return replace(chart, rows=rows)


def _panel(panel: Panel, change: Change, place: str) -> Panel:
    match panel:
        case Lines():
            return replace(panel, lines=[_line(line, change, place) for line in panel.lines])
        case Bars() | Dots():
            return replace(panel, groups=[_group(group, change, place) for group in panel.groups])
        case Parts():
            return replace(panel, parts=[_group(group, change, place) for group in panel.parts])
        case Map():
            return panel


def _line(line: Line, change: Change, place: str) -> Line:
    if line.published:
        return line
    return replace(line, points=[(x, change(f"{place}/{line.label}/{x:.9g}", value)) for x, value in line.points])


def _group(group: Group, change: Change, place: str) -> Group:
    changed = {name: change(f"{place}/{group.label}/{name}", value) for name, value in group.values.items()}
    return replace(group, values=changed)


def _in_range(ranges: Mapping[str, Spread], name: str, value: Value) -> Value:
    found = ranges.get(name)
    if found is None or found.low == found.high:
        return value
    return Value(found.median, found.low, found.high)


def _around(ranges: Mapping[str, Spread], name: str, value: Value) -> Value:
    found = ranges.get(name)
    if found is None or found.low == found.high or not found.median:
        return value
    low, high = sorted(value.value * end / found.median for end in (found.low, found.high))
    return Value(value.value, min(low, value.value), max(high, value.value))


# ---- Tables ----


def _merged_rows(each: Sequence[Drawn]) -> list[list[Cell | Spread]]:
    """Merge the tables cell by cell: to the range of numbers that differ, else to the first drawing's cell."""
    if len({len(drawn.rows) for drawn in each}) > 1:
        return [list(row) for row in each[0].rows]
    return [[_merged(cells) for cells in zip(*rows, strict=True)] for rows in zip(*(d.rows for d in each), strict=True)]


def _merged(cells: Sequence[Cell]) -> Cell | Spread:
    numbers = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    return spread.of(numbers) if len(numbers) == len(cells) and len(set(numbers)) > 1 else cells[0]


def _aligned(columns: Sequence[str], rows: Sequence[Sequence[Cell | Spread]]) -> list[str]:
    return tables.aligned([columns, *([_text(cell) for cell in row] for row in rows)])


def _text(cell: Cell | Spread) -> str:
    if isinstance(cell, Spread):
        return cell.text(lambda number: str(_short(number)))
    return "-" if cell is None else str(_short(cell))


def _short(cell: Cell) -> Cell:
    return short(cell) if isinstance(cell, float) else cell


def _with_ends(columns: Sequence[str], rows: Sequence[Sequence[Cell | Spread]]) -> tuple[list[str], list[list[Cell]]]:
    """Return the table with two more columns, low and high, behind each column with a range."""
    ranged = {at for row in rows for at, cell in enumerate(row) if isinstance(cell, Spread)}
    heads = [[name, f"{name} low", f"{name} high"] if at in ranged else [name] for at, name in enumerate(columns)]
    cells = [[_columns(cell, at in ranged) for at, cell in enumerate(row)] for row in rows]
    return list(chain(*heads)), [list(chain(*row)) for row in cells]


def _columns(cell: Cell | Spread, ranged: bool) -> list[Cell]:
    """Return the cells of one column: with a range median, low and high, which are empty for text."""
    if isinstance(cell, Spread):
        return [_short(number) for number in (cell.median, cell.low, cell.high)]
    if not ranged:
        return [_short(cell)]
    return [_short(cell)] * 3 if isinstance(cell, int | float) else [cell, None, None]
