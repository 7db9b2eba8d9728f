# SPDX-License-Identifier: BSD-3-Clause
"""The device over QMP, with a guest that executes nothing: what it keeps, run-time changes, requests it refuses."""

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qemu.qmp import ExecuteError, QMPClient, QMPError

from testbed.executor import GuestSpec, prepare_files
from testbed.manifest import GuestConfig
from testbed.qemu_line import Layout, PowerCut, command_line
from testbed.runner import drive
from testbed.session import Session

pytestmark = pytest.mark.guest


class Paused:
    """Starts QEMU on the media of one folder, with the vCPU stopped before its first instruction."""

    def __init__(self, session: Session, guest: GuestConfig, folder: Path, layout: Layout) -> None:
        spec = GuestSpec(guest, None, media_folder=folder, layout=layout)
        self.files = prepare_files(replace(session.images, initrds=()), spec, folder)
        ports = ["-S", "-action", "shutdown=pause"]
        self.line = command_line(session.images, guest, self.files, PowerCut(), ports, layout=layout)
        self.media = self.files.media[0]

    @asynccontextmanager
    async def running(self, killed: bool = False) -> AsyncIterator[QMPClient]:
        ours, theirs = socket.socketpair()
        monitor = ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"]
        with ours, theirs:
            qemu = subprocess.Popen([*self.line, *monitor], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
            theirs.close()
            qmp = QMPClient()
            try:
                await qmp.connect(ours)
                yield qmp
            finally:
                with suppress(QMPError, EOFError):
                    await (asyncio.to_thread(qemu.kill) if killed else qmp.execute("quit"))
                await asyncio.to_thread(qemu.wait, 20)
                with suppress(QMPError, EOFError, OSError):
                    await qmp.disconnect()

    def failure(self) -> str:
        """What a QEMU that does not start says."""
        done = subprocess.run(self.line, capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        assert done.returncode == 1
        return done.stderr

    def dirty_shutdowns(self) -> int:
        async def ask() -> int:
            async with self.running() as qmp:
                return int((await query(qmp))["devices"][0]["dirty-shutdowns"])

        return drive(ask())


async def query(qmp: QMPClient) -> dict[str, Any]:
    answer = await qmp.execute("query-cxl-ssd")
    assert isinstance(answer, dict)
    return answer


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
    async def ask() -> dict[str, Any]:
        async with Paused(session, quick_guest, tmp_path, Layout(devices=2)).running() as qmp:
            return await query(qmp)

    info = drive(ask())
    assert [device["path"] for device in info["devices"]] == ["/machine/peripheral/ssd0", "/machine/peripheral/ssd1"]
    assert info["devices"][1]["persistent-size"] == quick_guest.device.capacity
    assert info["rois"] == info["devices"][0]["windows"] == [] and "running" not in info
    assert set(info["totals"].values()) == {0}


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
            assert await qmp.execute("qom-get", read) == 5_000_000

    drive(change())


def test_a_cut_in_the_past_is_refused(paused: Paused) -> None:
    async def ask() -> None:
        async with paused.running() as qmp:
            assert "persistence events already" in await refusal(qmp, "cxl-ssd-power-cut", at_event=0)
            assert "either" in await refusal(qmp, "cxl-ssd-power-cut", at_event=1, at_ps=1)
            await qmp.execute("cxl-ssd-power-cut", {"at-event": 10})
            await qmp.execute("cxl-ssd-power-cut", {"at-ps": 10**12})

    drive(ask())
