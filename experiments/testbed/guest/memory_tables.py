# SPDX-License-Identifier: BSD-3-Clause
"""The tables by which a machine reports memory speeds to its kernel: ACPI's HMAT on the CPU's side, a CDAT per device.

All numbers are for an idle machine or a stream, and the closed forms compute them from the profiles. Linux adds up two
parts of the path to a device: the HMAT describes the path from a core to the host bridge, a *generic port*; the CDAT
describes the path from there.
"""

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ..manifest import closed_forms
from ..manifest.guest_config import GuestConfig
from ..manifest.parameters import CpuProfile, DeviceProfile
from ..manifest.topology import partition_bytes

Placed = tuple[DeviceProfile, int]  # a device and its host bridge

PS_IN_NS = 1000
MB = 10**6
ENTRY_MAX = 2**16 - 2  # of both tables; the next value means that no path exists
LATENCY_PS_MAX = ENTRY_MAX << 16  # Linux treats a latency of more than 32 bits as not stated


@dataclass(frozen=True)
class Speed:
    """The speed of memory, or of the path to it."""

    read_ps: Fraction
    write_ps: Fraction
    read_bandwidth: Fraction  # bytes a second
    write_bandwidth: Fraction


# ---- By the closed forms ----


def of_local_memory(cpu: CpuProfile) -> Speed:
    """The speed of local memory. A write is complete when it has crossed the channel."""
    line = closed_forms.transfer_ps(cpu.dram_bandwidth)
    bandwidth = Fraction(cpu.dram_bandwidth)
    return Speed(cpu.llc_latency_ps + cpu.dram_latency_ps + line, cpu.llc_latency_ps + line, bandwidth, bandwidth)


def of_port(cpu: CpuProfile, devices: Iterable[DeviceProfile]) -> Speed:
    """The path from a core to a host bridge with these devices; only the links of the devices limit its bandwidth."""
    links = [(device.link_read_bandwidth, device.link_write_bandwidth) for device in devices]
    way = Fraction(cpu.llc_latency_ps)
    return Speed(way, way, *(Fraction(sum(each)) for each in zip(*links, strict=True)))


def of_cache(device: DeviceProfile) -> Speed:
    """The path from the host bridge to the device's cache, or to all memory of a device without flash."""
    mixes = (Fraction(closed_forms.mix_bandwidth(device, *mix)) for mix in ((1, 0), (0, 1)))
    return Speed(closed_forms.read_ps(device), closed_forms.write_ps(device), *mixes)


def of_media(device: DeviceProfile) -> Speed:
    """The same for lines that miss the device cache. A write waits for a fetched page, unless the host queues it."""
    cache = of_cache(device)
    if not device.flash_channels:
        return cache
    fetches = device.cache_write_miss == "fetch" and not device.write_queue
    written_ps = device.flash_program_ps + (device.flash_read_ps if device.cache_write_miss == "fetch" else 0)
    read, written = (Fraction(closed_forms.page_bandwidth(device, ps)) for ps in (device.flash_read_ps, written_ps))
    return Speed(
        cache.read_ps + closed_forms.fetch_ps(device),
        cache.write_ps + (closed_forms.fetch_ps(device) if fetches else 0),
        min(cache.read_bandwidth, read),
        min(cache.write_bandwidth, written),
    )


# ---- CDAT: Coherent Device Attribute Table specification 1.04 ----

HEADER = struct.Struct("<IBB6xI")  # length, revision, checksum, sequence
DSMAS = struct.Struct("<BxHBB2xQQ")  # a range of the device's addresses and its handle
DSLBIS = struct.Struct("<BxHBBBxQHHH2x")  # a latency or a bandwidth of such a range
DSMSCIS = struct.Struct("<BxHB3xQI")  # the cache in front of such a range
DSEMTS = struct.Struct("<BxHBB2xQQ")  # how firmware lists such a range
TYPE_DSMAS, TYPE_DSLBIS, TYPE_DSMSCIS, TYPE_DSEMTS = 0, 1, 2, 4
REVISION = 1
NON_VOLATILE = 1 << 2
CONVENTIONAL, RESERVED = 0, 2
MEMORY, FIRST_LEVEL_CACHE = 0, 1
READ_LATENCY, WRITE_LATENCY, READ_BANDWIDTH, WRITE_BANDWIDTH = 1, 2, 4, 5
# One cache level, which is the level described here, with complex indexing.
CACHE_ATTRIBUTES = 1 | 1 << 4 | 2 << 8
WRITE_BACK, WRITE_THROUGH = 1 << 12, 2 << 12
CACHE_LINE_SHIFT, CACHE_LINE_MAX = 16, 2**16 - 1


def cdat(device: DeviceProfile) -> bytes:
    """The CDAT of a device, with structures for each of its partitions."""
    structures = b"".join(_partitions(device))
    length = HEADER.size + len(structures)
    checksum = -sum(HEADER.pack(length, REVISION, 0, 0) + structures) % 256
    return HEADER.pack(length, REVISION, checksum, 0) + structures


def _partitions(device: DeviceProfile) -> Iterator[bytes]:
    volatile, persistent = partition_bytes(device, "ram"), partition_bytes(device, "pmem")
    parts = [(0, volatile, 0, CONVENTIONAL), (volatile, persistent, NON_VOLATILE, RESERVED)]
    for handle, (base, size, flags, kind) in enumerate(part for part in parts if part[1]):
        yield DSMAS.pack(TYPE_DSMAS, DSMAS.size, handle, flags, base, size)
        yield from _speeds(handle, MEMORY, of_media(device))
        if device.flash_channels:
            yield from _speeds(handle, FIRST_LEVEL_CACHE, of_cache(device))
            yield DSMSCIS.pack(TYPE_DSMSCIS, DSMSCIS.size, handle, device.cache_size, _cache_attributes(device))
        yield DSEMTS.pack(TYPE_DSEMTS, DSEMTS.size, handle, kind, 0, size)


def _speeds(handle: int, hierarchy: int, speed: Speed) -> Iterator[bytes]:
    """The four DSLBIS of a range; latencies are in ps, bandwidths in MB/s."""
    numbers = {
        READ_LATENCY: min(speed.read_ps, Fraction(LATENCY_PS_MAX)),
        WRITE_LATENCY: min(speed.write_ps, Fraction(LATENCY_PS_MAX)),
        READ_BANDWIDTH: speed.read_bandwidth / MB,
        WRITE_BANDWIDTH: speed.write_bandwidth / MB,
    }
    for kind, number in numbers.items():
        unit = _unit(number)
        yield DSLBIS.pack(TYPE_DSLBIS, DSLBIS.size, handle, hierarchy, kind, unit, _rounded(number / unit), 0, 0)


def _unit(number: Fraction) -> int:
    """The least power of two, as in QEMU's HMAT, that as a unit lets the number fit into an entry."""
    unit = 1
    while number / unit > ENTRY_MAX:
        unit *= 2
    return unit


def _rounded(number: Fraction) -> int:
    """The number as an entry, but never 0, which means "not stated"."""
    return max(1, round(number))


def _cache_attributes(device: DeviceProfile) -> int:
    policy = WRITE_THROUGH if device.cache_write == "through" else WRITE_BACK
    line_bytes = device.cache_page_size if device.cache_page_size <= CACHE_LINE_MAX else 0  # 0: not stated
    return CACHE_ATTRIBUTES | policy | line_bytes << CACHE_LINE_SHIFT


# ---- HMAT, as QEMU makes it ----


def hmat_options(guest: GuestConfig, devices: Sequence[Placed], names: Sequence[str]) -> list[str]:
    """Options for a NUMA node of local memory with all CPUs, and for a generic port at each host bridge.

    `names` are the names of the bridges in ascending order. The ports have the first domains: Linux gives each window
    the next domain after the last one with CPUs or memory, and would take a port of the same number for that window's
    memory.
    """
    local = len(names)
    words: list[str] = []
    for domain, name in enumerate(names):
        words += ["-numa", f"node,nodeid={domain}"]
        words += ["-object", f"acpi-generic-port,id=port{domain},pci-bus={name},node={domain}"]
    words += ["-object", f"memory-backend-ram,id=local,size={guest.memory_bytes}"]
    words += ["-numa", f"node,nodeid={local},memdev=local,cpus=0-{guest.cpu.cores - 1},initiator={local}"]
    for said in _hmat(_by_domain(guest.cpu, devices)):
        words += ["-numa", f"hmat-lb,initiator={local},{said}"]
    return words


def _by_domain(cpu: CpuProfile, devices: Sequence[Placed]) -> list[Speed]:
    """The speeds of the ports, then of local memory."""
    bridges = sorted({bridge for _, bridge in devices})
    ports = (of_port(cpu, [device for device, at in devices if at == bridge]) for bridge in bridges)
    return [*ports, of_local_memory(cpu)]


def _hmat(speeds: Sequence[Speed]) -> Iterator[str]:
    """One entry for each kind and domain. QEMU takes whole ns, and bandwidths in a power of two times its own M."""
    for kind in ("read", "write"):
        for domain, speed in enumerate(speeds):
            latency_ns = _rounded(getattr(speed, f"{kind}_ps") / PS_IN_NS)
            yield f"target={domain},hierarchy=memory,data-type={kind}-latency,latency={latency_ns}"
        bandwidths = [getattr(speed, f"{kind}_bandwidth") / MB for speed in speeds]
        unit = _unit(max(bandwidths))
        for domain, bandwidth in enumerate(bandwidths):
            shown = f"{_rounded(bandwidth / unit) * unit}M"
            yield f"target={domain},hierarchy=memory,data-type={kind}-bandwidth,bandwidth={shown}"


def identity(cpu: CpuProfile, devices: Sequence[Placed]) -> dict[str, list[str]]:
    """The parts of the tables that can influence a run: all of them."""
    tables = (hashlib.sha256(cdat(device)).hexdigest() for device, _ in devices)
    return {"hmat": list(_hmat(_by_domain(cpu, devices))), "cdat": list(tables)}
