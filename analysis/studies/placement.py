# SPDX-License-Identifier: BSD-3-Clause
"""How much of a result is placement: the range over seeds of every value of some figures.

A seed chooses the placement of page frames, the phase of the timer and the offsets of the vCPU clocks, and nothing that
a figure studies. The range of a value is the distance of its ends over the median.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import quantiles

from testbed.errors import TestbedError

from ..data import over_seeds
from ..data.chart import Bars, Chart, Group
from ..data.drawn import Drawn, Gathered
from ..data.values import by_name

NAME = "placement"
MEASURES = ("half of the values", "nine of ten", "all values")


@dataclass(frozen=True)
class Shown:
    """A figure whose values are looked at: its manifests, and the function that draws it."""

    manifests: Sequence[str]
    draw: Callable[[Gathered], Drawn]


@dataclass(frozen=True)
class Ranges:
    """The ranges of one figure's values in percent of their medians, by the value's name, narrowest first."""

    figure: str
    percent: Mapping[str, float]

    def below(self) -> dict[str, float]:
        """Return the range that half of the values do not exceed, that nine of ten do not, and that none does."""
        values = list(self.percent.values())
        tenths = quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
        return dict(zip(MEASURES, (tenths[4], tenths[8], values[-1]), strict=True))


def ranges(figure: str, charts: Sequence[Chart]) -> Ranges:
    """Return the ranges of a figure's values. A value whose median is 0 has none."""
    found = {name: one for name, one in over_seeds.ranges_of(charts).items() if one.median}
    percent = {name: 100 * (one.high - one.low) / abs(one.median) for name, one in found.items()}
    return Ranges(figure, dict(sorted(percent.items(), key=lambda item: item[1])))


def drawn(figures: Mapping[str, Shown]) -> Callable[[Gathered], Drawn]:
    """Return the function that draws the ranges of these figures, from results of several seeds."""

    def draw(gathered: Gathered) -> Drawn:
        seeds = gathered.by_seed()
        if len(seeds) < 2:
            raise TestbedError(f"figure {NAME} shows ranges over seeds; add --seeds N, with N of at least 2")
        made = [
            ranges(name, [shown.draw(one.of(shown.manifests)).chart for one in seeds])
            for name, shown in figures.items()
        ]
        return _drawn(made, len(seeds))

    return draw


def _drawn(made: Sequence[Ranges], seeds: int) -> Drawn:
    categories = [one.figure for one in made]
    groups = [Group(name, by_name((one.figure, one.below()[name]) for one in made)) for name in MEASURES]
    caption = f"The range of each value over {seeds} seeds, in percent of its median."
    return Drawn(
        name=NAME,
        title="How much of a result is placement",
        caption=caption,
        notes=[
            "Scaled down: each figure at its quick scale.",
            *(f"{name}: the range does not exceed this." for name in MEASURES),
        ],
        columns=["figure", "values", *(f"{name}, %" for name in MEASURES), "the value with the widest range"],
        rows=[[one.figure, len(one.percent), *one.below().values(), list(one.percent)[-1]] for one in made],
        chart=Chart([[Bars(categories, groups, "range over seeds, % of the median")]], caption, scaled_down=True),
    )
