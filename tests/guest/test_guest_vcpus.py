# SPDX-License-Identifier: BSD-3-Clause
"""Several vCPUs, each with a clock: what they execute, and when, is a function of the guest's state alone."""

from pathlib import Path
from typing import Any

import pytest
from vcpus_rig import Told, VCPUs, with_cpus

from testbed.guest import boots
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import PowerCut
from testbed.guest.session import Session
from testbed.manifest.manifest import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

FAULT = ",x-host-ends-slices=on"


@pytest.fixture(scope="module")
def vcpus(session: Session, quick_guest: GuestConfig, tmp_path_factory: pytest.TempPathFactory) -> VCPUs:
    return VCPUs(session, quick_guest, Path(tmp_path_factory.mktemp("vcpus")))


@pytest.fixture(scope="module", params=[2, 4])
def told(request: pytest.FixtureRequest, vcpus: VCPUs) -> Told:
    return vcpus.run(request.param)


def cpus(told: Told) -> int:
    return len(told.clocks["vcpus"])


def test_linux_trusts_the_clock_and_has_nothing_to_complain_of(told: Told) -> None:
    everyone = f"0-{cpus(told) - 1}"
    lines = told.console.splitlines()
    assert "clocksource tsc" in lines, told.console[-2000:]
    assert [line for line in lines if line.startswith("online")][-1] == f"online {everyone}"
    assert [line for line in lines if line.startswith("complaint")] == []


def test_threads_run_beside_each_other(told: Told) -> None:
    """Work that needs nobody takes as long with all CPUs as with one, but for the clock's tick."""
    for name in ("compute", "pause"):
        alone_ns, together_ns = (told.measured[name, threads][0] for threads in (1, cpus(told)))
        assert together_ns == pytest.approx(alone_ns, rel=0.02), name


def test_what_threads_do_to_one_word_is_not_lost(told: Told) -> None:
    n = cpus(told)
    assert told.measured["xadd", n][1] == 5000 * n
    assert told.measured["mutex", n][1] == 1000 * n
    assert told.measured["pingpong", 2][1] == 2000
    assert told.measured["pipe", 2][1] == 200


def test_time_stamps_follow_each_other(told: Told) -> None:
    assert told.measured["warps", cpus(told)][1] == 0


def test_the_same_again_whatever_the_host_does(vcpus: VCPUs, told: Told) -> None:
    disturbed = vcpus.run(cpus(told), disturbed_by=1)
    assert disturbed.clocks["resumes"] > told.clocks["resumes"] + 100
    assert disturbed.of_the_guest() == told.of_the_guest()


def test_a_slice_that_the_host_ends_is_found(vcpus: VCPUs) -> None:
    alone, disturbed = (vcpus.run(2, seed, FAULT) for seed in (None, 1))
    assert alone.of_the_guest() != disturbed.of_the_guest()


def test_the_guest_is_told_how_many_cpus_there_are(session: Session, quick_guest: GuestConfig) -> None:
    """By Linux, which reads ACPI, and by CPUID: cores of one socket, with an L2 each and one LLC."""
    shared = "cat /sys/devices/system/cpu/cpu2/cache/index$n/shared_cpu_list"
    job = script_job(f"nproc; grep -m 1 '^cpu cores' /proc/cpuinfo; for n in 0 2 3; do {shared}; done")
    outcome = drive(session.executor.run(GuestSpec(with_cpus(quick_guest, 4), job)))
    assert outcome.stdout.decode().split("\n")[:5] == ["4", "cpu cores\t: 4", "2", "2", "0-3"]


# Two processes on CPUs of their own, in a region of interest.
TWO = """
store() { taskset -c $1 kv --records 1000 --operations 1000 --file /pmem/$1 --engine $2 --workload A > /dev/null; }
roi begin
store 0 pmdk & store 1 snapshot & wait
roi end
date +%s.%N; od -An -tx8 -N16 /dev/urandom
"""


def facts(outcome: GuestOutcome) -> dict[str, Any]:
    """All that a run says, but for how long it took the host."""
    return {name: value for name, value in vars(outcome).items() if name != "host_seconds"}


def test_a_copy_is_as_a_guest_of_its_own(session: Session, quick_guest: GuestConfig) -> None:
    """A booted guest is copied in the midst of a slice."""
    spec = GuestSpec(with_cpus(quick_guest, 4), script_job(TWO))
    alone = facts(drive(session.executor.run(spec)))
    assert alone["outcome"] == "ok", alone
    assert alone["rois"][0]["order"]["slices"] > 1000
    total, cores = alone["rois"][0]["counters"], alone["rois"][0]["cores"]
    assert len(cores) == 4
    for name in ("loads", "stores", "l1-misses", "fences", "stall-cxl-hit-ps"):
        assert sum(core[name] for core in cores) == total[name] > 0, name

    async def copies() -> list[GuestOutcome]:
        async with boots.shared(session.qemu, 1) as shared:
            return [await shared.run(spec), await shared.run(spec)]

    assert list(map(facts, drive(copies()))) == [alone, alone]


def test_a_power_cut_while_clocks_differ_is_the_same_again(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """At a persistence event, and at a virtual time: what was lost and what the media hold."""
    guest = with_cpus(quick_guest, 2)

    def cut(where: PowerCut, name: str) -> tuple[dict[str, Any], bytes]:
        home = tmp_path / name
        home.mkdir()
        outcome = drive(session.executor.run(GuestSpec(guest, script_job(TWO), where, media_folder=home)))
        assert outcome.power_cut is not None, facts(outcome)
        return facts(outcome), (home / "media.raw").read_bytes()

    whole = drive(session.executor.run(GuestSpec(guest, script_job(TWO))))
    middle_ps = (whole.rois[0]["begin-ps"] + whole.rois[-1]["end-ps"]) // 2
    by_time = cut(PowerCut(at_ps=middle_ps), "time")
    assert by_time[0]["power_cut"]["time-ps"] == middle_ps
    assert cut(PowerCut(at_ps=middle_ps), "time-again") == by_time
    event = by_time[0]["power_cut"]["event"]
    assert cut(PowerCut(at_event=event), "event") == cut(PowerCut(at_event=event), "event-again")
