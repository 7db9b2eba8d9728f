# SPDX-License-Identifier: BSD-3-Clause
"""The folders of the repository: each has a row in docs/adding.md, and each row a folder.

Those of qemu-patches/model and snapshot-lib/runtime have tables of their own, in the order in which they include each
other (test_model_folders.py, test_runtime_folders.py).
"""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import PurePosixPath

from testbed.paths import REPO

PACKAGES = "experiments/testbed"
EVERY_FOLDER_OF = {".", PACKAGES, "tests", "snapshot-lib", "snapshot-lib/tests", "qemu-patches"}


def tracked_folders() -> set[str]:
    """Every folder that has a committed file in it or below it."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, check=True).stdout.decode()
    parents = {str(parent) for name in listed.split("\0") if name for parent in PurePosixPath(name).parents}
    return parents - {"."}


def parent(folder: str) -> str:
    return str(PurePosixPath(folder).parent)


def rows() -> list[tuple[str, str]]:
    """Folder and what is said of it, in the order of the table."""
    section = (REPO / "docs/adding.md").read_text().partition("\n## Where things are\n")[2].partition("\n## ")[0]
    found = re.findall(r"^\| `([^`]+)/` \| (.+) \|$", section, re.MULTILINE)
    assert len(found) == section.partition("|---|---|\n")[2].count("\n"), "a row without a folder in its first cell"
    return found


def docstring(package: str) -> str:
    text = ast.get_docstring(ast.parse((REPO / package / "__init__.py").read_text()))
    assert text, f"{package} does not say what it is"
    first = text.splitlines()[0].removesuffix(".")
    return first[0].lower() + first[1:]


def test_every_folder_has_a_row() -> None:
    needed = {folder for folder in tracked_folders() if parent(folder) in EVERY_FOLDER_OF}
    assert {parent(folder) for folder in needed} == EVERY_FOLDER_OF
    assert sorted(needed - {folder for folder, _ in rows()}) == []


def test_every_row_has_a_folder_and_one_row() -> None:
    named = Counter(folder for folder, _ in rows())
    assert sorted(named.keys() - tracked_folders()) == []
    assert [folder for folder, times in named.items() if times > 1] == []


def test_a_folder_stands_below_the_one_it_is_in() -> None:
    """A path through the tree, brothers by name: a reader finds a folder without a search."""
    order = [folder for folder, _ in rows()]
    assert order == sorted(order, key=lambda folder: PurePosixPath(folder).parts)


def test_a_package_is_said_to_be_what_it_says_itself() -> None:
    packages = [(folder, said) for folder, said in rows() if parent(folder) == PACKAGES]
    assert packages
    assert [(folder, said) for folder, said in packages if said != docstring(folder)] == []


def test_every_package_is_installed() -> None:
    """Of the Python project: a package that its list lacks is there in a clone only."""
    stated = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["setuptools"]
    roots = {name: REPO / folder for name, folder in stated["package-dir"].items()}
    found = {
        ".".join((name, *path.parent.relative_to(root).parts))
        for name, root in roots.items()
        for path in root.rglob("__init__.py")
    }
    assert set(stated["packages"]) == found
