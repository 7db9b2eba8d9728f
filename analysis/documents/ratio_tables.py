# SPDX-License-Identifier: BSD-3-Clause
"""Tables for the documents: ours over published, by engine and group of workloads, each with its known cause."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..data import markdown
from ..data.drawn import Comparison
from ..scorecard.causes import EXPLAINS_LITTLE, Tested
from ..scorecard.score import BOUNDS, within
from .quick_numbers import Numbers

# (pattern of a comparison's group, name of all matching groups in a table)
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
    """The numbers of one engine, or method of persisting, under a group of workloads."""

    engine: str
    workloads: str
    members: Sequence[Comparison]


def rows(comparisons: Iterable[Comparison]) -> list[Row]:
    """Put each comparable number of a figure into one row."""
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
    """Format the range from the least to the most, as one number if all are equal."""
    found = sorted(values, key=float)
    return found[0] if found[0] == found[-1] else f"{found[0]} to {found[-1]}"


def ratio(value: float) -> str:
    """Format a ratio with two decimals; below 0.1, with two significant digits."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def ratios(row: Row) -> str:
    return span(ratio(c.ours / c.published) for c in row.members)


def known(row: Row, numbers: Numbers) -> str:
    """List the causes that were found for the row's numbers that are more than 10 % off."""
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
    """Return nothing for a count of 0, and leave the count out if it covers all members."""
    return [said if count == members else f"{said} ({count} of {members})"] if count else []


def table(numbers: Numbers, figure: str) -> str:
    cells = [(r.engine, r.workloads, ratios(r), known(r, numbers)) for r in rows(numbers.of(figure))]
    return markdown.table(HEAD, cells)
