# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of the model: which folder may include which, and no file that nothing compiles.

The table of folders in docs/model.md has the order: each includes only those before it. The top has the name "top".
"""

import json
import re
import subprocess
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from testbed.paths import REPO

MODEL = REPO / "qemu-patches/model"
OVERLAY = REPO / "qemu-patches/overlay"
SOURCES, HEADERS = {".c", ".cpp"}, {".h"}
Edges = dict[tuple[str, str], str]  # from folder to folder -> the first include that makes it


def files(suffixes: set[str]) -> list[Path]:
    return sorted(path for path in MODEL.rglob("*") if path.suffix in suffixes)


def folder(path: Path) -> str:
    name = str(path.parent.relative_to(MODEL))
    return "top" if name == "." else name


def included(path: Path) -> Iterator[Path]:
    """The model's files that a file includes: beside it, or from the top."""
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        places = [place for place in (path.parent / name, MODEL / name) if place.is_file()]
        assert places, f"{path}: {name} is nowhere"
        yield places[0].resolve()


def edges() -> Edges:
    found: Edges = {}
    for path in files(SOURCES | HEADERS):
        for other in included(path):
            if folder(path) != folder(other):
                words = f"{path.relative_to(MODEL)} includes {other.relative_to(MODEL)}"
                found.setdefault((folder(path), folder(other)), words)
    return found


def cycle(graph: Edges) -> list[str]:
    """The includes that close a circle of folders; none if there is no circle."""
    sorter = TopologicalSorter({a: [c for b, c in graph if b == a] for a, _ in graph})
    try:
        sorter.prepare()
    except CycleError as error:
        around = error.args[1]
        return [graph[pair] for pair in zip(around[1:], around, strict=False)]
    return []


def listed() -> list[str]:
    """The folders of the table, in its order."""
    section = (REPO / "docs/model.md").read_text().partition("\n## Folders\n")[2].partition("\n## ")[0]
    rows = section.partition("|---|---|\n")[2]
    return [name.rstrip("/") for name in re.findall(r"^\| `?([\w/]+)`? \|", rows, re.MULTILINE)]


def test_no_circle_of_folders_by_includes() -> None:
    graph = edges()
    assert len(graph) > 30
    assert cycle(graph) == []


def test_a_circle_is_named_by_its_includes() -> None:
    graph = {("a", "b"): "a/x includes b/x", ("b", "c"): "b/y includes c/y", ("c", "b"): "c/z includes b/z"}
    assert sorted(cycle(graph)) == ["b/y includes c/y", "c/z includes b/z"]
    del graph[("c", "b")]
    assert cycle(graph) == []


def test_the_table_names_every_folder_once() -> None:
    assert sorted(listed()) == sorted({folder(path) for path in files(SOURCES | HEADERS)})


def test_a_folder_includes_only_those_before_it_in_the_table() -> None:
    order = listed()
    assert [words for (a, b), words in edges().items() if order.index(a) < order.index(b)] == []


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    """What the native build and the replayer's compile."""
    build = tmp_path_factory.mktemp("model")
    compilers = ["-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19"]
    command = ["cmake", "-G", "Ninja", "-S", MODEL, "-B", build, "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", *compilers]
    subprocess.run(command, check=True, capture_output=True)
    entries = json.loads((build / "compile_commands.json").read_text())
    return {Path(entry["file"]).resolve() for entry in entries}


def test_every_source_is_compiled(compiled: set[Path]) -> None:
    assert [str(path.relative_to(MODEL)) for path in files(SOURCES) if path not in compiled] == []


def test_every_header_is_reached_from_what_is_compiled(compiled: set[Path]) -> None:
    """Or from QEMU, whose files include from a copy."""
    copied = r'^#include "hw/mem/memsys/([^"]+)"'
    by_qemu = {name for path in OVERLAY.rglob("*.[ch]") for name in re.findall(copied, path.read_text(), re.MULTILINE)}
    assert by_qemu
    reached: set[Path] = set()
    waiting = [*(compiled & set(files(SOURCES))), *(MODEL / name for name in by_qemu)]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            waiting += included(path)
    assert [str(path.relative_to(MODEL)) for path in files(HEADERS) if path not in reached] == []
