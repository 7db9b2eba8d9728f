# SPDX-License-Identifier: BSD-3-Clause
"""The folders of the repository: each has a row in docs/reference/folders.md, and each row a folder.

The folders of qemu-patches/model and snapshot-lib/runtime have separate tables, in the order of their includes
(test_model_folders.py, test_runtime_folders.py).
"""

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

import pytest

from testbed.paths import REPO

PACKAGES = ("experiments/testbed", "analysis")
BY_SUBJECT = {"experiments/crash", "tests/guest", "tests/rigs", "tests/unit"}
LIBRARY, GUEST = {"snapshot-lib", "snapshot-lib/tests"}, {"guest-image", "guest-image/modules"}
EVERY_FOLDER_OF = {".", *PACKAGES, "experiments/workloads", "tests", "qemu-patches", *LIBRARY, *GUEST, *BY_SUBJECT}
FILES_MAX = 25
ANY_SIZE = ("experiments/manifests", "experiments/profiles", "snapshot-lib/man")  # readers look up these files by name


def tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name]


def tracked_folders() -> set[str]:
    """Every folder that has a committed file in it or below it."""
    return {str(parent) for name in tracked_files() for parent in PurePosixPath(name).parents} - {"."}


def too_large(files: Iterable[str]) -> list[str]:
    """A sentence for each folder with more files than it may have."""
    sizes = Counter(map(parent, files))
    found = []
    for folder, size in sorted(sizes.items()):
        if size > FILES_MAX and not any(PurePosixPath(folder).is_relative_to(exempt) for exempt in ANY_SIZE):
            found.append(f"{folder} has {size} files and may have {FILES_MAX}; divide it by subject")
    return found


def parent(folder: str) -> str:
    return str(PurePosixPath(folder).parent)


def rows() -> list[tuple[str, str]]:
    """The folders and their descriptions, in the order of the table."""
    page = (REPO / "docs/reference/folders.md").read_text()
    section = page.partition("\n## Where things are\n")[2].partition("\n## ")[0]
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
    """Rows are sorted by path, so a reader finds a folder without a search."""
    order = [folder for folder, _ in rows()]
    assert order == sorted(order, key=lambda folder: PurePosixPath(folder).parts)


def test_a_package_is_said_to_be_what_it_says_itself() -> None:
    packages = [(folder, said) for folder, said in rows() if parent(folder) in PACKAGES]
    packages = [(folder, said) for folder, said in packages if (REPO / folder / "__init__.py").exists()]
    assert {parent(folder) for folder, _ in packages} == set(PACKAGES)
    assert [(folder, said) for folder, said in packages if said != docstring(folder)] == []


def test_no_folder_has_too_many_files() -> None:
    assert too_large(tracked_files()) == []


def test_a_folder_with_too_many_files_is_found() -> None:
    def files(folder: str, count: int) -> list[str]:
        return [f"{folder}/{n}.toml" for n in range(count)]

    assert too_large([*files("tests/unit/crash", 25), *files("experiments/manifests/causes", 99)]) == []
    assert too_large([*files("tests/guest", 26), *files("experiments/crash/tbfs", 26)]) == [
        "experiments/crash/tbfs has 26 files and may have 25; divide it by subject",
        "tests/guest has 26 files and may have 25; divide it by subject",
    ]


@pytest.mark.parametrize("folder", sorted(BY_SUBJECT))
def test_a_folder_by_subject_has_no_tests_of_its_own(folder: str) -> None:
    """Each crash test and each Python test is in the folder of its subject."""
    assert [name for name in tracked_files() if re.fullmatch(rf"{folder}/([^/]+\.toml|test_[^/]+\.py)", name)] == []


def test_every_package_is_installed() -> None:
    """A package that pyproject.toml does not list exists only in a clone, not in an installation."""
    stated = tomllib.loads((REPO / "pyproject.toml").read_text())["tool"]["setuptools"]
    roots = {name: REPO / folder for name, folder in stated["package-dir"].items()}
    found = {
        ".".join((name, *path.parent.relative_to(root).parts))
        for name, root in roots.items()
        for path in root.rglob("__init__.py")
    }
    assert set(stated["packages"]) == found
