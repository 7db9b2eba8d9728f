# SPDX-License-Identifier: BSD-3-Clause
"""Two tenants of one device: point reads alone and beside a scan, by the policy of the device's cache."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from testbed.results.results import Result

from ..data import ratios, records
from ..data.chart import Bars, Chart, Group
from ..data.drawn import Cell, Drawn, Gathered
from ..data.values import by_name

NAME = "tenants"


@dataclass(frozen=True)
class Tenants:
    """One run: the latencies of point reads and the bandwidth of the scan, each 0 if the run did not include it."""

    policy: str
    who: str
    mean_ns: float = 0.0
    p50_ns: int = 0
    p90_ns: int = 0
    p99_ns: int = 0
    scan_mb_per_s: float = 0.0


def measured(results: Sequence[Result]) -> dict[tuple[str, str], Tenants]:
    """Return the runs by policy and by tenants."""
    found = [_tenants(result) for result in results]
    return {(one.policy, one.who): one for one in found}


def _tenants(result: Result) -> Tenants:
    policy, whole = str(result.point["policy"]), records.row_of(result, "roi_ns")
    scan_mb_per_s = whole["scanned_bytes"] * 1e3 / whole["roi_ns"]
    rows = [row for row in result.rows if "histogram" in row]
    if not rows:
        return Tenants(policy, whole["tenants"], scan_mb_per_s=scan_mb_per_s)
    row = rows[0]
    quantiles = (row["p50_ns"], row["p90_ns"], row["p99_ns"])
    return Tenants(policy, whole["tenants"], _mean_ns(row), *quantiles, scan_mb_per_s)


def _mean_ns(row: Mapping[str, Any]) -> float:
    """Return the mean of the histogram, which is accurate to 1/64."""
    pairs = [[int(number) for number in word.split(":")] for word in row["histogram"].split()]
    return sum(last_ns * count for last_ns, count in pairs) / int(row["count"])


def drawn(gathered: Gathered) -> Drawn:
    """Draw the figure for the catalogue."""
    results = gathered.results[NAME]
    runs, whole = measured(results), records.row_of(results[0], "roi_ns")
    policies = list(dict.fromkeys(policy for policy, _ in runs))
    sizes = f"points : scan = {whole['points_bytes'] / 2**20:g} MiB : {whole['scan_bytes'] / 2**20:g} MiB"
    caption = f"Virtual ns. {_device(results[0])}, {ratios.text(results[0])}, {sizes}."
    return Drawn(
        name=NAME,
        title="Point reads and a scan on two CPUs and one device",
        caption=caption,
        notes=[
            "Eight lines of each page of the points are read before; no policy but the device's decides what stays.",
            "No line is read twice, so none of these reads hits a cache of the CPU.",
            "Each latency has one reading of the clock in it, and is known to 1/64.",
        ],
        columns=[
            *("policy", "mean alone", "beside", "p50 alone", "beside", "p90 alone", "beside", "p99 alone", "beside"),
            *("scan MB/s alone", "beside"),
        ],
        rows=[_row(policy, runs) for policy in policies],
        chart=_chart(policies, runs, caption),
    )


def _device(result: Result) -> str:
    return str(result.data["identity"]["machine"]["device"]["name"])


def _row(policy: str, runs: Mapping[tuple[str, str], Tenants]) -> list[Cell]:
    alone, both, scan = (runs[policy, who] for who in ("points", "both", "scan"))
    times = [(alone.mean_ns, both.mean_ns), (alone.p50_ns, both.p50_ns), (alone.p90_ns, both.p90_ns)]
    times.append((alone.p99_ns, both.p99_ns))
    return [policy, *(cell for pair in times for cell in pair), scan.scan_mb_per_s, both.scan_mb_per_s]


def _chart(policies: Sequence[str], runs: Mapping[tuple[str, str], Tenants], heading: str) -> Chart:
    shown: tuple[tuple[str, str, Callable[[Tenants], float]], ...] = (
        ("point read: mean, us", "points", lambda t: t.mean_ns / 1e3),
        ("point read: 99 %, us", "points", lambda t: t.p99_ns / 1e3),
        ("scan, MB/s", "scan", lambda t: t.scan_mb_per_s),
    )
    panels = []
    for label, alone, value in shown:
        groups = [
            Group(said, by_name((policy, value(runs[policy, who])) for policy in policies))
            for said, who in (("alone", alone), ("both", "both"))
        ]
        panels.append(Bars(policies, groups, label))
    return Chart([panels], heading, scaled_down=True)
