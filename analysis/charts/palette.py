# SPDX-License-Identifier: BSD-3-Clause
"""The colours of all charts. An engine, policy or verdict has the same colour in each chart that shows it."""

from collections.abc import Iterable
from itertools import cycle

BLUE, LIGHT_BLUE, PALE_BLUE = "#2b6cb0", "#63b3ed", "#bee3f8"
GREEN, LIGHT_GREEN = "#2f855a", "#38a169"
ORANGE, LIGHT_ORANGE, RUST, YELLOW = "#dd6b20", "#f6ad55", "#c05621", "#d69e2e"
PURPLE, PINK, RED, TEAL = "#805ad5", "#d53f8c", "#c53030", "#319795"
INK, DARK_GREY, GREY = "#1a202c", "#4a5568", "#a0aec0"

CYCLE = (BLUE, ORANGE, GREEN, PURPLE, GREY, PINK, DARK_GREY, YELLOW, RED, TEAL)  # for series outside COLOURS
BAND = "#fed7aa"  # a published range
NEARNESS = ("#9ae6b4", "#c6f6d5", "#f0fff4")  # bands around "equal", from the narrowest
RULE = "#000000"  # lines at 0 and 1, and marks of published numbers
# The colours of a map from the bad end to the good end; the middle is where two things are equal.
BAD_TO_GOOD = (
    *("#67001f", "#b1182b", "#d6604d", "#f3a481", "#fddbc7", "#f6f7f7"),
    *("#d1e5f0", "#90c4dd", "#4393c3", "#2065ab", "#053061"),
)

# On a dark page these colours take the place of those that it would hide; all others are the same there.
ON_DARK = {
    BLUE: "#4f94d8",
    GREEN: "#48a877",
    RUST: "#e07a3f",
    PURPLE: "#a283e8",
    RED: "#e5605f",
    PINK: "#e665ab",
    TEAL: "#3fb5b1",
    INK: "#e6eaf0",
    DARK_GREY: "#8a99ae",
    RULE: "#ffffff",
    BAND: "#8a5a2a",
    NEARNESS[0]: "#2c6146",
    NEARNESS[1]: "#234a38",
    NEARNESS[2]: "#1c362c",
}

COLOURS = {
    # engines, and stores beside them
    "pmdk": INK,
    "snapshot": BLUE,
    "snapshot-nv": LIGHT_BLUE,
    "snapshot-epoch": TEAL,
    "msync": YELLOW,
    "msync-4k": ORANGE,
    "msync-2m": LIGHT_ORANGE,
    "msync-cached": INK,
    "msync-journal": PURPLE,
    "famus-snap": LIGHT_GREEN,
    "fams-uffd": GREEN,
    "fams-exchange": YELLOW,
    "fams, at once": PURPLE,
    "fams, later": PINK,
    "cpnvm": GREEN,
    "epochs": ORANGE,
    "volatile": GREY,
    "volatile-threads": RULE,
    "volatile-noop": GREY,
    "volatile-check": PALE_BLUE,
    "volatile-each": LIGHT_BLUE,
    "volatile-instrumented": BLUE,
    "none": GREY,
    "sync": INK,
    "wal": ORANGE,
    "device": GREY,
    "kyoto": ORANGE,
    "sqlite": PURPLE,
    "leveldb": INK,
    # file systems, and the data policies of tbfs
    "ext4-dax": GREY,
    "ext4-ordered": YELLOW,
    "xfs-dax": DARK_GREY,
    "inplace": GREEN,
    "cow": RUST,
    "hybrid": BLUE,
    # ways to do one thing
    "store_clwb": BLUE,
    "ntstore": RUST,
    "whole": BLUE,
    "lazy": ORANGE,
    "alone": GREY,
    "both": RED,
    # quantities
    "mean stop": GREEN,
    "longest update": ORANGE,
    "guarded": BLUE,
    "stack": LIGHT_BLUE,
    "global and other": GREY,
    # where the time of a run goes (testbed.results.time_shares)
    "instructions": LIGHT_GREEN,
    "idle": GREY,
    "L2, LLC, other CPUs": PALE_BLUE,
    "local DRAM": LIGHT_BLUE,
    "device-cache hits": BLUE,
    "device-cache misses: flash": RED,
    "loads side by side": PURPLE,
    "store buffer full": LIGHT_ORANGE,
    "fences and flushes": YELLOW,
    # verdicts
    "holds": GREEN,
    "does not hold": RUST,
    "nothing to judge": GREY,
    "within its bound": BLUE,
    "beyond its bound": RED,
}


def assigned(names: Iterable[str]) -> dict[str, str]:
    """Map the names in one chart to colours. Names outside COLOURS take the unused colours of CYCLE, in order."""
    wanted = dict.fromkeys(names)
    own = {name: COLOURS[name] for name in wanted if name in COLOURS}
    others = [name for name in wanted if name not in own]
    free = [colour for colour in CYCLE if colour not in own.values()] or CYCLE
    return own | dict(zip(others, cycle(free), strict=False))


def faint(colour: str) -> str:
    """Mix the colour with white."""
    parts = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{(part + 255) // 2:02x}" for part in parts)
