# SPDX-License-Identifier: BSD-3-Clause
"""Device and CPU profiles: data files in experiments/profiles, each value with its unit and its source.

A profile is read at full size and then scaled: a 1/N study divides everything that holds data (device cache, LLC, L2)
by N and no time but that of an erase (of a smaller block), so that hit rates stay comparable while runs get N times
shorter.
"""

from dataclasses import MISSING, asdict, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .. import units
from ..errors import TestbedError
from ..paths import PROFILES, kind_of
from ..validation import Strict, load_toml, unknown_key
from .parameters import CpuProfile, DeviceProfile, Profile, key_of, parse_value, units_of

LINE_BYTES = 64
BLOCKS_OF_A_PLANE = 64  # at least, so that a few per cent of over-provisioning are a few blocks
EXTENT_BYTES = 256 * 2**20  # the unit of CXL decoders
MIN_CAPACITY_BYTES = 512 * 2**20  # the smallest device that Linux makes a comfortable fsdax namespace on


class SourcedValue(Strict):
    """One number of a profile."""

    value: int | float | str | bool
    unit: str = ""
    source: str


def load_cpu(name: str, overrides: dict[str, Any], origin: Path) -> CpuProfile:
    """The CPU profile `name` with a manifest's overrides; `origin` is that manifest."""
    return CpuProfile(name, **_load("cpus", name, CpuProfile, overrides, origin))


def load_device(name: str, overrides: dict[str, Any], origin: Path) -> DeviceProfile:
    """The device profile `name` with a manifest's overrides; `origin` is that manifest."""
    return DeviceProfile(name, **_load("devices", name, DeviceProfile, overrides, origin))


def sources(kind: str, name: str) -> dict[str, SourcedValue]:
    """The profile as its file states it, for tables and docs."""
    path = PROFILES / kind / f"{name}.toml"
    return {key: _sourced(path, key, entry) for key, entry in load_toml(path).items() if isinstance(entry, dict)}


def _load(kind: str, name: str, model: type[Profile], overrides: dict[str, Any], origin: Path) -> dict[str, Any]:
    path = PROFILES / kind / f"{name}.toml"
    if kind_of(path) != "file" or path.parent != PROFILES / kind:
        have = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml")))
        raise TestbedError(f"{origin}: no profile '{name}' in {path.parent}; there are: {have}")
    known = {key_of(f.name): f for f in fields(model) if f.name != "name"}
    stated = sources(kind, name)
    for key in stated:
        if key not in known:
            raise TestbedError(f"{path}: {unknown_key(key, list(known))}")
    values = {}
    for key, field in known.items():
        if key in stated:
            values[field.name] = _checked(path, key, field.name, stated[key].value, stated[key].unit)
        elif field.default is MISSING:
            raise TestbedError(f"{path}: key '{key}' is missing; add it")
    section = kind.removesuffix("s")
    for key, value in overrides.items():
        if key not in known:
            raise TestbedError(f"{origin}: {unknown_key(f'{section}.override.{key}', list(known))}")
        values[known[key].name] = _checked(origin, f"{section}.override.{key}", known[key].name, value, "")
    return values


def _sourced(path: Path, key: str, entry: Any) -> SourcedValue:
    try:
        return SourcedValue.model_validate(entry)
    except ValidationError as error:
        raise TestbedError(f"{path}: key '{key}': {error.errors()[0]['msg']}") from error


def _checked(origin: Path, key: str, field: str, value: Any, unit: str) -> Any:
    try:
        return parse_value(field, value, unit)
    except ValueError as error:
        raise TestbedError(f"{origin}: key '{key}': {error}") from error


def scale_cpu(cpu: CpuProfile, scale: int) -> CpuProfile:
    """`cpu` for a 1/`scale` study: the LLC shrinks with the data; L2 too, but not below twice L1; L1 stays.

    So does the time that WBINVD takes to walk the LLC.
    """
    llc_size = scaled_cache(cpu.llc_size, cpu.llc_ways, scale, floor_bytes=4 * cpu.l1d_size)
    return replace(
        cpu,
        l2_size=scaled_cache(cpu.l2_size, cpu.l2_ways, scale, floor_bytes=2 * cpu.l1d_size),
        llc_size=llc_size,
        wbinvd_ps=cpu.wbinvd_ps * llc_size // cpu.llc_size,
    )


def scale_device(device: DeviceProfile, scale: int) -> DeviceProfile:
    """`device` for a 1/`scale` study: what holds data shrinks with it, down to what Linux can use.

    So does the energy of a Global Persistent Flush, which is provided for the caches that it must empty, and so do
    erase blocks, down to what leaves a translation layer enough of them; an erase takes the same time for a page.
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
    """A cache of at most `size`/`scale` bytes in whole sets. The floor keeps the levels of the hierarchy in order."""
    set_bytes = LINE_BYTES * ways
    return max(max(size // scale, floor_bytes) // set_bytes, 1) * set_bytes


def check_device(device: DeviceProfile, origin: Path) -> None:
    """The relations between values that no single key can show; the model checks the rest when QEMU starts."""
    for broken, key, problem in (*_problems(device), *(_cache_problems(device) if device.flash_channels else ())):
        if broken:
            value = getattr(device, key)
            value = units.show_size(value) if units_of(key) is units.SIZE_BYTES else value
            raise TestbedError(f"{origin}: device key '{key_of(key)}' ({value}) {problem}")


def _problems(device: DeviceProfile) -> tuple[tuple[bool, str, str], ...]:
    """Of every device."""
    wire = device.link_flit_bytes
    return (
        (device.capacity % EXTENT_BYTES != 0, "capacity", "is not a multiple of 256 MiB, which CXL decoders need"),
        (device.volatile_size % EXTENT_BYTES != 0, "volatile_size", "is not a multiple of 256 MiB"),
        (device.volatile_size > device.capacity, "volatile_size", "exceeds capacity; make it smaller"),
        (device.link_read_bandwidth < 1, "link_read_bandwidth", "is 0; it must be positive"),
        (device.link_write_bandwidth < 1, "link_write_bandwidth", "is 0; it must be positive"),
        (wire not in (0, 68, 256), "link_flit_bytes", "is not 68 or 256, nor 0 for a link without protocol overhead"),
    )


def _cache_problems(device: DeviceProfile) -> tuple[tuple[bool, str, str], ...]:
    """Of a device with flash behind its cache."""
    page = device.cache_page_size
    log = device.cache_write_miss == "log"
    return (
        (device.cache_size > device.capacity, "cache_size", "exceeds capacity; make the cache smaller"),
        (page < LINE_BYTES, "cache_page_size", "is smaller than a 64-byte line; make it larger"),
        (device.cache_size % max(page, 1) != 0, "cache_size", "is not a multiple of cache_page_size; make it one"),
        (device.cache_size < page, "cache_size", "holds no page; make it larger"),
        (
            device.cache_ways > 0 and device.cache_size // max(page, 1) % device.cache_ways != 0,
            "cache_ways",
            "does not divide the number of pages of the cache",
        ),
        (device.flash_read_ps < 1, "flash_read_ps", "is 0; state how long a page takes"),
        (device.flash_program_ps < 1, "flash_program_ps", "is 0; state how long a page takes"),
        (device.flash_dies < 1, "flash_dies", "is 0; at least one is needed"),
        (device.flash_planes < 1, "flash_planes", "is 0; at least one is needed"),
        (log and device.write_log_size < page, "write_log_size", "is too small for cache_write_miss = 'log'"),
        (
            device.flash_ftl == "page" and device.flash_erase_ps < 1,
            "flash_erase_ps",
            "is 0, but flash_ftl = 'page' erases blocks; state how long that takes",
        ),
    )


def check_cpu(cpu: CpuProfile, origin: Path) -> None:
    """Every level must be whole sets and be no smaller than the one before."""
    for level in ("l1d", "l2", "llc"):
        size, ways = getattr(cpu, f"{level}_size"), getattr(cpu, f"{level}_ways")
        if not ways or not size or size % (LINE_BYTES * ways):
            raise TestbedError(
                f"{origin}: cpu key '{level}_size' ({units.show_size(size)}) is not a whole number of sets of {ways} "
                "lines of 64 bytes; change it or the ways"
            )
    if not cpu.l1d_size <= cpu.l2_size <= cpu.llc_size:
        raise TestbedError(f"{origin}: cpu key 'llc_size': the caches must grow from L1D to L2 to LLC")
    for key in ("dram_bandwidth", "wc_buffers"):
        if getattr(cpu, key) < 1:
            raise TestbedError(f"{origin}: cpu key '{key}' is 0; it must be positive")
    if cpu.prefetch_streams and not 1 <= cpu.prefetch_degree <= cpu.prefetch_distance <= 64:
        raise TestbedError(
            f"{origin}: cpu key 'prefetch_degree' ({cpu.prefetch_degree}) must be at least 1 and at most "
            f"prefetch_distance ({cpu.prefetch_distance}), and that at most 64"
        )


def as_data(profile: Profile) -> dict[str, Any]:
    """The profile's values for the identity of a run and for its result."""
    return {k: str(v) if isinstance(v, Fraction) else v for k, v in asdict(profile).items()}
