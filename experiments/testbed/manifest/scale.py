# SPDX-License-Identifier: BSD-3-Clause
"""Third step: a machine at full size becomes the machine of a 1/N study.

A study divides everything that holds data (device cache, LLC, L2, memory that grows with the workload) by N, and no
time except for erases (of a smaller block) and WBINVD (of a smaller LLC), so that hit rates stay comparable while runs
get N times shorter.
"""

from dataclasses import replace

from . import resolve
from .guest_config import FullSize, GuestConfig
from .parameters import EXTENT_BYTES, LINE_BYTES, CpuProfile, DeviceProfile
from .parse import Manifest, Point

BLOCKS_OF_A_PLANE = 64  # the minimum, so that a few per cent of over-provisioning are a few blocks
MIN_CAPACITY_BYTES = 512 * 2**20  # the smallest device on which Linux makes a comfortable fsdax namespace


def guest_config(manifest: Manifest, point: Point | None = None) -> GuestConfig:
    """The machine of one point, by default the first, at the manifest's scale. The model has not checked it yet."""
    return machines(manifest, point or manifest.first_point)[1]


def machines(manifest: Manifest, point: Point) -> tuple[FullSize, GuestConfig]:
    """The machine of one point, at full size and at the manifest's scale."""
    full = resolve.full_size(manifest, point)
    return full, scaled(full, manifest.scale, manifest.guest.memory)


def scaled(full: FullSize, scale: int, least_memory_bytes: int = 0) -> GuestConfig:
    """The machine for a 1/`scale` study."""
    device, *others = (scale_device(device, scale) for device in full.devices)
    return replace(
        full,
        cpu=scale_cpu(full.cpu, scale),
        device=device,
        memory_bytes=max(least_memory_bytes, _whole_mib(full.memory_bytes // scale)),
        topology=full.topology and replace(full.topology, others=tuple(others)),
    )


def scaled_numbers(manifest: Manifest, point: Point) -> dict[str, int]:
    """The numbers of `workload.scaled` at one point."""
    return {name: -(-full // _divisor(manifest, name, point)) for name, full in manifest.workload.scaled.items()}


def _divisor(manifest: Manifest, name: str, point: Point) -> int:
    fewer = manifest.workload.fewer.get(name, {})
    return manifest.scale * max([1, *(fewer.get(str(value), 1) for value in point.values())])


def _whole_mib(size_bytes: int) -> int:
    return -(-size_bytes // 2**20) * 2**20


def scale_cpu(cpu: CpuProfile, scale: int) -> CpuProfile:
    """`cpu` for a 1/`scale` study: the LLC shrinks with the data, but not below four times L1; L2 not below twice L1.

    The L1 keeps its size. The time that WBINVD takes to walk the LLC shrinks with the LLC.
    """
    llc_size = scaled_cache(cpu.llc_size, cpu.llc_ways, scale, floor_bytes=4 * cpu.l1d_size)
    return replace(
        cpu,
        l2_size=scaled_cache(cpu.l2_size, cpu.l2_ways, scale, floor_bytes=2 * cpu.l1d_size),
        llc_size=llc_size,
        wbinvd_ps=cpu.wbinvd_ps * llc_size // max(cpu.llc_size, 1),
    )


def scale_device(device: DeviceProfile, scale: int) -> DeviceProfile:
    """`device` for a 1/`scale` study: media, cache and write log shrink, the media down to a size that Linux can use.

    The energy of a Global Persistent Flush shrinks with the caches that it must empty. Erase blocks shrink until the
    translation layer has BLOCKS_OF_A_PLANE blocks in each plane; an erase takes the same time for a page.
    """
    capacity = max(device.capacity // scale, min(device.capacity, MIN_CAPACITY_BYTES))
    volatile = max(device.volatile_size // scale, min(device.volatile_size, EXTENT_BYTES))
    block_pages = _scaled_block_pages(device, capacity)
    return replace(
        device,
        capacity=capacity,
        volatile_size=volatile // EXTENT_BYTES * EXTENT_BYTES,
        cache_size=device.cache_size // scale,
        write_log_size=device.write_log_size // scale,
        gpf_energy_uj=device.gpf_energy_uj // scale,
        flash_block_pages=block_pages,
        flash_erase_ps=device.flash_erase_ps * block_pages // max(device.flash_block_pages, 1),
    )


def _scaled_block_pages(device: DeviceProfile, capacity: int) -> int:
    planes = device.flash_channels * device.flash_dies * device.flash_planes
    if device.flash_ftl == "none" or not planes or not device.cache_page_size:
        return device.flash_block_pages
    plane_pages = capacity // device.cache_page_size // planes
    return min(device.flash_block_pages, max(plane_pages // BLOCKS_OF_A_PLANE, 1))


def scaled_cache(size: int, ways: int, scale: int, floor_bytes: int) -> int:
    """The size of a cache of `size`/`scale` bytes, in whole sets. The floor keeps the levels of caches in order."""
    set_bytes = LINE_BYTES * max(ways, 1)
    return max(max(size // scale, floor_bytes) // set_bytes, 1) * set_bytes
