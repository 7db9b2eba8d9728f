# SPDX-License-Identifier: BSD-3-Clause
"""The version of this clone, for `testbed --version` and for reports of faults.

The installation is editable, so the version that setuptools-scm writes at installation would be wrong after the next
commit. The version is therefore read when a user asks for it: from git in a clone, else from the installed package.
"""

import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .paths import REPO

PACKAGE = "cxl-ssd-testbed"
TAGS = "v[0-9]*"


def release() -> str:
    """The version in pyproject.toml at the time of the installation."""
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return "not installed"


def commit(folder: Path = REPO) -> str:
    """The commit of a clone: the last version tag, the commits since then and the hash, as git describes them.

    Uncommitted changes add "-dirty". A folder without git, such as an unpacked archive, gives an empty string, also if
    a folder above it belongs to a repository.
    """
    if not (folder / ".git").exists():
        return ""
    return _git(folder, "describe", "--tags", "--match", TAGS, "--always", "--dirty")


def date(folder: Path = REPO) -> str:
    """The day of the last commit as manual pages write it, "November 9, 2026"; of pyproject.toml without git."""
    stamp = _git(folder, "log", "-1", "--format=%ct") if (folder / ".git").exists() else ""
    day = datetime.fromtimestamp(float(stamp or (folder / "pyproject.toml").stat().st_mtime), UTC)
    return f"{day:%B} {day.day}, {day.year}"


def _git(folder: Path, *words: str) -> str:
    """The output of a command of git; empty if git fails or is missing."""
    try:
        return subprocess.run(["git", "-C", folder, *words], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def text(folder: Path = REPO) -> str:
    """The line that `testbed --version` prints."""
    return f"testbed {release()} ({commit(folder) or 'no git commit: this is not a clone'})"
