# SPDX-License-Identifier: BSD-3-Clause
"""`testbed figures`: the runs that it makes, the figures that it draws again, and equal bytes after an interrupt."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from analysis.catalogue import entries as catalogue
from analysis.catalogue import make as figures
from analysis.data.drawn import Comparison, Gathered
from analysis.scorecard import causes
from conftest import MockExecutor
from testbed.errors import TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.manifest import bases
from testbed.program import packages
from testbed.results import results

KEYS = {"qemu": "a", "base": "b"}


def answer(spec: GuestSpec) -> GuestOutcome:
    """Snapshot is twice as fast as the other engines in kv; other programs take the same time with every engine."""
    assert spec.job is not None
    words = spec.job.script.split()
    if "calibrate" in words:
        means = {"test": "persist", "method": "ntstore", "bytes": 64, "writes_per_fence": 1, "mean_ns": 40.0}
        return GuestOutcome("ok", 0, rows=[means])
    if "jobs.fio" in words:  # fio's terse lines, with unused fields 0
        used = "0;" * 41 + "31;15625;250000;2;0;0;0;0;1;6;1.5;0;" + "1%=1;" * 12 + "99.000000%=2;" + "0;" * 16
        calls = ("append", "append-later", "delete")
        return GuestOutcome("ok", 0, stdout="\n".join(f"3;fio-3.39;{call};0;0;{used}end" for call in calls).encode())
    if "filework" in words:
        flow, threads = (words[words.index(option) + 1] for option in ("--flow", "--threads"))
        row = {"program": "filework", "flow": flow, "threads": threads, "operations": 1000, "roi_ns": 10**6}
        return GuestOutcome("ok", 0, rows=[row])
    program, engine = words[words.index("--engine") - 1], words[words.index("--engine") + 1]
    if program != "kv":
        count = {"nodes": 15625, "keys": 15625, "updates": 1, "transactions": 6250, "commits": 6250}
        rows = [{"program": program, "engine": engine, "phase": "insert", "roi_ns": 10**6} | count]
        return GuestOutcome("ok", 0, rows=rows)
    row = {"program": "kv", "engine": engine, "workload": words[words.index("--workload") + 1], "records": 78125}
    row |= {"operations": 78125}
    return GuestOutcome("ok", 0, rows=[row | {"roi_ns": (1 if engine == "snapshot" else 2) * 10**6}])


@pytest.fixture(autouse=True)
def results_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))


def make(folder: Path, session: Session | None = None) -> MockExecutor:
    session = session or Session(MockExecutor(answer), KEYS)
    figures.make(session, ["kv-ycsb"], "quick", folder)
    assert isinstance(session.executor, MockExecutor)
    return session.executor


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored(folder: Path) -> dict[str, bytes]:
    """The results by file name; the times that they took the host are in other files."""
    return {result.path.name: result.path.read_bytes() for result in results.load_all(folder)}


def test_the_index_holds_tables_comparisons_and_sources(tmp_path: Path) -> None:
    make(tmp_path / "f")
    index = json.loads((tmp_path / "f" / "index.json").read_text())
    figure = index["figures"][0]
    assert index["scale"] == "quick"
    assert [figure[key] for key in ("name", "svg", "plot")] == ["kv-ycsb", "kv-ycsb.svg", "kv-ycsb.plot.json"]
    assert all(len(row) == len(figure["columns"]) for row in figure["rows"])
    assert figure["results"][0] | {"digest": ""} == {
        "manifest": "kv-ycsb",
        "label": "A-snapshot-1",
        "digest": "",
        "scale": 64,
    }
    source = figure["results"][0]
    assert (tmp_path / "results" / "kv-ycsb" / f"{source['label']}-{source['digest']}.json").exists()
    card = index["scorecard"]
    assert len(card["rows"]) == len(figure["comparisons"])
    assert card["total"] == sum(c["comparable"] for c in figure["comparisons"])
    assert sorted(p.suffix for p in (tmp_path / "f").iterdir()) == [
        *(".csv", ".json", ".json", ".pdf", ".png", ".svg", ".txt")
    ]


def test_the_second_time_nothing_runs_and_nothing_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(make(tmp_path / "f").started) == 14
    first = contents(tmp_path / "f")
    drawn: list[str] = []
    monkeypatch.setattr(figures, "written", lambda *_: drawn.append("again"))
    assert make(tmp_path / "f").started == []
    assert (drawn, contents(tmp_path / "f")) == ([], first)


def test_a_missing_file_or_another_result_is_drawn_again(tmp_path: Path) -> None:
    make(tmp_path / "f")
    first = contents(tmp_path / "f")
    (tmp_path / "f" / "kv-ycsb.svg").unlink()
    make(tmp_path / "f")
    assert contents(tmp_path / "f") == first

    def slower(spec: GuestSpec) -> GuestOutcome:
        outcome = answer(spec)
        outcome.rows[0]["roi_ns"] *= 3
        return outcome

    make(tmp_path / "f", Session(MockExecutor(slower), KEYS | {"qemu": "other"}))
    assert contents(tmp_path / "f").keys() == first.keys()
    assert contents(tmp_path / "f")["kv-ycsb.csv"] != first["kv-ycsb.csv"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT: a shell may have started these tests in the background, where SIGINT is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupted_and_continued_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "whole")
    whole = contents(tmp_path / "whole"), stored(tmp_path / "results")

    class Interrupted(MockExecutor):
        async def run(self, spec: GuestSpec) -> GuestOutcome:
            outcome = await super().run(spec)
            number = len(ended)
            ended.append(spec)
            if number == 5:
                asyncio.get_running_loop().call_later(2, signal.raise_signal, signal.SIGINT)  # Ctrl-C
            if number >= 5:
                await asyncio.sleep(60)
            return outcome

    ended: list[GuestSpec] = []

    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "other"))
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "cut", Session(Interrupted(answer), KEYS))
    assert not (tmp_path / "cut" / "index.json").exists()
    kept = len(results.load_all(tmp_path / "other"))
    assert 0 < kept < 14
    assert len(make(tmp_path / "cut").started) == 14 - kept
    assert (contents(tmp_path / "cut"), stored(tmp_path / "other")) == whole


def test_an_unknown_figure_lists_those_that_there_are() -> None:
    with pytest.raises(TestbedError, match=r"no figure 'kv'; there are: kv-ycsb.*, studies$"):
        catalogue.pick(["kv"])


def test_all_studies_have_one_name_and_no_name_is_all_figures() -> None:
    assert catalogue.pick(["studies"]) == list(catalogue.STUDIES)
    assert catalogue.pick(["recovery", "studies", "list"]) == [*catalogue.pick(["list"]), *catalogue.STUDIES]
    assert catalogue.pick([]) == list(catalogue.FIGURES)


@pytest.mark.parametrize("entry", [*catalogue.FIGURES, *catalogue.STUDIES], ids=lambda e: e.name)
@pytest.mark.parametrize("scale", ["quick", "standard", "full"])
def test_every_figure_has_a_machine_at_every_scale(
    entry: catalogue.Entry, scale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packages, "resolve", lambda names: names)  # no network is used
    assert all(bases.find(name).exists() for name in (*entry.manifests, *entry.sweeps))
    assert figures.runs_of([entry], scale) or entry.sweeps


def test_all_figures_end_with_the_scorecard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "FIGURES", catalogue.pick(["kv-ycsb"]))

    index = figures.make(Session(MockExecutor(answer), KEYS), [], "quick", tmp_path / "f")
    assert [figure["name"] for figure in index.figures] == ["kv-ycsb", "scorecard"]
    assert index.figures[-1]["rows"][-1][0] == "all"
    assert {source["manifest"] for source in index.figures[-1]["results"]} == set(causes.manifests())
    explained = [c["cause"] for c in index.figures[0]["comparisons"] if c["cause"]]
    assert any("kv-turbo/A-pmdk" in cause for cause in explained), explained
    assert (tmp_path / "f" / "scorecard.csv").read_text().count("kv-ycsb") == 14


def test_why_numbers_cannot_be_compared_stays_said_and_a_tested_cause_is_looked_up_again() -> None:
    numbers = [Comparison("list", "g", "pmdk", "s", 1.0, 2.0, comparable, "said") for comparable in (True, False)]
    drawn = [{"name": "list", "comparisons": [number.as_data() for number in numbers]}]
    compared, _ = figures._explained(drawn, Gathered({}))
    assert [number.cause for number in compared] == ["", "said"]
