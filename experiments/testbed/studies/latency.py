# SPDX-License-Identifier: BSD-3-Clause
"""The latency table: the cost of each primitive by the profiles, in closed form, beside the guest's measurement.

The instructions of the measuring loop cost `insn_ps` each, in addition to the stalls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import RunFailed
from ..manifest.closed_forms import dram_ps, hit_ps, miss_ps, persist_ps
from ..manifest.guest_config import GuestConfig
from ..results.results import Result

TOLERANCE = Fraction(1, 100)


@dataclass(frozen=True)
class Row:
    """The expected and the measured time of one primitive."""

    metric: str
    what: str
    expected_ps: float
    measured_ps: float

    @property
    def deviation(self) -> float:
        return self.measured_ps / self.expected_ps - 1

    @property
    def ok(self) -> bool:
        return abs(self.deviation) <= TOLERANCE

    def as_data(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "expected_ps": round(self.expected_ps),
            "measured_ps": round(self.measured_ps),
            "deviation_percent": round(100 * self.deviation, 3),
            "ok": self.ok,
        }


STALLS: dict[str, tuple[str, Callable[[GuestConfig], Fraction]]] = {
    "l1": ("load, L1 hit", lambda _: Fraction(0)),
    "dram": ("load, local DRAM", dram_ps),
    "cxl_hit": ("load, device-cache hit", hit_ps),
    "cxl_miss": ("load, device-cache miss", miss_ps),
    "store_clwb_sfence": ("store + clwb + sfence", persist_ps),
    "ntstore_sfence": ("non-temporal store + sfence", persist_ps),
}


def table(result: Result, guest: GuestConfig) -> list[Row]:
    """Return one row for each metric, in the order of STALLS. RunFailed: the guest did not report a metric."""
    measured = {row["metric"]: row for row in result.rows if "metric" in row}
    missing = [metric for metric in STALLS if metric not in measured]
    if missing:
        raise RunFailed(f"{result.path}: the guest reported no {', '.join(missing)}")
    rows = []
    for metric, (what, stall) in STALLS.items():
        loop_ps = Fraction(str(measured[metric]["instructions_per_op"])) * guest.cpu.insn_ps
        expected_ps = float(loop_ps + stall(guest))
        rows.append(Row(metric, what, expected_ps, float(measured[metric]["measured_ps_per_op"])))
    return rows
