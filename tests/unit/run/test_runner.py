# SPDX-License-Identifier: BSD-3-Clause
"""Scheduling, resuming and failing, with a mock guest: exact and instant."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from conftest import MockExecutor, QuietReporter
from testbed.errors import RunFailed, TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import render
from testbed.results import results
from testbed.run.runner import drive, run_all

HERE = Capacity(guests=2, memory_mib=8192)
KEYS = {"qemu": "q" * 64, "base": "b" * 64}


def run(path: Path, root: Path, executor: MockExecutor, reporter: QuietReporter | None = None) -> list[results.Result]:
    return drive(run_all(render.runs(path), Session(executor, KEYS, here=HERE), root, reporter or QuietReporter()))


def is_engine(spec: GuestSpec, engine: str) -> bool:
    return spec.job is not None and engine in spec.job.script


def test_two_guests_run_at_a_time_in_the_order_of_the_matrix(small_manifest: Path, tmp_path: Path) -> None:
    small_manifest.write_text(small_manifest.read_text().replace('"volatile"', '"volatile", "b", "a", "z"'))
    executor = MockExecutor(delay_s=0.02)
    done = run(small_manifest, tmp_path / "r", executor)
    assert executor.most_at_once == 2
    assert [spec.job for spec in executor.started] == [run.job for run in render.runs(small_manifest)]
    assert [result.point["engine"] for result in done] == ["snapshot", "pmdk", "volatile", "b", "a", "z"]


def test_the_second_run_is_three_hits_and_no_guest(small_manifest: Path, tmp_path: Path) -> None:
    first, reporter = MockExecutor(), QuietReporter()
    run(small_manifest, tmp_path / "r", first, reporter)
    assert [cached for _, _, cached in reporter.finished] == [False] * 3
    second, reporter = MockExecutor(), QuietReporter()
    run(small_manifest, tmp_path / "r", second, reporter)
    assert (len(second.started), [cached for _, _, cached in reporter.finished]) == (0, [True] * 3)


@pytest.mark.parametrize(
    ("change", "misses"),
    [
        (("records = 6400", "records = 6464"), 3),
        (('"volatile"', '"other"'), 1),
        (('summary = "a', 'summary = "another'), 0),
        (("[cpu]", '[guest]\ntimeout = "1min"\n[cpu]'), 0),
        (("[cpu]", '[guest]\nmemory = "3GiB"\n[cpu]'), 3),
        (("[matrix]", '[device.override]\nflash_read = "3us"\n[matrix]'), 3),
    ],
)
def test_only_what_can_influence_a_result_is_in_its_identity(
    small_manifest: Path, tmp_path: Path, change: tuple[str, str], misses: int
) -> None:
    run(small_manifest, tmp_path / "r", MockExecutor())
    small_manifest.write_text(small_manifest.read_text().replace(*change))
    executor = MockExecutor()
    run(small_manifest, tmp_path / "r", executor)
    assert len(executor.started) == misses


def test_another_qemu_is_another_identity(small_manifest: Path) -> None:
    one = render.runs(small_manifest)[0]
    paths = {results.path_for(Path("r"), one, KEYS), results.path_for(Path("r"), one, KEYS | {"qemu": "x"})}
    assert len(paths) == 2


def test_a_failed_run_loses_no_other_and_is_run_again(small_manifest: Path, tmp_path: Path) -> None:
    def answer(spec: GuestSpec) -> GuestOutcome:
        return GuestOutcome("panic", console="Oops") if is_engine(spec, "pmdk") else GuestOutcome("ok", 0)

    with pytest.raises(RunFailed, match=r"1 of 3 runs gave no result: pmdk: panic \(see .*\.failed\)") as caught:
        run(small_manifest, tmp_path / "r", MockExecutor(answer))
    assert caught.value.exit_status == 1
    assert (next((tmp_path / "r").rglob("*.failed")) / "console.txt").read_text() == "Oops"
    executor = MockExecutor()
    run(small_manifest, tmp_path / "r", executor)
    assert len(executor.started) == 1


def test_an_interrupt_ends_guests_and_keeps_finished_results(small_manifest: Path, tmp_path: Path) -> None:
    executor = MockExecutor(delay_s=0.01)
    slow = executor.run

    async def interrupted() -> None:
        async def one_fast(spec: GuestSpec) -> GuestOutcome:
            executor.delay_s = 0.0 if is_engine(spec, "snapshot") else 60
            return await slow(spec)

        executor.run = one_fast  # type: ignore[method-assign]
        work = run_all(render.runs(small_manifest), Session(executor, KEYS, here=HERE), tmp_path / "r", QuietReporter())
        task = asyncio.create_task(work)
        async with asyncio.timeout(60):
            while executor.running < 2 or not list((tmp_path / "r").rglob("*.json")):
                await asyncio.sleep(0.01)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert (executor.running, executor.cancelled) == (0, 2)
    assert len(results.load_all(tmp_path / "r")) == 1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "is not whole JSON"),
        (lambda text: text.replace('"roi_ns": 1', '"roi_ns": 2'), "does not match its checksum"),
        (lambda _: "{}", "has no checksum"),
        (lambda _: "", "is not whole JSON"),
    ],
)
def test_a_damaged_result_is_an_error_and_nothing_is_lost(small_manifest, tmp_path, damage, message) -> None:  # type: ignore[no-untyped-def]
    done = run(small_manifest, tmp_path / "r", MockExecutor())
    damaged = damage(done[1].path.read_text())
    done[1].path.write_text(damaged)
    with pytest.raises(TestbedError, match=message) as caught:
        run(small_manifest, tmp_path / "r", MockExecutor())
    assert caught.value.exit_status == 2
    assert f"result {done[1].path} " in str(caught.value)
    assert "remove that file" in str(caught.value)
    assert done[1].path.read_text() == damaged
    assert results.load(done[0].path).outcome == "ok"


def test_equal_runs_give_equal_bytes(small_manifest: Path, tmp_path: Path) -> None:
    def answer(_: GuestSpec) -> GuestOutcome:
        return GuestOutcome("ok", 0, rows=[{"b": 1, "a": 2}], host_seconds=float(id(object())))

    one = run(small_manifest, tmp_path / "one", MockExecutor(answer))
    two = run(small_manifest, tmp_path / "two", MockExecutor(answer))
    assert [r.path.read_bytes() for r in one] == [r.path.read_bytes() for r in two]
    assert json.loads(one[0].path.read_text())["rows"] == [{"a": 2, "b": 1}]


class FullDisk:
    """A disk with room for `files` files."""

    def __init__(self, files: int) -> None:
        self.files = files

    def fsync(self, _: int) -> None:
        self.files -= 1
        if self.files < 0:
            raise OSError(28, "No space left on device")


@pytest.mark.parametrize(("files", "kept"), [(0, 0), (1, 0), (2, 1)])
def test_a_full_disk_is_one_sentence_and_keeps_what_is_finished(
    small_manifest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: int, kept: int
) -> None:
    """If the disk is full before the first run, no guest boots."""
    monkeypatch.setattr("os.fsync", FullDisk(files).fsync)
    executor, room = MockExecutor(), Capacity(guests=3, memory_mib=8192)
    work = run_all(render.runs(small_manifest), Session(executor, KEYS, here=room), tmp_path / "r", QuietReporter())
    with pytest.raises(TestbedError, match=r"cannot write .*: No space left on device; .* finished results are kept"):
        drive(work)
    assert bool(executor.started) == bool(files)
    assert len([p for p in (tmp_path / "r").rglob("*") if p.is_file()]) == kept


def test_a_results_folder_that_cannot_be_made(small_manifest: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TestbedError, match=r"cannot write .*file/r.*TESTBED_RESULTS"):
        run(small_manifest, tmp_path / "file" / "r", MockExecutor())


def test_a_lost_guest_is_run_once_more_and_then_given_up(small_manifest: Path, tmp_path: Path) -> None:
    lost: set[str] = set()

    def answer(spec: GuestSpec) -> GuestOutcome:
        assert spec.job
        is_first = spec.job.script not in lost
        lost.add(spec.job.script)
        return GuestOutcome("lost") if is_first or is_engine(spec, "pmdk") else GuestOutcome("ok", 0)

    executor, reporter = MockExecutor(answer), QuietReporter()
    with pytest.raises(RunFailed, match=r"1 of 3 runs gave no result: pmdk: lost"):
        run(small_manifest, tmp_path / "r", executor, reporter)
    assert (len(executor.started), len(results.load_all(tmp_path / "r"))) == (6, 2)
    again = "lost on this host; running it once more, on this host"
    assert sorted(reporter.said) == [f"{engine}: {again}" for engine in ("pmdk", "snapshot", "volatile")]


def test_guests_wait_for_memory(small_manifest: Path, tmp_path: Path) -> None:
    """Each takes 2 GiB, 512 MiB of media and overhead; a guest that needs more than the free memory runs alone."""
    for memory_mib, at_once in ((11520, 3), (11519, 2), (3840, 1), (1000, 1)):
        executor, root = MockExecutor(delay_s=0.05), tmp_path / str(memory_mib)
        here = Capacity(guests=4, memory_mib=memory_mib)
        drive(run_all(render.runs(small_manifest), Session(executor, KEYS, here=here), root, QuietReporter()))
        assert (len(executor.started), executor.most_at_once) == (3, at_once)


def test_two_results_of_one_run_must_be_equal(small_manifest: Path, tmp_path: Path) -> None:
    """Two commands may make the same run at the same time."""
    one = render.runs(small_manifest)[0]
    path = results.path_for(tmp_path, one, KEYS)
    data = results.guest_data(GuestOutcome("ok", 0, rows=[1]))
    assert results.store(path, one, KEYS, data) == results.store(path, one, KEYS, data)
    with pytest.raises(RunFailed, match=rf"one run gave two results: see `testbed diff {path} .*\.other`"):
        results.store(path, one, KEYS, results.guest_data(GuestOutcome("ok", 0, rows=[2])))
    kept = [results.load(at) for at in (path, path.with_suffix(".other"))]
    rows: list[Any] = [result.rows for result in kept]
    assert rows == [[1], [2]]
