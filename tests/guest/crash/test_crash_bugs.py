# SPDX-License-Identifier: BSD-3-Clause
"""The mistakes in experiments/crash/examples/bugs.c: crash tests find and name each, and accept the correct code."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rigs.guest import module_mutants
from rigs.guest.guest_rig import crash
from rigs.guest.tbfs_rig import TBFS
from testbed.paths import CRASH_TESTS, REPO

pytestmark = pytest.mark.guest

EXAMPLES, FAMS = CRASH_TESTS / "examples", REPO / "guest-image/modules/fams"
# Each case and its function, as listed in the source.
CASES = dict(re.findall(r'^    \{"([^"]+)", (\w+),', (EXAMPLES / "bugs.c").read_text(), re.M))


def test_each_mistake_is_found_with_its_store(tmp_path: Path) -> None:
    status, _, report = crash("bugs", tmp_path)
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
    status, _, report = crash("bugs-sound", tmp_path)
    assert (status, report["violations"], report["counts"]["points_in_part"]) == (0, [], 0)
    assert sum(operation["states"] for operation in report["operations"]) > 2 * len(CASES)


def test_each_mistake_of_a_kernel_module_is_found_with_its_function(tmp_path: Path) -> None:
    cases = dict(re.findall(r'X\((\w+), "([^"]+)"', (EXAMPLES / "module/cells.h").read_text()))
    status, _, report = crash("module-bugs", tmp_path)
    assert status == 1 and len(cases) == 8
    for function, name in cases.items():
        found = [violation for violation in report["violations"] if violation["said"].startswith(f"{name}: ")]
        assert found, f"{name} is not found"
        least = min(found, key=lambda violation: len(violation["lost"]))
        assert any(f"{function} (crash_cases.c:" in place for place in [*least["stores"], least["cut"]]), least


@pytest.mark.by_hand
def test_a_sound_kernel_module_has_no_violation(tmp_path: Path) -> None:
    status, _, report = crash("module-sound", tmp_path)
    assert (status, report["violations"], report["counts"]["points_in_part"]) == (0, [], 0)


def test_calls_of_tbfs_beside_each_other_keep_what_each_promises(tmp_path: Path) -> None:
    """Run on four CPUs."""
    status, _, report = crash("mapped-beside-tbfs", tmp_path)
    assert (status, report["violations"]) == (0, [])


@pytest.mark.by_hand
def test_calls_of_tbfs_that_do_not_wait_for_each_other_are_found(tmp_path: Path) -> None:
    """Without the wait, one call returns before another call has flushed the first caller's store. Seeds decide how
    the threads meet."""
    module_mutants.changed(TBFS, module_mutants.BESIDE, tmp_path)
    manifest = tmp_path / "beside.toml"
    manifest.write_text(f"""
        name = "beside"
        summary = "Calls that do not wait for each other"
        base = "{os.path.relpath(CRASH_TESTS, tmp_path)}/tbfs/mapped-beside-tbfs.toml"
        crash.modules = ["{module_mutants.BESIDE.name}"]
        """)
    found = (crash(manifest, tmp_path, "--seed", str(seed)) for seed in range(4))
    report = next(report for status, _, report in found if status == 1)
    assert all("kept store" in violation["said"] for violation in report["violations"])


def expect_violations_of_fams(folder: Path, name: str) -> None:
    """Run a crash test of the module in `folder / "bug"`, and expect violations."""
    manifest = folder / "bug.toml"
    manifest.write_text(f"""
        name = "bug"
        summary = "A seeded bug of the journal"
        base = "{os.path.relpath(CRASH_TESTS, folder)}/fams/{name}.toml"
        crash.modules = ["bug"]
        crash.bounds = {{ exhaustive = 8, subsets = 8, samples = 4 }}
        """)
    status, _, report = crash(manifest, folder)
    assert (status, {violation["outcome"] for violation in report["violations"]}) == (1, {"failed"})
    assert all("neither the data of" in violation["said"] for violation in report["violations"])


@pytest.mark.by_hand
def test_a_fence_of_fams_without_its_instruction_is_found(tmp_path: Path) -> None:
    """Locked instructions of the kernel are fences, too, but none lies between a commit and its application."""
    shutil.copytree(FAMS, tmp_path / "bug")
    changed = tmp_path / "bug/module/persist_pmem.c"
    assert changed.read_text().count("wmb();") == 1
    changed.write_text(changed.read_text().replace("wmb();", "barrier();"))
    expect_violations_of_fams(tmp_path, "fams")


@pytest.mark.by_hand
@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("fams", "NO_COMMIT_FENCE"),
        ("fams", "SUM_UNCHECKED"),
        ("fams", "APPLIED_BEFORE_FENCE"),
        ("fams-late", "SET_REUSED_EARLY"),
        ("fams-late", "REPLAYED_BACKWARDS"),
    ],
)
def test_a_seeded_bug_of_fams_is_found_in_its_module(tmp_path: Path, name: str, bug: str) -> None:
    shutil.copytree(FAMS, tmp_path / "bug")
    part = FAMS.relative_to(REPO)
    subprocess.run([REPO / "tests/seeded_bugs.sh", "copy", part, tmp_path / "copy"], check=True)
    shutil.copytree(tmp_path / "copy" / part, tmp_path / "bug", dirs_exist_ok=True)
    header = (REPO / "tests/rigs/seeded_bug.h").read_text()
    (tmp_path / "bug/seeded_bug.h").write_text(f'#define SEEDED_BUG_CHOSEN "{bug}"\n{header}')
    with (tmp_path / "bug/Kbuild").open("a") as kbuild:
        kbuild.write("ccflags-y += -include $(src)/seeded_bug.h\n")
    expect_violations_of_fams(tmp_path, name)
