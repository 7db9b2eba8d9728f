# SPDX-License-Identifier: BSD-3-Clause
"""The distance between the numbers of two sets of figures."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analysis.data.drawn import Comparison
from analysis.scorecard import moved
from rigs import report_sample
from testbed.cli.main import app


def numbers(*ours: float) -> list[Comparison]:
    return [Comparison("kv", f"kv {name}", "pmdk", "s", value, 1.0) for name, value in zip("ABC", ours, strict=False)]


def test_twice_and_half_have_moved_as_far() -> None:
    found = moved.between(numbers(1.0, 4.0, 3.0), numbers(2.0, 2.0, 3.0))
    assert [m.ratio for m in found] == [2.0, 0.5, 1.0]
    assert [moved.change_percent(m) for m in found] == [100.0, 100.0, 0.0]


def test_what_is_on_one_side_only_is_left_out() -> None:
    assert [m.number for m in moved.between(numbers(1.0, 2.0), numbers(1.0))] == ["kv A, pmdk"]


def test_a_number_that_was_zero_has_no_ratio() -> None:
    grown, same = moved.between(numbers(0.0, 0.0), numbers(1.0, 0.0))
    assert (grown.ratio, moved.change_percent(grown)) == (None, float("inf"))
    assert (same.ratio, moved.change_percent(same)) == (None, 0.0)


def test_each_figure_is_summed_up_and_all() -> None:
    found = moved.between(numbers(1.0, 1.0, 1.0), numbers(1.1, 1.3, 1.0))
    assert moved.by_figure(found) == [
        ("kv", "3", "10.00 %", "30.0 %", "kv B, pmdk"),
        ("all", "3", "10.00 %", "30.0 %", "kv B, pmdk"),
    ]


@pytest.fixture
def figures(tmp_path: Path) -> tuple[Path, Path]:
    """The same figures in two folders; one number of the second is 20 % larger."""
    folders = (tmp_path / "a", tmp_path / "b")
    for folder in folders:
        report_sample.write(folder, tmp_path / "results")
    path = folders[1] / "index.json"
    index = json.loads(path.read_text())
    index["figures"][0]["comparisons"][0]["ours"] *= 1.2
    path.write_text(json.dumps(index))
    return folders


def test_diff_takes_folders_of_figures(figures: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = map(str, figures)
    other = CliRunner().invoke(app, ["diff", a, b, "--json", str(tmp_path / "diff.json")])
    assert "20.0 %" in other.output
    data = json.loads((tmp_path / "diff.json").read_text())
    assert sorted({round(number["ratio"], 6) for number in data if number["ratio"]}) == [1.0, 1.2]
    assert (other.exit_code, CliRunner().invoke(app, ["diff", a, a]).exit_code) == (1, 0)


def test_figures_without_a_common_number_are_an_error(figures: tuple[Path, Path]) -> None:
    path = figures[1] / "index.json"
    index = json.loads(path.read_text())
    index["figures"] = []
    path.write_text(json.dumps(index))
    done = CliRunner().invoke(app, ["diff", *map(str, figures)])
    assert done.exit_code != 0
    assert "no number in common" in str(done.exception)
