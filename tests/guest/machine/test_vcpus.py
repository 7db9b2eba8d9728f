# SPDX-License-Identifier: BSD-3-Clause
"""Several vCPUs, each with a clock: their instructions and times are a function of the guest's state alone."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rigs.guest.vcpus_rig import Told, VCPUs, with_cpus
from testbed.build.components import COMPONENTS, build_component
from testbed.guest import boots
from testbed.guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from testbed.guest.qemu_line import PowerCut
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.results import time_shares
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
    """Independent work takes as long on all CPUs as on one, except for the clock tick."""
    for name in ("compute", "pause"):
        alone_ns, together_ns = (told.measured[name, threads][0] for threads in (1, cpus(told)))
        assert together_ns == pytest.approx(alone_ns, rel=0.02), name


def test_outside_a_region_of_interest_pause_is_as_many_instructions(told: Told) -> None:
    """Otherwise, a waiting CPU polls far more often than others advance, and boot takes three times the host time."""
    inside, outside = (told.measured["pause" + w, 1][0] / told.measured["compute" + w, 1][0] for w in ("", "-outside"))
    assert outside == pytest.approx(inside, rel=0.03)


def test_what_threads_do_to_one_word_is_not_lost(told: Told) -> None:
    n = cpus(told)
    assert told.measured["xadd", n][1] == 5000 * n
    assert told.measured["mutex", n][1] == 1000 * n
    assert told.measured["pingpong", 2][1] == 2000
    assert told.measured["pipe", 2][1] == 200


def test_an_addition_that_all_contend_for_takes_a_transfer(vcpus: VCPUs, told: Told) -> None:
    """The distance between the threads' starts has no influence. A kernel clock tick stops a thread in a few runs."""
    transfers_ns = 5000 * cpus(told) * vcpus.guest.cpu.c2c_ps / 1000
    times_ns = told.times_ns["xadd", cpus(told)]
    as_expected = [ns for ns in times_ns if ns == pytest.approx(transfers_ns, rel=0.02)]
    print(f"{cpus(told)} CPUs: {transfers_ns:,.0f} ns expected, {len(as_expected)} of {len(times_ns)} are: {times_ns}")
    assert len(as_expected) >= len(times_ns) * 2 / 3


def test_a_lock_is_waited_for_as_long_as_others_hold_it(told: Told) -> None:
    """Each thread locks 100 times: it holds the lock for 1/50 or 1/1000 of "compute", then leaves it for 1/50."""
    n, compute_ns = cpus(told), told.measured["compute", 1][0]
    expected_ns = {
        "held-long": (100 * n + 1) * compute_ns / 50,  # the last thread's time away comes after all holds
        "held-briefly": 100 * (compute_ns / 1000 + compute_ns / 50) + (n - 1) * compute_ns / 1000,
    }
    for name, ns in expected_ns.items():
        took_ns, times = told.measured[name, n]
        print(f"{n} CPUs, {name}: {took_ns:,} ns, {ns:,.0f} expected")
        assert times == 100 * n
        assert took_ns == pytest.approx(ns, rel=0.02), name


def test_time_stamps_follow_each_other(told: Told) -> None:
    assert told.measured["warps", cpus(told)][1] == 0


def test_a_quantum_of_nothing_changes_only_what_is_contended(vcpus: VCPUs) -> None:
    """docs/results/threads.md has such runs; the order in which CPUs get a contended lock changes, too."""
    quantum, none = (vcpus.run(2, timing=timing, steps=20_000).measured for timing in ("", ",quantum-ps=0"))
    for (name, threads), (took_ns, _) in quantum.items():
        print(f"{name}, {threads}: {took_ns:,} ns, {none[name, threads][0]:,} with a quantum of 0")
    for key in (("compute", 2), ("pause", 2), ("xadd", 2), ("held-long", 2), ("held-briefly", 2), ("pipe", 2)):
        assert quantum[key][0] == pytest.approx(none[key][0], rel=0.02), key
    assert quantum["pingpong", 2][0] == pytest.approx(none["pingpong", 2][0], rel=0.1)


def test_accesses_go_back_by_little(vcpus: VCPUs, told: Told) -> None:
    """The limit is a quantum, or up to a microsecond more if an instruction makes several accesses or cannot wait."""
    order = told.rois[0]["order"]
    assert order["went-back"] > 0
    assert order["went-back-max-ps"] < 1_000_000 + 2 * vcpus.guest.cpu.c2c_ps


def test_each_core_counts_and_the_sum_is_of_all(told: Told) -> None:
    roi = told.rois[0]
    assert len(roi["cores"]) == cpus(told)
    assert all(core["loads"] > 0 for core in roi["cores"])
    assert sum(core["loads"] for core in roi["cores"]) == roi["counters"]["loads"]


def test_the_time_of_each_cpu_is_that_of_the_region_and_has_all_its_parts(vcpus: VCPUs, told: Told) -> None:
    """Instructions get the time left by stalls and idling: at least their cost, except for a few free ones of REP."""
    roi = told.rois[0]
    counted = time_shares.cpu_counters(roi)
    assert len(counted) == cpus(told)
    assert sum(cpu["instructions"] for cpu in counted) == roi["instructions"]
    for cpu, shares in zip(counted, time_shares.by_cpu([roi]), strict=True):
        assert cpu["time-ps"] == pytest.approx(roi["end-ps"] - roi["begin-ps"], abs=2_000_000)
        assert sum(share.time_ps for share in shares) == cpu["time-ps"]
        assert shares[0].time_ps > 0.9 * cpu["instructions"] * vcpus.guest.cpu.insn_ps
    assert max(cpu["idle-ps"] for cpu in counted) > 0


def test_the_same_again_whatever_the_host_does(vcpus: VCPUs, told: Told) -> None:
    disturbed = vcpus.run(cpus(told), disturbed_by=1)
    assert disturbed.clocks["resumes"] > told.clocks["resumes"] + 100
    assert disturbed.of_the_guest() == told.of_the_guest()


@pytest.mark.by_hand
@pytest.mark.parametrize("many", [8, 16])
def test_many_cpus_do_the_same_again_however_often_the_host_disturbs_them(vcpus: VCPUs, many: int) -> None:
    """With sixteen vCPUs, kicks are so frequent that one falls between a vCPU's turn and an exclusive instruction."""
    alone = vcpus.run(many, steps=20_000)
    for seed in range(4):
        disturbed = vcpus.run(many, seed, steps=20_000, often=1600)
        assert disturbed.clocks["resumes"] > alone.clocks["resumes"] + 1000
        assert disturbed.of_the_guest() == alone.of_the_guest(), seed


def test_a_slice_that_the_host_ends_is_found(vcpus: VCPUs) -> None:
    alone, disturbed = (vcpus.run(2, seed, FAULT) for seed in (None, 1))
    assert alone.of_the_guest() != disturbed.of_the_guest()


# Prints Linux's data from ACPI and CPUID, in its own files and by the usual tools.
ASK = r"""
nproc
lscpu --parse=cpu,core,socket,node,cache | grep -v '^#'
lscpu --bytes --caches=name,one-size,all-size,ways,sets | tail -n +2
lscpu | grep -E '^ *(CPU|Thread|Core|Socket)\(s\).*:'
grep -E '^(processor|cache size|physical id|siblings|core id|cpu cores)' /proc/cpuinfo
"""


def told_of(guest: GuestConfig) -> list[str]:
    """Return the expected words of ASK's output. Linux gives sizes in KiB."""
    cpu, n = guest.cpu, guest.cpu.cores
    words = [str(n), *(f"{cpu},{cpu},0,0,{cpu}:{cpu}:{cpu}:0" for cpu in range(n))]
    l1 = (cpu.l1d_size, cpu.l1d_ways, n)
    caches = {"L1d": l1, "L1i": l1, "L2": (cpu.l2_size, cpu.l2_ways, n), "L3": (cpu.llc_size, cpu.llc_ways, 1)}
    for name, (size, ways, copies) in caches.items():
        whole = size // 1024 * 1024
        words.append(f"{name} {whole} {copies * whole} {ways} {size // ways // 64}")
    words += [f"CPU(s): {n}", "Thread(s) per core: 1", f"Core(s) per socket: {n}", "Socket(s): 1"]
    for core in range(n):
        words += [f"processor : {core}", f"cache size : {cpu.l2_size // 1024} KB", "physical id : 0"]
        words += [f"siblings : {n}", f"core id : {core}", f"cpu cores : {n}"]
    return words


def test_the_guest_is_told_of_its_cpus_as_they_are(session: Session, quick_guest: GuestConfig) -> None:
    """The guest sees cores of one socket, each with one thread, an L1 and an L2, and one LLC for all of them."""
    guest = with_cpus(quick_guest, 6)  # no power of two, although CPUID encodes numbers of CPUs in powers of two
    outcome = drive(session.executor.run(GuestSpec(guest, script_job(ASK))))
    assert [" ".join(line.split()) for line in outcome.stdout.decode().splitlines()] == told_of(guest)


# Runs two processes on different CPUs, in a region of interest.
TWO = """
options="--workload A --records 1000 --operations 1000"
store() { taskset -c $(($1 % $(nproc))) kv --engine $2 $options --file /pmem/$1 > /dev/null; }
roi begin
store 0 pmdk & store 1 snapshot & wait
roi end
date +%s.%N; od -An -tx8 -N16 /dev/urandom
"""


def facts(outcome: GuestOutcome) -> dict[str, Any]:
    """Return all fields of an outcome except the host time."""
    return {name: value for name, value in vars(outcome).items() if name != "host_seconds"}


def test_a_copy_is_as_a_guest_of_its_own(session: Session, quick_guest: GuestConfig) -> None:
    """The copy of a booted guest starts in the middle of a slice."""
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
    """Two cuts at one persistence event, or at one virtual time, lose the same lines and leave the same media."""
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


def built_by(compiler: str) -> Path:
    """Build QEMU from the same sources with another compiler than the testbed's."""
    qemu = COMPONENTS["qemu"]
    component = replace(qemu, name=f"{qemu.name}-{compiler}", environment=(("CC", compiler),))
    return build_component(component, {}).path / "bin/qemu-system-x86_64"


@pytest.mark.by_hand
@pytest.mark.parametrize("cpus", [1, 4])
def test_the_same_by_another_build(session: Session, quick_guest: GuestConfig, cpus: int) -> None:
    """Clang builds the other QEMU, without GCC's -flto for the model; GCC builds the testbed's QEMU."""
    other = QemuExecutor(replace(session.images, qemu=built_by("clang-19")))
    assert other.images.qemu.read_bytes() != session.images.qemu.read_bytes()
    spec = GuestSpec(with_cpus(quick_guest, cpus), script_job(TWO))
    one, two = (facts(drive(executor.run(spec))) for executor in (session.executor, other))
    assert one["outcome"] == "ok", one
    assert one == two
