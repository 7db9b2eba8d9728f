# SPDX-License-Identifier: BSD-3-Clause
"""Figures over several seeds: medians with ranges, from runs of this command or as recorded."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.catalogue import entries, make, spreads, verify
from analysis.data import over_seeds
from analysis.data.chart import Axis, Bars, Chart, Group, Line, Lines, Map, Parts
from analysis.data.drawn import Comparison, Drawn, Gathered
from analysis.data.values import Value, by_name, points
from analysis.studies import placement
from conftest import MockExecutor
from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest.executor import GuestOutcome, GuestSpec
from testbed.guest.session import Session
from testbed.results.results import Result
from testbed.results.spread import Spread


def drawing(slow: float, wide: float = 10, measured_x: float = 5) -> Drawn:
    """A figure in which a seed moves two values, a row, a comparison, and the x of a point."""
    lines = Lines(
        Axis("threads"),
        Axis("ms"),
        [Line("ours", points([1, 2], [slow, 7])), Line("ours", points([1, 2], [3, 4]), published=True)],
    )
    curve = Lines(Axis("ns"), Axis("share"), [Line("slower", points([1, measured_x], [1, 0.5]))])
    bars = Bars(["A"], [Group("snapshot", by_name([("A", wide)]), published={"A": 12})], "ms")
    parts = Parts(["A"], [Group("wait", by_name([("A", 2 * slow)]))], Axis("ms"))
    table = Map({1: "1"}, {1: "1"}, [[slow]], 2, "low")
    return Drawn(
        name="figure",
        title="A figure",
        caption="Scale 1/64.",
        notes=["A note."],
        columns=["engine", "threads", "ms", "published"],
        rows=[["pmdk", 1, 3.0, None], ["snapshot", 1, slow, 3]],
        chart=Chart([[lines, bars], [curve, parts, table]], "Heading", scaled_down=True),
        comparisons=[Comparison("figure", "g", "ours", "ms", slow, 3)],
    )


def test_values_are_medians_with_their_range() -> None:
    chart = over_seeds.merged([drawing(2.0), drawing(1.0), drawing(4.0)]).chart
    [[lines, bars], [_, parts, _]] = chart.rows
    assert isinstance(lines, Lines) and isinstance(bars, Bars) and isinstance(parts, Parts)
    assert lines.lines[0].points == [(1, Value(2.0, 1.0, 4.0)), (2, Value(7))]
    assert bars.groups[0].values == {"A": Value(10)}
    assert parts.parts[0].values == {"A": Value(4.0, 2.0, 8.0)}
    assert chart.headline == "Heading (scaled down); medians and ranges of 3 seeds"


def test_published_values_and_a_measured_x_stay() -> None:
    first = drawing(2.0)
    chart = over_seeds.merged([first, drawing(1.0, measured_x=6)]).chart
    [[lines, bars], [curve, _, table]] = chart.rows
    [[of_first, _], [its_curve, _, its_table]] = first.chart.rows
    assert isinstance(lines, Lines) and isinstance(of_first, Lines) and isinstance(bars, Bars)
    assert lines.lines[1] == of_first.lines[1]
    assert bars.groups[0].published == {"A": 12}
    assert (curve, table) == (its_curve, its_table)


def test_published_values_are_no_measured_ones() -> None:
    names = ["0.0/ours/1", "0.0/ours/2", "0.1/snapshot/A", "1.0/slower/1", "1.0/slower/5", "1.1/wait/A"]
    assert sorted(over_seeds.values(drawing(2.0).chart)) == names


def test_tables_and_comparisons_have_medians_and_the_tables_ranges() -> None:
    merged = over_seeds.merged([drawing(2.0), drawing(1.0), drawing(4.0)])
    assert merged.rows == [["pmdk", 1, 3.0, None], ["snapshot", 1, 2.0, 3]]
    assert [c.ours for c in merged.comparisons] == [2.0]
    assert "2.0 (1.0\u20134.0)" in merged.text and merged.text.endswith("Numbers are medians and ranges of 3 seeds.")
    assert merged.csv.splitlines() == [
        "engine,threads,ms,ms low,ms high,published",
        "pmdk,1,3.0,3.0,3.0,",
        "snapshot,1,2.0,1.0,4.0,3",
    ]


def test_tables_of_several_lengths_are_those_of_the_first_seed() -> None:
    longer = replace(drawing(1.0), rows=[["pmdk", 1, 3.0, None]] * 3)
    assert over_seeds.merged([drawing(2.0), longer]).rows == drawing(2.0).rows


def test_two_values_at_one_place_have_different_names() -> None:
    twice = Bars(["A"], [Group("snapshot", by_name([("A", 1)])), Group("snapshot", by_name([("A", 2)]))], "ms")
    assert over_seeds.values(Chart([[twice]])) == {"0.0/snapshot/A": Value(1), "0.0/snapshot/A #2": Value(2)}


def test_a_recorded_range_is_as_far_from_a_value_as_from_its_median() -> None:
    ranges = {"0.0/ours/1": Spread(10, 9, 15), "0.1/snapshot/A": Spread(10, 10, 10), "gone": Spread(1, 0, 2)}
    chart = over_seeds.with_recorded(drawing(2.0), ranges, 5).chart
    [[lines, bars], _] = chart.rows
    assert isinstance(lines, Lines) and isinstance(bars, Bars)
    assert lines.lines[0].points[0] == (1, Value(2.0, 1.8, 3.0))
    assert bars.groups[0].values == {"A": Value(10)}
    assert chart.headline == "Heading (scaled down); ranges as recorded over 5 seeds"


def test_a_figure_without_recorded_ranges_says_nothing_of_them() -> None:
    assert over_seeds.with_recorded(drawing(2.0), {"gone": Spread(1, 0, 2)}, 5) == drawing(2.0)


# ---- From runs to files ----

KEYS = {"qemu": "a", "base": "b"}
TIMES_NS = (2_000_000, 1_000_000, 4_000_000)  # of Snapshot, by seed


def answer(spec: GuestSpec) -> GuestOutcome:
    assert spec.job is not None
    words = spec.job.script.split()
    engine, workload = (words[words.index(option) + 1] for option in ("--engine", "--workload"))
    row = {"program": "kv", "engine": engine, "workload": workload, "records": 78125, "operations": 78125}
    time_ns = TIMES_NS[spec.guest.cpu.seed] if engine == "snapshot" else 8_000_000
    return GuestOutcome("ok", 0, rows=[row | {"roi_ns": time_ns}])


@pytest.fixture(autouse=True)
def results_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESTBED_RESULTS", str(tmp_path / "results"))


def test_a_figure_of_several_seeds_shows_their_range(tmp_path: Path) -> None:
    executor = MockExecutor(answer)
    index = make.make(Session(executor, KEYS), ["kv-ycsb"], "quick", tmp_path / "f", seeds=3)
    assert len(executor.started) == len(make.needed(["kv-ycsb"], "quick", 3)) == 3 * 14
    [figure] = index.figures
    of_snapshot = [dict(zip(figure["columns"], row, strict=True)) for row in figure["rows"] if "snapshot" in row]
    assert {row["times_faster_than_pmdk"] for row in of_snapshot} == {4.0}
    assert len(figure["results"]) == 3 * 14
    assert "medians and ranges of 3 seeds" in (tmp_path / "f" / "kv-ycsb.svg").read_text()
    assert "4.0 (2.0\u20138.0)" in (tmp_path / "f" / "kv-ycsb.txt").read_text()
    plot = json.loads((tmp_path / "f" / "kv-ycsb.plot.json").read_text())
    assert any(trace.get("error_y") for trace in plot["data"])


def test_a_figure_of_one_seed_has_the_ranges_that_verify_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreads, "EXPERIMENTS", tmp_path)
    monkeypatch.setattr(components, "guest_builds", dict)
    session, svg = Session(MockExecutor(answer), KEYS), tmp_path / "f" / "kv-ycsb.svg"
    make.make(session, ["kv-ycsb"], "quick", tmp_path / "f")
    assert "recorded" not in svg.read_text()
    verify.update(session, verify.pick(["kv-ycsb"], "quick"), tmp_path / "quick.sha256", 3)
    make.make(session, ["kv-ycsb"], "quick", tmp_path / "f")
    assert "ranges as recorded over 3 seeds" in svg.read_text()
    plot = (tmp_path / "f" / "kv-ycsb.plot.json").read_text()
    assert "range over seeds: 2 to 8" in plot  # the median is 4, and so is the value of seed 0


def test_ranges_of_a_figure_are_written_only_with_all_its_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "guest_builds", dict)
    verify.update(
        Session(MockExecutor(answer), KEYS), verify.pick(["kv-ycsb/A-*"], "quick"), tmp_path / "quick.sha256", 3
    )
    assert not [name for name in spreads.load(tmp_path / "quick.spread.csv") if name.startswith(spreads.FIGURE)]


def test_nothing_is_recorded_if_a_figure_cannot_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise TestbedError("the figure cannot be drawn")

    monkeypatch.setattr(components, "guest_builds", dict)
    monkeypatch.setattr(spreads, "of_charts", fails)
    with pytest.raises(TestbedError, match="cannot be drawn"):
        verify.update(
            Session(MockExecutor(answer), KEYS), verify.pick(["kv-ycsb"], "quick"), tmp_path / "quick.sha256", 3
        )
    assert not list(tmp_path.glob("quick.*"))


# ---- Placement ----


def of_seed(gathered: Gathered) -> Drawn:
    """A figure with the values 10, 10, 10 and the time of its seed."""
    [result] = gathered.results["m"]
    bars = Bars(
        list("ABCD"), [Group("ours", by_name([*((name, 10.0) for name in "ABC"), ("D", result.rows[0]["ms"])]))], "ms"
    )
    return replace(drawing(1.0), chart=Chart([[bars]], "Scale 1/64."))


def results_of(*times_ms: float) -> Gathered:
    def result(seed: int, ms: float) -> Result:
        return Result(Path("r.json"), {"identity": {"machine": {"cpu": {"seed": seed}}}, "rows": [{"ms": ms}]})

    return Gathered({"m": [result(seed, ms) for seed, ms in enumerate(times_ms)]})


def test_placement_is_the_range_of_each_value_over_its_median() -> None:
    draw = placement.drawn({"one": placement.Shown(["m"], of_seed)})
    drawn = draw(results_of(4.0, 5.0, 6.0))
    assert drawn.rows == [["one", 4, 0.0, pytest.approx(28.0), 40.0, "0.0/ours/D"]]
    [[bars]] = drawn.chart.rows
    assert isinstance(bars, Bars)
    assert [list(group.values) for group in bars.groups] == [["one"]] * 3
    assert drawn.chart.states_scale


def test_placement_needs_several_seeds_and_is_no_study_of_one() -> None:
    draw = placement.drawn({"one": placement.Shown(["m"], of_seed)})
    with pytest.raises(TestbedError, match="add --seeds N"):
        draw(results_of(4.0))
    assert placement.NAME not in {entry.name for entry in entries.pick(["studies"])}
    [entry] = entries.pick([placement.NAME])
    assert entry.over_seeds and set(entries.PLACED) <= {figure.name for figure in entries.FIGURES}
