# SPDX-License-Identifier: BSD-3-Clause
"""Fixtures that the tests share: a mock guest, short manifests, and the real session for tests marked `guest`."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pytest

from testbed.build import components
from testbed.guest.boots import Boots
from testbed.guest.capacity import of_this_host
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import Images
from testbed.guest.session import Session, open_session
from testbed.manifest import bases, parse, render
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.scale import guest_config
from testbed.paths import REPO, cache_root

T = TypeVar("T")
MOCK_QEMU = REPO / "tests" / "rigs" / "guest" / "mock_qemu.py"
CALIBRATION_RESULTS = cache_root() / "calibration"  # under the hash of all their inputs

MANIFEST = """
name = "small"
summary = "a manifest for tests"
scale = 64
[cpu]
profile = "xeon-6230-class"
[device]
profile = "snapshot-paper-mss"
[workload]
command = "kv --engine {engine} --records {records}"
scaled = { records = 6400 }
[matrix]
engine = ["snapshot", "pmdk", "volatile"]
"""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Name a failed test at once: the reports at the end are lost if the run is killed."""
    if report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        print(f"\nfailed: {report.nodeid}, {report.when}, after {report.duration:.0f} s", flush=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run tests without a guest first: they are quick and locate an error more precisely.

    With parallel workers (tests/python.sh) the files that take longest come first, so that the workers end together.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        slow = {item.path for item in items if item.get_closest_marker("guest") or item.path.parent.name == "cluster"}
        items.sort(key=lambda item: item.path not in slow)
    else:
        items.sort(key=lambda item: item.get_closest_marker("guest") is not None)


@pytest.fixture(scope="session", autouse=True)
def own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the tests a separate folder, so that they find no running guest of a user or of parallel tests there."""
    folder = str(tmp_path_factory.mktemp("tmp"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr("tempfile.tempdir", folder)
        yield


@pytest.fixture(autouse=True)
def no_builds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit tests build nothing and do not query Debian: a workload has a key made from its name, and no archive."""
    if "unit" not in request.path.parts:
        return

    def unbuilt(name: str) -> Path:
        raise AssertionError(f"a unit test would build {name}")

    monkeypatch.setattr(components, "own_archive", unbuilt)
    monkeypatch.setattr(components, "own_archive_key", lambda name: f"key of {name}")


@dataclass
class MockExecutor:
    """A guest that returns `answer` after `delay_s`, and records the specs that it was given."""

    answer: Callable[[GuestSpec], GuestOutcome] = lambda _: GuestOutcome("ok", 0, rows=[{"roi_ns": 1}])
    delay_s: float = 0.0
    started: list[GuestSpec] = field(default_factory=list)
    running: int = 0
    most_at_once: int = 0
    cancelled: int = 0

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        self.started.append(spec)
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            await asyncio.sleep(self.delay_s)
            return self.answer(spec)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


@dataclass
class QuietReporter:
    """Records the messages that a progress bar would have shown."""

    finished: list[tuple[str, str, bool]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    on_start: Callable[[render.Run], object] = lambda _: None

    def start(self, run: render.Run) -> None:
        self.started.append(run.label)
        self.on_start(run)

    def finish(self, run: render.Run, outcome: str, cached: bool) -> None:
        self.finished.append((run.label, outcome, cached))

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def small_manifest(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(MANIFEST)
    return path


@pytest.fixture
def guest(small_manifest: Path) -> GuestConfig:
    """The guest of the short manifest's first run."""
    return render.runs(small_manifest)[0].guest


@pytest.fixture
def images(tmp_path: Path) -> Images:
    """A mock of QEMU, with a file in place of the kernel."""
    (tmp_path / "vmlinux").write_text("mock")
    return Images(MOCK_QEMU, tmp_path, tmp_path / "vmlinux", initrds=())


@pytest.fixture(scope="session")
def session() -> Session:
    """The testbed's QEMU and guest, built if necessary."""
    return open_session()


class CopyingExecutor:
    """Runs each job in a copy of a guest of the same kind that has booted for an earlier test, if there is one.

    The booted guests wait in a separate thread, because they outlive the event loop of a test.
    """

    def __init__(self, session: Session) -> None:
        self._qemu, self._boots, self._loop = session.qemu, Boots(room=2), asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    async def run(self, spec: GuestSpec) -> GuestOutcome:
        return await self._there(self._boots.run(self._qemu, spec))

    def _there(self, work: Coroutine[None, None, T]) -> "asyncio.Future[T]":
        return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def end(self) -> None:  # not close(), which a Dask worker calls on objects it was given
        asyncio.run_coroutine_threadsafe(self._boots.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


@pytest.fixture(scope="session")
def copying(session: Session) -> Iterator[Session]:
    """The session for tests that depend neither on a guest's boot nor on its processes: they share boots.

    One guest at a time: a second guest beside it would cost another boot.
    """
    executor = CopyingExecutor(session)
    try:
        yield replace(session, executor=executor, here=replace(of_this_host(), guests=1))
    finally:
        executor.end()


@pytest.fixture(scope="session")
def quick_guest() -> GuestConfig:
    """The machine of the quick manifest."""
    path = bases.find("kv-ycsb-quick")
    return guest_config(parse.load(path))
