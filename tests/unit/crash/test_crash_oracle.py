# SPDX-License-Identifier: BSD-3-Clause
"""Oracles that compare dumps, with mock guests; dumps of trees and stops at marks run on this host."""

import os
import re
import subprocess
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from conftest import MockExecutor
from rigs.crash.crash_rig import content_of, reads_of, script_of
from rigs.crash.journal_writer import JournalText
from testbed.crash import oracle, symbols
from testbed.crash import plan as plans
from testbed.crash.campaign import Campaign
from testbed.crash.journal import Kind, Record
from testbed.crash.oracle import References
from testbed.crash.plan import Programs
from testbed.crash.report import Report, state_id
from testbed.crash.states import State, explore
from testbed.errors import TestbedError
from testbed.guest import clock
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases
from testbed.manifest.guest_config import GuestConfig
from testbed.replay import verdicts
from testbed.run.runner import drive

TEXT = """
name = "pair"
summary = "Two lines that are written in one operation, then in another"

[crash]
setup = "the setup"
workload = "the workload"
dump = "the dump"
oracle = "ORACLE"
operations = ["to b", "to c"]
"""
KERNEL_PC = 0xFFFFFFFF81000010


def stored(to: bytes, sound: bool) -> list[Record]:
    """An operation on two lines: the second says that the first is valid. Unless `sound`, no fence is between them."""
    first, second = (Record(Kind.STORE, dpa=dpa, pc=KERNEL_PC, data=to * 8) for dpa in (0, 64))
    flushes = [Record(Kind.FLUSH, dpa=dpa) for dpa in (0, 64)]
    fence = Record(Kind.FENCE)
    return [first, flushes[0], *([fence] if sound else []), second, flushes[1], fence]


def run_of(sound: bool) -> list[Record]:
    marks = [Record(Kind.MARK, value=number) for number in range(3)]
    return [marks[0], *stored(b"b", sound), marks[1], *stored(b"c", sound), marks[2]]


@dataclass
class Played:
    """Guests that dump the first byte of both lines. A run that stops at mark n fills the media with `leaves[n]`."""

    records: list[Record]
    leaves: bytes = b"abc"
    whole: bytes = b"c"

    def __call__(self, spec: GuestSpec) -> GuestOutcome:
        assert spec.job
        script = script_of(spec)
        if "kallsyms" in script:
            addresses = spec.job.files["addresses"].decode().split()[::2]
            printed = "".join(f"{address} ffffffff81000000 ext4_write [ext4]\n" for address in addresses)
            return GuestOutcome("ok", 0, console="booted", stdout=printed.encode())
        assert spec.media_folder
        media = spec.media_folder / "media.raw"
        if "the setup" in script:
            media.write_bytes(b"a" * 4096)
            media.with_name("lsa.raw").write_bytes(b"")
        if spec.journal:
            media.write_bytes(self.whole * 4096)
            spec.journal.write_bytes(JournalText([*self.records, Record(Kind.END)]).bytes())
        elif stop := re.search(r"CRASH_STOP=(\d+)", script):
            media.write_bytes(self.leaves[int(stop[1]) : int(stop[1]) + 1] * 4096)
        if "the dump" not in script:
            return GuestOutcome("ok", 0, console="booted")
        content = content_of(spec)
        said = b"it is %c\nvalid: %c\n" % (content[0], content[64])
        return GuestOutcome("ok", 0, console="booted", stdout=said, reads=reads_of(0, 64))


def judged(tmp_path: Path, guest: GuestConfig, played: Played, rule: str) -> Report:
    origin = tmp_path / "pair.toml"
    origin.write_text(TEXT.replace("ORACLE", rule))
    campaign = Campaign(plans.load(origin), origin, guest, Programs({}, {}, ()), Session(MockExecutor(played), {}))
    return drive(campaign.run())


def test_a_state_between_two_is_not_atomic(tmp_path: Path, quick_guest: GuestConfig) -> None:
    report = judged(tmp_path, quick_guest, Played(run_of(sound=False)), "atomic")
    least = next(violation for violation in report.least() if violation.lost)
    assert (least.outcome, least.said) == ("differs", "+valid: b")
    assert least.text == "--- at mark 0\n+++ after the power cut\n@@ -2 +2 @@\n-valid: a\n+valid: b\n"
    assert least.stores == ("kernel ext4_write+0x10 [ext4]",)
    assert [(row.name, row.points) for row in report.operations] == [("to b", 2), ("to c", 2), ("after mark 2", 1)]
    assert sum(row.violations for row in report.operations) == len(report.violations)


@pytest.mark.parametrize(("rule", "allowed"), [("atomic", {0: [0, 1], 1: [1, 2], 2: [2]}), ("prefix", {2: [0, 1, 2]})])
def test_which_marks_a_state_may_be_of(rule: str, allowed: dict[int, list[int]]) -> None:
    references = References({0: b"a", 1: b"b", 2: b"c"}, rule == "prefix")
    assert {mark: references.allowed(mark) for mark in allowed} == allowed
    assert (references.fault(2, b"a") == "") == (rule == "prefix")
    assert references.fault(1, b"d")


def test_a_reference_that_the_whole_run_does_not_leave_is_refused(tmp_path: Path, quick_guest: GuestConfig) -> None:
    with pytest.raises(
        TestbedError, match="the state after the whole run differs from the state after a stop"
    ) as caught:
        judged(tmp_path, quick_guest, Played(run_of(sound=True), whole=b"d"), "atomic")
    assert caught.value.exit_status == 2


def test_marks_that_do_not_ascend_are_refused(tmp_path: Path, quick_guest: GuestConfig) -> None:
    with pytest.raises(TestbedError, match="the numbers of its marks do not ascend"):
        judged(tmp_path, quick_guest, Played([*run_of(sound=True), Record(Kind.MARK, value=0)]), "prefix")


def test_a_state_is_judged_again_by_its_name(tmp_path: Path, quick_guest: GuestConfig) -> None:
    played = Played(run_of(sound=False))
    violation = judged(tmp_path, quick_guest, played, "atomic").least()[0]
    origin = tmp_path / "pair.toml"
    campaign = Campaign(
        plans.load(origin), origin, quick_guest, Programs({}, {}, ()), Session(MockExecutor(played), {})
    )
    seen = []
    drive(
        campaign.one(violation.state, lambda found, media: seen.append((found, media.joinpath("media.raw").exists())))
    )
    found, there = seen[0]
    assert there and (found.detail.text, found.detail.outcome) == (violation.text, "differs")
    assert tuple(tuple(place) for place in found.lost) == violation.lost
    with pytest.raises(TestbedError, match="0 states are named 7-00"):
        drive(campaign.one("7-00", lambda *_: None))


def compiled(tmp_path: Path, source: str) -> Path:
    origin = tmp_path / "x.toml"
    (tmp_path / "x.c").write_text(source)
    origin.write_text(TEXT.replace("ORACLE", "atomic") + 'sources = ["x.c"]\n')
    programs = plans.programs(plans.load(origin), origin, tmp_path)
    assert {"x", "roi", plans.DUMP_TREE} <= set(programs.executables)
    for name in ("roi", plans.DUMP_TREE):
        (tmp_path / name).write_bytes(programs.executables[name])
        (tmp_path / name).chmod(0o755)
    return tmp_path


def test_a_workload_stops_at_its_mark(tmp_path: Path) -> None:
    """A mark by `roi` or by a program kills the whole workload; a mark that is never passed is reported."""
    folder = compiled(tmp_path, '#include "testbed_roi.h"\nint main(void) { testbed_mark(2); }')
    own = tmp_path / "bin/roi"
    own.parent.mkdir()
    own.write_text('#!/bin/sh\necho "marked $2"\n')
    own.chmod(0o755)

    def stop_at(mark: int) -> tuple[int, str, str]:
        lines = "echo begun; roi mark 1; echo on; ./x; echo ended"
        script = f"set -eu\nexport PATH={folder}:{own.parent}:$PATH\n{oracle.stopped_at(lines, mark)}"
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=10)
        return done.returncode, done.stdout, done.stderr

    assert stop_at(1)[:2] == (0, "begun\n")
    assert stop_at(2)[:2] == (0, "begun\nmarked 1\non\n")
    status, _, said = stop_at(3)
    assert (status, said.splitlines()[-1]) == (1, "it ended with status 0 and was not stopped at mark 3")


def test_equal_trees_have_equal_dumps(tmp_path: Path) -> None:
    folder = compiled(tmp_path, "int main(void) { return 0; }")

    def dump(*options: str) -> str:
        command: list[str | Path] = [folder / plans.DUMP_TREE, *options, "tree"]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout

    tree = folder / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "b").write_text("content")
    os.link(tree / "b", tree / "sub/again")
    (tree / "a").symlink_to("b")
    before, timed = dump(), dump("--times")
    assert re.search(r"^tree/a symlink 0777 links 1 owner \d+:\d+ size 1 -> b$", before, re.M)
    assert re.search(r"^tree/b file 0\d{3} links 2 owner \d+:\d+ size 7 content [0-9a-f]{16}$", before, re.M)
    assert [line.split()[0] for line in before.splitlines()] == [
        "tree",
        "tree/a",
        "tree/b",
        "tree/sub",
        "tree/sub/again",
    ]
    os.utime(tree / "b", (1, 1))
    assert dump() == before and dump("--times") != timed
    (tree / "b").write_text("CONTENT")
    assert dump() != before


def test_functions_of_the_kernel_are_those_that_hold_an_address(tmp_path: Path) -> None:
    (tmp_path / "kallsyms").write_text(
        "ffffffff81000010 T second\nffffffff81000000 T first\nffffffffc0000000 t third\t[ext4]\n"
    )
    job = symbols.job([KERNEL_PC, KERNEL_PC - 1, 0xFFFFFFFFC0000004])
    (tmp_path / "addresses").write_bytes(job.files["addresses"])
    script = job.script.replace("/proc/", "")
    printed = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=True).stdout
    assert symbols.read(printed) == {
        KERNEL_PC: "kernel second+0x0",
        KERNEL_PC - 1: "kernel first+0xf",
        0xFFFFFFFFC0000004: "kernel third+0x4 [ext4]",
    }


def test_the_guest_has_the_file_system_and_packages_of_the_manifest(tmp_path: Path, quick_guest: GuestConfig) -> None:
    origin = tmp_path / "x.toml"
    origin.write_text('file_system = "xfs-dax"\n' + TEXT.replace("ORACLE", "prefix"))
    plan = plans.load(origin)
    assert (quick_guest.file_system, plan.guest(quick_guest, origin).file_system) == ("ext4-dax", "xfs-dax")
    assert Programs({}, {}, (), ("x=1",)).job("lines").packages == ("x=1",)
    origin.write_text('file_system = "fat"\n' + TEXT.replace("ORACLE", "prefix"))
    with pytest.raises(TestbedError, match="key 'file_system'"):
        plans.load(origin)


def test_a_crash_test_may_have_more_cpus_than_its_machine(tmp_path: Path) -> None:
    origin = tmp_path / "x.toml"
    origin.write_text("cpus = 4\n" + TEXT.replace("ORACLE", "prefix"))
    plan = plans.load(origin)
    assert verdicts.machine_of(bases.find(plan.machine)).cpu.cores == 1
    assert verdicts.machine_of(bases.find(plan.machine), plan.of_machine()).cpu.cores == 4
    origin.write_text("cpus = 0\n" + TEXT.replace("ORACLE", "prefix"))
    with pytest.raises(TestbedError, match="key 'cpus'"):
        plans.load(origin)


def test_each_state_boots_after_the_recorded_guest_has_ended(tmp_path: Path, quick_guest: GuestConfig) -> None:
    """Setup, recorded workload and copies boot at dates in this order; a stopped workload has the recorded date."""
    played, dates = Played(run_of(sound=True)), dict[str, set[datetime]]()

    def boots(spec: GuestSpec) -> GuestOutcome:
        assert spec.media_folder
        kind = "state" if spec.copy_of else "setup" if "the setup" in script_of(spec) else "workload"
        booted = spec.copy_of.booted if spec.copy_of else clock.next_boot(spec.media_folder)
        assert booted
        dates.setdefault(kind, set()).add(booted)
        if not spec.copy_of:
            clock.keep(spec.media_folder, clock.after(booted, 10**13))
        return played(spec)

    origin = tmp_path / "pair.toml"
    origin.write_text(TEXT.replace("ORACLE", "atomic"))
    plan, programs = plans.load(origin), Programs({}, {}, ())
    campaign = Campaign(plan, origin, quick_guest, programs, Session(MockExecutor(boots), {}))
    name = state_id(drive(first_state(campaign)))
    kept: list[datetime] = []
    drive(campaign.one(name, lambda _, media: kept.append(clock.next_boot(media))))
    (setup,), (workload,), (state,) = dates["setup"], dates["workload"], dates["state"]
    assert (setup, workload - setup, state - workload) == (clock.FIRST_BOOT, *[timedelta(seconds=70)] * 2)
    assert kept == [state], "a shell on the state starts at its date"


async def first_state(campaign: Campaign) -> State:
    async with campaign.guests() as guests:
        recorded = await campaign.record(guests)
        return next(iter(explore(recorded.run, recorded.image, campaign.plan.bounds(), marked=True)))
