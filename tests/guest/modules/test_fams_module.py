# SPDX-License-Identifier: BSD-3-Clause
"""The kernel module fams: effects and errors of its calls, and the content of a store after a power cut."""

from dataclasses import replace
from pathlib import Path

import pytest

from rigs.guest.guest_rig import COMPLAINTS, RIG_PROGRAMS, static_programs
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import CRASH_TESTS, REPO
from testbed.program import kernel_module
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

FAMS = REPO / "guest-image" / "modules" / "fams"
# Runs with both policies: fams applies a commit to the data before the call returns (0 ms), or later.
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
# The engine pages-fams commits the same data as pages-msync-4k, and rejects a mounted device and too large a commit
# with a message. Then the power is cut in the middle of commits.
LONG = "--file /dev/pmem0.1 --data-pages 512 --pages 7 --lines 5 --commits 1000000 --written-pages 100000000 --seed 1"
LOADED = "set -e\nmodprobe /usr/lib/testbed/modules/fams.ko\n"
ENGINE = f"""{LOADED}
unset TESTBED_RESULT
size="--data-pages 512 --pages 1,64 --lines 3,64 --commits 8 --seed 1"
pages-msync-4k $size --file /pmem/pool > plain
if pages-fams $size --file /dev/pmem0 2> mounted; then exit 1; fi
grep 'a block device with DAX that is not mounted' mounted
/job/halve --mode=fsdax --map=mem
pages-fams $size --file /dev/pmem0.1 > fams
for file in plain fams; do grep -o '"checksum":"[0-9a-f]*"' $file > $file.sums; done
test "$(cat plain.sums)" = "$(cat fams.sums)"
test $(wc -l < fams.sums) = 4
pages-fams $size --file /dev/pmem0.1 --verify
if pages-fams --data-pages 2048 --pages 2048 --lines 1 --commits 4 --file /dev/pmem0.1 2> large; then exit 1; fi
grep 'a commit has more than the 11[0-9][0-9] pages that the journal holds' large
if dmesg | grep -E '{COMPLAINTS}'; then exit 1; fi
pages-fams {LONG} --acknowledge acknowledged > /dev/null &
until [ -s acknowledged ] && [ $(od -An -tu8 -N8 acknowledged) -gt 50 ]; do sleep 0.001; done
roi power-cut
"""
VERIFIED = f"{LOADED}pages-fams {LONG} --verify\n"
LEFT = f"/job/fams_calls after /dev/pmem0.1 && ! dmesg | grep -E '{COMPLAINTS}'\n"


def programs(folder: Path) -> dict[str, Path]:
    """Return fams_calls, static because the guest's libc may differ, and the script that splits the region."""
    includes = [f"-I{FAMS / 'include'}", f"-I{REPO / 'guest-image/tools/include'}"]
    source = RIG_PROGRAMS / "fams_calls.c"
    return static_programs(folder, {"fams_calls": [source]}, *includes) | {"halve": CRASH_TESTS / "tools" / "halve"}


def test_commits_survive_a_power_cut_and_nothing_else_does(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    guest = replace(quick_guest, modules=kernel_module.compile_all([FAMS]))
    for script, ending in ((CALLS, "power-cut"), (LEFT, "ok")):
        job = script_job(script, programs(tmp_path))
        outcome = drive(session.executor.run(GuestSpec(guest, job, media_folder=tmp_path / "media")))
        said = outcome.stdout.decode() + outcome.stderr.decode() + outcome.error
        assert outcome.outcome == ending, said + outcome.console[-2000:]


def test_the_engine_commits_what_others_do_and_keeps_it(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    halve = {"halve": CRASH_TESTS / "tools" / "halve"}
    cut, left = (
        drive(session.executor.run(GuestSpec(quick_guest, script_job(script, halve), media_folder=tmp_path)))
        for script in (ENGINE, VERIFIED)
    )
    assert cut.outcome == "power-cut", cut.stdout.decode() + cut.stderr.decode() + cut.console[-2000:]
    (found,) = left.rows
    assert (found["verified"], found["commits"] > 50) == (True, True), found
