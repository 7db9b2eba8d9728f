# SPDX-License-Identifier: BSD-3-Clause
"""The order of the folders of a C and C++ tree: the includes between folders, and the table in a page.

The section "Folders" of the page gives the order: each folder includes only earlier ones. The top has the name "top".
"""

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES, HEADERS = {".c", ".cpp"}, {".h"}
Edges = dict[tuple[str, str], str]  # from folder to folder -> the first include that makes it


@dataclass(frozen=True)
class Tree:
    root: Path
    page: Path
    elsewhere: tuple[Path, ...] = ()  # folders outside the tree that its files may include by quotes

    def files(self, suffixes: set[str]) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.suffix in suffixes)

    def folder(self, path: Path) -> str:
        name = str(path.parent.relative_to(self.root))
        return "top" if name == "." else name

    def folders(self) -> list[str]:
        return sorted({self.folder(path) for path in self.files(SOURCES | HEADERS)})

    def included(self, path: Path) -> Iterator[Path]:
        """Yield the tree's files that a file includes: beside it, or from the top."""
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
            places = [place for place in (path.parent / name, self.root / name) if place.is_file()]
            if places:
                yield places[0].resolve()
            else:
                assert any((place / name).is_file() for place in self.elsewhere), f"{path}: {name} is nowhere"

    def edges(self) -> Edges:
        found: Edges = {}
        for path in self.files(SOURCES | HEADERS):
            for other in self.included(path):
                if self.folder(path) != self.folder(other):
                    words = f"{path.relative_to(self.root)} includes {other.relative_to(self.root)}"
                    found.setdefault((self.folder(path), self.folder(other)), words)
        return found

    def listed(self) -> list[str]:
        """Return the folders of the table, in its order."""
        section = self.page.read_text().partition("\n## Folders\n")[2].partition("\n## ")[0]
        rows = section.partition("|---|---|\n")[2]
        return [name.rstrip("/") for name in re.findall(r"^\| `?([\w/]+)`? \|", rows, re.MULTILINE)]

    def against_the_order(self) -> list[str]:
        """Return the includes of a folder that comes later in the table."""
        order = self.listed()
        return [words for (a, b), words in self.edges().items() if order.index(a) < order.index(b)]

    def names(self, paths: Iterable[Path]) -> list[str]:
        return sorted(str(path.relative_to(self.root)) for path in paths)

    def headers_not_reached(self, starts: Iterable[Path]) -> list[str]:
        reached: set[Path] = set()
        waiting = list(starts)
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.add(path)
                waiting += self.included(path)
        return self.names(set(self.files(HEADERS)) - reached)


def cycle(graph: Edges) -> list[str]:
    """Return the includes that close a cycle of folders; the list is empty without a cycle."""
    sorter = TopologicalSorter({a: [c for b, c in graph if b == a] for a, _ in graph})
    try:
        sorter.prepare()
    except CycleError as error:
        around = error.args[1]
        return [graph[pair] for pair in zip(around[1:], around, strict=False)]
    return []


def compiled(project: Path, build: Path, *options: str) -> set[Path]:
    """Return the files that a project's native build compiles."""
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    command: list[str | Path] = [
        "cmake",
        "-G",
        "Ninja",
        "-S",
        project,
        "-B",
        build,
        "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        *compilers,
    ]
    subprocess.run([*command, *options], check=True, capture_output=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    return {Path(entry["file"]).resolve() for entry in entries}
