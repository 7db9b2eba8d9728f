# SPDX-License-Identifier: BSD-3-Clause
"""Real guests on a scheduler and workers that are separate processes."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import QuietReporter
from rigs.cluster.cluster_rig import Cluster, open_cluster, wait_until, watched
from rigs.guest.guest_rig import is_alive, qemu_processes
from testbed import scratch
from testbed.guest.capacity import Capacity
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.manifest.render import Run
from testbed.run.runner import drive, run_all

pytestmark = pytest.mark.guest

HOSTS = ("127.0.0.2", "127.0.0.3")
HERE = Capacity(guests=len(HOSTS), memory_mib=8192)
BOOT_S = 2  # by then, a guest is at work, or still boots on a loaded host


def two_runs() -> list[Run]:
    runs = render.runs(bases.find("kv-ycsb-quick"))
    assert len(runs) == len(HOSTS)
    return runs


def kill_with_a_guest(cluster: Cluster, host: str, guests: list[int]) -> None:
    """Kill that worker once it has run a guest for BOOT_S; add the guest's process to `guests`."""
    worker = cluster.workers[host]
    if not guests and qemu_processes(worker.pid):
        time.sleep(BOOT_S)
        guests += qemu_processes(worker.pid)
        worker.kill()


def test_a_worker_that_is_killed_with_its_guest_costs_no_run_and_no_byte(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guest ends with its worker, the next guest removes its folder, and results equal a run in this process."""
    runs, reporter, guests, folders = two_runs(), QuietReporter(), list[int](), tmp_path / "tmp"
    folders.mkdir()
    begun = time.monotonic()
    here = drive(run_all(runs, replace(session, here=HERE), tmp_path / "here", QuietReporter()))
    here_s = time.monotonic() - begun
    with open_cluster(tmp_path) as cluster:
        for host in HOSTS:
            cluster.add(host, 1, TMPDIR=str(folders))
        for host in HOSTS:
            cluster.wait_for(host)
        begun = time.monotonic()

        def look(_: asyncio.Task[object]) -> None:
            kill_with_a_guest(cluster, HOSTS[0], guests)

        work = run_all(runs, replace(session, scheduler=cluster.address), tmp_path / "there", reporter)
        there = drive(watched(work, look))
        there_s = time.monotonic() - begun
        wait_until(lambda: not any(map(is_alive, guests)))
    print(f"2 guests: {here_s:.1f} s in this process, {there_s:.1f} s on two workers of which one is killed")
    assert len(guests) == 1
    assert any(f"lost on {HOSTS[0]}; running it once more, on {HOSTS[1]}" in text for text in reporter.said)
    assert [r.path.name for r in there] == [r.path.name for r in here]
    assert [r.path.read_bytes() for r in there] == [r.path.read_bytes() for r in here]
    monkeypatch.setattr("tempfile.tempdir", str(folders))
    with scratch.folder("next") as folder:
        assert list(folders.glob("testbed-*")) == [folder]
