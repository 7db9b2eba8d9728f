# SPDX-License-Identifier: BSD-3-Clause
"""State after power cuts and restarts (dirty shutdowns, barriers, wear), and cuts exact to event and picosecond."""

import asyncio
import mmap
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from qemu.qmp import QMPClient, QMPError

from rigs.guest.guest_rig import BY_HAND, DRIVERS, EXT4, NAMESPACE, Paused, region, run, said
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import WATCH_SOCKET, Layout, PowerCut
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest


def test_a_dirty_shutdown_is_counted_and_an_orderly_one_is_not(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """At a power cut, an unprotected device cache loses accepted lines, and a protected one loses nothing."""
    write = (
        region("pmem", "mem0") + NAMESPACE + EXT4 + "while :; do head -c 1000000 /dev/urandom > /pmem/a; sync; done\n"
    )
    cut = PowerCut(at_event=6_000_000)  # earlier events are the zeros of a new file system
    for protected, counted in ((True, 0), (False, 1)):
        device = replace(quick_guest.device, cache_power_loss_protected=protected)
        guest = replace(quick_guest, device=device)
        home = tmp_path / str(protected)
        home.mkdir()
        lost = run(session, guest, write, cut=cut, media_folder=home)
        assert lost.power_cut is not None, lost.console[-500:]
        assert protected or lost.power_cut["lines-lost"] > 0
        assert lost.power_cut["dirty-shutdown"] == (not protected)
        for _ in range(2):
            health = said(run(session, guest, "cxl list -m mem0 -H\n", media_folder=home))
            assert f'"dirty_shutdowns":{counted}' in health


def test_wear_shows_in_the_health_and_outlives_the_machine(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """A cache of 1 MiB evicts pages to flash, and blocks rated for one erase wear out quickly."""
    flash = {"flash_ftl": "page", "flash_block_pages": 64, "flash_erase_ps": 10**9, "flash_endurance_cycles": 1}
    device = replace(quick_guest.device, capacity=2**28, cache_size=2**20, **flash)  # type: ignore[arg-type]
    guest = replace(quick_guest, device=device)
    health = "cxl list -m mem0 -H\n"
    write = region("pmem", "mem0") + NAMESPACE + "head -c 150000000 /dev/urandom > /dev/pmem0; sync\n"
    text = said(run(session, guest, health + write + health, media_folder=tmp_path))
    new, worn = (int(percent) for percent in re.findall(r'"life_used_percent":(-?\d+)', text))
    assert (new, worn > 20) == (0, True)
    assert re.findall(r'"ext_life_used":"(\w+)"', text) == ["normal", "normal" if worn < 90 else "critical"]
    capacity = device.capacity

    def restart() -> tuple[int, bytes]:
        """Return the device's used life, and the state of its flash behind the media."""
        info = Paused(session, guest, tmp_path, Layout()).info()
        with (tmp_path / "media.raw").open("rb") as media:
            media.seek(capacity)
            return int(info["devices"][0]["life-used"]), media.read()

    first = restart()
    assert worn <= first[0] <= worn + 5, "what was dirty at power-off was programmed, too"
    assert restart() == first
    assert len(first[1]) > 8 * 150_000_000 // 4096, "where each page is that was written"


def test_a_barrier_makes_durable_what_came_before_it(
    session: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """An unprotected device cache loses accepted lines unless a pm_wbarrier covers them."""
    device = replace(
        quick_guest.device, cache_power_loss_protected=False, cache_size=2**26, wbarrier_latency_ps=5_000_000
    )
    write = "yes {0} | head -c 65536 | dd of=/dev/pmem0 bs=65536 seek={1} oflag=direct conv=fsync 2> /dev/null\n"
    outcome = run(
        session,
        replace(quick_guest, device=device),
        region("pmem", "mem0")
        + NAMESPACE
        + "roi begin\n"
        + write.format("early", 500)
        + "roi wbarrier\n"
        + write.format("later", 600)
        + "roi power-cut\n",
        media_folder=tmp_path,
    )
    assert outcome.outcome == "power-cut", outcome.stderr
    assert outcome.power_cut is not None and outcome.power_cut["lines-lost"] >= 65536 // 64
    with (tmp_path / "media.raw").open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as media:
        assert media.find(b"early\n" * 10_000) > 0
        assert media.find(b"later\n") == -1


async def cut_by_command(session: Session, spec: GuestSpec, home: Path, **when: int) -> GuestOutcome:
    """Run the guest in this folder, and set the time of the power cut over QMP while it boots."""
    guest = asyncio.create_task(session.executor.run(spec))
    told = False
    while not guest.done() and not told:
        await asyncio.sleep(0.1)
        qmp = QMPClient("cutter")
        with suppress(QMPError, OSError):
            await qmp.connect(str(next(home.glob(f"testbed-guest-*/{WATCH_SOCKET}"), home)))
            await qmp.execute("cxl-ssd-power-cut", {name.replace("_", "-"): value for name, value in when.items()})
            told = True
        with suppress(QMPError, EOFError, OSError):
            await qmp.disconnect()
    return await guest


def differing_lines(one: bytes, other: bytes) -> list[int]:
    pages = [at for at in range(0, len(one), 4096) if one[at : at + 4096] != other[at : at + 4096]]
    return [at for page in pages for at in range(page, page + 4096, 64) if one[at : at + 64] != other[at : at + 64]]


def test_power_goes_exactly_when_it_is_told_to(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cuts by property and by command are exact to the line and the picosecond, and leave the same bytes each time."""
    device = replace(quick_guest.device, capacity=2**28)
    script = (
        DRIVERS + region("pmem", "mem0") + NAMESPACE + "while :; do head -c 9000000 /dev/urandom > /dev/pmem0; done\n"
    )
    bare = GuestSpec(replace(quick_guest, device=device), script_job(script), layout=BY_HAND)

    async def lost(name: str, by_command: bool, **when: int) -> tuple[dict[str, int], bytes]:
        """Return the data of the cut, and the content of the media afterwards."""
        home = tmp_path / name
        home.mkdir()
        spec = replace(bare, media_folder=home, cut=PowerCut() if by_command else PowerCut(**when))
        monkeypatch.setattr("tempfile.tempdir", str(home))  # for the next guest's folder
        if by_command:
            outcome = await cut_by_command(session, spec, home, **when)
        else:
            outcome = await session.executor.run(spec)
        assert outcome.power_cut is not None, outcome.console[-500:]
        return outcome.power_cut, (home / "media.raw").read_bytes()[: device.capacity]

    async def pair(*cuts: tuple[str, bool, dict[str, int]]) -> list[tuple[dict[str, int], bytes]]:
        return await asyncio.gather(*(lost(name, by_command, **when) for name, by_command, when in cuts))

    n = 500_001
    one, other = drive(pair(("n", False, {"at_event": n}), ("m", True, {"at_event": n})))
    assert one == other, (one[0], other[0])
    assert one[0]["event"] == n
    at_ps = one[0]["time-ps"] + 123_456_789
    further, timed = drive(pair(("n+2", False, {"at_event": n + 2}), ("t", True, {"at_ps": at_ps})))
    # Each line takes two events, as it leaves the CPU and as it becomes durable. Two more events are one more line.
    assert len(differing_lines(one[1], further[1])) == 1
    again = drive(lost("u", False, at_ps=at_ps))
    assert timed == again, (timed[0], again[0])
    assert timed[0]["time-ps"] == at_ps
    assert timed[0]["event"] > n
