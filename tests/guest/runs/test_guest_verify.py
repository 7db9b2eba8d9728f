# SPDX-License-Identifier: BSD-3-Clause
"""A few runs of `testbed verify` on this host give the committed digests, in about half a minute."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.catalogue import verify
from testbed.paths import REPO

RUNS = ("list/*-pmdk", "list/*-snapshot", "kyoto-commits/optane-dcpmm-16-*")


def measured(table: Path) -> tuple[list[dict[str, str]], str]:
    command = [sys.executable, "-m", "testbed", "verify", *RUNS, "--json", str(table)]
    done = subprocess.run(command, cwd=REPO, env=dict(os.environ), capture_output=True, text=True)
    rows = json.loads(table.read_text()) if table.exists() else []
    assert len(rows) == 6, done.stderr
    assert (done.returncode == 0) == all(row["verdict"] == "same" for row in rows), done.stderr
    return rows, done.stdout + done.stderr


@pytest.mark.guest
def test_a_few_runs_measure_what_is_committed(tmp_path: Path) -> None:
    """After a change of QEMU, the guest or a Debian package, the committed digests belong to another build. The command
    then names the change, and two runs must still give the same measurements."""
    rows, said = measured(tmp_path / "verify.json")
    updated = verify.other_builds(verify.file_of("quick"))
    if not updated:
        assert {row["verdict"] for row in rows} == {"same"}, said
        return
    again, _ = measured(tmp_path / "again.json")
    assert [row["measured"] for row in rows] == [row["measured"] for row in again]
    assert all(row["verdict"] == "same" for row in rows) or updated[0].split()[0] in said
