# SPDX-License-Identifier: BSD-3-Clause
"""The Python interface: the functions of `import testbed`, with a mock guest."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import testbed
from conftest import MockExecutor
from testbed.errors import RunFailed, TestbedError
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome
from testbed.guest.session import Session
from testbed.interface import functions
from testbed.results import frame
from testbed.run.runner import drive

KEYS = {"qemu": "q" * 64, "base": "b" * 64}
ROI = {
    "begin-ps": 1_000,
    "end-ps": 4_000,
    "counters": {"cxl-reads": 70, "link-read-bytes": 4480},
    "vcpus": [{"instructions": 1, "time-ps": 9, "idle-ps": 0}],
}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MockExecutor:
    executor = MockExecutor(lambda _: GuestOutcome("ok", 0, rows=[{"ops": 5}], rois=[ROI], stdout=b"printed\n"))
    session = Session(executor, KEYS, here=Capacity(guests=2, memory_mib=8192))
    monkeypatch.setattr(functions, "open_session", lambda **_: session)
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    return executor


def test_run_returns_the_results_of_every_point(small_manifest: Path, here: MockExecutor) -> None:
    done = functions.run(small_manifest)
    assert [result.point["engine"] for result in done] == ["snapshot", "pmdk", "volatile"]
    assert [result.path for result in functions.run(small_manifest)] == [result.path for result in done]
    assert len(here.started) == 3


def test_overrides_are_the_options_of_the_command(small_manifest: Path, here: MockExecutor) -> None:
    functions.run(small_manifest, memory="1GiB", set={"device.flash-read": "3us", "guest.hmat": True}, seeds=2)
    guests = [spec.guest for spec in here.started]
    assert {(guest.memory_bytes, guest.device.flash_read_ps, guest.hmat) for guest in guests} == {
        (2**30, 3 * 10**6, True)
    }
    assert sorted(guest.cpu.seed for guest in guests) == [0, 0, 0, 1, 1, 1]


def test_names_of_columns_end_in_units(small_manifest: Path, here: MockExecutor) -> None:
    table = functions.results(functions.run(small_manifest))
    assert len(here.started) == 3
    assert list(table["engine"]) == ["snapshot", "pmdk", "volatile"]
    assert list(table["time_ps"]) == [3_000] * 3 and list(table["link_read_bytes"]) == [4480] * 3
    assert {"manifest", "hash", "scale", "machine_seed", "outcome", "ops", "cxl_reads"} < set(table.columns)
    assert functions.results("small").equals(functions.results())


def test_without_pandas_the_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(RunFailed, match=r"pandas is not installed; install it with pip install .*\[dataframe\]"):
        frame.of_results([])


def test_exec_returns_the_end_of_the_program(small_manifest: Path, here: MockExecutor) -> None:
    ended = functions.exec("true", manifest=small_manifest, device="cxl-dram")
    assert (ended.exit_status, ended.stdout, ended.stderr) == (0, "printed\n", "")
    assert (ended.counters["time-ps"], ended.counters["cxl-reads"]) == (3_000, 70)
    assert here.started[0].guest.device.name == "cxl-dram"
    here.answer = lambda _: GuestOutcome("failed", 3)
    assert functions.exec("false", manifest=small_manifest).exit_status == 3
    here.answer = lambda _: GuestOutcome("power-cut", power_cut={"lines-lost": 1})
    cut = functions.exec("true", manifest=small_manifest, power_cut="at-event=7")
    assert (cut.exit_status, cut.power_cut) == (None, {"lines-lost": 1})
    here.answer = lambda _: GuestOutcome("lost", error="QEMU ended")
    with pytest.raises(RunFailed, match=r"the guest ended without an exit status \(lost, see [^\n]*\n +QEMU ended$"):
        functions.exec("true", manifest=small_manifest)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cpu": 4}, r"^unknown override 'cpu'; the overrides are cpus, memory, .*$"),
        ({"set": {"flash-read": "3us"}}, r"^--set flash-read=3us: it is no key of a profile"),
        ({"seed": 3, "seeds": 2}, r"^seed=3 and seeds=2: give one of them"),
        ({"seeds": 0}, r"^--seeds 0: it must be from 1"),
        ({"scale": "huge"}, r"^--scale 'huge' is none of quick"),
    ],
)
def test_a_wrong_argument_is_one_sentence(
    small_manifest: Path, here: MockExecutor, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(TestbedError, match=message):
        functions.run(small_manifest, **options)
    assert not here.started


def test_a_crash_test_needs_a_guest() -> None:
    with pytest.raises(TestbedError, match="jobs=0: it must be 1 or more"):
        functions.crash("records", jobs=0)
    with pytest.raises(TestbedError, match="no crash test 'recrods'; the nearest names are records"):
        functions.crash("recrods")


def test_the_functions_work_where_an_event_loop_runs(small_manifest: Path, here: MockExecutor) -> None:
    async def cell() -> int:
        return len(functions.run(small_manifest))

    assert asyncio.run(cell()) == 3
    assert len(here.started) == 3


def test_an_interrupt_of_a_cell_ends_the_work() -> None:
    ended: list[str] = []

    async def work() -> None:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("work")

    async def cell() -> None:
        drive(work())

    loop = asyncio.new_event_loop()  # asyncio.run() would handle the signal itself, which a notebook does not
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        signal.signal(signal.SIGINT, before)
    loop.close()
    assert ended == ["work"]


def test_work_is_driven_from_any_thread() -> None:
    async def answer() -> int:
        return 7

    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(drive(answer())))
    thread.start()
    thread.join()
    assert found == [7]


def test_the_package_offers_the_functions(small_manifest: Path, here: MockExecutor) -> None:
    offered: Any = testbed
    assert len(offered.run(small_manifest)) == len(here.started) == 3
    assert len(offered.results("small")) == 3
    assert offered.exec is functions.exec
    with pytest.raises(TestbedError, match="no crash test 'recrods'"):
        offered.crash("recrods")
    with pytest.raises(AttributeError, match="no attribute 'sweeps'; its functions are crash, exec, results, run"):
        _ = offered.sweeps


def test_the_import_is_cheap() -> None:
    """The import of the package loads no package of the testbed and none of its libraries."""
    slow = "('testbed.', 'pydantic', 'dask', 'typer')"
    code = f"import sys, testbed; print(*[name for name in sys.modules if name.startswith({slow})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
