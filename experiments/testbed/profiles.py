# SPDX-License-Identifier: BSD-3-Clause
"""Device and CPU profiles: data files in experiments/profiles, each value with its unit and its source.

A profile is read at full size and then scaled: a 1/N study divides everything that holds data (device cache, LLC, L2)
by N and nothing that takes time, so that hit rates stay comparable while runs get N times shorter.
"""

from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from . import units
from .errors import TestbedError
from .paths import PROFILES
from .validation import Strict, load_toml, unknown_key

LINE_BYTES = 64
MIN_CAPACITY_BYTES = 512 * 2**20  # the smallest device that Linux makes a comfortable fsdax namespace on


class SourcedValue(Strict):
    """One number of a profile."""

    value: int | float | str | bool
    unit: str = ""
    source: str


@dataclass(frozen=True)
class CpuProfile:
    """What `-object cpu-timing` and `-icount` take. `insn_ps` may be a fraction."""

    name: str
    insn_ps: Fraction
    l1d_size: int
    l1d_ways: int
    l2_size: int
    l2_ways: int
    l2_latency_ps: int
    llc_size: int
    llc_ways: int
    llc_latency_ps: int
    dram_latency_ps: int
    dram_bandwidth: int
    wc_buffers: int


@dataclass(frozen=True)
class DeviceProfile:
    """What `-device cxl-ssd` takes."""

    name: str
    capacity: int
    link_latency_ps: int
    link_read_bandwidth: int
    link_write_bandwidth: int
    controller_latency_ps: int
    cache_size: int
    cache_page_size: int
    cache_ways: int
    cache_latency_ps: int
    cache_power_loss_protected: bool
    flash_channels: int
    flash_read_ps: int
    flash_program_ps: int


def _units_of(field: str) -> dict[str, int]:
    if field.endswith("_ps"):
        return units.TIME_PS
    if field.endswith("_bandwidth"):
        return units.BANDWIDTH
    return units.SIZE_BYTES if field in ("capacity",) or field.endswith("_size") else units.COUNT


def key_of(field: str) -> str:
    """The name a profile file uses: the field without the unit that its value carries."""
    return field.removesuffix("_ps")


def parse_value(field: str, value: Any, unit: str = "") -> Any:
    """The value of one profile field in its base unit. Raises ValueError with a sentence."""
    if field == "cache_power_loss_protected":
        if not isinstance(value, bool):
            raise ValueError(f"'{value}' is not true or false")
        return value
    if isinstance(value, bool):
        raise ValueError(f"'{str(value).lower()}' is not a number")
    if field == "insn_ps":
        return _parse_fraction_ps(f"{value}{unit}")
    return units.parse(f"{value}{unit}", _units_of(field))


def _parse_fraction_ps(text: str) -> Fraction:
    """One of "5000/21", "250ps" or "5000/21ps": the one value whose picoseconds need not be whole."""
    try:
        fraction = Fraction(text.removesuffix("ps"))
    except ValueError as error:
        raise ValueError(f"'{text}' is not a number or fraction of ps") from error
    if fraction <= 0:
        raise ValueError(f"'{text}' is not a positive time")
    return fraction


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


def _load(
    kind: str, name: str, model: type[CpuProfile | DeviceProfile], overrides: dict[str, Any], origin: Path
) -> dict[str, Any]:
    path = PROFILES / kind / f"{name}.toml"
    if not path.is_file():
        have = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml")))
        raise TestbedError(f"{origin}: no profile '{name}' in {path.parent}; there are: {have}")
    fields = {key_of(f): f for f in model.__dataclass_fields__ if f != "name"}
    stated = sources(kind, name)
    for key in stated:
        if key not in fields:
            raise TestbedError(f"{path}: {unknown_key(key, list(fields))}")
    values = {}
    for key, field in fields.items():
        if key not in stated:
            raise TestbedError(f"{path}: key '{key}' is missing; add it")
        values[field] = _checked(path, key, field, stated[key].value, stated[key].unit)
    section = kind.removesuffix("s")
    for key, value in overrides.items():
        if key not in fields:
            raise TestbedError(f"{origin}: {unknown_key(f'{section}.override.{key}', list(fields))}")
        values[fields[key]] = _checked(origin, f"{section}.override.{key}", fields[key], value, "")
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
    """`cpu` for a 1/`scale` study: the LLC shrinks with the data; L2 too, but not below twice L1; L1 stays."""
    return replace(
        cpu,
        l2_size=scaled_cache(cpu.l2_size, cpu.l2_ways, scale, floor_bytes=2 * cpu.l1d_size),
        llc_size=scaled_cache(cpu.llc_size, cpu.llc_ways, scale, floor_bytes=4 * cpu.l1d_size),
    )


def scale_device(device: DeviceProfile, scale: int) -> DeviceProfile:
    """`device` for a 1/`scale` study: its cache shrinks with the data; capacity too, down to what Linux can use."""
    capacity = max(device.capacity // scale, min(device.capacity, MIN_CAPACITY_BYTES))
    return replace(device, cache_size=device.cache_size // scale, capacity=capacity)


def scaled_cache(size: int, ways: int, scale: int, floor_bytes: int) -> int:
    """A cache of at most `size`/`scale` bytes whose number of sets is a power of two, as the model needs.

    The floor keeps the levels of the hierarchy in order. An 11-way LLC of 27.5 MiB becomes one of 22 MiB.
    """
    wanted = max(size // scale, floor_bytes)
    sets = max(wanted // (LINE_BYTES * ways), 1)
    return int((1 << (sets.bit_length() - 1)) * LINE_BYTES * ways)


def check_device(device: DeviceProfile, origin: Path) -> None:
    """The relations between values that no single key can show."""
    problems = (
        (device.cache_size > device.capacity, "cache_size", "exceeds capacity; make the cache smaller"),
        (device.cache_page_size < LINE_BYTES, "cache_page_size", "is smaller than a 64-byte line; make it larger"),
        (device.cache_size % max(device.cache_page_size, 1), "cache_size", "is not a multiple of cache_page_size"),
        (device.cache_size < device.cache_page_size, "cache_size", "holds no page; make it larger"),
        (device.flash_channels < 1, "flash_channels", "is 0; at least one is needed"),
        (device.capacity % (256 * 2**20), "capacity", "is not a multiple of 256 MiB, which CXL decoders need"),
        (device.link_read_bandwidth < 1, "link_read_bandwidth", "is 0; it must be positive"),
        (device.link_write_bandwidth < 1, "link_write_bandwidth", "is 0; it must be positive"),
    )
    for broken, key, problem in problems:
        if broken:
            value = getattr(device, key)
            value = units.show_size(value) if _units_of(key) is units.SIZE_BYTES else value
            raise TestbedError(f"{origin}: device key '{key}' ({value}) {problem}")


def check_cpu(cpu: CpuProfile, origin: Path) -> None:
    """Every level must have a power-of-two number of sets and be no smaller than the one before."""
    for level in ("l1d", "l2", "llc"):
        size, ways = getattr(cpu, f"{level}_size"), getattr(cpu, f"{level}_ways")
        sets = size // (LINE_BYTES * ways) if ways else 0
        if sets < 1 or sets & (sets - 1) or size != sets * LINE_BYTES * ways:
            raise TestbedError(
                f"{origin}: cpu key '{level}_size' ({units.show_size(size)}) is not {ways} ways of a power of two of "
                "64-byte lines; change it or the ways"
            )
    if not cpu.l1d_size <= cpu.l2_size <= cpu.llc_size:
        raise TestbedError(f"{origin}: cpu key 'llc_size': the caches must grow from L1D to L2 to LLC")
    if cpu.dram_bandwidth < 1 or cpu.wc_buffers < 1:
        raise TestbedError(f"{origin}: cpu keys 'dram_bandwidth' and 'wc_buffers' must be positive")


def as_data(profile: CpuProfile | DeviceProfile) -> dict[str, Any]:
    """The profile's values for the identity of a run and for its result."""
    return {k: str(v) if isinstance(v, Fraction) else v for k, v in asdict(profile).items()}
