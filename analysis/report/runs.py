# SPDX-License-Identifier: BSD-3-Clause
"""The runs behind the figures as the page shows them: configuration, counters, and where the time went."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from testbed import units
from testbed.manifest import bases
from testbed.results import time_shares
from testbed.results.results import Result, roi_counters

from ..charts import interactive
from ..charts.palette import COLOURS
from ..data.chart import Axis, Chart, Group, Parts
from ..data.values import Value
from .index import Index, RunName
from .machines import Machines

SHARES_LETTERS = 34  # of the name of a run in the chart of a manifest's runs


def key_of(run: RunName) -> str:
    """Return the name of a run within the page."""
    return f"run-{run.manifest}-{run.digest[:16]}"


def manifest_texts(names: Sequence[str]) -> dict[str, str]:
    """Map each manifest that ships to its text. Results of a user's manifest do not contain its text."""
    shipped = {path.stem: path for path in bases.shipped()}
    return {name: shipped[name].read_text(encoding="utf-8") for name in names if name in shipped}


def details(index: Index, loaded: Mapping[RunName, Result], of: Machines) -> dict[str, Any]:
    """Return the data from which the page shows one run.

    `counters` has the names of all counters, and each run has its values in that order.
    """
    counters = {run: _counters(result) for run, result in loaded.items()}
    names = list(dict.fromkeys(name for counted in counters.values() for name in counted))
    return {
        "counters": names,
        "places": [[place.name, COLOURS[place.name]] for place in time_shares.PLACES],
        "runs": {
            key_of(run): {
                "manifest": run.manifest,
                "label": run.label,
                "configuration": _configuration(run, result, of),
                "figures": [[figure.name, figure.title] for figure in index.figures if run in figure.results],
                "counters": [counters[run].get(name) for name in names],
                "cpus": _times_by_cpu(result),
            }
            for run, result in loaded.items()
        },
    }


def _configuration(run: RunName, result: Result, of: Machines) -> list[list[str]]:
    """Return names and values; the hash and the file identify the result, and the rest entered the hash."""
    machine = of.of(result)
    return [
        ["outcome", result.outcome],
        ["scale", f"1/{run.scale}"],
        ["seed", str(result.seed)],
        ["machine", machine.name],
        ["CPU", machine.cpu["name"]],
        ["device", machine.device["name"]],
        ["differs from the profiles in", machine.changes],
        ["memory", machine.memory],
        ["file system", machine.file_system],
        ["software", machine.components],
        ["command", shlex.join(result.data["identity"]["argv"])],
        ["hash", run.digest],
        ["file", f"results/{run.manifest}/{run.label}-{run.digest[:16]}.json"],
    ]


def _counters(result: Result) -> dict[str, int]:
    return roi_counters(result.rois[-1]) if result.rois else {}


def _times_by_cpu(result: Result) -> list[list[int]]:
    """Return the time of each CPU in ps by PLACES; empty if the counters do not have the times of CPUs."""
    if not _has_times(result):
        return []
    return [[share.time_ps for share in cpu] for cpu in time_shares.by_cpu(result.rois)]


def _has_times(result: Result) -> bool:
    return bool(result.rois) and all("vcpus" in roi for roi in result.rois)


def times(loaded: Mapping[RunName, Result]) -> dict[str, dict[str, Any]]:
    """Map each manifest to a figure of its runs' time by cause, and the names of the runs from top to bottom."""
    by_manifest: dict[str, list[tuple[RunName, Result]]] = {}
    for run, result in loaded.items():
        if _has_times(result):
            by_manifest.setdefault(run.manifest, []).append((run, result))
    return {name: _times_of(name, found) for name, found in by_manifest.items()}


def _times_of(manifest: str, found: Sequence[tuple[RunName, Result]]) -> dict[str, Any]:
    names = _distinct([_short(run, result) for run, result in found])
    shares = [time_shares.shares(result.rois) for _, result in found]
    parts = [
        Group(place.name, {name: Value(of_run[n].percent) for name, of_run in zip(names, shares, strict=True)})
        for n, place in enumerate(time_shares.PLACES)
        if any(of_run[n].time_ps for of_run in shares)
    ]
    lengths = {
        name: units.show_time(sum(s.mean_ps for s in of_run)) for name, of_run in zip(names, shares, strict=True)
    }
    x = Axis("% of the time of all CPUs; behind the bar: virtual time of a CPU", limits=(0, 118))
    scales = ", ".join(f"1/{scale}" for scale in dict.fromkeys(run.scale for run, _ in found))
    chart = Chart([[Parts(names, parts, x, said=lengths)]], f"{manifest}: time by cause, scale {scales}")
    return {"figure": interactive.as_json_data(chart), "runs": [key_of(run) for run, _ in found]}


def _short(run: RunName, result: Result) -> str:
    label = f"{run.label} seed {result.seed}" if result.seed else run.label
    return label if len(label) <= SHARES_LETTERS else f"…{label[1 - SHARES_LETTERS :]}"


def _distinct(names: Sequence[str]) -> list[str]:
    """Add a number to each name that has occurred before."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
