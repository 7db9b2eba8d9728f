# SPDX-License-Identifier: BSD-3-Clause
"""Bars have a length that says something, and a star in a table is in the figure too."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

from analysis import plotting


def log_bars(axes: Axes) -> None:
    axes.bar([0, 1], [2, 3])
    axes.set_yscale("log")


def cut_bars(axes: Axes) -> None:
    axes.bar([0, 1], [2, 3])
    axes.set_ylim(0.7, 4)


def cut_wide_bars(axes: Axes) -> None:
    axes.barh([0, 1], [2, 3])
    axes.set_xlim(1, 4)


def whole_bars(axes: Axes) -> None:
    axes.bar([10, 11], [2, 3])


def wide_bars(axes: Axes) -> None:
    axes.barh([10, 11], [2, 3])
    axes.set_yscale("log")


def log_points(axes: Axes) -> None:
    plotting.points(axes, [0, 1], [2, 3], "black", "ours")
    axes.set_yscale("log")


@pytest.mark.parametrize("draw", [log_bars, cut_bars, cut_wide_bars])
def test_bars_without_a_zero_are_not_saved(draw: Callable[[Any], None], tmp_path: Path) -> None:
    figure, axes = pyplot.subplots()
    draw(axes)
    with pytest.raises(AssertionError, match="bars need a linear axis"):
        plotting.save(figure, tmp_path / "cut")
    pyplot.close(figure)


@pytest.mark.parametrize("draw", [whole_bars, wide_bars, log_points])
def test_other_figures_are_saved(draw: Callable[[Any], None], tmp_path: Path) -> None:
    figure, axes = pyplot.subplots()
    draw(axes)
    assert len(plotting.save(figure, tmp_path / "whole")) == 3
    pyplot.close(figure)
