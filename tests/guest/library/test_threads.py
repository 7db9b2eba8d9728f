# SPDX-License-Identifier: BSD-3-Clause
"""Multithreaded workloads on guests with one CPU per thread: the shipped quick manifests, and power cuts."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from analysis.catalogue import verify
from rigs.guest.vcpus_rig import with_cpus
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.results.results import Result
from testbed.run.runner import drive, run_with_bar

pytestmark = pytest.mark.guest


DIGESTS = verify.file_of("quick")
SMALL = (bases.find("thread-commits-quick"), bases.find("thread-kv-quick"))


def run(session: Session, path: Path, root: Path) -> dict[str, Result]:
    """Run the manifest and return its results by engine."""
    runs = render.runs(path)
    assert {run.guest.cpu.cores for run in runs} == {2}
    return {str(result.point["engine"]): result for result in run_with_bar(runs, session, root)}


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.stem)
def test_two_threads_give_the_same_bytes_twice(copying: Session, tmp_path: Path, path: Path) -> None:
    one, two = (run(copying, path, tmp_path / folder) for folder in ("1", "2"))
    for engine, result in one.items():
        assert result.path.read_bytes() == two[engine].path.read_bytes(), engine
    rows = {engine: result.rows[0] for engine, result in one.items()}
    assert rows["snapshot"]["updates"] == rows["pmdk"]["updates"] > 0
    assert rows["snapshot"]["commits"] < rows["pmdk"]["commits"]  # one commit for both threads
    if path.stem in verify.SEVERAL_CPUS and not verify.other_builds(DIGESTS):
        committed = {name: digest for name, digest in verify.load(DIGESTS).items() if name.startswith(path.stem)}
        assert {f"{path.stem}/2-{engine}": verify.digest(result) for engine, result in one.items()} == committed
    for result in one.values():
        assert [core["stores"] > 1000 for core in result.rois[-1]["cores"]] == [True, True]


ATOMIC = ("pmdk", "snapshot-nv", "snapshot")  # engines with atomic commits, whichever threads stored
SEED, CUTS = 34, 2
CHECK = """
unset TESTBED_RESULT
cd /run
of() {{ echo --engine $1 --file /pmem/$1 --threads 2 --rounds 1000000; }}
for engine in {engines}; do
    [ ! -e /pmem/$engine ] || threads $(of $engine) --verify > /dev/console || :
done
"""
# The programs start one by one, stop, and then run together until the power cut.
CUT = """
rm -rf /pmem/*
for engine in {engines}; do
    threads $(of $engine) --acknowledge $engine > /dev/null &
    until [ -s $engine ]; do sleep 0.001; done
    kill -STOP $!
done
kill -CONT $(jobs -p)
sleep {seconds}
echo acknowledged $(od -An -v -w8 -tu8 {engines}) > /dev/console
roi power-cut
"""


def verified(console: str) -> list[dict[str, Any]]:
    """Return the state of each engine's pool after the previous cut."""
    return [json.loads(line) for line in console.splitlines() if line.startswith('{"program":"threads-verify"')]


def acknowledged(console: str) -> list[int]:
    """Return each engine's number of commits that had returned shortly before the power cut."""
    return [int(word) for line in console.splitlines() if line.startswith("acknowledged ") for word in line.split()[1:]]


def test_commits_over_threads_are_whole_after_a_power_cut(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Threads of all engines with atomic commits run on separate CPUs, and a process on one more CPU cuts the power.

    With fewer CPUs, a program might not run in the few milliseconds before the cut.

    The next guest finds each pool in the state of a commit, which is not older than the last acknowledged one.
    """
    guest, draw = with_cpus(quick_guest, 2 * len(ATOMIC) + 1), random.Random(SEED)

    def boot(script: str) -> GuestOutcome:
        job = script_job(script.format(engines=" ".join(ATOMIC), seconds=draw.uniform(0.0005, 0.004)))
        return drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path)))

    least: list[int] = []
    for script in [CHECK + CUT] * CUTS + [CHECK]:
        outcome = boot(script)
        assert outcome.outcome == ("ok" if script == CHECK else "power-cut"), outcome.console[-500:]
        rows = verified(outcome.console)
        print(outcome.power_cut, rows, least)
        assert [row["engine"] for row in rows if row["verified"]] == list(ATOMIC[: len(least)]), rows
        assert all(row["commits"] >= commits > 0 for row, commits in zip(rows, least, strict=True)), (rows, least)
        least = acknowledged(outcome.console)
