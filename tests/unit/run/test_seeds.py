# SPDX-License-Identifier: BSD-3-Clause
"""Seeds: the machine for one seed, runs with several seeds, and the median and range of their results."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from analysis.data import records
from analysis.data.chart import Lines
from analysis.studies import sweep_plot
from conftest import MANIFEST, MockExecutor, QuietReporter
from testbed import canonical
from testbed.cli import main, presentation
from testbed.crash.campaign import Campaign
from testbed.crash.report import Report, Violation
from testbed.crash.states import Counts
from testbed.errors import RunFailed, TestbedError
from testbed.guest import qemu_line
from testbed.guest.capacity import Capacity
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.qemu_line import GuestFiles, Images, PowerCut
from testbed.guest.session import Session
from testbed.manifest import parse, profiles, render
from testbed.manifest.parse import SEED_MAX
from testbed.replay import verdicts
from testbed.results import compare, results, spread
from testbed.results.results import Result
from testbed.results.spread import Spread
from testbed.run.runner import by_boot, drive, run_all

KEYS = {"qemu": "q" * 64, "base": "b" * 64}
NS = (100, 130, 90, 110, 120)  # by seed


def answer(spec: GuestSpec) -> GuestOutcome:
    """A program with a time that depends on the seed."""
    ns = NS[spec.guest.cpu.seed]
    roi = {"id": 1, "begin-ps": 7000 + ns, "end-ps": 7000 + ns + ns * 1000, "counters": {"loads": 10, "llc-misses": ns}}
    roi |= {"vcpus": [{"instructions": 9, "time-ps": ns * 1000, "idle-ps": 0}]}
    return GuestOutcome("ok", 0, rows=[{"ns": ns, "what": "x"}], rois=[roi])


def made(path: Path, seeds: int, root: Path, answer: Callable[[GuestSpec], GuestOutcome] = answer) -> list[Result]:
    runs = render.with_seeds(render.runs(path), seeds)
    session = Session(MockExecutor(answer), KEYS, here=Capacity(guests=2, memory_mib=8192))
    return drive(run_all(runs, session, root, QuietReporter()))


def line_of(images: Images, path: Path) -> list[str]:
    guest = render.runs(path)[0].guest
    files = GuestFiles(Path("i"), (Path("m"),), (Path("l"),), None)
    return qemu_line.command_line(images, guest, files, PowerCut(), [])


# ---- The machine ----


def test_seed_0_is_no_seed(small_manifest: Path, images: Images) -> None:
    """Seed 0 appears neither in the machine nor in the name of its result."""
    line, run = line_of(images, small_manifest), render.runs(small_manifest)[0]
    assert not [word for word in line if word.startswith("cpu-timing") and "seed" in word]
    assert line[line.index("-seed") + 1] == "1"
    assert "norandmaps" in line[line.index("-append") + 1].split()
    assert "seed" not in profiles.as_data(run.guest.cpu)
    small_manifest.write_text(f"seed = 0\n{MANIFEST}")
    assert line_of(images, small_manifest) == line
    again = render.runs(small_manifest)[0]
    assert again == run
    assert results.path_for(Path(), again, KEYS) == results.path_for(Path(), run, KEYS)


def test_a_seed_reaches_the_model_the_random_numbers_and_the_kernel(small_manifest: Path, images: Images) -> None:
    plain, run = line_of(images, small_manifest), render.runs(small_manifest)[0]
    small_manifest.write_text(f"seed = 7\n{MANIFEST}")
    line, seeded = line_of(images, small_manifest), render.runs(small_manifest)[0]
    timing = next(word for word in line if word.startswith("cpu-timing"))
    assert "seed=7" in timing.split(",")
    assert line[line.index("-seed") + 1] == "8"
    words, before = (one[one.index("-append") + 1].split() for one in (line, plain))
    assert words == [word for word in before if word != "norandmaps"]
    assert results.path_for(Path(), seeded, KEYS).name != results.path_for(Path(), run, KEYS).name
    assert (seeded.label, seeded.title, run.title) == ("snapshot", "snapshot seed 7", "snapshot")


@pytest.mark.parametrize("seed", ["-1", str(SEED_MAX + 1), "1.5", '"one"'])
def test_a_seed_that_is_none_is_one_sentence(small_manifest: Path, seed: str) -> None:
    small_manifest.write_text(f"seed = {seed}\n{MANIFEST}")
    with pytest.raises(TestbedError, match=r"small\.toml: key 'seed': [^\n]*$") as error:
        render.runs(small_manifest)
    assert error.value.exit_status == 2


def test_a_seed_is_no_property_of_a_cpu(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST.replace('"xeon-6230-class"', '"xeon-6230-class"\noverride = { seed = 3 }'))
    with pytest.raises(TestbedError, match=r"unknown key 'cpu\.override\.seed'"):
        render.runs(small_manifest)


def test_the_largest_seed_is_one(small_manifest: Path, images: Images) -> None:
    small_manifest.write_text(f"seed = {SEED_MAX}\n{MANIFEST}")
    line = line_of(images, small_manifest)
    assert line[line.index("-seed") + 1] == str(2**32)


# ---- Runs ----


def test_each_point_is_run_with_each_seed_and_machines_that_are_alike_are_one(small_manifest: Path) -> None:
    runs = render.with_seeds(render.runs(small_manifest), 3)
    assert [(run.label, run.guest.cpu.seed, run.full.cpu.seed) for run in runs] == [
        (engine, seed, seed) for engine in ("snapshot", "pmdk", "volatile") for seed in range(3)
    ]
    assert len({id(run.guest) for run in runs}) == 3
    assert runs[0] == render.runs(small_manifest)[0]


def test_runs_that_can_share_a_booted_guest_follow_each_other(small_manifest: Path, tmp_path: Path) -> None:
    """The results are in the order of the runs: for each point, all seeds."""
    runs = render.with_seeds(render.runs(small_manifest), 3)
    executor = MockExecutor(answer)
    session = Session(executor, KEYS, here=Capacity(guests=1, memory_mib=8192))
    done = drive(run_all(runs, session, tmp_path, QuietReporter()))
    assert [spec.guest.cpu.seed for spec in executor.started] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [(result.point["engine"], result.seed) for result in done] == [
        (engine, seed) for engine in ("snapshot", "pmdk", "volatile") for seed in range(3)
    ]


def test_guests_with_other_workloads_or_packages_do_not_share_a_boot(small_manifest: Path) -> None:
    one, two, three = render.runs(small_manifest)
    program = replace(two.job, packages=("redis=8",))
    assert by_boot([one, two, three]) == [0, 1, 2]
    assert by_boot([one, replace(two, program=program), three]) == [0, 2, 1]
    assert by_boot([one, replace(two, argv=("mtree",)), three]) == [0, 2, 1]


def test_runs_of_other_seeds_are_results_of_their_own(small_manifest: Path, tmp_path: Path) -> None:
    done = made(small_manifest, 3, tmp_path)
    assert len({result.path for result in done}) == 9
    assert [result.seed for result in done[:3]] == [0, 1, 2]
    assert made(small_manifest, 1, tmp_path)[0].path == done[0].path


# ---- Median and range ----


def test_a_spread_has_the_middle_and_the_ends() -> None:
    assert spread.of([3, 1, 2]) == Spread(2, 1, 3)
    assert spread.of([4, 1]) == Spread(2.5, 1, 4)
    assert (spread.of([1, 3]).median, type(spread.of([1, 3]).median)) == (2, int)
    assert type(spread.of([1.0, 3.0]).median) is float
    assert (spread.of([3, 1, 2]).text(str), spread.of([2, 2]).text(str)) == ("2 (1\u20133)", "2")
    assert [spread.of([3, 1]).holds(number) for number in (0.9, 1, 2, 3, 3.1)] == [False, True, True, True, False]


def test_what_is_no_number_stays_as_the_first_has_it() -> None:
    folded = spread.folded([{"a": [1, "x", True], "b": [1]}, {"a": [3, "y", False], "b": [1, 2]}])
    assert folded == {"a": [Spread(2, 1, 3), "x", True], "b": [1]}
    assert spread.middle(folded) == {"a": [2, "x", True], "b": [1]}


def test_a_median_result_has_the_median_length(small_manifest: Path, tmp_path: Path) -> None:
    """Each seed has another begin and end; separate medians of begin and end would come from different runs."""
    middle = spread.medians(made(small_manifest, 5, tmp_path))
    assert [result.point["engine"] for result in middle] == ["snapshot", "pmdk", "volatile"]
    assert middle[0].rows == [{"ns": 110, "what": "x"}]
    assert results.roi_counters(middle[0].rois[0]) == {"time-ps": 110_000, "loads": 10, "llc-misses": 110}


def test_a_point_with_one_seed_is_as_it_is(small_manifest: Path, tmp_path: Path) -> None:
    done = made(small_manifest, 1, tmp_path)
    assert spread.medians(done) == done
    assert records.of_points(done) == records.of_results(done)


# ---- Tables and figures ----

STUDY = MANIFEST + '[plot]\nx = "engine"\ny = ["time"]\n'


def study(path: Path, root: Path, seeds: int) -> sweep_plot.Study:
    path.write_text(STUDY)
    return sweep_plot.of_results(parse.load(path), made(path, seeds, root))


def test_the_table_of_a_study_has_median_and_range(small_manifest: Path, tmp_path: Path) -> None:
    found = study(small_manifest, tmp_path, 5)
    lines = sweep_plot.table_text(found).splitlines()
    assert len([line for line in lines if "snapshot" in line.split()[:1]]) == 1
    assert "110 ns (90 ns\u2013130 ns)" in lines[-1]
    assert "110 (90\u2013130)" in lines[-1]
    heads, first, *_ = sweep_plot.table_csv(found).splitlines()
    row = dict(zip(heads.split(","), first.split(","), strict=True))
    assert (row["time"], row["time low"], row["time high"], row["loads"]) == ("110000", "90000", "130000", "10")
    assert "loads low" not in row


def test_the_figure_of_a_study_draws_the_range(small_manifest: Path, tmp_path: Path) -> None:
    found = study(small_manifest, tmp_path, 5)
    assert sweep_plot.lines_of(found, "time")[""][0] == ("snapshot", 110_000.0)
    assert sweep_plot.ranges_of(found, "time")["", "snapshot"] == Spread(110_000, 90_000, 130_000)
    assert drawn(found) == [(110_000e-9, 90_000e-9, 130_000e-9)] * 3
    alone = study(small_manifest, tmp_path / "alone", 1)
    assert sweep_plot.ranges_of(alone, "time") == {}
    assert drawn(alone) == [(100_000e-9, None, None)] * 3


def drawn(found: sweep_plot.Study) -> list[tuple[float | None, ...]]:
    """Value, low and high of each point."""
    ((panel,),) = sweep_plot.chart(found).rows
    assert isinstance(panel, Lines)
    return [
        tuple(end and round(end, 9) for end in (value.value, value.low, value.high))
        for line in panel.lines
        for _, value in line.points
    ]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MockExecutor:
    """`testbed run` with a guest that ends at once."""
    executor = MockExecutor(answer)
    session = Session(executor, KEYS, here=Capacity(guests=2, memory_mib=8192))
    monkeypatch.setattr(main, "open_session", lambda **_: session)
    monkeypatch.setattr(verdicts, "refuse_if_none_can_be", lambda _: None)
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "200")
    return executor


def test_run_prints_a_range_for_each_number(small_manifest: Path, here: MockExecutor, tmp_path: Path) -> None:
    said = CliRunner().invoke(main.app, ["run", str(small_manifest), "--seeds", "5", "--json", str(tmp_path / "j")])
    assert said.exit_code == 0, said.output
    assert "medians over the seeds, with the range" in said.output
    assert "110 ns (90 ns\u2013130 ns)" in said.output
    assert [spec.guest.cpu.seed for spec in here.started].count(4) == 3
    data = json.loads((tmp_path / "j").read_text())
    assert len(data["results"]) == 15
    of_pmdk = {"point": {"engine": "pmdk"}, "seeds": 5}
    assert of_pmdk | {"number": "ns", "median": 110, "low": 90, "high": 130} in data["spread"]
    alone = CliRunner().invoke(main.app, ["run", str(small_manifest)])
    assert "medians" not in alone.output and len(here.started) == 15  # seed 0 has a result


@pytest.mark.parametrize("count", ["0", "-3", "1001"])
def test_a_number_of_seeds_that_is_none_is_one_sentence(small_manifest: Path, count: str) -> None:
    with pytest.raises(TestbedError, match=rf"^--seeds {count}: it must be from 1 to 1,000; [^\n]*$") as error:
        main.app(["run", str(small_manifest), "--seeds", count], standalone_mode=False)
    assert error.value.exit_status == 2


@pytest.mark.parametrize("seed", ["-1", "4294967296"])
def test_a_seed_of_a_command_is_checked_as_that_of_a_manifest(seed: str) -> None:
    with pytest.raises(TestbedError, match=r"with the options: key 'seed': [^\n]*$") as error:
        main.app(["exec", "--seed", seed, "--", "true"], standalone_mode=False)
    assert error.value.exit_status == 2


# ---- Comparing ----


def shifted(by: int) -> Callable[[GuestSpec], GuestOutcome]:
    """As answer(), with a program that takes `by` ns longer."""

    def later(spec: GuestSpec) -> GuestOutcome:
        outcome = answer(spec)
        rois = [{**outcome.rois[0], "end-ps": outcome.rois[0]["end-ps"] + by * 1000}]
        return replace(outcome, rows=[{"ns": outcome.rows[0]["ns"] + by}], rois=rois)

    return later


def other_build(found: list[Result]) -> list[Result]:
    machine = {**found[0].data["identity"]["machine"], "components": {"qemu": "other"}}
    cpus = [result.data["identity"]["machine"]["cpu"] for result in found]
    return [
        Result(result.path, result.data | {"identity": {"machine": {**machine, "cpu": cpu}}})
        for result, cpu in zip(found, cpus, strict=True)
    ]


@pytest.mark.parametrize(("by", "left"), [(0, []), (20, []), (21, ["time", "ns"]), (-21, ["time", "ns"])])
def test_a_number_has_left_its_range_if_no_seed_gave_it(
    small_manifest: Path, tmp_path: Path, by: int, left: list[str]
) -> None:
    """The median of A is 110, its range 90 to 130."""
    a = made(small_manifest, 5, tmp_path / "a")[:5]
    b = other_build(made(small_manifest, 5, tmp_path / "b", shifted(by))[:5])
    judged = compare.over_seeds(a, b)
    assert [number.name for number in judged] == ["time", "ns"]
    assert [number.name for number in judged if number.left] == left
    assert compare.unjudged(compare.pairs(a, b), judged) == []


def test_one_seed_is_judged_by_the_range_of_the_other_side(small_manifest: Path, tmp_path: Path) -> None:
    several = made(small_manifest, 5, tmp_path / "a")[:5]
    for by, left in ((0, False), (30, False), (31, True)):
        one = other_build(made(small_manifest, 1, tmp_path / f"b{by}", shifted(by))[:1])
        for a, b in ((several, one), (one, several)):
            judged = compare.over_seeds(a, b)
            assert [number.left for number in judged] == [left, left]
            assert judged[0].cells()[0] == "small/snapshot 1/64"


def test_the_same_inputs_with_another_result_are_no_matter_of_a_range(small_manifest: Path, tmp_path: Path) -> None:
    a = made(small_manifest, 3, tmp_path / "a")[:3]
    b = made(small_manifest, 3, tmp_path / "b", shifted(1))[:3]
    judged = compare.over_seeds(a, b)
    assert not [number for number in judged if number.left]
    assert {pair.state for pair in compare.unjudged(compare.pairs(a, b), judged)} == {compare.BROKEN}


def test_results_of_two_builds_with_one_seed_have_no_range(small_manifest: Path, tmp_path: Path) -> None:
    a = made(small_manifest, 2, tmp_path)[:2]
    assert compare.over_seeds([*a, *other_build(a)], a) == []


@pytest.mark.usefixtures("here")
def test_diff_lists_what_left_its_range(small_manifest: Path, tmp_path: Path) -> None:
    made(small_manifest, 5, tmp_path / "a")
    made(small_manifest, 5, tmp_path / "b")
    folders = [str(tmp_path / name) for name in "ab"]
    assert "0 of 6 numbers left" in CliRunner().invoke(main.app, ["diff", *folders]).output
    made(small_manifest, 5, tmp_path / "c", shifted(50))
    for path in (tmp_path / "c").rglob("*.json"):
        found = other_build([results.load(path)])[0].data
        found["checksum"] = canonical.digest({k: v for k, v in found.items() if k != "checksum"})
        path.write_text(canonical.dumps(found))
    said = CliRunner().invoke(main.app, ["diff", folders[0], str(tmp_path / "c"), "--json", str(tmp_path / "j")])
    assert isinstance(said.exception, RunFailed) and str(said.exception) == "6 numbers differ"
    assert "6 of 6 numbers left their range over seeds" in said.output
    rows: list[dict[str, Any]] = json.loads((tmp_path / "j").read_text())
    assert [row["left"] for row in rows] == [True] * 6
    assert rows[0]["a"] == {"median": 110_000, "low": 90_000, "high": 130_000}


# ---- Crash tests ----

RECORDS = "records"


@pytest.fixture
def campaigns(here: MockExecutor, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the campaigns that ran; each campaign explores one state more than its seed."""
    ran: list[int] = []
    assert not here.started

    def run(campaign: Campaign, _test: str) -> Report:
        seed = campaign.guest.cpu.seed
        ran.append(seed)
        bad = [Violation("0-abc", 0, ((0, 64),), ("f",), "failed", "bad")] if seed == 2 else []
        return Report(Counts(points=3, states=seed + 1), bad)

    monkeypatch.setattr(presentation, "run_campaign", run)
    return ran


def test_a_crash_test_explores_the_schedules_of_seeds(campaigns: list[int], tmp_path: Path) -> None:
    said = CliRunner().invoke(main.app, ["crash", RECORDS, "--seeds", "3", "--json", str(tmp_path / "j")])
    assert campaigns == [0, 1, 2]
    assert isinstance(said.exception, RunFailed) and "1 of 6 states" in str(said.exception)
    rows = [line.split() for line in said.output.splitlines()]
    assert [row for row in rows if row[:1] == ["all"]] == [["all", "\u2502", "9", "\u2502", "6", "\u2502", "1"]]
    assert f"testbed crash {RECORDS} --seed 2 --state 0-abc" in said.output
    assert list(json.loads((tmp_path / "j").read_text())["seeds"]) == ["0", "1", "2"]


def test_an_interrupted_crash_test_suggests_a_command_that_works(
    here: MockExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not here.started
    bad = Violation("0-abc", 0, ((0, 64),), ("f",), "failed", "bad")

    async def run(self: Campaign, _progress: object) -> Report:
        self.interrupted(Report(Counts(points=3, states=1), [bad]))
        raise asyncio.CancelledError

    monkeypatch.setattr(Campaign, "run", run)
    said = CliRunner().invoke(main.app, ["crash", RECORDS, "--seed", "2"])
    assert f"see one: testbed crash {RECORDS} --seed 2 --state 0-abc" in said.output


@pytest.mark.parametrize(
    ("done", "points", "left"), [(0, 9, ""), (9, 9, ""), (3, 9, ", about 20 s left"), (1, 61, ", about 10 min left")]
)
def test_the_time_left_of_a_crash_test_follows_its_pace(done: int, points: int, left: str) -> None:
    assert presentation.time_left(done, points, 10.0) == left


def test_a_crash_test_takes_one_seed(campaigns: list[int]) -> None:
    assert CliRunner().invoke(main.app, ["crash", RECORDS, "--seed", "5"]).exit_code == 0
    assert CliRunner().invoke(main.app, ["crash", RECORDS]).exit_code == 0
    assert campaigns == [5, 0]


@pytest.mark.parametrize("other", [["--state", "0-a"], ["--html", "x.html"], ["--seed", "1"]])
def test_several_seeds_are_for_a_whole_crash_test(other: list[str]) -> None:
    with pytest.raises(TestbedError, match=r"^--seeds is for the whole test: [^\n]*$"):
        main.app(["crash", RECORDS, "--seeds", "2", *other], standalone_mode=False)
