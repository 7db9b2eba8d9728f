# SPDX-License-Identifier: BSD-3-Clause
"""The documents' pictures match the output of analysis/documents/pictures.py, and each is shown by a document."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from analysis.documents import pictures
from testbed.paths import REPO

DOCUMENTS = [REPO / "README.md", *(REPO / "docs").rglob("*.md")]


def stale(folder: Path) -> list[str]:
    """Pictures that are missing, that differ from the drawn ones, or that are not drawn at all."""
    names = pictures.PICTURES.keys() | {path.name for path in folder.iterdir()}
    return sorted(name for name in names if not is_as_drawn(folder / name))


def is_as_drawn(path: Path) -> bool:
    draw = pictures.PICTURES.get(path.name)
    return draw is not None and path.is_file() and path.read_text() == draw()


def test_no_picture_is_stale() -> None:
    assert stale(pictures.FOLDER) == [], "draw them again: .venv/bin/python -m analysis.documents.pictures"


def test_a_changed_a_missing_and_a_foreign_picture_are_stale(tmp_path: Path) -> None:
    pictures.draw_all(tmp_path)
    assert stale(tmp_path) == []
    first, second = sorted(pictures.PICTURES)[:2]
    (tmp_path / first).write_text((tmp_path / first).read_text() + " ")
    (tmp_path / second).unlink()
    (tmp_path / "foreign.svg").write_text("<svg/>")
    assert stale(tmp_path) == sorted([first, second, "foreign.svg"])


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_each_picture_is_an_image_with_a_title_that_a_document_shows(name: str) -> None:
    root = ElementTree.parse(pictures.FOLDER / name).getroot()
    assert root.findtext("{http://www.w3.org/2000/svg}title")
    assert [path.name for path in DOCUMENTS if f"pictures/{name})" in path.read_text()] != []
