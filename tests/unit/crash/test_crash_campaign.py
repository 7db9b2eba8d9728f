# SPDX-License-Identifier: BSD-3-Clause
"""Crash tests with mock guests: the states that are judged, the report, and the errors for bad input."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import MockExecutor
from rigs.crash.crash_rig import (
    FENCE,
    FLAG,
    NO_FENCE,
    NO_FLUSH,
    RECORD,
    SOUND,
    TEXT,
    Played,
    flush,
    mark,
    reads_of,
    store,
)
from rigs.crash.journal_writer import journal_of
from testbed.crash import findings, shipped
from testbed.crash import plan as plans
from testbed.crash.campaign import Campaign
from testbed.crash.journal import Record
from testbed.crash.judging import Judging
from testbed.crash.known import Read
from testbed.crash.oracle import DETAIL_LINES
from testbed.crash.plan import Programs
from testbed.crash.report import Detail, Measured, Report, measured
from testbed.crash.states import Bounds
from testbed.errors import RunFailed, TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases
from testbed.manifest.guest_config import GuestConfig
from testbed.paths import REPO
from testbed.run.runner import drive
from testbed.units import show_count


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    path = tmp_path / "ring.toml"
    path.write_text(TEXT)
    return path


Run = Callable[..., Report]


@pytest.fixture
def run(origin: Path, quick_guest: GuestConfig) -> Run:
    def run(played: Played, jobs: int = 1, plan: plans.Plan | None = None, **more: Any) -> Report:
        executor = MockExecutor(played, delay_s=0.001)
        session = Session(executor, {"qemu": more.pop("qemu", "")})
        programs = Programs({}, {}, ())
        campaign = Campaign(plan or plans.load(origin), origin, quick_guest, programs, session, jobs, **more)
        told: list[tuple[int, int, int, int]] = []
        report = drive(campaign.run(lambda *counts: told.append(counts)))
        done, points, _, violations = told[-1]
        assert (done, points, violations) == (report.counts.points, report.counts.points, len(report.violations))
        assert executor.most_at_once <= jobs
        return report

    return run


def test_a_sound_program_has_no_violation(run: Run) -> None:
    report = run(Played(SOUND))
    assert (report.counts.states, report.counts.points, report.violations) == (3, 5, [])


def test_what_the_check_measures_is_reported_of_the_good_states(run: Run) -> None:
    says = b"measured lines 7\nmeasured recovery_ns 250\nmeasured not a number\n"
    for records, good in ((SOUND, 3), (NO_FENCE, 3)):
        report = run(Played(records, says=says))
        assert report.counts.states - len(report.violations) == good
        assert report.measured == [
            Measured(name, good, *[value] * 4) for name, value in (("lines", 7), ("recovery_ns", 250))
        ]
        assert report.as_data()["measured"][1]["half"] == 250
    assert "measured" not in run(Played(SOUND)).as_data()


def test_a_distribution_has_the_values_that_so_many_do_not_exceed() -> None:
    details = [Detail("ok", "", f"measured ns {value}\nmeasured ns {value}0\n") for value in (9, 1, 5)]
    assert measured([*details, Detail("failed", "", "measured ns 1000000")]) == [Measured("ns", 6, 1, 9, 90, 90)]


@pytest.mark.parametrize("records", [NO_FLUSH, NO_FENCE], ids=["no flush", "no fence"])
def test_a_bug_is_found_with_the_least_that_has_to_be_lost(run: Run, records: list[Record]) -> None:
    named = [record._replace(pc=0x1000) if record == store(RECORD) else record for record in records]
    least = run(Played(named)).least()[0]
    assert (least.lost, least.stores, least.outcome, least.said) == (
        ((0, RECORD),),
        ("0x1000",),
        "failed",
        "it is not there",
    )


@pytest.mark.parametrize(
    ("rehearsed", "regions"),
    [
        ((reads_of(4096), b""), {"there"}),
        ((reads_of(FLAG), reads_of(FLAG)), {"there"}),
        ((reads_of(FLAG), b""), {"there", "made"}),
    ],
    ids=["on none that changes", "on one that is read again", "on one that changes"],
)
def test_a_copy_makes_its_region_if_that_depends_on_a_line(
    run: Run, rehearsed: tuple[bytes, ...], regions: set[str]
) -> None:
    played = Played(NO_FLUSH, rehearsed=rehearsed)
    assert run(played).as_data() == run(Played(NO_FLUSH)).as_data()
    assert played.regions == regions


def test_the_report_is_the_same_however_many_guests_run_at_a_time(run: Run) -> None:
    assert run(Played(NO_FLUSH)).as_data() == run(Played(NO_FLUSH), jobs=3).as_data()


@pytest.mark.parametrize("records", [SOUND, NO_FLUSH, NO_FENCE], ids=["sound", "no flush", "no fence"])
def test_lazy_choice_finds_what_judging_every_state_finds(run: Run, records: list[Record]) -> None:
    """Lazy choice finds the least violations with fewer guests; every other violation loses a superset of one."""
    lazy, every = run(Played(records)), run(Played(records), every=True)
    assert lazy.counts.states <= every.counts.states
    assert (lazy.counts.combinations, lazy.counts.tried) == (every.counts.combinations, every.counts.tried)
    least = [(violation.mark, set(violation.lost)) for violation in lazy.violations]
    for violation in every.violations:
        assert any(mark == violation.mark and lost <= set(violation.lost) for mark, lost in least)
    names = {violation.state for violation in every.violations}
    assert {violation.state for violation in lazy.violations} <= names


def test_a_test_goes_on_from_the_verdicts_that_were_kept(run: Run, tmp_path: Path) -> None:
    """Runs that were ended after some states continue to the same report, and no state is judged twice."""
    judged = 0

    class Ending(Played):
        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            nonlocal judged
            judged += spec.copy_of is not None
            if spec.copy_of and judged == stop:
                raise KeyboardInterrupt
            return super().__call__(spec)

    keep, whole, stop = tmp_path / "results", run(Played(NO_FLUSH)), 0
    for stop in (2, 3, 4):
        judged = 0
        with pytest.raises(KeyboardInterrupt):
            run(Ending(NO_FLUSH), keep=keep)
        stop = judged = 0
    stop = 0
    assert run(Ending(NO_FLUSH), keep=keep, jobs=2).as_data() == whole.as_data()
    (kept,) = (tmp_path / "results" / "ring").glob("crash-*.verdicts")
    lines = kept.read_bytes().splitlines(keepends=True)
    assert len(lines) == whole.counts.states
    judged = 0
    assert run(Ending(NO_FLUSH), keep=keep).as_data() == whole.as_data()
    assert judged == 1, "the state after the whole run"
    kept.write_bytes(b"".join(lines)[:-9])  # truncated, as by a power cut
    assert run(Ending(NO_FLUSH), keep=keep).as_data() == whole.as_data()
    assert run(Ending(NO_FLUSH), keep=keep, qemu="another").as_data() == whole.as_data()
    assert len(list(kept.parent.iterdir())) == 2
    kept.write_bytes(lines[0].replace(b"1", b"2") + b"".join(lines[1:]))
    with pytest.raises(TestbedError, match=r"line 1 is damaged; remove the file"):
        run(Ending(NO_FLUSH), keep=keep)


@pytest.mark.parametrize("energy_uj", [None, 0, 1], ids=["adr", "gpf without energy", "gpf for two lines"])
def test_what_is_the_same_in_all_states_is_not_chosen_over(energy_uj: int | None) -> None:
    """A line is not varied if it is durable at the first mark and not stored to later, however often it was before.

    A global flush may have enough energy at the first mark but too little later, and then lose lines not yet durable.
    """
    sure, unsure, later = (RECORD + 64 * n for n in (2, 3, 4))
    before = [store(sure), flush(sure), FENCE, store(unsure)]
    gpf = {"persist_domain": "gpf", "gpf_energy_uj": str(energy_uj), "gpf_line_nj": "500"}
    run = journal_of([*before, *SOUND, store(later)], **({} if energy_uj is None else gpf))

    async def judge(_: object, __: object) -> tuple[Detail, list[Read]]:
        return Detail("ok", "", ""), []

    judging = Judging(run, lambda _: bytes(64), Bounds(), judge)
    drive(judging.findings(lambda *_: None))
    assert {place.dpa for place in judging.varied} == {RECORD, FLAG, unsure}


def test_code_on_the_device_is_refused(run: Run) -> None:
    class Executing(Played):
        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            outcome = super().__call__(spec)
            return replace(outcome, reads=outcome.reads + b"\xff" * 8 + bytes(8)) if spec.copy_of else outcome

    with pytest.raises(TestbedError, match="executes a program from the device"):
        run(Executing(SOUND))


def test_a_panic_in_recovery_is_a_violation(run: Run) -> None:
    """The report keeps the first line of the panic, and as many of the following lines as fit."""
    stack = [f"line {n} of its stack" for n in range(100)]
    console = "\n".join(["before", "Kernel panic: of it", *stack])

    class Panicking(Played):
        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            outcome = super().__call__(spec)
            return (
                replace(outcome, outcome="panic", exit_status=None, stderr=b"", console=console)
                if outcome.outcome == "failed"
                else outcome
            )

    violations = run(Panicking(NO_FLUSH)).violations
    assert {(v.outcome, v.said) for v in violations} == {("panic", "Kernel panic: of it")}
    assert violations[0].text.splitlines() == ["Kernel panic: of it", *stack[: DETAIL_LINES - 1]]


class Changed(Played):
    """Guests with `changes` in their outcome for states with a violation."""

    def __init__(self, records: list[Record], **changes: Any) -> None:
        super().__init__(records)
        self.changes = changes

    def __call__(self, spec: GuestSpec) -> GuestOutcome:
        outcome = super().__call__(spec)
        return replace(outcome, **self.changes) if outcome.outcome == "failed" else outcome


def test_a_check_that_hangs_is_reported_as_timed_out(run: Run, origin: Path, tmp_path: Path) -> None:
    """The verdict of a timeout by the guest's limit is kept, but not the verdict of a timeout by the host's."""
    ended: dict[str, Any] = {"outcome": "timeout", "exit_status": None, "stderr": b"", "console": "created 1 region"}
    (said,) = {v.said for v in run(Changed(NO_FLUSH, **ended)).violations}
    assert re.fullmatch(r"timed out after \d+ s of host time; crash.timeout limits the guest's time", said)
    origin.write_text(TEXT + 'timeout = "2s"\n')
    keep = tmp_path / "results"
    found = run(Changed(NO_FLUSH, **ended, is_limited=True), keep=keep)
    assert {v.said for v in found.violations} == {"timed out after 2 s of the guest's time"}
    (kept,) = (keep / "ring").glob("crash-*.verdicts")
    assert len(kept.read_bytes().splitlines()) == found.counts.states


def test_a_check_that_says_nothing_is_reported_by_its_status(run: Run) -> None:
    (said,) = {v.said for v in run(Changed(NO_FLUSH, stderr=b"", console="created 1 region")).violations}
    assert said == "exit status 1, without a message"


def test_a_check_that_stops_the_test_is_reported_with_its_last_lines(run: Run) -> None:
    failed = GuestOutcome("failed", 1, stderr=b"items are missing\nlate line of a server\n", console="booted")
    with pytest.raises(TestbedError, match=r"\(exit status 1\):\n  items are missing\n  late line of a server"):
        run(Played(SOUND, {"the check": failed}))


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"),
        (10062, "10062"),
        (458759, "458,759"),
        (10**9 - 1, "999,999,999"),
        (10**9, "1.0 \N{MULTIPLICATION SIGN} 10⁹"),
        (27428881694099290540829842058775087, "2.7 \N{MULTIPLICATION SIGN} 10³⁴"),
        (2**4096, "1.0 \N{MULTIPLICATION SIGN} 10¹²³³"),
    ],
)
def test_a_large_count_is_shown_as_a_power_of_ten(count: int, shown: str) -> None:
    assert show_count(count) == shown


def test_a_rehearsal_that_leaves_the_guest_changed_is_not_copied(run: Run) -> None:
    """No state is judged by a copy of the changed guest."""
    judged: list[str] = []

    class Unclean(Played):
        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            outcome = super().__call__(spec)
            if not spec.copy_of:
                return outcome
            (judge_is,) = re.findall(r"^judge_is=(\w+)$", spec.copy_of.rehearsal.script, re.MULTILINE)
            judged.append(judge_is)
            if judge_is == "rehearsed":  # by the file system that the rehearsal left mounted
                return replace(outcome, outcome="ok", exit_status=0, rehearsal_status=1)
            return outcome

    assert run(Unclean(NO_FLUSH)).as_data() == run(Played(NO_FLUSH)).as_data()
    assert judged[0] == "rehearsed" and set(judged[1:]) == {"new"}


def test_an_interrupted_test_shows_what_it_has_found(run: Run) -> None:
    """The report covers the finished points and the number of judged states."""
    shown: list[Report] = []

    class Interrupted(Played):
        copies = 0

        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            self.copies += spec.copy_of is not None
            if self.copies == 5:
                raise asyncio.CancelledError
            return super().__call__(spec)

    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        run(Interrupted(NO_FLUSH), interrupted=shown.append)
    (report,) = shown
    assert 0 < report.counts.states < run(Played(NO_FLUSH)).counts.states


def test_a_guest_that_does_not_start_is_no_violation(run: Run) -> None:
    class Dying(Played):
        def __call__(self, spec: GuestSpec) -> GuestOutcome:
            outcome = super().__call__(spec)
            return GuestOutcome(error="no memory") if outcome.outcome == "failed" else outcome

    with pytest.raises(RunFailed, match="a guest did not start: no memory"):
        run(Dying(NO_FLUSH))


FAILS = GuestOutcome("failed", 3, stderr=b"no such file\n")
REFUSED = {
    "key 'crash.setup': it fails (exit status 3): no such file": Played(SOUND, {"the setup": FAILS}),
    "key 'crash.workload': it fails (exit status 3): no such file": Played(SOUND, {"the workload": FAILS}),
    "key 'crash.check': it fails on the state after the whole run (exit status 3): no such file": Played(
        SOUND, {"the check": FAILS}
    ),
    "key 'crash.workload': it passes 0 marks": Played([store(RECORD)]),
    "key 'crash.workload': it passes 1 marks": Played([store(RECORD), mark(1)]),
    "there is nothing to explore: no store to /pmem between two marks": Played([*SOUND[1:4], mark(0), mark(1)]),
    "run.journal is cut short": Played(SOUND, whole=False),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_cannot_tell_anything_is_refused(run: Run, sentence: str) -> None:
    with pytest.raises(TestbedError, match=re.escape(sentence)) as caught:
        run(REFUSED[sentence])
    assert caught.value.exit_status == 2


def test_bounds_are_those_of_the_manifest(origin: Path) -> None:
    origin.write_text(TEXT + "bounds = { exhaustive = 2, subsets = 3, samples = 4, seed = 5 }\n")
    assert plans.load(origin).bounds() == Bounds(2, 3, 4, 5)


RING_C = """
#include "status.h"
#include "testbed_roi.h"
int main(void) { testbed_mark(1); return status(); }
"""


def test_a_program_is_the_same_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The symbols of the program name its files as the manifest does."""
    compiled = []
    for folder in (tmp_path / "a" / "here", tmp_path / "b" / "some" / "where"):
        folder.mkdir(parents=True)
        origin = folder / "ring.toml"
        origin.write_text(TEXT + 'sources = ["ring.c"]\nflags = ["-I../inc"]\n')
        (folder / "ring.c").write_text(RING_C)
        (folder.parent / "inc").mkdir()
        (folder.parent / "inc" / "status.h").write_text("static int status(void) { return 0; }\n")
        compiled.append(plans.programs(plans.load(origin), origin, folder).executables["ring"])
        assert str(tmp_path).encode() not in compiled[-1] and str(REPO).encode() not in compiled[-1]
    monkeypatch.chdir(tmp_path)
    near = Path("a/here/ring.toml")
    compiled.append(plans.programs(plans.load(near), near, tmp_path).executables["ring"])
    other = Path("elsewhere/other.toml")
    other.parent.mkdir()
    other.write_text('name = "other"\nsummary = "b"\nbase = "../a/here/ring.toml"\n')
    compiled.append(plans.programs(plans.load(other), other, tmp_path).executables["ring"])
    assert len(set(compiled)) == 1


def test_verdicts_are_kept_for_a_test_in_any_folder(origin: Path, run: Run, tmp_path: Path) -> None:
    """The path of a header folder differs then; only the bytes of the compiled programs count."""
    origin.write_text(TEXT + 'flags = ["-Iinc"]\n')
    other = tmp_path / "elsewhere" / "other.toml"
    other.parent.mkdir()
    other.write_text('name = "other"\nsummary = "b"\nbase = "../ring.toml"\n')
    for path in (origin, other):
        run(Played(NO_FLUSH), plan=plans.load(path), keep=tmp_path / "results")
    assert len({kept.name for kept in (tmp_path / "results").glob("*/crash-*.verdicts")}) == 1
    assert len(list((tmp_path / "results").glob("*/crash-*.verdicts"))) == 2


def test_a_test_that_has_a_base_says_what_differs(origin: Path, tmp_path: Path) -> None:
    """Also from another folder: paths of files for the guests stay relative to the base."""
    takes = 'files = ["data"]\nsources = ["ring.c"]\nflags = ["-Iinc", "more.c"]\nlibraries = ["m"]\n'
    takes += 'environment = { A = "a", B = "b" }\n'
    origin.write_text(TEXT + takes)
    origin.with_name("data").write_text("of the base")
    origin.with_name("ring.c").write_text('#include "status.h"\nint main(void) { return status(); }\n')
    origin.with_name("more.c").write_text('#include "status.h"\nint status(void) { return 7; }\n')
    origin.with_name("inc").mkdir()
    (origin.with_name("inc") / "status.h").write_text("int status(void);\n")
    other = tmp_path / "elsewhere" / "other.toml"
    other.parent.mkdir()
    other.write_text('name = "other"\nsummary = "b"\nbase = "../ring.toml"\ncrash.environment.B = "it\'s b"\n')
    plan = plans.load(other)
    assert (plan.name, plan.crash.check, plan.crash.environment) == ("other", "the check", {"A": "a", "B": "it's b"})
    programs = plans.programs(plan, other, tmp_path)
    assert (programs.files, set(programs.executables)) == ({"data": b"of the base"}, {"ring"})
    assert subprocess.run([tmp_path / "ring"]).returncode == 7
    said = subprocess.run(["bash", "-c", programs.job('echo "$A $B"').script], capture_output=True, text=True)
    assert said.stdout == "a it's b\n"


@pytest.mark.parametrize("path", shipped.shipped(), ids=lambda path: path.stem)
def test_each_test_that_ships_can_be_made_and_has_its_row(path: Path) -> None:
    plan = plans.load(path)
    assert plan.name == path.stem and bases.find(plan.machine).is_file()
    assert [name for name in (*plan.crash.sources, *plan.crash.files) if not (path.parent / name).is_file()] == []
    for lines in (plan.crash.setup, plan.crash.workload, plan.judging()):
        done = subprocess.run(["bash", "-n"], input=lines, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
    assert path.stem in {name.removesuffix(findings.EVERY) for name in findings.load()}


def test_the_sources_of_the_tests_that_ship_compile(tmp_path: Path) -> None:
    """Each is compiled only once, because many tests share their sources."""
    compiled = set()
    for path in shipped.shipped():
        crash = plans.load(path).crash
        for source in crash.sources:
            how = (source, *crash.flags, *crash.libraries)
            if how not in compiled:
                compiled.add(how)
                plans.compile_source(path, source, tmp_path, crash.flags, crash.libraries)
    assert len(compiled) > 20


BAD = {
    "unknown key 'crash.chekc'; did you mean 'check'?": ("check =", "chekc = 'x'\ncheck ="),
    "key 'crash.check' is missing": ('check = "the check"', ""),
    "key 'crash.sources': gone.c does not exist": ("[crash]", '[crash]\nsources = ["gone.c"]'),
    "key 'crash.sources': bad.c cannot be compiled": ("[crash]", '[crash]\nsources = ["bad.c"]'),
    "key 'base': {folder}/gone.toml does not exist; paths are relative to the manifest": (
        "[crash]",
        'base = "gone.toml"\n[crash]',
    ),
    "key 'crash.environment.A-B.[key]': String should match pattern": ("[crash]", "[crash]\nenvironment.A-B = 'x'"),
    "key 'crash.flags.1': String should match pattern": (
        "[crash]",
        '[crash]\nsources = ["good.c"]\nflags = ["-DA", "-wrapper"]',
    ),
    "key 'crash.flags.0': String should match pattern": ("[crash]", '[crash]\nflags = ["@good.c"]'),
    "key 'crash.sources': good.c cannot be compiled": (
        "[crash]",
        '[crash]\nsources = ["good.c"]\nlibraries = ["no-such-library"]',
    ),
    "key 'crash.bounds.exhaustive': Input should be greater than or equal to 1": (
        "[crash]",
        "[crash]\nbounds = { exhaustive = 0 }",
    ),
}


@pytest.mark.parametrize("sentence", BAD)
def test_a_bad_manifest_is_refused_before_a_guest_starts(origin: Path, sentence: str) -> None:
    origin.write_text(TEXT.replace(*BAD[sentence]))
    origin.with_name("bad.c").write_text("not C")
    origin.with_name("good.c").write_text("int main(void) { return 0; }")
    command = [sys.executable, "-m", "testbed", "crash", str(origin)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, sentence.format(folder=origin.parent) in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(("name", "function"), [("records", "write_record"), ("pmdk", "append_with_pmem")])
def test_the_store_of_a_program_is_named_by_its_function_and_line(tmp_path: Path, name: str, function: str) -> None:
    """Also in a program that is linked with libraries of this host."""
    origin = shipped.find(name)
    programs = plans.programs(plans.load(origin), origin, tmp_path)
    symbols = subprocess.run(["nm", tmp_path / name], capture_output=True, text=True, check=True).stdout
    pc = next(int(line.split()[0], 16) for line in symbols.splitlines() if line.endswith(f" {function}"))
    assert re.fullmatch(rf"{function} \({name}\.c:\d+\)", programs.symbol(pc))
    assert programs.symbol(0xFFFFFFFF81000000) == "kernel 0xffffffff81000000"
    assert set(programs.job("x").executables) == {name}
