# SPDX-License-Identifier: BSD-3-Clause
"""The mistakes of experiments/crash/bugs.c: each is found and named; done right, nothing is found."""

import re
from pathlib import Path

import pytest
from guest_rig import crash

from testbed.paths import REPO

pytestmark = pytest.mark.guest

FOLDER = REPO / "experiments/crash"
# Each case and its function, as the source lists them.
CASES = dict(re.findall(r'^    \{"([^"]+)", (\w+),', (FOLDER / "bugs.c").read_text(), re.M))


def test_each_mistake_is_found_with_its_store(tmp_path: Path) -> None:
    status, _, report = crash(FOLDER / "bugs.toml", tmp_path)
    assert status == 1 and len(CASES) == 19
    assert report["counts"]["points_in_part"] == 0
    for name, function in CASES.items():
        found = [violation for violation in report["violations"] if violation["said"].startswith(f"{name}: ")]
        assert found, f"{name} is not found"
        least = min(found, key=lambda violation: len(violation["lost"]))
        assert len(least["lost"]) <= 1, least
        assert all(store.startswith(f"{function} (bugs.c:") for store in least["stores"]), least
        assert least["stores"] or f" in {function} (bugs.c:" in least["cut"], least


@pytest.mark.by_hand
def test_done_right_none_has_a_violation(tmp_path: Path) -> None:
    status, _, report = crash(FOLDER / "bugs-sound.toml", tmp_path)
    assert (status, report["violations"], report["counts"]["points_in_part"]) == (0, [], 0)
    assert sum(operation["states"] for operation in report["operations"]) > 2 * len(CASES)


def test_each_mistake_of_a_kernel_module_is_found_with_its_function(tmp_path: Path) -> None:
    cases = dict(re.findall(r'X\((\w+), "([^"]+)"', (FOLDER / "module/cells.h").read_text()))
    status, _, report = crash(FOLDER / "module-bugs.toml", tmp_path)
    assert status == 1 and len(cases) == 8
    for function, name in cases.items():
        found = [violation for violation in report["violations"] if violation["said"].startswith(f"{name}: ")]
        assert found, f"{name} is not found"
        least = min(found, key=lambda violation: len(violation["lost"]))
        assert any(f"{function} (crash_cases.c:" in place for place in [*least["stores"], least["cut"]]), least


@pytest.mark.by_hand
def test_a_sound_kernel_module_has_no_violation(tmp_path: Path) -> None:
    status, _, report = crash(FOLDER / "module-sound.toml", tmp_path)
    assert (status, report["violations"], report["counts"]["points_in_part"]) == (0, [], 0)
