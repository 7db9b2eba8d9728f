# SPDX-License-Identifier: BSD-3-Clause
"""Closed forms of the model's times and bandwidths, for an idle machine or a stream, from the values of the profiles.

Stalls are load-to-use beyond L1 and are not summed over cache levels: an access that leaves the CPU stalls for one
LLC look-up and then for the memory behind the LLC.
"""

from fractions import Fraction

from ..units import TIME_PS
from .guest_config import GuestConfig
from .parameters import LINE_BYTES, DeviceProfile

HEADER_SLOTS, LINE_SLOTS = 1, 4  # of 16 bytes


def transfer_ps(bandwidth: int, size_bytes: int = LINE_BYTES) -> Fraction:
    """The time of `size_bytes`, by default one line, on a link or channel of `bandwidth` bytes per second."""
    return Fraction(size_bytes * TIME_PS["s"], bandwidth)


def message_ps(device: DeviceProfile, lines: int, bandwidth: int, headers: int = 1) -> Fraction:
    """A message's time on the wire: its slots' share of a flit, or without flits its lines alone."""
    if not device.link_flit_bytes:
        return lines * transfer_ps(bandwidth)
    flit_slots = 4 if device.link_flit_bytes == 68 else 15
    slots = headers * HEADER_SLOTS + lines * LINE_SLOTS
    return transfer_ps(bandwidth, slots * device.link_flit_bytes) / flit_slots


def refresh_ps(device: DeviceProfile) -> Fraction:
    """The wait of an access of the device DRAM for refresh, as the mean over all times of its arrival."""
    if not device.cache_refresh_ps:
        return Fraction(0)
    return Fraction(device.cache_refresh_ps**2, 2 * device.cache_refresh_interval_ps)


def device_ps(device: DeviceProfile) -> Fraction:
    """The mean time from a request's arrival at the device until its line has passed the device DRAM."""
    line = transfer_ps(device.cache_bandwidth) if device.cache_bandwidth else 0
    accesses = 2 if device.cache_tag_ps else 1
    look_up = device.cache_tag_ps + device.cache_latency_ps + accesses * refresh_ps(device)
    return device.controller_latency_ps + look_up + line


def dram_ps(guest: GuestConfig) -> Fraction:
    cpu = guest.cpu
    return cpu.llc_latency_ps + cpu.dram_latency_ps + transfer_ps(cpu.dram_bandwidth)


def read_ps(device: DeviceProfile) -> Fraction:
    """The time to read a line that is in the device cache, from the host's end of the link and back."""
    request = message_ps(device, 0, device.link_write_bandwidth)
    data = message_ps(device, 1, device.link_read_bandwidth)
    return 2 * device.link_latency_ps + request + data + device_ps(device)


def write_ps(device: DeviceProfile) -> Fraction:
    """The time to write a line from the host's end to the device cache or the host's write queue, with completion."""
    if device.write_queue:
        return Fraction(2 * device.link_latency_ps)
    data = message_ps(device, 1, device.link_write_bandwidth)
    completion = message_ps(device, 0, device.link_read_bandwidth)
    return 2 * device.link_latency_ps + data + completion + device_ps(device)


def fetch_ps(device: DeviceProfile) -> Fraction:
    """The time to read a page from flash and transfer it over the channel."""
    channel = device.flash_channel_bandwidth
    return device.flash_read_ps + (transfer_ps(channel, device.cache_page_size) if channel else Fraction(0))


def hit_ps(guest: GuestConfig) -> Fraction:
    return guest.cpu.llc_latency_ps + read_ps(guest.device)


def miss_ps(guest: GuestConfig) -> Fraction:
    return hit_ps(guest) + fetch_ps(guest.device)


def persist_ps(guest: GuestConfig) -> Fraction:
    """The wait of a fence: the device cache or the host's write queue accepts a line that the core sends."""
    return guest.cpu.llc_latency_ps + write_ps(guest.device)


def nt_stores_ps(guest: GuestConfig, size_bytes: int) -> Fraction:
    """The time of `size_bytes` in a long row of non-temporal stores: each buffer sends one line per time of a write."""
    return persist_ps(guest) * size_bytes / LINE_BYTES / guest.cpu.wc_buffers


def mix_bandwidth(device: DeviceProfile, reads: int, writes: int) -> float:
    """Bytes per second of a mix of line reads and writes that hit: the busiest of wires, controller and device DRAM.
    A header slot to the host holds a completion and a line's header, or two lines' headers if they may share a slot."""
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
    """Bytes per second that all cores request: each core has as many lines under way as its L2 has requests."""
    return float(guest.cpu.cores * guest.cpu.l2_requests * LINE_BYTES * TIME_PS["s"] / load_ps)


def cores_page_bandwidth(guest: GuestConfig) -> float:
    """Bytes per second that all cores request of pages in flash. A stream ends with a page of 4 KiB: a core waits for
    the first line of a page, then reads the others. With smaller pages, its lines under way cover several pages."""
    lines = guest.device.cache_page_size // LINE_BYTES
    if lines <= guest.cpu.l2_requests:
        return cores_bandwidth(guest, miss_ps(guest))
    page_ps = miss_ps(guest) + (lines - 1) * hit_ps(guest) / guest.cpu.l2_requests
    return float(guest.cpu.cores * guest.device.cache_page_size * TIME_PS["s"] / page_ps)


def page_bandwidth(device: DeviceProfile, array_ps: int) -> float:
    """Bytes per second of pages that flash reads or programs: the busier of channels and planes."""
    bandwidth = device.flash_channel_bandwidth
    channel = transfer_ps(bandwidth, device.cache_page_size) if bandwidth else Fraction(0)
    plane = Fraction(array_ps, device.flash_dies * device.flash_planes)
    return float(device.flash_channels * device.cache_page_size * TIME_PS["s"] / max(channel, plane))
