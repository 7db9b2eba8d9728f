# SPDX-License-Identifier: BSD-3-Clause
"""The folders of the core of tbfs: the order of their includes, and the files of the kernel module."""

import re
from pathlib import Path

from rigs.call_order import references
from rigs.folder_order import SOURCES, Tree, cycle
from testbed.paths import REPO

TBFS = REPO / "guest-image/modules/tbfs"
CORE = Tree(TBFS / "core", REPO / "docs/reference/tbfs.md")


def test_no_circle_of_folders_by_includes() -> None:
    graph = CORE.edges()
    assert len(graph) > 5
    assert cycle(graph) == []


def test_the_table_names_every_folder_once() -> None:
    assert sorted(CORE.listed()) == CORE.folders()


def test_a_folder_includes_only_those_before_it_in_the_table() -> None:
    assert CORE.against_the_order() == []


def test_no_circle_of_files_by_references(tmp_path: Path) -> None:
    graph = references(CORE.root, CORE.names(CORE.files(SOURCES)), tmp_path)
    assert len(graph) > 50
    assert cycle(graph) == []


def test_no_source_is_outside_of_the_folders_that_are_compiled() -> None:
    """Kbuild and CMake compile `core/*/*.c`, and the module leaves out two of these files."""
    assert [CORE.names([path]) for path in CORE.files(SOURCES) if len(path.relative_to(CORE.root).parts) != 2] == []
    kbuild = (TBFS / "Kbuild").read_text()
    assert "$(wildcard $(src)/core/*/*.c)" in kbuild
    assert "${core_dir}/*/*.c" in (TBFS / "CMakeLists.txt").read_text()
    left_out = re.findall(r"%/(\w+\.c)", kbuild)
    assert left_out == ["check.c", "make.c"]
    assert all((TBFS / "core/volume" / name).is_file() for name in left_out)
