# SPDX-License-Identifier: BSD-3-Clause
"""Guests on the testbed's QEMU: outcomes, latencies, determinism, time and programs."""

import asyncio
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from qemu.qmp import QMPClient, QMPError

from rigs.guest.guest_rig import RIG_PROGRAMS, is_alive, qemu_processes
from testbed import scratch
from testbed.guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from testbed.guest.qemu_line import WATCH_SOCKET
from testbed.guest.session import Session
from testbed.manifest import bases, render
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.sections import FileSystem
from testbed.program.job_archive import Job, script_job
from testbed.results import results
from testbed.run.runner import drive, run_with_bar
from testbed.studies import latency

pytestmark = pytest.mark.guest

SLEEPER = RIG_PROGRAMS / "sleeper.c"


def boot(session: Session, guest: GuestConfig, script: str) -> GuestOutcome:
    return drive(session.executor.run(GuestSpec(guest, script_job(script))))


def describe(outcome: GuestOutcome) -> str:
    return f"{outcome.outcome}: {outcome.stderr.decode()} {outcome.error} {outcome.console[-500:]}"


def test_a_job_sees_the_device_as_ext4_with_dax(copying: Session, quick_guest: GuestConfig) -> None:
    outcome = boot(copying, quick_guest, "cxl list; findmnt -no FSTYPE,OPTIONS /pmem; echo word >&2")
    assert outcome.outcome == "ok", describe(outcome)
    assert b"mem0" in outcome.stdout
    assert b"ext4" in outcome.stdout
    assert b"dax=always" in outcome.stdout
    assert b"word" in outcome.stderr
    assert outcome.boot["packages"]["ndctl"]


def test_a_failed_job_a_panic_a_lost_guest_and_a_timeout_are_told_apart(session, quick_guest) -> None:  # type: ignore[no-untyped-def]
    failed = boot(session, quick_guest, "exit 7")
    assert (failed.outcome, failed.exit_status) == ("failed", 7)
    panic = boot(session, quick_guest, "echo c > /proc/sysrq-trigger; sleep 100")
    assert (panic.outcome, panic.exit_status) == ("panic", None)
    lost = boot(session, quick_guest, "echo o > /proc/sysrq-trigger; sleep 100")
    assert (lost.outcome, lost.exit_status) == ("lost", None)
    short = replace(quick_guest, timeout_s=12.0)
    hung = boot(session, short, "while :; do :; done")
    assert (hung.outcome, hung.exit_status) == ("timeout", None)


def test_a_qemu_that_does_not_start_says_why(session: Session, quick_guest: GuestConfig) -> None:
    broken = replace(quick_guest, device=replace(quick_guest.device, link_read_bandwidth=0))
    outcome = boot(session, broken, "true")
    assert outcome.outcome == "lost"
    assert re.match(r"QEMU did not start: .*link_read_bandwidth", outcome.error)


def test_every_latency_is_within_one_percent(session: Session, tmp_path: Path) -> None:
    runs = render.runs(bases.find("latency"))
    result = run_with_bar(runs, session, tmp_path)[0]
    rows = latency.table(result, runs[0].guest)
    assert [row.metric for row in rows] == list(latency.STALLS)
    assert [row.as_data() for row in rows if not row.ok] == []


def test_a_second_of_sleep_is_a_second_and_the_clocks_agree(copying: Session, quick_guest: GuestConfig) -> None:
    """Compare the TSC (1 GHz) and CLOCK_MONOTONIC over `sleep 1`, as the latency program reports them.

    Other work that is due at the end of the sleep runs first, at boot's 8 ns an instruction: 0.1 to 1.4 ms, by phase.
    """
    sizes = f"--l1 {quick_guest.cpu.l1d_size} --llc 64K --device-cache 4M"
    outcome = boot(copying, quick_guest, f"latency {sizes} --file /pmem/latency")
    clocks = next(row for row in outcome.rows if row["metric"] == "clocks")
    assert abs(clocks["monotonic_ns"] - 10**9) < 2 * 10**6
    assert abs(clocks["tsc_ns"] - clocks["monotonic_ns"]) < 1000


def spin() -> None:
    while True:
        pass


def test_results_do_not_depend_on_the_load_of_the_host(copying: Session, tmp_path: Path) -> None:
    """Run a manifest twice, once with both host cores loaded by other processes: the files are byte-identical."""
    runs = render.runs(bases.find("kv-ycsb-quick"))
    idle = run_with_bar(runs, copying, tmp_path / "idle")
    load = [multiprocessing.get_context("fork").Process(target=spin, daemon=True) for _ in range(2)]
    for process in load:
        process.start()
    try:
        loaded = run_with_bar(runs, copying, tmp_path / "loaded")
    finally:
        for process in load:
            process.kill()
    assert [r.path.name for r in idle] == [r.path.name for r in loaded]
    assert [r.path.read_bytes() for r in idle] == [r.path.read_bytes() for r in loaded]
    assert all(result.counters["cxl-writes"] > 0 for result in idle)


def testbed(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "testbed", *arguments], capture_output=True, text=True, cwd=cwd)


testbed.__test__ = False  # type: ignore[attr-defined]

C_PROGRAM = r"""
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    char text[100] = "";
    FILE *in = fopen(argv[1], "r"), *out = fopen(argv[2], "w");
    if (argc != 3 || !in || !out || !fgets(text, sizeof text, in))
        return 1;
    fputs(text, out);
    printf("read %s", text);
    fprintf(stderr, "to stderr\n");
    return 42;
}
"""


@pytest.mark.parametrize("options", [[], ["-static"]], ids=["dynamic", "static"])
def test_exec_runs_a_program_of_the_host(tmp_path: Path, options: list[str]) -> None:
    """The guest gets the libraries and an input file; output, files, exit status and counters come back."""
    (tmp_path / "main.c").write_text(C_PROGRAM)
    (tmp_path / "in.txt").write_text("some words\n")
    subprocess.run(["cc", *options, "-o", "main", "main.c"], cwd=tmp_path, check=True)
    back = ("--output", "/pmem/*.txt", "--output", "in.*", "--into", "back")
    done = testbed("exec", *back, "--json", "out.json", "--", "./main", "in.txt", "/pmem/out.txt", cwd=tmp_path)
    assert done.returncode == 42, done.stderr
    assert done.stdout == "read some words\n"
    assert "to stderr\n" in done.stderr
    assert "of the region of interest went" in done.stderr
    assert "cxl writes" in done.stderr or "cxl reads" in done.stderr
    came = {str(path.relative_to(tmp_path)): path.read_text() for path in tmp_path.glob("back/**/*.*")}
    assert came == {"back/pmem/out.txt": "some words\n", "back/in.txt": "some words\n"}
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["outcome"], data["exit_status"]) == ("failed", 42)
    assert data["counters"]["loads"] > 0


def test_what_a_program_wrote_is_there_for_the_next(tmp_path: Path) -> None:
    """The power cut keeps the file, as the first program had synchronised it."""
    lines = 'cp "$1" /pmem/kept; sync; while :; do head -c 1000000 /dev/zero >/pmem/x; sync; done\n'
    (tmp_path / "write.sh").write_text(lines)
    cut = ("--power-cut", "at-time=7500ms", "--json", "cut.json")
    write = testbed("exec", "--media", "m", *cut, "--script", "write.sh", "--", "/proc/version", cwd=tmp_path)
    assert write.returncode == 0 and "the power was cut" in write.stderr, write.stderr
    assert json.loads((tmp_path / "cut.json").read_text())["power_cut"]["time-ps"] == 7_500 * 10**9
    read = testbed("exec", "--media", "m", "--", "cat", "/pmem/kept", cwd=tmp_path)
    assert read.stdout.startswith("Linux version 6."), read.stderr


BY_HAND = pytest.param(signal.SIGTERM, marks=pytest.mark.by_hand)


@pytest.mark.parametrize("end", [signal.SIGINT, BY_HAND, signal.SIGKILL], ids=lambda s: s.name)
def test_an_interrupted_run_leaves_no_qemu(tmp_path: Path, session: Session, end: signal.Signals) -> None:
    assert session
    environment = os.environ | {"TESTBED_RESULTS": str(tmp_path)}
    runner = subprocess.Popen(
        [sys.executable, "-m", "testbed", "run", "kv-ycsb-quick"],
        env=environment,
        stderr=subprocess.DEVNULL,
        # A background process of a shell ignores SIGINT. The test interrupts a foreground process.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    guests: list[int] = []
    copies: list[int] = []
    deadline = time.monotonic() + 60
    while not copies and time.monotonic() < deadline:
        time.sleep(0.1)
        guests = qemu_processes(runner.pid)
        copies = [copy for guest in guests for copy in qemu_processes(guest)]
    assert len(guests) == 2 and copies
    guests += copies
    runner.send_signal(end)
    assert runner.wait(20) != 0
    deadline = time.monotonic() + 10
    while any(map(is_alive, guests)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in guests if is_alive(pid)] == []


def test_the_interface_is_the_one_the_mock_has(session: Session) -> None:
    assert isinstance(session.executor, QemuExecutor)
    assert results.FORMAT == 1


def guest_folders() -> list[Path]:
    return list(Path(tempfile.gettempdir()).glob(f"{scratch.PREFIX}guest-*"))


async def _watched(session: Session, spec: GuestSpec, ask: str = "query-cxl-ssd") -> tuple[GuestOutcome, int]:
    """Run a guest and query it without a pause; return its outcome and the number of answers."""
    before, answers = set(guest_folders()), 0
    guest = asyncio.create_task(session.executor.run(spec))
    while not guest.done():
        qmp = QMPClient("watcher")
        with suppress(StopIteration, QMPError, EOFError, OSError):
            folder = next(folder for folder in guest_folders() if folder not in before)
            await qmp.connect(str(folder / WATCH_SOCKET))
            while not guest.done():
                await qmp.execute(ask)
                answers += 1
        with suppress(QMPError, EOFError, OSError):
            await qmp.disconnect()
        await asyncio.sleep(0.05)
    return guest.result(), answers


def test_watching_a_guest_changes_nothing(session: Session, copying: Session, quick_guest: GuestConfig) -> None:
    kv = "kv --records 2000 --operations 2000 --buckets 20 --file /pmem/kv.pool --seed 1 --workload A --engine"
    spec = GuestSpec(quick_guest, script_job(f"{kv} snapshot && {kv} pmdk"))
    alone = drive(copying.executor.run(spec))
    watched, answers = drive(_watched(session, spec))
    assert alone.outcome == watched.outcome == "ok", describe(watched)
    assert answers > 100
    assert watched.rois == alone.rois
    assert watched.rows == alone.rows


def test_idle_time_passes_alike_however_often_the_main_loop_looks(
    session: Session, copying: Session, quick_guest: GuestConfig, tmp_path: Path
) -> None:
    """Each answer of the monitor wakes the main loop, which must not let time pass for a CPU that has just halted.

    That CPU's instructions enter the clock a moment later; x-halt-lingers makes this moment long.
    """
    program = tmp_path / "sleeper"
    subprocess.run(["cc", "-O2", "-static", "-o", program, SLEEPER], check=True)
    job = Job("#!/bin/sh\nexec ./sleeper 500\n", executables={"sleeper": program.read_bytes()})
    spec = GuestSpec(quick_guest, job)
    alone = drive(copying.executor.run(spec))
    qemu = tmp_path / "lingering"
    qemu.write_text(f'#!/bin/bash\nexec {session.images.qemu} "${{@/#cpu-timing,/cpu-timing,x-halt-lingers=on,}}"\n')
    qemu.chmod(0o755)
    lingering = replace(session, executor=QemuExecutor(replace(session.images, qemu=qemu)))
    watched, answers = drive(_watched(lingering, spec, "query-status"))
    assert alone.outcome == watched.outcome == "ok", describe(watched)
    assert answers > 1000
    assert len(alone.stdout.split()) == 2
    assert watched.stdout == alone.stdout


def test_a_helper_thread_changes_nothing(session: Session, copying: Session, quick_guest: GuestConfig) -> None:
    """A separate thread for the model of local DRAM gives the same instants, stalls and counters."""
    kv = "kv --records 2000 --operations 2000 --buckets 20 --file /pmem/kv.pool --seed 1 --workload A --engine"
    programs = [
        f"{kv} snapshot",
        f"{kv} pmdk",
        "bench_guest copy_8b --ops 2000000",
        "bench_guest hash_map --ops 200000",
    ]
    spec = GuestSpec(quick_guest, script_job(" && ".join(programs)))
    alone = drive(copying.executor.run(spec))
    helped = drive(session.executor.run(replace(spec, helper_thread=True)))
    assert alone.outcome == helped.outcome == "ok", describe(helped)
    assert helped.rois == alone.rois
    assert helped.rows == alone.rows


def test_a_file_of_many_huge_pages(copying: Session, quick_guest: GuestConfig) -> None:
    """A huge page takes two faults here; the engine's check must work for any number of pages."""
    job = """set -e
        kv --engine msync-2m --file /pmem/pool --seed 1 --records 80000 --operations 1 --buckets 56 --workload C
        test $(wc -c </pmem/pool) -ge $((11 << 21))"""
    outcome = boot(copying, quick_guest, job)
    assert outcome.outcome == "ok", describe(outcome)


ENGINES: dict[FileSystem, list[str]] = {
    "ext4-dax": ["volatile", "snapshot", "snapshot-nv", "pmdk", "msync-4k", "msync-2m"],
    "ext4-journal": ["msync-journal"],
    "ext4-smalljournal": ["msync-journal"],
    "ext4-ordered": ["msync-4k"],
    "xfs-dax": ["famus-snap"],
}
SMALL = {
    "kv": "--records 4000 --operations 100 --buckets 4 --workload A",
    "list": "--nodes 10 --passes 2",
    "btree": "--keys 20",
}
OWN = {"engine", "roi_ns", "load_ns", "log_bytes", "data_bytes", "fences"}  # fields that may differ between engines


def engines_job(engines: list[str]) -> str:
    job = "set -e\n"
    for engine in engines:
        for program, size in SMALL.items():
            command = f"{program} --engine {engine} --file /pmem/pool --seed 1 {size}"
            job += f"rm -f /pmem/pool*\n{command}\n" + (f"{command} --verify\n" if engine != "volatile" else "")
    return job


def test_all_engines_do_the_same_work_on_the_device(copying: Session, quick_guest: GuestConfig) -> None:
    """Each engine fails on an unsuitable file system; msync-2m requires huge pages, so its run shows huge pages."""
    runs, flushes = [], {}
    for file_system, engines in ENGINES.items():
        outcome = boot(copying, replace(quick_guest, file_system=file_system), engines_job(engines))
        assert outcome.outcome == "ok", describe(outcome)
        checks = [row for row in outcome.rows if row["program"].endswith("-verify")]
        assert all(row["verified"] for row in checks)
        assert len(checks) == len(SMALL) * len([engine for engine in engines if engine != "volatile"])
        measured = [row for row in outcome.rows if "roi_ns" in row]
        for run, roi in zip(measured, outcome.rois, strict=True):
            flushes[file_system, run["engine"], run["phase"]] = roi["counters"]["flushes"]
            runs.append((file_system, run))
    places = [(file_system, engine) for file_system, engines in ENGINES.items() for engine in engines]
    assert list(dict.fromkeys((file_system, run["engine"]) for file_system, run in runs)) == places
    work = [{name: value for name, value in run.items() if name not in OWN} for _, run in runs]
    phases = len(work) // len(places)
    assert all(work[at : at + phases] == work[:phases] for at in range(0, len(work), phases))
    # msync() writes a dirty page back whole, line by line. An update dirties two pages, or one page that holds both the
    # value and the commit counter.
    commits = int(work[0]["commits"])
    pages, rest = divmod(flushes["ext4-dax", "msync-4k", "requests"], 64)
    assert rest == 0
    assert commits < pages <= 2 * commits
    assert flushes["ext4-dax", "msync-2m", "requests"] >= 32768 * commits
