# SPDX-License-Identifier: BSD-3-Clause
"""References between the source files of a C program, by the symbols of their compiled objects.

A call through a pointer is no reference: a listener of events may be in a file above.
"""

import os
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rigs.folder_order import Edges

Symbols = tuple[str, set[str], set[str]]  # file, symbols that it defines for other files, symbols that it needs


def symbols(root: Path, name: str, scratch: Path) -> Symbols:
    """Compile a file, without optimisation so that no call is left out, and read the symbols of the object."""
    compiled = scratch / f"{name.replace('/', '-')}.o"
    command: list[str | Path] = ["clang-19", "-std=gnu11", "-O0", f"-I{root}", "-c", root / name, "-o", compiled]
    subprocess.run(command, check=True)
    listed = subprocess.run(["nm", "-g", "--format=posix", compiled], check=True, capture_output=True, text=True)
    kinds = [line.split()[:2] for line in listed.stdout.splitlines()]
    return name, {symbol for symbol, kind in kinds if kind != "U"}, {symbol for symbol, kind in kinds if kind == "U"}


def references(root: Path, names: Iterable[str], scratch: Path) -> Edges:
    """Return the references between files, which are named by their paths in `root`."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        read = list(threads.map(lambda name: symbols(root, name, scratch), names))
    home = {symbol: name for name, defined, _ in read for symbol in defined}
    found: Edges = {}
    for name, _, needed in read:
        for symbol in sorted(needed & home.keys()):
            found.setdefault((name, home[symbol]), f"{name} refers to {symbol} of {home[symbol]}")
    return found
