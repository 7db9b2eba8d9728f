# SPDX-License-Identifier: BSD-3-Clause
"""Ours over published, by engine and group of workloads, each with its known cause: tables for the documents."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from . import markdown
from .causes import EXPLAINS_LITTLE, Tested
from .drawn import Comparison
from .quick_numbers import Numbers
from .scorecard import BOUNDS, within

# Of a comparison's group: a pattern, and what a table calls all that it fits.
KV = (
    ("kv [AFG],", "A, F, G: updates"),
    ("kv D,", "D: inserts, reads of the newest"),
    ("kv [BC],", "B, C: reads"),
)
WORKLOADS = {
    "kv-ycsb": KV,
    "engines": KV,
    "engines-optane": KV,
    "list": (("list (insert|delete),", "insert, delete"), ("list traverse,", "traverse")),
    "btree": (("btree (insert|delete),", "insert, delete"), ("btree read,", "read")),
    "kyoto-commits": (
        ("kyoto [12] updates,", "1 and 2 updates a commit"),
        ("kyoto (4|8|16) updates,", "4 to 16"),
        ("kyoto (32|64|128) updates,", "32 to 128"),
    ),
    "persist": (
        ("(64|128) B,", "64 and 128 bytes"),
        ("(256|512) B,", "256 and 512 bytes"),
        ("(1024|4096) B,", "1 and 4 KiB"),
    ),
    "overhead": (("kv,", "A to G, all instrumentation"),),
    "msync-share": KV,
    "file-latency": (("writes, not aligned", "up to 1 KiB, not aligned: `cow` over `hybrid`"),),
    "filework": (("varmail", "Varmail: `hybrid` over `cow`"),),
    "metadata-updates": (("in place and logged", "logged over in place"),),
}
DEVICES = {"snapshot-paper-mss": "memory-semantic SSD", "optane-dcpmm": "Optane memory"}
HEAD = ("engine", "workloads", "ours over published", "known cause, and how much of the difference goes with it")


@dataclass(frozen=True)
class Row:
    """The numbers of one engine, or way to persist, under a group of workloads."""

    engine: str
    workloads: str
    members: Sequence[Comparison]


def rows(comparisons: Iterable[Comparison]) -> list[Row]:
    """The comparable numbers of a figure, each in one row."""
    found: dict[str, dict[str, list[Comparison]]] = {}
    for c in comparisons:
        if c.comparable:
            found.setdefault(engine(c), {}).setdefault(workloads(c), []).append(c)
    return [Row(name, said, members) for name, groups in found.items() for said, members in groups.items()]


def engine(c: Comparison) -> str:
    device = next((said for name, said in DEVICES.items() if c.group.endswith(f", {name}")), "")
    return f"{c.what}, {device}" if device else c.what


def workloads(c: Comparison) -> str:
    return next(said for pattern, said in WORKLOADS[c.figure] if re.match(pattern, c.group))


def span(values: Iterable[str]) -> str:
    """The least to the most, or what all are."""
    found = sorted(values, key=float)
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def ratio(value: float) -> str:
    """To two places, a small one to two digits."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def ratios(row: Row) -> str:
    return span(ratio(c.ours / c.published) for c in row.members)


def known(row: Row, numbers: Numbers) -> str:
    """What was found for those of the row that are further off than 10 %."""
    far = [c for c in row.members if not within(c, BOUNDS["within_10"])]
    tests = [numbers.best.get((c.figure, c.group, c.what)) for c in far]
    explained = [test for test in tests if test and test.explains >= EXPLAINS_LITTLE]
    parts = [_explained(text, explained, len(row.members)) for text in dict.fromkeys(t.cause.text for t in explained)]
    parts += _counted("not known", len(far) - len(explained), len(row.members))
    return "; ".join(parts + _counted("within 10 %", len(row.members) - len(far), len(row.members)))


def _explained(text: str, tests: Sequence[Tested], members: int) -> str:
    shares = [f"{100 * test.explains:.0f}" for test in tests if test.cause.text == text]
    return f"{_counted(text, len(shares), members)[0]}: {span(shares)} %"


def _counted(said: str, count: int, members: int) -> list[str]:
    """Nothing of none; without a number of all."""
    return [said if count == members else f"{said} ({count} of {members})"] if count else []


def table(numbers: Numbers, figure: str) -> str:
    cells = [(r.engine, r.workloads, ratios(r), known(r, numbers)) for r in rows(numbers.of(figure))]
    return markdown.table(HEAD, cells)
