# SPDX-License-Identifier: BSD-3-Clause
"""The latency table: what the profiles say a primitive costs, in closed form, beside what the guest measured.

Stalls are load-to-use beyond L1 and are not summed over cache levels: an access that leaves the CPU stalls for one
LLC look-up and then for what is behind it. The instructions of the measuring loop cost `insn_ps` each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..errors import RunFailed
from ..manifest.manifest import GuestConfig
from ..manifest.parameters import DeviceProfile
from ..manifest.profiles import LINE_BYTES
from ..results.results import Result
from ..units import TIME_PS

TOLERANCE = Fraction(1, 100)


@dataclass(frozen=True)
class Row:
    """One primitive."""

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


HEADER_SLOTS, LINE_SLOTS = 1, 4  # of 16 bytes


def transfer_ps(bandwidth: int, size_bytes: int = LINE_BYTES) -> Fraction:
    """The time that many bytes, one line if not said, take on a link or channel of `bandwidth` bytes a second."""
    return Fraction(size_bytes * TIME_PS["s"], bandwidth)


def message_ps(device: DeviceProfile, lines: int, bandwidth: int, headers: int = 1) -> Fraction:
    """A message's time on the wire: its slots' share of a flit, or without flits its lines alone."""
    if not device.link_flit_bytes:
        return lines * transfer_ps(bandwidth)
    flit_slots = 4 if device.link_flit_bytes == 68 else 15
    slots = headers * HEADER_SLOTS + lines * LINE_SLOTS
    return transfer_ps(bandwidth, slots * device.link_flit_bytes) / flit_slots


def refresh_ps(device: DeviceProfile) -> Fraction:
    """What an access of the device DRAM waits for refresh, in the mean over all times that it may come."""
    if not device.cache_refresh_ps:
        return Fraction(0)
    return Fraction(device.cache_refresh_ps**2, 2 * device.cache_refresh_interval_ps)


def device_ps(device: DeviceProfile) -> Fraction:
    """From a request's arrival at the device to its line's way through the device DRAM, in the mean."""
    line = transfer_ps(device.cache_bandwidth) if device.cache_bandwidth else 0
    accesses = 2 if device.cache_tag_ps else 1
    look_up = device.cache_tag_ps + device.cache_latency_ps + accesses * refresh_ps(device)
    return device.controller_latency_ps + look_up + line


def dram_ps(guest: GuestConfig) -> Fraction:
    cpu = guest.cpu
    return cpu.llc_latency_ps + cpu.dram_latency_ps + transfer_ps(cpu.dram_bandwidth)


def hit_ps(guest: GuestConfig) -> Fraction:
    device = guest.device
    request = message_ps(device, 0, device.link_write_bandwidth)
    data = message_ps(device, 1, device.link_read_bandwidth)
    return guest.cpu.llc_latency_ps + 2 * device.link_latency_ps + request + data + device_ps(device)


def miss_ps(guest: GuestConfig) -> Fraction:
    device = guest.device
    channel = device.flash_channel_bandwidth
    page = transfer_ps(channel, device.cache_page_size) if channel else 0
    return hit_ps(guest) + device.flash_read_ps + page


def persist_ps(guest: GuestConfig) -> Fraction:
    """A line that the core sends, accepted by the device's cache or the host's write queue: what a fence waits for."""
    device, way = guest.device, guest.cpu.llc_latency_ps
    if device.write_queue:
        return Fraction(way + 2 * device.link_latency_ps)
    data = message_ps(device, 1, device.link_write_bandwidth)
    completion = message_ps(device, 0, device.link_read_bandwidth)
    return way + 2 * device.link_latency_ps + data + completion + device_ps(device)


def nt_stores_ps(guest: GuestConfig, size_bytes: int) -> Fraction:
    """So many bytes of a long row of non-temporal stores: each buffer sends a line in the time that one write takes."""
    return persist_ps(guest) * size_bytes / LINE_BYTES / guest.cpu.wc_buffers


def mix_bandwidth(device: DeviceProfile, reads: int, writes: int) -> float:
    """Bytes a second of a mix of line reads and writes that hit: the busiest of wires, controller and device DRAM.
    A header slot to the host holds a completion and a line's header, or those of two lines if they may share one."""
    most = Fraction(max(reads, writes))
    headers = max(Fraction(writes), Fraction(reads + writes, 2)) if device.link_multi_header else most
    to_host = reads * message_ps(device, 1, device.link_read_bandwidth, headers=0)
    to_host += headers * message_ps(device, 0, device.link_read_bandwidth)
    to_device = reads * message_ps(device, 0, device.link_write_bandwidth)
    to_device += writes * message_ps(device, 1, device.link_write_bandwidth)
    lines = reads + writes
    dram = lines * transfer_ps(device.cache_bandwidth) if device.cache_bandwidth else Fraction(0)
    controller = Fraction(lines * device.controller_interval_ps)
    return float(lines * LINE_BYTES * TIME_PS["s"] / max(to_host, to_device, dram, controller))


def cores_bandwidth(guest: GuestConfig, load_ps: Fraction) -> float:
    """Bytes a second that all cores ask for: each has as many lines under way as its L2 has requests."""
    return float(guest.cpu.cores * guest.cpu.l2_requests * LINE_BYTES * TIME_PS["s"] / load_ps)


def cores_page_bandwidth(guest: GuestConfig) -> float:
    """The same of pages that flash reads. A stream ends with a page of 4 KiB: a core waits for the first line of one,
    then reads the others. Of smaller ones its lines under way are several pages."""
    lines = guest.device.cache_page_size // LINE_BYTES
    if lines <= guest.cpu.l2_requests:
        return cores_bandwidth(guest, miss_ps(guest))
    page_ps = miss_ps(guest) + (lines - 1) * hit_ps(guest) / guest.cpu.l2_requests
    return float(guest.cpu.cores * guest.device.cache_page_size * TIME_PS["s"] / page_ps)


def page_bandwidth(device: DeviceProfile, array_ps: int) -> float:
    """Bytes a second of pages that flash reads or programs: the busier of channels and planes."""
    bandwidth = device.flash_channel_bandwidth
    channel = transfer_ps(bandwidth, device.cache_page_size) if bandwidth else Fraction(0)
    plane = Fraction(array_ps, device.flash_dies * device.flash_planes)
    return float(device.flash_channels * device.cache_page_size * TIME_PS["s"] / max(channel, plane))


STALLS: dict[str, tuple[str, Callable[[GuestConfig], Fraction]]] = {
    "l1": ("load, L1 hit", lambda _: Fraction(0)),
    "dram": ("load, local DRAM", dram_ps),
    "cxl_hit": ("load, device-cache hit", hit_ps),
    "cxl_miss": ("load, device-cache miss", miss_ps),
    "store_clwb_sfence": ("store + clwb + sfence", persist_ps),
    "ntstore_sfence": ("non-temporal store + sfence", persist_ps),
}


def table(result: Result, guest: GuestConfig) -> list[Row]:
    """One row a metric, in the order above. A metric that the guest did not report is an error."""
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
