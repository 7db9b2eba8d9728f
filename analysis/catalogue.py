# SPDX-License-Identifier: BSD-3-Clause
"""Every figure there is: its name, what it is drawn from, and the function that draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import TestbedError

from . import kv_speedup
from .drawn import Drawn, Gathered


@dataclass(frozen=True)
class Entry:
    """One figure. `draw` writes its files, NAME.*, into a folder and runs nothing.

    `manifests` are run; of `sweeps`, manifests too, each point is captured and replayed on the manifest's grid.
    """

    name: str
    manifests: tuple[str, ...]
    draw: Callable[[Gathered, Path], Drawn]
    sweeps: tuple[str, ...] = ()


FIGURES = (Entry("kv-ycsb", ("kv-ycsb",), kv_speedup.drawn),)


def pick(names: Sequence[str]) -> list[Entry]:
    """The named figures, all if none is named, in the order of the catalogue."""
    known = [entry.name for entry in FIGURES]
    for name in names:
        if name not in known:
            raise TestbedError(f"no figure '{name}'; there are: {', '.join(known)}")
    return [entry for entry in FIGURES if not names or entry.name in names]
