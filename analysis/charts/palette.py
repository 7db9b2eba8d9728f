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
