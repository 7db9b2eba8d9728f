# SPDX-License-Identifier: BSD-3-Clause
"""Execution of the notebook of the tutorial: in a kernel with a mock guest, and with real guests."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from testbed.paths import REPO

NOTEBOOK = REPO / "docs" / "tutorial" / "first-study.ipynb"
# A guest that needs more virtual time if flash reads more slowly.
MOCK = f"""
import sys
sys.path[:0] = [{str(REPO / "experiments")!r}, {str(REPO / "tests")!r}]
from conftest import MockExecutor
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome
from testbed.guest.session import Session
from testbed.interface import functions
from testbed.replay import verdicts

def answer(spec):
    roi = {{"begin-ps": 0, "end-ps": 1000 * spec.guest.device.flash_read_ps, "counters": {{}}}}
    return GuestOutcome("ok", 0, rois=[roi])

session = Session(MockExecutor(answer), {{}}, here=Capacity(2, 8192))
functions.open_session = lambda **_: session
verdicts.refuse_if_none_can_be = lambda _: None
"""


def execute(folder: Path, *before: str) -> Any:
    """Execute the notebook in a folder, after these cells. A cell that fails raises CellExecutionError."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    notebook.cells[:0] = [nbformat.v4.new_code_cell(source) for source in before]
    nbclient.NotebookClient(notebook, timeout=3600, resources={"metadata": {"path": str(folder)}}).execute()
    return notebook


def check_outputs(notebook: Any, folder: Path) -> None:
    """The table compares two devices, the plot exists, and the kernel reported no error."""
    (table,) = [cell for cell in notebook.cells if cell.id == "table"]
    text = table.outputs[-1]["data"]["text/plain"]
    assert text.count("published") == text.count("flash read in 60 us") == 2, text
    assert "<svg" in (folder / "first-study.svg").read_text()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the notebook's files and results."""
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("MPLBACKEND", "agg")
    return tmp_path


def test_the_outputs_of_the_notebook_are_cleared() -> None:
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    assert [cell.id for cell in cells if cell.cell_type == "code" and (cell.outputs or cell.execution_count)] == []


def test_every_cell_works_with_a_mock_guest(folder: Path) -> None:
    check_outputs(execute(folder, MOCK), folder)


def test_a_cell_that_fails_is_found(folder: Path) -> None:
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="no manifest"):
        execute(folder, MOCK, "testbed_ = __import__('testbed'); testbed_.run('no-such-study')")


@pytest.mark.guest
def test_the_notebook_works_with_guests(folder: Path) -> None:
    check_outputs(execute(folder), folder)
