# SPDX-License-Identifier: BSD-3-Clause
"""How tests/python.sh runs the tests, with a mock in the place of Python."""

import subprocess
from pathlib import Path

import pytest

from testbed.paths import REPO

MOCK = """#!/bin/sh
echo "$*" >>calls
case "$*" in *"not alone"*) exit $STATUS ;; esac
exit $ALONE
"""


def gate(folder: Path, *words: str, status: int, alone: int = 0) -> tuple[int, list[str]]:
    """The status of tests/python.sh and the calls of Python that it made, of which the first ends with `status`."""
    script, python = folder / "tests" / "python.sh", folder / ".venv" / "bin" / "python"
    for path, text in ((script, (REPO / "tests" / "python.sh").read_text()), (python, MOCK)):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "STATUS": str(status), "ALONE": str(alone)}
    done = subprocess.run([script, *words], env=env, timeout=30)
    return done.returncode, (folder / "calls").read_text().splitlines()


@pytest.mark.parametrize(("status", "alone", "whole"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_what_runs_alone_runs_last_and_any_failure_is_the_whole_ones(
    status: int, alone: int, whole: int, tmp_path: Path
) -> None:
    ended, calls = gate(tmp_path, status=status, alone=alone)
    assert ended == whole
    assert len(calls) == 2 and calls[1].endswith("-m alone")
    assert (len(list(tmp_path.glob("tests.*"))) == 1) == (whole != 0), "what failed can be looked at"


def test_after_an_interrupt_nothing_more_is_started(tmp_path: Path) -> None:
    ended, calls = gate(tmp_path, status=2)
    assert ended == 2
    assert len(calls) == 1


def test_chosen_tests_are_all_that_runs(tmp_path: Path) -> None:
    ended, calls = gate(tmp_path, "tests/unit", status=0)
    assert ended == 0
    assert len(calls) == 1 and calls[0].endswith("tests/unit")
