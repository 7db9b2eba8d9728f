# SPDX-License-Identifier: BSD-3-Clause
"""The kernel module fams: what its calls do and refuse, and what a power cut leaves of a store."""

from dataclasses import replace
from pathlib import Path

import pytest
from guest_rig import COMPLAINTS, static_programs

from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig
from testbed.paths import REPO
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

FAMS = REPO / "guest-image" / "fams"
# With both policies: the data have a commit when it returns, or later.
CALLS = f"""set -e
/job/halve --mode=fsdax --map=mem
echo > /job/data
/job/fams_calls refused /dev/pmem0.1
for apply_ms in 0 10000; do
    echo $apply_ms > /sys/module/fams/parameters/apply_ms
    /job/fams_calls run /dev/pmem0.1
done
if dmesg | grep -E '{COMPLAINTS}'; then exit 1; fi
/job/fams_calls cut /dev/pmem0.1
"""
LEFT = f"/job/fams_calls after /dev/pmem0.1 && ! dmesg | grep -E '{COMPLAINTS}'\n"


def programs(folder: Path) -> dict[str, Path]:
    """The calls, static, as the guest's system library may be another; and what splits the region."""
    includes = [f"-I{FAMS / 'include'}", f"-I{REPO / 'guest-image/programs/include'}"]
    source = REPO / "tests" / "rigs" / "fams_calls.c"
    return static_programs(folder, {"fams_calls": [source]}, *includes) | {
        "halve": REPO / "experiments" / "crash" / "halve"
    }


def test_commits_survive_a_power_cut_and_nothing_else_does(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    guest = replace(quick_guest, modules=kernel_module.compile_all([FAMS]))
    for script, ending in ((CALLS, "power-cut"), (LEFT, "ok")):
        job = script_job(script, programs(tmp_path))
        outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path / "media")))
        said = outcome.stdout.decode() + outcome.stderr.decode() + outcome.error
        assert outcome.outcome == ending, said + outcome.console[-2000:]
