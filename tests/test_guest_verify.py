# SPDX-License-Identifier: BSD-3-Clause
"""What this host measures is what the committed digests say: a few runs of `testbed verify`, about half a minute."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.paths import REPO

RUNS = ("list/*-pmdk", "list/*-snapshot", "kyoto-commits/optane-dcpmm-16-*")


@pytest.mark.guest
def test_a_few_runs_measure_what_is_committed(tmp_path: Path) -> None:
    table = tmp_path / "verify.json"
    command = [sys.executable, "-m", "testbed", "verify", *RUNS, "--json", str(table)]
    done = subprocess.run(command, cwd=REPO, env=dict(os.environ), capture_output=True, text=True)
    verdicts = {row["name"]: row["verdict"] for row in json.loads(table.read_text())} if table.exists() else {}
    assert verdicts == dict.fromkeys(verdicts, "same"), done.stderr
    assert len(verdicts) == 6
    assert done.returncode == 0, done.stderr
