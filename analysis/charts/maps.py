# SPDX-License-Identifier: BSD-3-Clause
"""A map of ratios over two quantities, and its colour bar."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.figure import Figure

from ..data.chart import Map
from . import palette


def draw_map(axes: Axes, panel: Map) -> Any:
    """Draw a map and return its mesh, from which draw_colours() takes the colours."""
    across, up = list(panel.across), list(panel.up)
    norm = LogNorm(1 / panel.limit, panel.limit)
    stops = palette.BAD_TO_GOOD if panel.good == "high" else palette.BAD_TO_GOOD[::-1]
    colours = LinearSegmentedColormap.from_list(panel.good, stops)
    mesh = axes.pcolormesh(across, up, panel.ratios, cmap=colours, norm=norm, shading="nearest")
    every = [ratio for row in panel.ratios for ratio in row]
    if min(every) < 1 < max(every):
        axes.contour(across, up, panel.ratios, levels=[1], colors=palette.GREEN, linewidths=1.5)
    for y, row in zip(up, panel.ratios, strict=True):
        for x, ratio in zip(across, row, strict=True):
            ink = "white" if max(ratio, 1 / ratio) ** 1.5 > panel.limit else "black"
            axes.text(x, y, shown_ratio(ratio), ha="center", va="center", fontsize=5, color=ink)
    axes.set_xticks(across, list(panel.across.values()), fontsize=6, rotation=45)
    axes.set_yticks(up, list(panel.up.values()), fontsize=6)
    axes.set_xlabel(panel.x_label, fontsize=7)
    axes.set_ylabel(panel.y_label, fontsize=7)
    return mesh


def draw_colours(figure: Figure, mesh: Any, row: Sequence[Axes], limit: float) -> None:
    """Draw the colour bar beside a row of maps that share one limit."""
    bar = figure.colorbar(mesh, ax=list(row), ticks=[1 / limit, 1, limit])
    bar.ax.set_yticklabels([f"1/{limit:.3g}", "1", f"{limit:.3g}"])
    bar.minorticks_off()
    bar.ax.tick_params(labelsize=6)


def shown_ratio(ratio: float) -> str:
    """Format a ratio with two decimals; from 10 on without decimals, below 0.1 with two significant digits."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
