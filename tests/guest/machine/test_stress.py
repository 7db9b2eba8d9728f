# SPDX-License-Identifier: BSD-3-Clause
"""Linux with many CPUs under load and hotplug: it trusts the TSC without arguments for that, and logs no complaint.

Run by hand, as 32 CPUs took a busy host 18 minutes.
"""

from dataclasses import replace

import pytest

from rigs.guest.vcpus_rig import trusting_nothing, with_cpus
from testbed.guest import qemu_line
from testbed.guest.executor import GuestSpec
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program import packages
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]

PACKAGES = ("rt-tests", "stress-ng")
COMPLAINTS = "stall|lockup|warp|unstable|clocksource watchdog|hung|WARNING|BUG"

# Each CPU but the first goes offline and online while all are busy. The region of interest, which takes the host much
# longer, runs a small hackbench.
LOAD = f"""
set -e
cd /run
cpus=/sys/devices/system/cpu
hackbench --groups 2 --loops 100 > hackbench
stress-ng --cpu 0 --futex 0 --switch 0 --timeout 2 --verify > stress 2>&1 &
sleep 0.2
for cpu in $(seq $(($(nproc) - 1))); do
    echo 0 > $cpus/cpu$cpu/online
    [ $(cat $cpus/cpu$cpu/online) = 0 ]
    echo 1 > $cpus/cpu$cpu/online
done
wait $!
roi begin
hackbench --groups 1 --loops 5 > hackbench
roi end
sleep 3 # time for watchdogs
echo online $(cat $cpus/online)
echo clock $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)
echo watched $(cat /proc/sys/kernel/soft_watchdog) $(cat /sys/module/rcupdate/parameters/rcu_cpu_stall_suppress)
grep -E 'unsuccessful|fail' stress | grep -v 'failed: 0$' || :
dmesg | grep -E '{COMPLAINTS}' | grep -v 'ommand line:' | sed 's/^/complaint /' || :
"""


@pytest.mark.parametrize("cpus", [2, 4, 8, 16, 32])
def test_linux_under_load_and_hotplug_complains_of_nothing(
    session: Session, quick_guest: GuestConfig, monkeypatch: pytest.MonkeyPatch, cpus: int
) -> None:
    words = trusting_nothing(qemu_line.kernel_arguments())
    monkeypatch.setattr(qemu_line, "kernel_arguments", lambda: words)
    guest = replace(with_cpus(quick_guest, cpus), timeout_s=3600, memory_bytes=2**32)
    job = replace(script_job(LOAD), packages=packages.resolve(PACKAGES))
    outcome = drive(session.executor.run(GuestSpec(guest, job)))
    order = outcome.rois[-1]["order"] if outcome.rois else {}
    print(f"{cpus} CPUs: {outcome.host_seconds:.0f} s of the host, {order}")
    assert outcome.outcome == "ok", f"{outcome.stderr.decode()} {outcome.console[-2000:]}"
    assert outcome.stdout.decode().splitlines() == [
        f"online 0-{cpus - 1}",
        "clock tsc",
        "watched 1 0",
    ]
