# SPDX-License-Identifier: BSD-3-Clause
"""The figure and table of any manifest with a [plot], from its runs or from their replays."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from testbed import units
from testbed.errors import TestbedError
from testbed.manifest import bases, parse
from testbed.manifest.guest_config import GuestConfig
from testbed.manifest.parse import Manifest, PlotSection
from testbed.manifest.scale import guest_config
from testbed.results.results import Result
from testbed.results.spread import Spread

from ..data import records, tables
from ..data.chart import Axis, Chart, Line, Lines
from ..data.drawn import Drawn, Gathered
from ..data.records import HIT_RATE, TIME, Cell, Records
from ..data.tables import short
from ..data.values import Value

ALWAYS = (TIME, HIT_RATE, "cache-misses")
STEEP = 20.0  # an axis is logarithmic from this ratio of largest to smallest value on
UNITS = (units.SIZE_BYTES, units.TIME_PS, units.BANDWIDTH, units.ENERGY_UJ)


@dataclass(frozen=True)
class Study:
    """The input of a figure: the manifest, its machines at scale, and the records."""

    manifest: Manifest
    machines: Sequence[GuestConfig]
    records: Records
    kind: str = ""  # "replay", if these are replays

    @property
    def plot(self) -> PlotSection:
        """The manifest's [plot]; without one, the time over the first axis."""
        first = next(iter(self.manifest.matrix), "")
        return self.manifest.plot or PlotSection(x=first, y=[TIME])

    @property
    def title(self) -> str:
        """The manifest's summary, the scale, the devices, and the sizes of device cache and LLC in the guest."""
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


def of_results(stated: Manifest, results: Sequence[Result]) -> Study:
    """Return the study of the results of a manifest."""
    machines = [guest_config(stated, result.point) for result in results]
    return Study(stated, machines, records.of_points(results, stated.results.pattern))


def columns(study: Study) -> list[str]:
    """List the axes, the keys that the program stated, and the numbers that the model measured."""
    plot = study.plot
    chosen = [*study.manifest.matrix, plot.x, plot.series, *study.records.stated, *ALWAYS, *plot.y]
    return [key for key in dict.fromkeys(chosen) if any(key in record for record in study.records.all)]


def shown(key: str, value: Cell | None) -> str:
    """Format a cell for people."""
    if value is None:
        return "-"
    if key == TIME and isinstance(value, int):
        return units.show_time(value)
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"


def cells(study: Study, keys: Sequence[str]) -> Iterator[list[str]]:
    """Format the records for people; a number that differs between seeds is followed by its range."""
    spreads = study.records.spreads or [{}] * len(study.records.all)
    for record, spread in zip(study.records.all, spreads, strict=True):
        yield [spread[key].text(partial(shown, key)) if key in spread else shown(key, record.get(key)) for key in keys]


def table_text(study: Study) -> str:
    """Format the table for people."""
    keys = columns(study)
    lines = [keys, *cells(study, keys)]
    return "\n".join([study.title, *tables.aligned(lines)])


def table_csv(study: Study) -> str:
    """Format the table as CSV with every counter and times in ps; over several seeds, with the ends of each range."""
    out = io.StringIO()
    spreads = study.records.spreads or [{}] * len(study.records.all)
    rows = [record | _ends(spread) for record, spread in zip(study.records.all, spreads, strict=True)]
    keys = dict.fromkeys([*columns(study), *(key for row in rows for key in sorted(row))])
    writer = csv.DictWriter(out, list(keys), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _ends(spread: Mapping[str, Spread]) -> dict[str, Cell]:
    ends: dict[str, Cell] = {}
    for key, one in spread.items():
        if one.low != one.high:
            ends |= {f"{key} low": one.low, f"{key} high": one.high}
    return ends


def check(study: Study) -> None:
    """Raise a TestbedError if a name in the [plot] is not in the records."""
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
            raise TestbedError(
                f"{study.manifest.origin}: key '{key}': '{name}' is not in the results; there are: {have}"
            )


def quantity(value: Cell) -> float | None:
    """Convert a number, or a value with a unit, to a number; None if `value` is neither."""
    if not isinstance(value, str):
        return float(value)
    for table in UNITS:
        try:
            return float(units.parse(value, table))
        except ValueError:
            continue
    return None


def lines_of(study: Study, y: str) -> dict[Cell, list[tuple[Cell, float]]]:
    """Map each series to its points. Records without x or a numeric y are left out, and equal points appear once."""
    plot = study.plot
    lines: dict[Cell, dict[tuple[Cell, float], None]] = {}
    for record in study.records.all:
        value = record.get(y)
        if plot.x not in record or isinstance(value, str) or value is None:
            continue
        line = lines.setdefault(record.get(plot.series, "") if plot.series else "", {})
        line[record[plot.x], float(value)] = None
    return {name: list(points) for name, points in lines.items()}


def ranges_of(study: Study, y: str) -> dict[tuple[Cell, Cell], Spread]:
    """Map each (series, x) to the range of its value, if the seeds differ."""
    plot, found = study.plot, dict[tuple[Cell, Cell], Spread]()
    for record, spread in zip(study.records.all, study.records.spreads, strict=bool(study.records.spreads)):
        if y in spread and plot.x in record and spread[y].low != spread[y].high:
            found[record.get(plot.series, "") if plot.series else "", record[plot.x]] = spread[y]
    return found


def chart(study: Study) -> Chart:
    """Make a panel for each `y`."""
    panels = [_panel(study, y) for y in study.plot.y]
    return Chart([panels], study.title, legend_title="" if study.kind else study.plot.series)


def _panel(study: Study, y: str) -> Lines:
    lines = lines_of(study, y)
    stated = list(dict.fromkeys(x for found in lines.values() for x, _ in found))
    values = [value for x in stated if (value := quantity(x)) is not None and value > 0]
    numeric = len(values) == len(stated) > 1
    places = dict(zip(stated, values if numeric else map(float, range(len(stated))), strict=True))
    factor = 1e-9 if y == TIME else 1
    ranges = ranges_of(study, y)
    shown = [
        Line(str(name), [(places[x], _value(value, ranges.get((name, x)), factor)) for x, value in found])
        for name, found in lines.items()
    ]
    heights = [value for found in lines.values() for _, value in found]
    steep = min(heights, default=0) > 0 and max(heights) / min(heights) >= STEEP
    at_full_size = study.manifest.scale > 1 and numeric
    return Lines(
        Axis(
            f"{study.plot.x}, as stated at full size" if at_full_size else study.plot.x,
            "log" if numeric and max(values) / min(values) >= STEEP else "linear",
            {place: str(x) for x, place in places.items()},
        ),
        Axis("time (ms, virtual)" if y == TIME else y, "log" if steep else "linear", from_zero=not steep),
        shown,
    )


def _value(value: float, spread: Spread | None, factor: float) -> Value:
    if spread is None:
        return Value(value * factor)
    return Value(value * factor, spread.low * factor, spread.high * factor)


def figure(study: Study) -> Drawn:
    """Draw the study, named after its manifest."""
    keys, (title, caption) = columns(study), study.title.split("\n")
    return Drawn(
        name="-".join(filter(None, (study.manifest.name, study.kind))),
        title=title,
        caption=caption,
        notes=[],
        columns=[f"{key}, ms" if key == TIME else key for key in keys],
        rows=[[_number(key, record.get(key)) for key in keys] for record in study.records.all],
        chart=chart(study),
        text=table_text(study),
        csv=table_csv(study),
    )


def drawn(name: str) -> Callable[[Gathered], Drawn]:
    """Return the function with which the catalogue draws the manifest `name`."""

    def draw_it(gathered: Gathered) -> Drawn:
        path, results = bases.find(name), gathered.results[name]
        study = of_results(parse.load(path, results[0].data["scale"]), results)
        check(study)
        return figure(study)

    return draw_it


def _number(key: str, value: Cell | None) -> Cell | None:
    """Convert a cell for the index of figures: numbers to five digits, times to ms."""
    if key == TIME and isinstance(value, int):
        return short(value * 1e-9)
    return short(value) if isinstance(value, float) else value
