# SPDX-License-Identifier: BSD-3-Clause
"""Device and CPU profiles: data files in experiments/profiles, each value with its unit and its source.

A profile is read at full size and then scaled: a 1/N study divides everything that holds data (device cache, LLC, L2)
by N, and no time except for erases (of a smaller block) and WBINVD (of a smaller LLC), so that hit rates stay
comparable while runs get N times shorter.

This module checks each value on its own as it reads the file. The model checks the machine as a whole
(replay/verdicts.py), except for the few rules of problem().
"""

from dataclasses import MISSING, Field, asdict, fields, replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from .. import units
from ..errors import TestbedError
from ..paths import PROFILES, kind_of
from ..validation import Strict, parse_toml, read_text, unknown_key
from .parameters import CpuProfile, DeviceProfile, Profile, key_of, parse_value

Kind = Literal["cpus", "devices"]
MODELS: dict[Kind, type[Profile]] = {"cpus": CpuProfile, "devices": DeviceProfile}
LINE_BYTES = 64
BLOCKS_OF_A_PLANE = 64  # the minimum, so that a few per cent of over-provisioning are a few blocks
EXTENT_BYTES = 256 * 2**20  # the unit of CXL decoders
NO_EXTENTS = "is not a multiple of 256 MiB, which CXL decoders need"
MIN_CAPACITY_BYTES = 512 * 2**20  # the smallest device on which Linux makes a comfortable fsdax namespace


class SourcedValue(Strict):
    """One value of a profile, with its unit and its source."""

    value: int | float | str | bool
    unit: str = ""
    source: str


def load_cpu(name: str, overrides: dict[str, Any], origin: Path, cpus: int = 1) -> CpuProfile:
    """The CPU profile `name` with the overrides of the manifest `origin`, and with `cpus` of its cores."""
    cpu = CpuProfile(name=name, **_load("cpus", name, overrides, origin, "cpu"))
    if not 1 <= cpus <= cpu.cores:
        cores = f"the cores of CPU profile {name}" if cpu.cores > 1 else f"CPU profile {name} states no more cores"
        raise TestbedError(
            f"{origin}: key 'guest.cpus' (option --cpus): {cpus} is not a number from 1 to {cpu.cores}, {cores}"
        )
    return replace(cpu, cores=cpus)


def load_device(name: str, overrides: dict[str, Any], origin: Path, key: str = "device") -> DeviceProfile:
    """The device profile `name` with the overrides of the manifest `origin`; `key` names the device's table."""
    return DeviceProfile(name=name, **_load("devices", name, overrides, origin, key))


def sources(kind: str, name: str) -> dict[str, SourcedValue]:
    """The profile as its file states it, for tables and docs."""
    path = PROFILES / kind / f"{name}.toml"
    return _sources(path, read_text(path))


def _sources(path: Path, text: str) -> dict[str, SourcedValue]:
    stated = parse_toml(path, text).items()
    return {key: _sourced(path, key, entry) for key, entry in stated if isinstance(entry, dict)}


def _load(kind: Kind, name: str, overrides: dict[str, Any], origin: Path, table: str) -> dict[str, Any]:
    folder = PROFILES / kind
    path = folder / f"{name}.toml"
    if kind_of(path) != "file" or path.parent != folder:
        have = ", ".join(sorted(p.stem for p in folder.glob("*.toml")))
        raise TestbedError(f"{origin}: no profile '{name}' in {folder}; there are: {have}")
    values = dict(_values(path, read_text(path), kind))
    known = _known(kind)
    for key, value in overrides.items():
        if key not in known:
            raise TestbedError(f"{origin}: {unknown_key(f'{table}.override.{key}', list(known))}")
        values[known[key].name] = _checked(origin, f"{table}.override.{key}", known[key].name, value, "")
    return values


@lru_cache
def _known(kind: Kind) -> dict[str, Field[Any]]:
    """The fields that a profile may state, by key. The seed is not a property of a CPU: the manifest states it."""
    return {key_of(field.name): field for field in fields(MODELS[kind]) if field.name not in ("name", "seed")}


@lru_cache(maxsize=64)
def _values(path: Path, text: str, kind: Kind) -> dict[str, Any]:
    """The values that the profile with this text states, parsed once for all machines of a matrix."""
    known, stated = _known(kind), _sources(path, text)
    for key in stated:
        if key not in known:
            raise TestbedError(f"{path}: {unknown_key(key, list(known))}")
    values = {}
    for key, field in known.items():
        if key in stated:
            values[field.name] = _checked(path, key, field.name, stated[key].value, stated[key].unit)
        elif field.default is MISSING:
            raise TestbedError(f"{path}: key '{key}' is missing; add it")
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


def problem(cpu: CpuProfile, device: DeviceProfile) -> str:
    """A fault of a machine that the model does not check, with the key first; empty if there is no such fault."""
    if not cpu.l1d_size <= cpu.l2_size <= cpu.llc_size:
        return "cpu key 'llc_size': the caches must grow from L1D to L2 to LLC"
    return next((f"device key '{key_of(field)}' {what}" for field, broken, what in _device_rules(device) if broken), "")


def _device_rules(device: DeviceProfile) -> tuple[tuple[str, bool, str], ...]:
    """Rules of CXL decoders, and values that a device with flash must state: field, whether it is violated, message."""
    flash = device.flash_channels > 0
    erases = flash and device.flash_ftl == "page"
    capacity, volatile = units.show_size(device.capacity), units.show_size(device.volatile_size)
    return (
        ("capacity", device.capacity % EXTENT_BYTES != 0, f"({capacity}) {NO_EXTENTS}"),
        ("volatile_size", device.volatile_size % EXTENT_BYTES != 0, f"({volatile}) {NO_EXTENTS}"),
        ("flash_read_ps", flash and device.flash_read_ps < 1, "is 0; state how long a page takes"),
        ("flash_program_ps", flash and device.flash_program_ps < 1, "is 0; state how long a page takes"),
        ("flash_erase_ps", erases and device.flash_erase_ps < 1, "is 0; state how long a block takes"),
    )


def as_data(profile: Profile) -> dict[str, Any]:
    """The profile's values for the identity of a run and for its result. Seed 0 equals no seed and is left out."""
    stated = {k: v for k, v in asdict(profile).items() if (k, v) != ("seed", 0)}
    return {k: str(v) if isinstance(v, Fraction) else v for k, v in stated.items()}
