# SPDX-License-Identifier: BSD-3-Clause
"""Device and CPU profiles: data files in experiments/profiles, each value with its unit and its source.

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
from ..validation import Strict, named, parse_toml, read_text, unknown_key
from .parameters import EXTENT_BYTES, CpuProfile, DeviceProfile, Profile, key_of, parse_value

Kind = Literal["cpus", "devices"]
MODELS: dict[Kind, type[Profile]] = {"cpus": CpuProfile, "devices": DeviceProfile}
NO_EXTENTS = "is not a multiple of 256 MiB, which CXL decoders need"


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
    with named(origin, key):
        return parse_value(field, value, unit)


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
