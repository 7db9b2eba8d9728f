# SPDX-License-Identifier: BSD-3-Clause
"""The folders of the model: the order of includes and of references, and no file that is never compiled."""

import re
from pathlib import Path

import pytest

from rigs.call_order import references
from rigs.folder_order import SOURCES, Tree, compiled, cycle
from testbed.paths import REPO

OVERLAY = REPO / "qemu-patches/overlay"
MODEL = Tree(REPO / "qemu-patches/model", REPO / "docs/explanation/model.md")


def test_no_circle_of_folders_by_includes() -> None:
    graph = MODEL.edges()
    assert len(graph) > 30
    assert cycle(graph) == []


def test_a_circle_is_named_by_its_includes() -> None:
    graph = {("a", "b"): "a/x includes b/x", ("b", "c"): "b/y includes c/y", ("c", "b"): "c/z includes b/z"}
    assert sorted(cycle(graph)) == ["b/y includes c/y", "c/z includes b/z"]
    del graph[("c", "b")]
    assert cycle(graph) == []


def test_the_table_names_every_folder_once() -> None:
    assert sorted(MODEL.listed()) == MODEL.folders()


def test_a_folder_includes_only_those_before_it_in_the_table() -> None:
    assert MODEL.against_the_order() == []


def test_no_circle_of_files_by_references(tmp_path: Path) -> None:
    """A file can be read and tested together with the files below it, without the files above."""
    names = [*(MODEL.root / "sources.list").read_text().split(), *MODEL.names((MODEL.root / "replay").glob("*.c"))]
    graph = references(MODEL.root, names, tmp_path)
    assert len(graph) > 150
    assert cycle(graph) == []


def test_a_circle_of_files_is_named_by_its_references(tmp_path: Path) -> None:
    (tmp_path / "reads.c").write_text("int item(void);\nint bad(void) { return item(); }\n")
    (tmp_path / "items.c").write_text("int bad(void);\nint item(void) { return bad(); }\n")
    graph = references(tmp_path, ["reads.c", "items.c"], tmp_path)
    assert sorted(cycle(graph)) == ["items.c refers to bad of reads.c", "reads.c refers to item of items.c"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    """The files that the native build and the replayer's build compile."""
    return compiled(MODEL.root, tmp_path_factory.mktemp("model"))


def test_every_source_is_compiled(built: set[Path]) -> None:
    assert MODEL.names(set(MODEL.files(SOURCES)) - built) == []


def test_every_header_is_reached_from_what_is_compiled(built: set[Path]) -> None:
    """A header also counts if a file of QEMU includes it, from a copy of the model."""
    copied = r'^#include "hw/mem/memsys/([^"]+)"'
    by_qemu = {name for path in OVERLAY.rglob("*.[ch]") for name in re.findall(copied, path.read_text(), re.MULTILINE)}
    assert by_qemu
    starts = (built & set(MODEL.files(SOURCES))) | {MODEL.root / name for name in by_qemu}
    assert MODEL.headers_not_reached(starts) == []
