# SPDX-License-Identifier: BSD-3-Clause
"""Results and replays of any program as flat records: the point, what the program said, what the model counted."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.patterns import Cells
from testbed.results.results import Result
from testbed.studies.sweep import Replayed

Cell = str | int | float
Record = dict[str, Cell]  # TIME is in ps
TIME, HIT_RATE = "time", "hit_rate"


@dataclass(frozen=True)
class Records:
    """The records, and which of their keys the program itself stated."""

    all: Sequence[Record]
    stated: Sequence[str] = ()


def of_results(results: Sequence[Result], pattern: str = "") -> Records:
    """A record for each row that a program wrote or that `pattern` finds in its output; one if there is no row."""
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
    """A record a replay; `points` says which point of the matrix a captured label is."""
    measured = [{**r.counters, TIME: r.roi_ps, **_hit_rate(r.counters)} for r in replays]
    return Records([m | {**points.get(r.point, {}), **r.values} for m, r in zip(measured, replays, strict=True)])


def with_line(records: Records, name: str, keys: Sequence[str]) -> Records:
    """The records with the values of `keys` together as one cell."""
    lines = [" ".join(f"{key} {record[key]}" for key in keys if key in record) for record in records.all]
    return Records([record | {name: line} for record, line in zip(records.all, lines, strict=True)], records.stated)


def _hit_rate(counters: Mapping[str, int]) -> Record:
    hits, misses = counters.get("cache-hits", 0), counters.get("cache-misses", 0)
    return {HIT_RATE: round(hits / (hits + misses), 6)} if hits + misses else {}


def scalars(row: Mapping[str, Any]) -> Record:
    """What of a row can be a cell."""
    return {key: value for key, value in row.items() if isinstance(value, str | int | float)}


def matches(pattern: str, text: str) -> list[Record]:
    """The named groups of each match; what reads as a number is one."""
    found = Cells(pattern).find(text) if pattern else ()
    return [{name: number(cell) for name, cell in row.items()} for row in found]


def number(text: str) -> Cell:
    """`text` as a whole number or a finite decimal, if it is one."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?\d*\.\d+(e[+-]?\d+)?", text) else text
