# SPDX-License-Identifier: BSD-3-Clause
"""Tables of the documents without published values, from the results of `testbed run NAME`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from testbed.errors import TestbedError
from testbed.results.results import Result

from ..data import markdown

Rows = Mapping[tuple[str, ...], dict[str, Any]]


def rows(found: Sequence[Result], *axes: str) -> Rows:
    """Map each point's values on these axes to its row; TestbedError unless each point has exactly one measured row."""
    made: dict[tuple[str, ...], dict[str, Any]] = {}
    for result in found:
        place = tuple(str(result.point[axis]) for axis in axes)
        measured = [row for row in result.rows if "roi_ns" in row]
        if place in made or len(measured) != 1:
            raise TestbedError(
                f"{result.path.parent} has not one measured row for {' '.join(place)}: remove results of other states "
                f"from there, then testbed run {result.data['manifest']}"
            )
        made[place] = measured[0]
    return made


# ---- The tables ----


def protocols(found: Sequence[Result]) -> str:
    """Tabulate the cost of a commit: the time of G, which always updates, above C, which never updates."""
    made = rows(found, "protocol", "workload")
    head = ("protocol", "A", "C", "G", "a commit of G", "fences", "bytes to the log", "to the file")
    return markdown.table(head, [_protocol(name, made) for name in ("redo", "line", "undo", "undo-nv")])


def _protocol(name: str, made: Rows) -> list[str]:
    a, c, g = (made[name, workload] for workload in "ACG")
    commits = g["commits"]
    each = [f"{g[key] / commits:.3g}" for key in ("fences", "log_bytes", "data_bytes")]
    times = [f"{row['roi_ns'] / 1e6:.1f} ms" for row in (a, c, g)]
    return [f"`{name}`", *times, f"{(g['roi_ns'] - c['roi_ns']) / commits:.0f} ns", *each]


def kyoto(found: Sequence[Result]) -> str:
    """Tabulate microseconds per transaction: Kyoto Cabinet's own log over Snapshot."""
    made = rows(found, "db", "updates", "engine")
    head = ("database, updates", "its own log", "Snapshot (`redo`)", "ratio")
    names = {"tree": "TreeDB", "hash": "HashDB"}
    places = [(db, updates) for db in names for updates in UPDATES]
    return markdown.table(
        head, [(f"{names[db]}, {updates}", *_ratio(made, (db, updates), "wal")) for db, updates in places]
    )


def lmdb(found: Sequence[Result]) -> str:
    """Tabulate microseconds per transaction: unmodified LMDB over LMDB on Snapshot."""
    made = rows(found, "updates", "engine")
    head = ("updates", "`msync`", "`snapshot`", "ratio")
    return markdown.table(head, [(updates, *_ratio(made, (updates,), "msync")) for updates in UPDATES])


def epochs(found: Sequence[Result]) -> str:
    """Tabulate the cost of the length of an epoch for A, and beside it the time of C, which pays nothing."""
    made = rows(found, "engine", "epoch_ns", "workload")
    head = ("engine", "epoch", "checkpoints", "updates each", "log of each", "a stop", "A", "C")
    places = sorted({place[:2] for place in made}, key=lambda place: (place[0], int(place[1])))
    return markdown.table(head, [_epochs(made[*place, "A"], made[*place, "C"], *place) for place in places])


def _epochs(a: dict[str, Any], c: dict[str, Any], engine: str, epoch_ns: str) -> list[str]:
    updates, log_bytes, stop_ns = (a[key] / a["commits"] for key in ("updates", "log_bytes", "stop_ns"))
    counts = [str(a["commits"]), f"{updates:.0f}", f"{log_bytes / 1000:.1f} kB", f"{stop_ns / 1000:.1f} us"]
    times = [f"{row['roi_ns'] / 1e6:.1f} ms" for row in (a, c)]
    return [f"`{engine}`", f"{int(epoch_ns) / 1e6:g} ms", *counts, *times]


UPDATES = ("1", "16", "128")


def _ratio(made: Rows, place: tuple[str, ...], other: str) -> list[str]:
    """Format the time of a transaction on the other engine and on Snapshot, and the ratio of the two."""
    pair = [made[*place, engine] for engine in (other, "snapshot")]
    micros = [row["roi_ns"] / row["transactions"] / 1000 for row in pair]
    return [*(f"{value:.1f}" for value in micros), f"{micros[0] / micros[1]:.1f}"]


TABLES: dict[str, Callable[[Sequence[Result]], str]] = {
    "protocols": protocols,
    "kyoto": kyoto,
    "lmdb": lmdb,
    "epochs": epochs,
}
