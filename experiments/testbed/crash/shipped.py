# SPDX-License-Identifier: BSD-3-Clause
"""The crash tests that ship with the testbed, by subject and by name."""

import difflib
from itertools import groupby
from pathlib import Path

from ..errors import TestbedError
from ..paths import CRASH_TESTS, kind_of
from ..validation import load_toml

NEAR_MAX = 3


def shipped() -> list[Path]:
    """Return the manifests of all tests, ordered by subject. A manifest's folder is the subject, its stem the name."""
    return sorted(CRASH_TESTS.glob("*/*.toml"), key=lambda path: (path.parent.name, path.stem))


def find(name: str) -> Path:
    """Return the manifest of a test, given by its path or by the name of a shipped test."""
    path = Path(name)
    if path.suffix == ".toml" or kind_of(path) in ("file", "other"):
        return path
    known = {one.stem: one for one in shipped()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=NEAR_MAX)
    hint = f"the nearest names are {', '.join(near)}" if near else "give a name that ships, or the path of a .toml file"
    raise TestbedError(f"no crash test '{name}'; {hint} (`testbed crash --list` prints all names)")


def summaries() -> dict[str, dict[str, str]]:
    """Return for each subject the summaries of its tests, by name."""
    subjects = groupby(shipped(), key=lambda path: path.parent.name)
    return {subject: {path.stem: str(load_toml(path)["summary"]) for path in paths} for subject, paths in subjects}
