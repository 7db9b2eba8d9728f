# SPDX-License-Identifier: BSD-3-Clause
"""One boot for many runs: a copy of a booted guest equals a separately booted guest to the nanosecond."""

import asyncio
import hashlib
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from qemu.qmp import QMPClient, QMPError

from rigs.guest.guest_rig import is_alive, qemu_processes
from testbed import scratch
from testbed.errors import RunFailed
from testbed.guest import boots, clock
from testbed.guest.executor import JOB, GuestOutcome, GuestSpec, machine_for
from testbed.guest.machine import Machine
from testbed.guest.session import Session
from testbed.guest.top import find_socket
from testbed.manifest.guest_config import GuestConfig
from testbed.program.job_archive import Job, script_job
from testbed.run.runner import drive

pytestmark = pytest.mark.guest

# Prints everything by which a program can distinguish runs: time, random numbers, its process id, the media's content.
TELLING = (
    "date +%s.%N; od -An -tx8 -N32 /dev/urandom; cat /proc/sys/kernel/random/uuid; echo $$; ls -i /pmem; touch /pmem/$$"
)
KV = "kv --records 1000 --operations 500 --buckets 20 --file /pmem/kv.pool --seed 1 --workload A --engine"


def facts(outcome: GuestOutcome) -> dict[str, Any]:
    """Return all fields of a successful outcome except the host time."""
    assert outcome.outcome == "ok", f"{outcome.stderr!r} {outcome.error} {outcome.console[-500:]}"
    return {name: value for name, value in vars(outcome).items() if name != "host_seconds"}


def shared(session: Session, work: Callable[[boots.SharedBoots], Coroutine[Any, Any, Any]], room: int = 2) -> Any:
    async def within() -> Any:
        async with boots.shared(session.qemu, room) as executor:
            return await work(executor)

    return drive(within())


@pytest.fixture
def guests() -> Callable[[], list[int]]:
    """Return a function that lists a test's running guests, without guests that wait for this process's other tests."""
    others = frozenset(qemu_processes(os.getpid()))
    return lambda: [pid for pid in qemu_processes(os.getpid()) if pid not in others]


def copies_of(guests: list[int]) -> list[int]:
    return [copy for guest in guests for copy in qemu_processes(guest)]


def test_a_copy_is_as_a_guest_of_its_own(
    session: Session, quick_guest: GuestConfig, guests: Callable[[], list[int]]
) -> None:
    """First and later copies, parallel copies and copies after another job equal an unshared guest, byte for byte."""
    specs = [GuestSpec(quick_guest, script_job(f"{TELLING}; {KV} {engine}")) for engine in ("snapshot", "pmdk")]
    alone = [facts(drive(session.executor.run(spec))) for spec in specs]
    assert alone[0] != alone[1]

    async def three_times(executor: boots.SharedBoots) -> list[GuestOutcome]:
        one_by_one = await _one_by_one(executor, [*specs, specs[0]])
        assert len(guests()) == 1
        return one_by_one + await asyncio.gather(*map(executor.run, specs))

    assert list(map(facts, shared(session, three_times))) == [*alone, alone[0], *alone]
    assert guests() == []


def test_watching_copies_changes_nothing(session: Session, quick_guest: GuestConfig) -> None:
    """The waiting guest and its copies share one connection in turn; a connection to a running copy ends with it."""
    spec = GuestSpec(quick_guest, script_job(f"{KV} snapshot"))

    async def watched(executor: boots.SharedBoots) -> tuple[list[GuestOutcome], int]:
        alone, answers = await executor.run(spec), 0
        runs = asyncio.create_task(_one_by_one(executor, [spec, spec, spec]))
        while not runs.done():
            qmp = QMPClient("watcher")
            with suppress(QMPError, EOFError, OSError):
                await qmp.connect(str(find_socket(None)))
                while not runs.done():
                    await qmp.execute("query-cxl-ssd")
                    answers += 1
            with suppress(QMPError, EOFError, OSError):
                await qmp.disconnect()
        return [alone, *await runs], answers

    outcomes, answers = shared(session, watched)
    assert answers > 20
    first, *later = map(facts, outcomes)
    assert later == [first, first, first]


async def _one_by_one(executor: boots.SharedBoots, specs: list[GuestSpec]) -> list[GuestOutcome]:
    return [await executor.run(spec) for spec in specs]


def test_guests_that_differ_do_not_share_a_boot(
    session: Session, quick_guest: GuestConfig, guests: Callable[[], list[int]]
) -> None:
    job = script_job("findmnt -no FSTYPE,OPTIONS /pmem; free -m")
    kinds = [
        quick_guest,
        replace(quick_guest, file_system="xfs-dax"),
        replace(quick_guest, device=replace(quick_guest.device, cache_size=quick_guest.device.cache_size * 2)),
    ]

    async def each(executor: boots.SharedBoots) -> list[GuestOutcome]:
        outcomes = await _one_by_one(executor, [GuestSpec(guest, job) for guest in (*kinds, kinds[0])])
        assert len(guests()) == 1, "there is room for one"
        return outcomes

    ext4, xfs, larger, again = map(facts, shared(session, each, room=1))
    assert b"ext4" in ext4["stdout"] and b"xfs" in xfs["stdout"]
    assert again == ext4
    assert larger["stdout"] == ext4["stdout"]


def test_how_copies_end(session: Session, quick_guest: GuestConfig, guests: Callable[[], list[int]]) -> None:
    """Copies end by a failed job, a panic, a silent power-off, a kill and a timeout; then the next run succeeds."""

    async def endings(executor: boots.SharedBoots) -> list[str]:
        async def ending(script: str, timeout_s: float = quick_guest.timeout_s) -> str:
            return (
                await executor.run(GuestSpec(replace(quick_guest, timeout_s=timeout_s), script_job(script)))
            ).outcome

        told = [
            await ending(script)
            for script in (
                "exit 7",
                "echo c > /proc/sysrq-trigger; sleep 100",
                "echo o > /proc/sysrq-trigger; sleep 100",
            )
        ]
        killed = asyncio.create_task(ending("while :; do :; done"))
        while not (copies := copies_of(guests())):
            await asyncio.sleep(0.1)
        os.kill(copies[0], signal.SIGKILL)
        told.append(await killed)
        told.append(await ending("while :; do :; done", timeout_s=20.0))
        told.append(await ending("true"))
        assert not is_alive(copies[0])
        return told

    assert shared(session, endings) == ["failed", "panic", "lost", "lost", "timeout", "ok"]
    assert guests() == []


def test_a_cancelled_run_leaves_nothing(
    session: Session, quick_guest: GuestConfig, guests: Callable[[], list[int]]
) -> None:
    async def cancelled(executor: boots.SharedBoots) -> list[int]:
        run = asyncio.create_task(executor.run(GuestSpec(quick_guest, script_job("while :; do :; done"))))
        while not (copies := copies_of(guests())):
            await asyncio.sleep(0.1)
        processes = [*copies, *guests()]
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        return processes

    processes = shared(session, cancelled)
    for _ in range(50):
        if not any(map(is_alive, processes)):
            break
        drive(asyncio.sleep(0.1))
    assert not any(map(is_alive, processes))


def test_what_needs_a_machine_of_its_own_is_not_copied(quick_guest: GuestConfig, tmp_path: Path) -> None:
    spec = GuestSpec(quick_guest, script_job("true"))
    large = replace(quick_guest, device=replace(quick_guest.device, capacity=2**40))
    assert boots.may_be_copied(spec)
    for other in (
        replace(spec, job=None),
        replace(spec, media_folder=tmp_path),
        replace(spec, trace=tmp_path / "trace"),
        replace(spec, helper_thread=True),
        replace(spec, timed=False),
        replace(spec, guest=large),
    ):
        assert not boots.may_be_copied(other)
    assert boots.kind(spec) == boots.kind(replace(spec, job=script_job("false")))
    assert boots.kind(spec) != boots.kind(replace(spec, job=Job("", packages=("redis=1",))))


@pytest.mark.parametrize(
    ("copied", "more", "said"),
    [
        pytest.param(True, {"helper_thread": True}, "helper-thread=on cannot be copied", marks=pytest.mark.by_hand),
        (True, {"trace": Path("/dev/null")}, "mem-trace cannot be copied"),
        (False, {}, r"shared memory \(.*\) cannot be copied"),
    ],
)
def test_what_cannot_be_copied_is_refused(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, copied: bool, more: dict[str, bool | Path], said: str
) -> None:
    spec = GuestSpec(quick_guest, script_job("echo done"), **more)  # type: ignore[arg-type]

    huge = tmp_path / "huge.tar"
    huge.touch()
    os.truncate(huge, 2**32)

    async def refused(qemu: Machine) -> None:
        with pytest.raises(RunFailed, match="not waiting for its job"):
            await qemu.run_job_in_copy(tmp_path / JOB)
        assert await qemu.boot() is None
        with pytest.raises(RunFailed, match="No such file"):
            await qemu.run_job(tmp_path / "none.tar")
        with pytest.raises(RunFailed, match=said):
            await qemu.run_job_in_copy(tmp_path / JOB)
        with pytest.raises(RunFailed, match=r"huge\.tar: a job is less than 4 GiB"):
            await qemu.run_job(huge)
        await qemu.run_job(tmp_path / JOB)

    async def within() -> None:
        async with machine_for(session.images, spec, tmp_path, tmp_path / "results", clock.FIRST_BOOT, copied) as qemu:
            await refused(qemu)

    drive(within())
    assert '"status":0' in (tmp_path / "results").read_text()


def test_a_large_job_arrives_whole(session: Session, quick_guest: GuestConfig) -> None:
    content = bytes(range(256)) * (20 * 2**12)  # 20 MiB
    job = Job("#!/bin/bash\nsha256sum blob; stat -c %a run blob tool; readlink link; ls -d empty\n", {"blob": content})
    job = replace(job, executables={"tool": b"x"}, symlinks={"link": "blob"}, folders=("empty",))
    outcome = facts(drive(session.executor.run(GuestSpec(quick_guest, job))))
    digest = hashlib.sha256(content).hexdigest()
    assert outcome["stdout"].decode().split() == [digest, "blob", "755", "644", "755", "blob", "empty"]


def test_the_scratch_folder_goes_with_the_boot(
    session: Session, quick_guest: GuestConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def one(executor: boots.SharedBoots) -> int:
        await executor.run(GuestSpec(quick_guest, script_job("true")))
        return len(list(tmp_path.glob(f"{scratch.PREFIX}guest-*")))

    assert shared(session, one) == 1
    assert list(tmp_path.glob(f"{scratch.PREFIX}guest-*")) == []


def test_a_guest_that_nobody_asks_for_ends(
    session: Session, quick_guest: GuestConfig, guests: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boots, "IDLE_S", 0.5)

    async def one(executor: boots.SharedBoots) -> tuple[int, int, str]:
        spec = GuestSpec(quick_guest, script_job("true"))
        await executor.run(spec)
        waiting = len(guests())
        await asyncio.sleep(2)
        return waiting, len(guests()), (await executor.run(spec)).outcome

    assert shared(session, one) == (1, 0, "ok")
