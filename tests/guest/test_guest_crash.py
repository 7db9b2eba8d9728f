# SPDX-License-Identifier: BSD-3-Clause
"""Crash tests in guests: each seeded bug of the example is found, with the store that is lost; no bug, no violation."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testbed.paths import REPO

pytestmark = pytest.mark.guest


def crash(name: str, tmp_path: Path) -> tuple[int, str, dict[str, Any]]:
    """Exit status, what is printed, and the report."""
    report = tmp_path / "report.json"
    manifest = REPO / f"experiments/crash/{name}.toml"
    command = [sys.executable, "-m", "testbed", "crash", str(manifest), "--jobs", "2", "--json", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert report.exists(), done.stderr
    return done.returncode, done.stdout, json.loads(report.read_text())


def test_the_sound_program_has_no_violation(tmp_path: Path) -> None:
    status, said, report = crash("records", tmp_path)
    assert (status, report["violations"]) == (0, [])
    counts = report["counts"]
    assert counts["points_in_part"] == 0 and counts["states"] == 7, counts
    assert f"{counts['states']} states" in said


@pytest.mark.parametrize("bug", ["no-flush", "no-fence"])
def test_a_seeded_bug_is_found_with_its_store(bug: str, tmp_path: Path) -> None:
    status, said, report = crash(f"records-{bug}", tmp_path)
    assert status == 1
    least = min(report["violations"], key=lambda violation: len(violation["lost"]))
    assert len(least["lost"]) == 1 and len(least["stores"]) == 1, least
    assert least["stores"][0].startswith("write_record (records.c:"), least
    assert least["said"] == "record 0 of 1 is not whole", least
    assert "write_record" in said and "(records.c:" in said  # a narrow table breaks the line between them
