# SPDX-License-Identifier: BSD-3-Clause
"""The grid of a manifest: device configurations to replay a capture on, and the memsys-replay arguments of each."""

import itertools
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import TestbedError
from ..manifest import parameters, parse, resolve
from ..manifest.model_parameters import CHANGES
from ..manifest.parameters import DeviceProfile
from ..manifest.parse import Manifest
from ..manifest.render import Run, Runs
from ..manifest.scale import scale_device
from ..validation import named, unknown_key
from .replayer import Assignments

# Parameters that the guest sees or that shape a trace: another value needs another run.
CAPTURE_ONLY = {"name", "capacity", *(field for field, change in CHANGES.items() if change == "fixed")}


@dataclass(frozen=True)
class Configuration:
    """One combination of the grid: its values as the manifest states them, and the resulting device."""

    values: dict[str, Any]
    device: DeviceProfile

    @property
    def label(self) -> str:
        return " ".join(f"{key}={value}" for key, value in self.values.items())

    @property
    def assignments(self) -> Assignments:
        """The arguments for memsys-replay: the scaled values in base units."""
        fields = {parameters.key_of(f.name): f.name for f in parameters.parameters(DeviceProfile)}
        words = []
        for key in self.values:
            value = getattr(self.device, fields[key])
            shown = ("off", "on")[value] if isinstance(value, bool) else value
            words.append(f"device.{fields[key].replace('_', '-')}={shown}")
        return tuple(words)


def configurations(stated: Manifest) -> list[Configuration]:
    """Return every combination of the manifest's grid, scaled, in the order of its lists. TestbedError: no grid."""
    parse.check_one_device(stated, "a sweep")
    grid = grid_of(stated)
    if not grid:
        example = "list values under it, as cache_size = ['64MiB', '1GiB']"
        raise TestbedError(f"{stated.origin}: key 'replay.grid' is missing or empty; {example}")
    base = resolve.devices(stated, stated.first_point)[0]
    axes = [_axis(stated.origin, key, values) for key, values in grid.items()]
    return [_configuration(base, stated.scale, combination) for combination in itertools.product(*axes)]


def grid_of(stated: Manifest) -> dict[str, list[Any]]:
    """Return the manifest's grid; without one, the device keys that its matrix varies (`cache_size = "{axis}"`)."""
    override = stated.device[0].override
    varied = {key: _axes_in(value) for key, value in override.items() if key not in CAPTURE_ONLY}
    return stated.replay.grid or {
        key: list(stated.matrix[axes[0]])
        for key, axes in varied.items()
        if len(axes) == 1 and override[key] == f"{{{axes[0]}}}"
    }


def capture_runs(stated: Manifest) -> list[Run]:
    """Return the runs to capture. An axis of the matrix that the grid replaces stays at its first value."""
    parse.check_one_device(stated, "a sweep")
    replaced = {axis for key in grid_of(stated) for axis in _axes_in(stated.device[0].override.get(key))}
    matrix = {axis: values[:1] if axis in replaced else values for axis, values in stated.matrix.items()}
    runs = list(Runs(stated.model_copy(update={"matrix": matrix})))
    for run in runs:
        if run.guest.cpu.cores > 1:
            have = f"{run.label} has {run.guest.cpu.cores}"
            raise TestbedError(
                f"{stated.origin}: key 'guest.cpus': a trace is of one CPU, and {have}; leave the key out"
            )
    return runs


def _axes_in(value: Any) -> list[str]:
    return re.findall(r"{(\w+)}", value) if isinstance(value, str) else []


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
    with named(path, f"replay.grid.{key}"):
        return [_Value(key, value, fields[key], parameters.parse_value(fields[key], value)) for value in values]


def _configuration(base: DeviceProfile, scale: int, combination: tuple[_Value, ...]) -> Configuration:
    device = replace(base, **{v.field: v.value for v in combination})
    return Configuration({v.key: v.shown for v in combination}, scale_device(device, scale))
