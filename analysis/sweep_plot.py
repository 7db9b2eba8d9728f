# SPDX-License-Identifier: BSD-3-Clause
"""The figure and table that any manifest with a [plot] gets, of its runs or of their replays."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from testbed import units
from testbed.errors import TestbedError
from testbed.manifest import bases, manifest
from testbed.manifest.manifest import GuestConfig, Manifest, PlotSection
from testbed.results.results import Result

from . import plotting, records
from .drawn import Drawn, Gathered
from .plotting import short
from .records import HIT_RATE, TIME, Cell, Records

ALWAYS = (TIME, HIT_RATE, "cache-misses")
STEEP = 20.0  # from this ratio of largest to smallest on, an axis is logarithmic
LETTERS_PER_INCH = 13  # of a legend, about
UNITS = (units.SIZE_BYTES, units.TIME_PS, units.BANDWIDTH, units.ENERGY_UJ)


@dataclass(frozen=True)
class Study:
    """What is drawn: the manifest, its machines at scale, and the records."""

    manifest: Manifest
    machines: Sequence[GuestConfig]
    records: Records
    kind: str = ""  # "replay", if these are replays

    @property
    def plot(self) -> PlotSection:
        """The manifest's, or the first axis against the time."""
        first = next(iter(self.manifest.matrix), "")
        return self.manifest.plot or PlotSection(x=first, y=[TIME])

    @property
    def title(self) -> str:
        """The scale and the sizes that stand against the data's."""
        caches = sorted({machine.device.cache_size for machine in self.machines})
        llc = units.show_size(self.machines[0].cpu.llc_size)
        cache = " to ".join(units.show_size(size) for size in dict.fromkeys((caches[0], caches[-1])))
        ratio = " to ".join(
            f"{size / self.machines[0].cpu.llc_size:.3g}" for size in dict.fromkeys((caches[0], caches[-1]))
        )
        device = ", ".join(dict.fromkeys(machine.device.name for machine in self.machines))
        return (
            f"{self.manifest.summary}\n{self.kind + ', ' if self.kind else ''}scale 1/{self.manifest.scale}, {device}; "
            f"in the guest: device cache {cache}, LLC {llc} (ratio {ratio})"
        )


def of_results(stated: Manifest, origin: Path, results: Sequence[Result]) -> Study:
    """What the results of the manifest in `origin` show."""
    machines = [manifest.guest_config(stated, origin, result.point) for result in results]
    return Study(stated, machines, records.of_results(results, stated.results.pattern))


def columns(study: Study) -> list[str]:
    """The axes, what the program said, and what the model measured."""
    plot = study.plot
    chosen = [*study.manifest.matrix, plot.x, plot.series, *study.records.stated, *ALWAYS, *plot.y]
    return [key for key in dict.fromkeys(chosen) if any(key in record for record in study.records.all)]


def shown(key: str, value: Cell | None) -> str:
    """A cell for people."""
    if value is None:
        return "-"
    if key == TIME and isinstance(value, int):
        return units.show_time(value)
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"


def table_text(study: Study) -> str:
    """The table for people."""
    keys = columns(study)
    lines = [keys, *([shown(key, record.get(key)) for key in keys] for record in study.records.all)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
    text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([study.title, *text])


def table_csv(study: Study) -> str:
    """The table for programs, every counter in it; times are in ps."""
    out = io.StringIO()
    keys = dict.fromkeys([*columns(study), *(key for record in study.records.all for key in sorted(record))])
    writer = csv.DictWriter(out, list(keys), lineterminator="\n")
    writer.writeheader()
    writer.writerows(study.records.all)
    return out.getvalue()


def check(study: Study, origin: Path) -> None:
    """Whether every name of the [plot] is in the records."""
    known = {key for record in study.records.all for key in record}
    plot = study.plot
    named = [
        ("plot.x", plot.x),
        *(("plot.y", y) for y in plot.y),
        *([("plot.series", plot.series)] if plot.series else []),
    ]
    for key, name in named:
        if name not in known:
            have = ", ".join(sorted(known)) or "nothing"
            raise TestbedError(f"{origin}: key '{key}': '{name}' is not in the results; there are: {have}")


def quantity(value: Cell) -> float | None:
    """A number or a value with a unit as a number; None if it is neither."""
    if not isinstance(value, str):
        return float(value)
    for table in UNITS:
        try:
            return float(units.parse(value, table))
        except ValueError:
            continue
    return None


def lines_of(study: Study, y: str) -> dict[Cell, list[tuple[Cell, float]]]:
    """Series -> its points; records that lack something are not drawn, equal ones once."""
    plot = study.plot
    lines: dict[Cell, dict[tuple[Cell, float], None]] = {}
    for record in study.records.all:
        value = record.get(y)
        if plot.x not in record or isinstance(value, str) or value is None:
            continue
        line = lines.setdefault(record.get(plot.series, "") if plot.series else "", {})
        line[record[plot.x], float(value)] = None
    return {name: list(points) for name, points in lines.items()}


def draw(study: Study) -> Any:
    """A panel for each `y`."""
    count = len(study.plot.y)
    width = 1.2 + 3.4 * count
    with plt.rc_context(plotting.STYLE):
        figure, panels = plt.subplots(1, count, figsize=(width, 3.4), layout="constrained", squeeze=False)
        for panel, y in zip(panels[0], study.plot.y, strict=True):
            _panel(panel, study, y)
        handles, labels = panels[0][0].get_legend_handles_labels()
        if len(labels) > 1:
            abreast = max(int(width * LETTERS_PER_INCH / (max(map(len, labels)) + 6)), 1)
            title = "" if study.kind else study.plot.series
            figure.legend(handles, labels, title=title, loc="outside lower center", ncols=abreast, frameon=False)
        figure.suptitle(study.title, fontsize=8, wrap=True)
        return figure


def _panel(panel: Axes, study: Study, y: str) -> None:
    lines = lines_of(study, y)
    stated = list(dict.fromkeys(x for points in lines.values() for x, _ in points))
    values = [value for x in stated if (value := quantity(x)) is not None and value > 0]
    numeric = len(values) == len(stated) > 1
    places = dict(zip(stated, values if numeric else map(float, range(len(stated))), strict=True))
    factor = 1e-9 if y == TIME else 1
    for name, points in lines.items():
        panel.plot(
            [places[x] for x, _ in points], [value * factor for _, value in points], "o-", markersize=3, label=str(name)
        )
    if numeric and max(values) / min(values) >= STEEP:
        panel.set_xscale("log")
        panel.minorticks_off()
    panel.set_xticks(list(places.values()), [str(x) for x in stated], rotation=45 if len(stated) > 5 else 0)
    heights = [value for points in lines.values() for _, value in points]
    if min(heights, default=0) > 0 and max(heights) / min(heights) >= STEEP:
        panel.set_yscale("log")
    else:
        panel.set_ylim(bottom=0)
    panel.set_xlabel(
        f"{study.plot.x}, as stated at full size" if study.manifest.scale > 1 and numeric else study.plot.x
    )
    panel.set_ylabel("time (ms, virtual)" if y == TIME else y)


def write(study: Study, folder: Path) -> list[Path]:
    """The figure in three formats and the table in two, named for the manifest; returns the paths."""
    stem = folder / "-".join(filter(None, (study.manifest.name, study.kind)))
    figure = draw(study)
    with plt.rc_context(plotting.STYLE):
        written = plotting.save(figure, stem)
    plt.close(figure)
    return written + plotting.write_tables(stem, table_text(study) + "\n", table_csv(study))


def drawn(name: str) -> Callable[[Gathered, Path], Drawn]:
    """What draws the manifest of this name, as the catalogue has it."""

    def draw_it(gathered: Gathered, folder: Path) -> Drawn:
        path, results = bases.find(name), gathered.results[name]
        study = of_results(manifest.load(path, results[0].data["scale"]), path, results)
        check(study, path)
        keys, (title, caption) = columns(study), study.title.split("\n")
        rows = [[_number(key, record.get(key)) for key in keys] for record in study.records.all]
        heads = [f"{key}, ms" if key == TIME else key for key in keys]
        return Drawn(name, title, caption, [], heads, rows, [], write(study, folder))

    return draw_it


def _number(key: str, value: Cell | None) -> Cell | None:
    """A cell for an index of figures: with five digits, and a time in ms."""
    if key == TIME and isinstance(value, int):
        return short(value * 1e-9)
    return short(value) if isinstance(value, float) else value
