# SPDX-License-Identifier: BSD-3-Clause
"""Workloads of several threads on guests with two CPUs: the manifests that ship, small."""

from pathlib import Path

import pytest

from testbed.guest.session import Session
from testbed.manifest import bases, manifest
from testbed.results.results import Result
from testbed.run.runner import run_with_bar

pytestmark = pytest.mark.guest


SMALL = (bases.find("thread-commits-quick"), bases.find("thread-kv-quick"))


def run(session: Session, path: Path, root: Path) -> dict[str, Result]:
    """By engine."""
    runs = manifest.runs(path)
    assert {run.guest.cpu.cores for run in runs} == {2}
    return {str(result.point["engine"]): result for result in run_with_bar(runs, session, root)}


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_two_threads_give_the_same_bytes_twice(session: Session, tmp_path: Path, path: Path) -> None:
    one, two = (run(session, path, tmp_path / folder) for folder in ("1", "2"))
    for engine, result in one.items():
        assert result.path.read_bytes() == two[engine].path.read_bytes(), engine
    rows = {engine: result.rows[0] for engine, result in one.items()}
    assert rows["snapshot"]["updates"] == rows["pmdk"]["updates"] > 0
    assert rows["snapshot"]["commits"] < rows["pmdk"]["commits"]  # one for both threads
    for result in one.values():
        assert [core["stores"] > 1000 for core in result.rois[-1]["cores"]] == [True, True]
