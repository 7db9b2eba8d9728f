# SPDX-License-Identifier: BSD-3-Clause
"""The device over QMP, with a guest that executes nothing: what it keeps, run-time changes, requests it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guest_rig import Paused, query
from qemu.qmp import ExecuteError, QMPClient

from testbed.manifest import GuestConfig
from testbed.qemu_line import Layout, mem_trace
from testbed.runner import drive
from testbed.session import Session

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
    """However it ends: in order, by a power cut, by kill -9."""

    async def cut() -> None:
        async with paused.running() as qmp:
            with qmp.listener("CXL_SSD_POWER_CUT") as listener:
                await qmp.execute("cxl-ssd-power-cut")
                event = await listener.get()
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
    """The CPU's object and the trace: said to have changed, they would not have; deleted, they would be used still."""
    trace = paused.media.with_name("a.trace")
    paused.line += ["-object", mem_trace(trace)]

    async def try_to() -> None:
        async with paused.running() as qmp:
            read = {"path": "/objects/cpu0", "property": "dram-latency-ps"}
            before = await qmp.execute("qom-get", read)
            for path, name, value in (
                ("cpu0", "dram-latency-ps", 500_000),
                ("cpu0", "helper-thread", True),
                ("trace0", "file", "/dev/null"),
            ):
                said = await refusal(qmp, "qom-set", path=f"/objects/{path}", property=name, value=value)
                assert f"{name} cannot change while" in said, said
            assert await qmp.execute("qom-get", read) == before
            for name in ("cpu0", "trace0"):
                assert "is in use" in await refusal(qmp, "object-del", id=name)

    drive(try_to())
    assert trace.read_bytes().startswith(b"CXLTRACE")


def test_a_trace_that_would_begin_late_is_refused(paused: Paused) -> None:
    late = paused.media.with_name("late.trace")

    async def try_to() -> None:
        async with paused.running() as qmp:
            options = {"qom-type": "mem-trace", "id": "late", "file": str(late)}
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


def test_the_guest_is_not_told_that_rep_strings_of_bytes_are_fast(paused: Paused) -> None:
    """Kernel and libc would take `rep stosb` and its kin for memset and memcpy: an instruction a byte here."""

    async def ask() -> None:
        async with paused.running() as qmp:
            cpus: Any = await qmp.execute("query-cpus-fast")
            for name in ("erms", "fsrm", "fzrm", "fsrs", "fsrc"):
                where = {"path": cpus[0]["qom-path"], "property": name}
                assert await qmp.execute("qom-get", where) is False, name

    drive(ask())


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
        ({"cache_write_miss": "log", "write_log_size": 2**50}, "write_log_bytes must be"),
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
