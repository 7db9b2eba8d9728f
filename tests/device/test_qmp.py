# SPDX-License-Identifier: BSD-3-Clause
"""The device over QMP, with a guest that executes nothing: kept state, run-time changes, and rejected requests."""

import asyncio
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qemu.qmp import ExecuteError, QMPClient

from rigs.guest.guest_rig import Paused, query
from rigs.guest.qtest_rig import Clock
from testbed.crash.journal import Kind
from testbed.crash.journal import read as read_journal
from testbed.guest.qemu_line import Images, Layout, mem_trace, persist_journal
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.run.runner import drive

pytestmark = pytest.mark.guest


async def refusal(qmp: QMPClient, command: str, **arguments: object) -> str:
    with pytest.raises(ExecuteError) as caught:
        await qmp.execute(command, {key.replace("_", "-"): value for key, value in arguments.items()})
    return str(caught.value)


async def set_parameter(qmp: QMPClient, name: str, value: object) -> None:
    await qmp.execute("cxl-ssd-set", {"device": "ssd0", "name": name, "value": value})


@pytest.fixture
def paused(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> Paused:
    return Paused(session, quick_guest, tmp_path, Layout())


def test_a_query_lists_devices_totals_and_no_region(session: Session, quick_guest: GuestConfig, tmp_path: Path) -> None:
    info = Paused(session, quick_guest, tmp_path, Layout(devices=2)).info()
    assert [device["path"] for device in info["devices"]] == ["/machine/peripheral/ssd0", "/machine/peripheral/ssd1"]
    assert info["devices"][1]["persistent-size"] == quick_guest.device.capacity
    assert info["rois"] == info["devices"][0]["windows"] == [] and "running" not in info
    assert set(info["totals"].values()) == set(info["devices"][1]["counters"].values()) == {0}
    assert "life-used" not in info["devices"][0], "no profile states an endurance"


def test_what_was_not_written_is_not_lost(paused: Paused) -> None:
    """QEMU ends in order, by a power cut, and by kill -9."""

    async def cut() -> None:
        async with paused.running() as qmp:
            with qmp.listener("CXL_SSD_POWER_CUT") as listener:
                await qmp.execute("cxl-ssd-power-cut")
                event: dict[str, Any] = dict(await listener.get())
            assert (event["data"]["lines-lost"], event["data"]["dirty-shutdown"]) == (0, False)
            assert "has been cut" in await refusal(qmp, "cxl-ssd-power-cut")

    async def kill() -> None:
        async with paused.running(killed=True) as qmp:
            await query(qmp)

    assert paused.dirty_shutdowns() == 0
    drive(cut())
    assert paused.dirty_shutdowns() == 0
    drive(kill())
    assert paused.dirty_shutdowns() == 0


@pytest.mark.parametrize("damage", ["magic", "count", "flash", "cut short"])
def test_damaged_metadata_is_refused_with_the_way_out(paused: Paused, damage: str) -> None:
    capacity = paused.media.stat().st_size
    assert paused.dirty_shutdowns() == 0
    with paused.media.open("r+b") as file:
        file.seek(capacity + {"magic": 2, "count": 24, "flash": 4096 + 5, "cut short": 0}[damage])
        file.write(b"x") if damage != "cut short" else file.truncate(capacity + 20)
    before = paused.media.read_bytes()
    said = paused.failure()
    assert str(paused.media) in said
    assert f"truncate -s {capacity}" in said
    assert paused.media.read_bytes() == before
    with paused.media.open("r+b") as file:
        file.truncate(capacity)
    assert paused.dirty_shutdowns() == 0


def test_media_of_a_larger_device_are_refused(paused: Paused) -> None:
    size = paused.media.stat().st_size
    with paused.media.open("r+b") as file:
        file.truncate(4 * size)
    assert "is none of this device" in paused.failure()
    assert paused.media.stat().st_size == 4 * size


def test_parameters_change_at_run_time_or_say_why_not(paused: Paused) -> None:
    async def change() -> None:
        async with paused.running() as qmp:
            read = {"path": "/machine/peripheral/ssd0", "property": "flash-read-ps"}
            await set_parameter(qmp, "flash-read-ps", 5_000_000)
            assert await qmp.execute("qom-get", read) == 5_000_000
            await set_parameter(qmp, "cache-policy", "fifo")
            for name, value, reason in (
                ("cache-size", 2**20, "cannot change"),
                ("flash-read-ps", 10**18, "flash_read_ps"),
                ("link-read-bandwidth", 0, "link_read_bandwidth"),
                ("link-read-bandwidth", -1, "link_read_bandwidth"),
                ("flash-read-ps", "fast", "expects"),
                ("cache-policy", "best", "is one of: lru, fifo"),
                ("flash-suspend", 1, "expected: boolean"),
                ("colour", 1, "no parameter 'colour'"),
            ):
                said = await refusal(qmp, "cxl-ssd-set", device="ssd0", name=name, value=value)
                assert reason in said, said
            assert "is not a cxl-ssd" in await refusal(qmp, "cxl-ssd-set", device="rp0", name="x", value=1)
            direct = {"path": "/machine/peripheral/ssd0", "value": 1}
            assert "changes by cxl-ssd-set" in await refusal(qmp, "qom-set", property="flash-read-ps", **direct)
            assert "realized" in await refusal(qmp, "qom-set", property="power-cut-at-ps", **direct)
            assert await qmp.execute("qom-get", read) == 5_000_000

    drive(change())


def test_what_the_model_was_made_of_neither_changes_nor_goes(paused: Paused) -> None:
    """Changes to the objects of CPU, trace and journal would have no effect, and the model would use a deleted one."""
    trace, journal = paused.media.with_name("a.trace"), paused.media.with_name("a.journal")
    paused.line += ["-object", mem_trace(trace), "-object", persist_journal(journal)]

    async def try_to() -> None:
        async with paused.running() as qmp:
            read = {"path": "/objects/cpu0", "property": "dram-latency-ps"}
            before = await qmp.execute("qom-get", read)
            for path, name, value in (
                ("cpu0", "dram-latency-ps", 500_000),
                ("cpu0", "helper-thread", True),
                ("trace0", "file", "/dev/null"),
                ("journal0", "file", "/dev/null"),
            ):
                said = await refusal(qmp, "qom-set", path=f"/objects/{path}", property=name, value=value)
                assert f"{name} cannot change while" in said, said
            assert await qmp.execute("qom-get", read) == before
            for name in ("cpu0", "trace0", "journal0"):
                assert "is in use" in await refusal(qmp, "object-del", id=name)

    drive(try_to())
    assert trace.read_bytes().startswith(b"CXLTRACE")
    assert [record.kind for record in read_journal(journal).records] == [Kind.END]


def test_a_journal_is_not_of_a_model_that_works_ahead(paused: Paused) -> None:
    place = next(n for n, word in enumerate(paused.line) if word.startswith("cpu-timing,"))
    paused.line[place] += ",helper-thread=on"
    paused.line += ["-object", persist_journal(paused.media.with_name("a.journal"))]
    assert "persist-journal: not with helper-thread=on" in paused.failure()


@pytest.mark.parametrize("kind", ["mem-trace", "persist-journal"])
def test_a_recording_that_would_begin_late_is_refused(paused: Paused, kind: str) -> None:
    late = paused.media.with_name("late")

    async def try_to() -> None:
        async with paused.running() as qmp:
            options = {"qom-type": kind, "id": "late", "file": str(late)}
            assert "give it on the command line" in await refusal(qmp, "object-add", **options)
            await query(qmp)

    drive(try_to())
    assert not late.exists()


@pytest.mark.parametrize(
    ("old", "new"), [("sleep=off", "sleep=on"), (",sleep=off", ""), ("shift=0", "shift=auto"), ("shift=0,", "")]
)
def test_time_that_would_follow_the_hosts_clock_is_refused(paused: Paused, old: str, new: str) -> None:
    place = paused.line.index("-icount") + 1
    assert old in paused.line[place]
    paused.line[place] = paused.line[place].replace(old, new)
    assert "insn-ps needs a fixed shift and sleep=off" in paused.failure()


def plain(images: Images, icount: str, *more: str) -> str:
    """Start a QEMU that models the time of instructions without any device; return the error with which it must end."""
    line = [str(images.qemu), "-L", str(images.firmware), "-nodefaults", "-display", "none", "-S", "-M", "q35"]
    line += ["-icount", f"shift=0,sleep=off,{icount}", *more]
    done = subprocess.run(line, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("smp", "reason"),
    [
        ("1,maxcpus=2", "needs all vCPUs from the start: maxcpus is 2 and cpus 1"),
        ("1,threads=2,maxcpus=2", "maxcpus is 2 and cpus 1"),
        ("2,dies=2,sockets=2,maxcpus=4", "maxcpus is 4 and cpus 2"),
        ("33", "at most 32 vCPUs"),
    ],
)
def test_modelled_time_of_cpus_that_come_later_or_are_too_many_is_refused(
    session: Session, smp: str, reason: str
) -> None:
    assert reason in plain(session.images, "insn-ps=250", "-smp", smp)


def test_what_is_for_one_cpu_is_refused_to_several(paused: Paused) -> None:
    place = next(n for n, word in enumerate(paused.line) if word.startswith("cpu-timing,"))
    paused.line += ["-smp", "2"]
    assert "cores=1 is not -smp 2" in paused.failure()
    paused.line[place] += ",cores=2"
    alone = list(paused.line)
    paused.line += ["-object", mem_trace(paused.media.with_name("a.trace"))]
    assert "mem-trace: a trace is of one core" in paused.failure()
    paused.line = alone
    paused.line[place] += ",helper-thread=on"
    assert "helper-thread is for one core" in paused.failure()


@pytest.mark.parametrize("topology", ["sockets=2", "dies=2", "threads=2"])
def test_cores_that_the_model_does_not_have_are_refused(paused: Paused, topology: str) -> None:
    """The model has one socket of cores that share an LLC and have one thread each."""
    place = next(n for n, word in enumerate(paused.line) if word.startswith("cpu-timing,"))
    paused.line[place] += ",cores=4"
    paused.line += ["-smp", f"4,{topology}"]
    assert "the cores are of one socket and have one thread each: -smp 4" in paused.failure()


@pytest.mark.parametrize("shorter", ["c2c-ps", "ipi-ps"])
def test_a_quantum_in_which_what_is_not_yet_written_could_be_read_is_refused(paused: Paused, shorter: str) -> None:
    place = next(n for n, word in enumerate(paused.line) if word.startswith("cpu-timing,"))
    paused.line += ["-smp", "2"]
    paused.line[place] += f",cores=2,c2c-ps=70000,ipi-ps=70000,{shorter}=60000,quantum-ps=60001"
    assert "quantum-ps must not exceed c2c-ps and ipi-ps, 60000" in paused.failure()
    paused.line[place] += ",quantum-ps=60000"
    paused.info()


@pytest.mark.parametrize("cpus", [1, 4])
def test_a_monitor_is_answered_while_all_cpus_have_halted_for_good(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, cpus: int
) -> None:
    """Time then passes from timer to timer without an instruction, and must let other threads have a turn."""
    guest = replace(quick_guest, cpu=replace(quick_guest.cpu, cores=cpus))
    paused = Paused(session, guest, tmp_path, Layout())
    paused.line += Clock.firmware(tmp_path)

    async def ask() -> None:
        async with paused.running() as qmp:
            await qmp.execute("cont")
            begin_s = time.monotonic()
            for _ in range(200):
                await qmp.execute("query-status")
            print(f"{cpus} CPUs: {(time.monotonic() - begin_s) / 200 * 1e6:,.0f} us an answer")

    drive(asyncio.wait_for(ask(), 20))


def test_one_cpu_has_no_clock_of_its_own(paused: Paused) -> None:
    async def ask() -> None:
        async with paused.running() as qmp:
            assert "the machine has one vCPU" in await refusal(qmp, "query-vcpu-clocks")

    drive(ask())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("-accel", "tcg,thread=multi"), "No MTTCG when icount is enabled"),
        (("-icount", "rr=record,rrfile={folder}/log"), "insn-ps and rr are incompatible"),
        (("-only-migratable",), "the stalls of insn-ps do not migrate"),
        (("-device", "qemu64-x86_64-cpu,socket-id=1,core-id=0,thread-id=0"), "must be in range 0:0"),
        (("-smp", "0"), "CPU topology parameters must be greater than zero"),
    ],
)
def test_ways_to_another_clock_or_cpu_are_refused(
    session: Session, tmp_path: Path, options: tuple[str, ...], reason: str
) -> None:
    assert reason in plain(session.images, "insn-ps=250", *(word.format(folder=tmp_path) for word in options))


@pytest.mark.parametrize("name", ["insn-ps", "boot-insn-ps"])
@pytest.mark.parametrize(
    "value", ["-5", "+5", " 5", "0", "5/0", "5/-21", "5000/+21", "", "5/", "x", "5ps", "4294967296", "0x10", "5/21/3"]
)
def test_times_per_instruction_that_are_none_are_refused(session: Session, name: str, value: str) -> None:
    both = f"insn-ps=250,{name}={value}" if name == "boot-insn-ps" else f"{name}={value}"
    assert f"{name}={value} is not PS or PS/INSNS" in plain(session.images, both)


def test_less_than_a_picosecond_an_instruction_is_refused(session: Session) -> None:
    assert "is less than 1 ps an instruction" in plain(session.images, "insn-ps=1/2")
    assert "is less than 1 ps an instruction" in plain(session.images, "insn-ps=1/4294967295")


@pytest.mark.parametrize("name", ["power-cut-at-ps", "power-cut-at-event"])
def test_a_power_cut_at_a_negative_point_is_refused(paused: Paused, name: str) -> None:
    place = next(n for n, word in enumerate(paused.line) if word.startswith("cxl-ssd,"))
    paused.line[place] += f",{name}=-1"
    assert f"{name} must be below 2^63" in paused.failure()


def test_the_guest_is_not_told_that_rep_strings_of_bytes_are_fast(paused: Paused) -> None:
    """Kernel and libc would use `rep stosb` and the like for memset and memcpy: an instruction a byte here."""

    async def ask() -> None:
        async with paused.running() as qmp:
            cpus: Any = await qmp.execute("query-cpus-fast")
            for name in ("erms", "fsrm", "fzrm", "fsrs", "fsrc"):
                where = {"path": cpus[0]["qom-path"], "property": name}
                assert await qmp.execute("qom-get", where) is False, name

    drive(ask())


def test_a_machine_does_not_go_elsewhere_without_its_time(paused: Paused) -> None:
    """Migration and snapshots do not carry stalls and rates, so the other end would begin at another time."""

    async def try_to() -> None:
        async with paused.running() as qmp:
            where = {"uri": "file:" + str(paused.media.with_name("state"))}
            assert "the stalls of insn-ps do not migrate" in await refusal(qmp, "migrate", **where)

    drive(try_to())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"cache_size": 2**40}, "cache_size_bytes must not exceed capacity_bytes"),
        ({"cache_size": 2**64}, "cache-size"),
        ({"cache_size": 2**20 + 1}, "cache_size_bytes must be a positive multiple"),
        ({"cache_page_size": 100}, "cache_page_bytes must be a power of two"),
        ({"cache_page_size": 2**33}, "cache-page-size"),
        ({"cache_ways": 7}, "cache_ways must be 0 (fully associative) or divide"),
        ({"cache_mshrs": 2**32 - 1}, "cache_mshrs must not exceed 65536"),
        ({"cache_write_miss": "log", "write_log_size": 2**50}, "write_log_bytes must not exceed 64 GiB"),
        ({"cache_policy": "best"}, "is one of: lru, fifo"),
        ({"link_flit_bytes": 128}, "link_flit_bytes must be 0, 68 or 256"),
        ({"link_latency_ps": 2**63}, "link_latency_ps must not exceed 1 s"),
        ({"wbarrier_latency_ps": 2**63}, "wbarrier_latency_ps must not exceed 1 s"),
        ({"flash_dies": 0}, "flash_dies must be from 1 to 65536"),
        ({"flash_planes": 0}, "flash_planes must be from 1 to 65536"),
        ({"flash_channels": 65536, "flash_dies": 65536, "flash_planes": 65536}, "flash_channels * flash_dies"),
        ({"flash_ftl": "page", "flash_block_pages": 65536}, "flash_"),
        ({"flash_ftl": "page", "flash_over_provisioning_permille": 0}, "flash_over_provisioning_permille"),
    ],
    ids=lambda value: ",".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else "",
)
def test_an_impossible_device_is_refused_in_a_sentence(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, change: dict[str, Any], reason: str
) -> None:
    device = replace(quick_guest.device, **change)
    said = Paused(session, replace(quick_guest, device=device), tmp_path, Layout()).failure()
    assert reason in said
    assert len(said.splitlines()) <= 2, said


def test_a_cut_in_the_past_is_refused(paused: Paused) -> None:
    async def ask() -> None:
        async with paused.running() as qmp:
            assert "persistence events already" in await refusal(qmp, "cxl-ssd-power-cut", at_event=0)
            assert "either" in await refusal(qmp, "cxl-ssd-power-cut", at_event=1, at_ps=1)
            await qmp.execute("cxl-ssd-power-cut", {"at-event": 10})
            await qmp.execute("cxl-ssd-power-cut", {"at-ps": 10**12})

    drive(ask())
