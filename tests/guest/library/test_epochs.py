# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints in a guest: the state of a pool after a power cut, which is the same when the pool is opened lazily."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

STORE = "--workload G --records 1000 --operations 1000000 --seed 1 --file /pmem/pool"
OF_KV = " --buckets 50"
# The program runs until the power cut. The updates in `first` are then older than two of the longest epochs below.
CUT = """
cd /run
{program} {store} --acknowledge count > /dev/null &
done_by_now() {{ od -An -tu8 -N8 count; }}
until [ -s count ] && [ $(done_by_now) -gt 100 ]; do sleep 0.001; done
first=$(done_by_now)
sleep 0.005
kill -STOP $!
echo done $first $(done_by_now) > /dev/console
roi power-cut
"""
CHECK = """
unset TESTBED_RESULT
for how in {openings}; do SNAPSHOT_EPOCH_OPEN=$how {program} {store} --verify > /dev/console; done
"""


def exported(environment: Mapping[str, str]) -> str:
    return "".join(f"export {name}={value}\n" for name, value in environment.items())


def case(program: str, *more: pytest.MarkDecorator, **environment: str) -> Any:
    variables = {f"SNAPSHOT_EPOCH_{name.upper()}": value for name, value in environment.items()}
    return pytest.param(program, variables, marks=more, id=" ".join([program, *environment]))


@pytest.mark.parametrize(
    ("program", "environment"),
    [
        case("kv-cpnvm", ns="1000000"),
        case("kv-snapshot-epoch", transactions="16"),
        case("kv-cpnvm", pytest.mark.by_hand, ns="1000000", replay="background"),
        case("kv-cpnvm", pytest.mark.by_hand, transactions="16"),
        case("kv-snapshot-epoch", pytest.mark.by_hand, ns="1000000"),
        case("kv-snapshot-epoch", pytest.mark.by_hand, ns="1000000", replay="background"),
        case("mtree-cpnvm", ns="1000000"),
        case("mtree-cpnvm", pytest.mark.by_hand, ns="1000000", replay="background"),
        case("mtree-snapshot-epoch", pytest.mark.by_hand, transactions="16"),
    ],
)
def test_a_power_cut_leaves_a_whole_epoch_and_takes_at_most_one(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, program: str, environment: dict[str, str]
) -> None:
    """The pool has the state after some update and misses none older than an epoch; reopening gives the same state."""
    store = STORE if program.startswith("mtree") else STORE + OF_KV

    def boot(script: str, openings: str = "") -> GuestOutcome:
        lines = exported(environment) + script.format(program=program, store=store, openings=openings)
        return drive(session.executor.run(GuestSpec(quick_guest, script_job(lines), media_folder=tmp_path)))

    cut = boot(CUT)
    assert cut.outcome == "power-cut", cut.stderr.decode() + cut.console[-500:]
    line = next(line for line in cut.console.splitlines() if line.startswith("done "))
    first, last = map(int, line.split()[1:])
    checked = boot(CHECK, "lazy whole" if program.endswith("cpnvm") else "whole")
    found = [
        json.loads(row) for row in checked.console.splitlines() if row.startswith('{"program":"') and "-verify" in row
    ]
    assert found and all(row["verified"] for row in found), checked.stderr.decode() + checked.console[-500:]
    commits = {row["commits"] for row in found}
    print(program, environment, "older than an epoch:", first, "all:", last, "found:", commits)
    assert len(commits) == 1 and first > 100
    epoch = int(environment.get("SNAPSHOT_EPOCH_TRANSACTIONS", last - first + 1))
    assert last - epoch < commits.pop() <= last + 1
