# SPDX-License-Identifier: BSD-3-Clause
"""The grid of a manifest: device configurations to replay a capture on, and what memsys-replay is told of each."""

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import manifest, parameters, profiles
from .errors import TestbedError
from .parameters import DeviceProfile
from .replay import Assignments
from .validation import unknown_key

CAPTURE_ONLY = ("name", "capacity", "volatile_size")  # what the guest sees: another value is another run


@dataclass(frozen=True)
class Configuration:
    """One combination of the grid: its values as the manifest states them, and the device that follows."""

    values: dict[str, Any]
    device: DeviceProfile

    @property
    def label(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.values.items())

    @property
    def assignments(self) -> Assignments:
        """What memsys-replay is told: the scaled values in base units."""
        fields = {parameters.key_of(f.name): f.name for f in parameters.parameters(DeviceProfile)}
        words = []
        for key in self.values:
            value = getattr(self.device, fields[key])
            shown = ("off", "on")[value] if isinstance(value, bool) else value
            words.append(f"device.{fields[key].replace('_', '-')}={shown}")
        return tuple(words)


def configurations(path: Path) -> list[Configuration]:
    """Every combination of the manifest's grid, scaled and checked, in the order of its lists."""
    stated = manifest.load(path)
    if not stated.replay.grid:
        example = "list values under it, as cache_size = ['64MiB', '1GiB']"
        raise TestbedError(f"{path}: key 'replay.grid' is missing or empty; {example}")
    base = profiles.load_device(stated.device.profile, stated.device.override, path)
    axes = [_axis(path, key, values) for key, values in stated.replay.grid.items()]
    return [_configuration(path, base, stated.scale, combination) for combination in itertools.product(*axes)]


@dataclass(frozen=True)
class _Value:
    """One value of an axis, as the manifest states it and in base units."""

    key: str
    shown: Any
    field: str
    value: Any


def _axis(path: Path, key: str, values: list[Any]) -> list[_Value]:
    fields = {parameters.key_of(f.name): f.name for f in parameters.parameters(DeviceProfile)}
    known = [k for k, field in fields.items() if field not in CAPTURE_ONLY]
    if key not in known:
        raise TestbedError(f"{path}: {unknown_key(f'replay.grid.{key}', known)}")
    if not values or len({str(value) for value in values}) != len(values):
        raise TestbedError(f"{path}: key 'replay.grid.{key}' must list at least one value and none twice")
    try:
        return [_Value(key, value, fields[key], parameters.parse_value(fields[key], value)) for value in values]
    except ValueError as error:
        raise TestbedError(f"{path}: key 'replay.grid.{key}': {error}") from error


def _configuration(path: Path, base: DeviceProfile, scale: int, combination: tuple[_Value, ...]) -> Configuration:
    values = {v.key: v.shown for v in combination}
    try:
        device = replace(base, **{v.field: v.value for v in combination})
        profiles.check_device(device, path)
        device = profiles.scale_device(device, scale)
        profiles.check_device(device, path)
    except TestbedError as error:
        label = ", ".join(f"{key} = {value}" for key, value in values.items())
        raise TestbedError(f"{error} (replay.grid at {label})") from error
    return Configuration(values, device)
