# SPDX-License-Identifier: BSD-3-Clause
"""Pages of results: each says of which image, seed and scale its numbers are, and folds generated tables."""

import re
from pathlib import Path

import pytest

from analysis.data import markdown
from analysis.documents import pages as documents
from testbed.paths import REPO

FOLDER = REPO / "docs/results"
PAGES = [path for path in sorted(FOLDER.glob("*.md")) if path.stem not in ("README", "speed")]  # speed is of the host
COMMANDS = (documents.COMMAND, documents.CALIBRATION_COMMAND)


def state(text: str) -> str:
    found = re.search(r"^\*\*State\.\*\* (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def unfolded(text: str) -> list[str]:
    """The generated tables of a page that are outside of <details>."""
    rest = re.sub(r"<details markdown=\"1\">\n.*?</details>", "", text, flags=re.DOTALL)
    return [name for command in COMMANDS for name in markdown.names(rest, command)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_states_image_seed_and_scale(path: Path) -> None:
    said = state(path.read_text())
    assert "image" in said and re.search("seeds? 0", said) and re.search(r"scale|at 1/\d+|cache of", said), said


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_generated_tables_are_folded(path: Path) -> None:
    assert unfolded(path.read_text()) == []


def test_tables_of_studies_are_made_by_the_site_only() -> None:
    """The tables of figures.md and calibration.md are committed, and tests compare them with committed numbers."""
    committed = {path.stem for path in PAGES for command in COMMANDS if markdown.names(path.read_text(), command)}
    assert committed == {"figures", "calibration"}


def test_results_are_on_pages_of_results_only() -> None:
    others = [path for path in (REPO / "docs").rglob("*.md") if path.parent != FOLDER]
    assert [path.name for path in others if unfolded(path.read_text())] == []


def test_an_open_table_and_a_page_without_its_state_are_found() -> None:
    part = f"<!-- by python -m {documents.CALIBRATION_COMMAND}: lmdb -->\n\n| a |\n\n<!-- to here -->\n"
    assert unfolded(part) == ["lmdb"]
    assert unfolded(f'<details markdown="1">\n{part}</details>\n') == []
    assert state("# Results\n\nFast.\n") == ""
