# SPDX-License-Identifier: BSD-3-Clause
"""Debian programs in a guest with their data on the device: the shipped manifests at a small scale."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data import records
from testbed.guest import boots
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases, parse, render
from testbed.results.results import Result
from testbed.run.runner import drive, run_with_bar

SCALE = 1024

pytestmark = pytest.mark.guest


def run(session: Session, name: str, point: dict[str, str], root: Path) -> tuple[Result, records.Records]:
    path = bases.find(name)
    chosen = [run for run in render.runs(path, SCALE) if point.items() <= run.point.items()]
    result = run_with_bar(chosen, session, root)[0]
    return result, records.of_results([result], parse.load(path).results.pattern)


def test_redis_gives_the_same_bytes_twice(copying: Session, tmp_path: Path) -> None:
    """A server, its clients and its log share one vCPU: two runs have the same schedule, requests and times."""
    point = {"cache_size": "1GiB"}
    (one, found), (two, _) = (run(copying, "redis", point, tmp_path / name) for name in ("1", "2"))
    assert one.path.name == two.path.name
    assert one.path.read_bytes() == two.path.read_bytes()
    assert [record["test"] for record in found.all] == ["SET", "GET"]
    assert one.counters["cxl-writes"] > 625  # the server logs each SET before it answers


def test_sqlite_updates_its_database_on_the_device(session: Session, tmp_path: Path) -> None:
    result, found = run(session, "sqlite", {"work": "updates-rollback", "cache_size": "1GiB"}, tmp_path)
    assert "delete" in result.data["stdout"].splitlines()
    assert result.counters["cxl-writes"] > 125
    assert int(found.all[0]["time"]) > 0


THREADED = ("fio", "sysbench", "redis-threads", "memcached")


def threaded_jobs() -> dict[str, GuestSpec]:
    """Return a four-CPU point of each manifest, on one machine and with the packages of all manifests."""
    runs = {name: render.runs(bases.find(name), 4096) for name in THREADED}
    first = {name: next(run for run in those if run.guest.cpu.cores == 4) for name, those in runs.items()}
    packages = tuple(sorted({package for run in first.values() for package in run.job.packages}))
    return {name: GuestSpec(run.guest, replace(run.job, packages=packages)) for name, run in first.items()}


def test_programs_of_several_threads_run_and_do_so_to_the_byte(session: Session) -> None:
    """Servers, clients and I/O threads run on four CPUs, in copies of one booted guest; one program runs twice."""
    jobs = threaded_jobs()

    async def copies() -> list[GuestOutcome]:
        async with boots.shared(session.qemu, 1) as shared:
            return [await shared.run(jobs[name]) for name in (*THREADED, THREADED[-1])]

    outcomes = drive(copies())
    for name, outcome in zip(THREADED, outcomes, strict=False):
        assert outcome.outcome == "ok", f"{name}: {outcome.stderr.decode()} {outcome.console[-500:]}"
        assert records.matches(parse.load(bases.find(name)).results.pattern, outcome.stdout.decode()), name
        assert [core["stores"] > 1000 for core in outcome.rois[-1]["cores"]] == [True] * 4, name
    one, two = (replace(outcome, host_seconds=0) for outcome in outcomes[-2:])
    assert one == two
