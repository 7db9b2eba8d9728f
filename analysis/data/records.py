# SPDX-License-Identifier: BSD-3-Clause
"""Results and replays of any program as flat records: the point, the program's values, the model's counters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.errors import RunFailed
from testbed.patterns import Cells
from testbed.results import spread
from testbed.results.results import Result
from testbed.results.spread import Spread
from testbed.studies.sweep import Replayed

Cell = str | int | float
Record = dict[str, Cell]  # TIME is in ps
TIME, HIT_RATE = "time", "hit_rate"


@dataclass(frozen=True)
class Records:
    """The records, and the keys that the program itself stated.

    Over several seeds a record holds medians, and the entry of `spreads` with the same index holds their ranges.
    """

    all: Sequence[Record]
    stated: Sequence[str] = ()
    spreads: Sequence[Mapping[str, Spread]] = ()


def of_points(results: Sequence[Result], pattern: str = "") -> Records:
    """Like of_results(), but fold records that differ only in their seeds into one."""
    groups = spread.by_point(results)
    plain = of_results(results, pattern)
    if len(groups) == len(results):
        return plain
    of_seeds = [[list(of_results([result], pattern).all) for result in group] for group in groups]
    folded = [record for group in of_seeds for record in spread.folded(group)]
    spreads = [{key: value for key, value in record.items() if isinstance(value, Spread)} for record in folded]
    return Records(spread.middle(folded), plain.stated, spreads)


def of_results(results: Sequence[Result], pattern: str = "") -> Records:
    """Make a record for each row that a program wrote or that `pattern` finds in its output; one if there is no row."""
    records: list[Record] = []
    stated: dict[str, None] = {}
    for result in results:
        rois = result.data["rois"]
        spans = {TIME: int(rois[-1]["end-ps"]) - int(rois[-1]["begin-ps"])} if rois else {}
        common = {**result.counters, **spans, **_hit_rate(result.counters), **result.point}
        rows = [scalars(row) for row in result.rows] + matches(pattern, str(result.data["stdout"]))
        records += [row | common for row in rows or [{}]]
        stated |= dict.fromkeys(key for row in rows for key in row)
    return Records(records, list(stated))


def of_replays(replays: Sequence[Replayed], points: Mapping[str, Mapping[str, str | int]]) -> Records:
    """Make one record per replay; `points` maps the label of a capture to its point of the matrix."""
    measured = [{**r.counters, TIME: r.roi_ps, **_hit_rate(r.counters)} for r in replays]
    return Records([m | {**points.get(r.point, {}), **r.values} for m, r in zip(measured, replays, strict=True)])


def with_line(records: Records, name: str, keys: Sequence[str]) -> Records:
    """Add a cell `name` to each record, which joins the values of `keys`."""
    lines = [" ".join(f"{key} {record[key]}" for key in keys if key in record) for record in records.all]
    named = [record | {name: line} for record, line in zip(records.all, lines, strict=True)]
    return Records(named, records.stated, records.spreads)


def row_of(result: Result, key: str) -> dict[str, Any]:
    """Return the program's first row with this key; RunFailed if no row contains the key."""
    for row in result.rows:
        if key in row:
            return row
    raise RunFailed(f"{result.path}: the program reported no {key}")


def _hit_rate(counters: Mapping[str, int]) -> Record:
    hits, misses = counters.get("cache-hits", 0), counters.get("cache-misses", 0)
    return {HIT_RATE: round(hits / (hits + misses), 6)} if hits + misses else {}


def scalars(row: Mapping[str, Any]) -> Record:
    """Return the values of a row that can be cells."""
    return {key: value for key, value in row.items() if isinstance(value, str | int | float)}


def matches(pattern: str, text: str) -> list[Record]:
    """Return the named groups of each match, with numbers converted."""
    found = Cells(pattern).find(text) if pattern else ()
    return [{name: number(cell) for name, cell in row.items()} for row in found]


def number(text: str) -> Cell:
    """Convert `text` if it is a whole number or a finite decimal; return other text unchanged."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d*\.\d+(e[+-]?\d+)?", text) else text
