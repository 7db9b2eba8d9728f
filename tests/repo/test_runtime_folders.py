# SPDX-License-Identifier: BSD-3-Clause
"""The folders of snapshot-lib's runtime: the order of their includes, no dead file, and fields of one folder."""

import re
from pathlib import Path

import pytest

from rigs.folder_order import HEADERS, SOURCES, Tree, compiled, cycle
from testbed.paths import REPO

LIBRARY = REPO / "snapshot-lib"
RUNTIME = Tree(LIBRARY / "runtime", REPO / "docs/explanation/snapshot.md", elsewhere=(LIBRARY / "include",))


def test_no_circle_of_folders_by_includes() -> None:
    graph = RUNTIME.edges()
    assert len(graph) > 10
    assert cycle(graph) == []


def test_the_table_names_every_folder_once() -> None:
    assert sorted(RUNTIME.listed()) == RUNTIME.folders()


def test_a_folder_includes_only_those_before_it_in_the_table() -> None:
    assert RUNTIME.against_the_order() == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> set[Path]:
    options = (f"-DSNAPSHOT_{part}=OFF" for part in ("TESTS", "PROGRAMS", "MANUALS"))
    return compiled(LIBRARY, tmp_path_factory.mktemp("runtime"), *options)


def test_every_source_is_compiled(built: set[Path]) -> None:
    assert RUNTIME.names(set(RUNTIME.files(SOURCES)) - built) == []


def test_every_header_is_reached_from_what_is_compiled(built: set[Path]) -> None:
    assert RUNTIME.headers_not_reached(built & set(RUNTIME.files(SOURCES))) == []


def test_what_protocols_keep_of_a_file_is_theirs_alone() -> None:
    """Other folders pass the state on whole, to begin the next epoch and to free it."""
    users = {
        RUNTIME.folder(path)
        for path in RUNTIME.files(SOURCES | HEADERS)
        if re.search(r"\bprotocol_state\s*(\.|->)", path.read_text())
    }
    assert users == {"protocol"}
