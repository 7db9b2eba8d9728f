# SPDX-License-Identifier: BSD-3-Clause
"""How tests/all.sh and tests/python.sh run the tests, with mocks of the programs that they start."""

import subprocess
import time
from pathlib import Path

import pytest

from testbed.paths import REPO

MOCK = """#!/bin/sh
echo "$*" >>calls
case "$*" in *"not alone"*) exit $STATUS ;; esac
exit $ALONE
"""


def gate(folder: Path, *words: str, status: int, alone: int = 0) -> tuple[int, list[str]]:
    """The status of tests/python.sh and its calls of Python: the first ends with `status`, the second with `alone`."""
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


BESIDE = """#!/bin/sh
case "$*" in
*snapshot-lib) echo $$ >beside; sleep $BESIDE_S; echo done >>calls; exit $BESIDE ;;
*) echo "native $*" >>calls ;;
esac
"""


def everything(folder: Path, *, beside: int = 0, beside_s: float = 0.2, python: int = 0) -> subprocess.Popen[str]:
    """tests/all.sh with mocks; `beside` and `python` are the statuses of the concurrent native and Python tests."""
    mocks = {
        "tests/all.sh": (REPO / "tests/all.sh").read_text(),
        "tests/lint.sh": "#!/bin/sh\necho lint >>calls\n",
        "tests/native.sh": BESIDE,
        "tests/python.sh": "#!/bin/sh\nwhile ! [ -s beside ]; do sleep 0.01; done\necho python >>calls\nexit $PYTHON\n",
        ".venv/bin/python": '#!/bin/sh\necho "python $*" >>calls\n',
    }
    for name, text in mocks.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (folder / "build/native").mkdir(parents=True)
    env = {"PATH": "/usr/bin:/bin", "BESIDE": str(beside), "BESIDE_S": str(beside_s), "PYTHON": str(python)}
    return subprocess.Popen([folder / "tests/all.sh"], env=env, text=True, stdout=subprocess.PIPE)


@pytest.mark.parametrize(("beside", "python", "whole"), [(0, 0, 0), (3, 0, 3), (0, 1, 1)])
def test_a_failure_beside_the_python_tests_is_the_whole_ones(
    beside: int, python: int, whole: int, tmp_path: Path
) -> None:
    assert everything(tmp_path, beside=beside, python=python).wait(30) == whole
    steps = ["lint", "native --build", "native qemu-patches/model", "python -m testbed build", "python", "done"]
    assert (tmp_path / "calls").read_text().splitlines() == steps


def test_what_runs_beside_the_python_tests_ends_with_them_after_an_interrupt(tmp_path: Path) -> None:
    gate = everything(tmp_path, beside_s=30, python=2)
    assert gate.wait(20) == 2
    left = Path("/proc", (tmp_path / "beside").read_text().strip())
    deadline_s = time.monotonic() + 10
    while left.exists() and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert not left.exists()
