# SPDX-License-Identifier: BSD-3-Clause
"""Manifests: TOML files that state an experiment, and the runs that follow from one."""

import itertools
import math
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from . import profiles, units
from .errors import TestbedError
from .parameters import CpuProfile, DeviceProfile
from .paths import MANIFESTS
from .validation import Strict, check, load_toml

Bytes = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.SIZE_BYTES))]
Picoseconds = Annotated[int, BeforeValidator(lambda v: units.parse(v, units.TIME_PS))]
Axis = list[str | int]
FileSystem = Literal["ext4-dax", "ext4-journal", "xfs-dax"]


class GuestSection(Strict):
    """The machine around the CPU and the device."""

    memory: Bytes = 2 * 2**30
    # Host time, so that a hung guest ends; it has no influence on results.
    timeout: Picoseconds = 1200 * 10**12
    # Coarse time outside the region of interest: boot loops that poll for a span of virtual time end sooner.
    boot_insn: Picoseconds = 8000
    # What is at /pmem, and at points that have a certain value on some axis: an engine that needs another one.
    file_system: FileSystem = "ext4-dax"
    file_system_of: dict[str, FileSystem] = {}


class ProfileSection(Strict):
    profile: str
    override: dict[str, str | int | float | bool] = {}


class WorkloadSection(Strict):
    """`command` is run in the guest; {names} in it come from the matrix, `scaled` and `fixed`."""

    command: str
    scaled: dict[str, Annotated[int, Field(gt=0)]] = {}  # stated at full size, divided by the scale
    fixed: dict[str, str | int] = {}


class ReplaySection(Strict):
    """`grid` lists values of device parameters; every combination is one configuration to replay a capture on."""

    grid: dict[str, list[str | int | float | bool]] = {}


class Manifest(Strict):
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    summary: str
    scale: Annotated[int, Field(ge=1)] = 1
    guest: GuestSection = GuestSection()
    cpu: ProfileSection
    device: ProfileSection
    workload: WorkloadSection
    matrix: dict[str, Axis] = {}
    replay: ReplaySection = ReplaySection()

    @field_validator("matrix")
    @classmethod
    def _axes_have_values(cls, matrix: dict[str, Axis]) -> dict[str, Axis]:
        for axis, values in matrix.items():
            if not values or len(set(values)) != len(values):
                raise ValueError(f"axis '{axis}' must list at least one value and none twice")
        return matrix

    @model_validator(mode="after")
    def _file_systems_are_for_points(self) -> "Manifest":
        values = {str(value) for axis in self.matrix.values() for value in axis}
        for value in self.guest.file_system_of:
            if value not in values:
                raise ValueError(f"key 'guest.file_system_of': '{value}' is no value of the matrix; remove it")
        return self


@dataclass(frozen=True)
class GuestConfig:
    """Everything about the machine that a run boots, in base units."""

    cpu: CpuProfile
    device: DeviceProfile
    memory_bytes: int
    boot_insn_ps: int
    timeout_s: float
    file_system: FileSystem = "ext4-dax"


@dataclass(frozen=True)
class Run:
    """One point of a manifest's matrix: one guest."""

    manifest: str
    scale: int
    point: dict[str, str | int]
    argv: tuple[str, ...]
    guest: GuestConfig

    @property
    def label(self) -> str:
        return "-".join(str(value) for value in self.point.values()) or "run"


def find(name: str) -> Path:
    """The file of a manifest given by path or by the name of one that ships."""
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return path
    shipped = MANIFESTS / f"{name}.toml"
    if not shipped.is_file():
        have = ", ".join(sorted(p.stem for p in MANIFESTS.glob("*.toml")))
        raise TestbedError(f"no manifest '{name}'; give the path of a .toml file or one of: {have}")
    return shipped


def load(path: Path) -> Manifest:
    """The checked manifest in `path`."""
    return check(Manifest, load_toml(path), path)


def guest_config(manifest: Manifest, origin: Path) -> GuestConfig:
    """The scaled and checked machine that the manifest describes. Overrides state full-size values."""
    cpu = profiles.load_cpu(manifest.cpu.profile, manifest.cpu.override, origin)
    profiles.check_cpu(cpu, origin)
    cpu = profiles.scale_cpu(cpu, manifest.scale)
    profiles.check_cpu(cpu, origin)
    device = profiles.load_device(manifest.device.profile, manifest.device.override, origin)
    profiles.check_device(device, origin)
    device = profiles.scale_device(device, manifest.scale)
    profiles.check_device(device, origin)
    section = manifest.guest
    timeout_s = section.timeout / units.TIME_PS["s"]
    return GuestConfig(cpu, device, section.memory, section.boot_insn, timeout_s, section.file_system)


def runs(path: Path) -> list[Run]:
    """Every run of the manifest in `path`, in the order of its matrix."""
    return runs_of(load(path), path)


def runs_of(manifest: Manifest, origin: Path) -> list[Run]:
    """The same of a manifest that `origin` holds in another form."""
    guest = guest_config(manifest, origin)
    axes = list(manifest.matrix)
    points = [dict(zip(axes, values, strict=True)) for values in itertools.product(*manifest.matrix.values())]
    return [
        Run(manifest.name, manifest.scale, p, _argv(manifest, p, guest, origin), _guest_at(manifest, p, guest))
        for p in points
    ]


def _guest_at(manifest: Manifest, point: dict[str, str | int], guest: GuestConfig) -> GuestConfig:
    """The machine of one point: the file system may depend on it."""
    special = manifest.guest.file_system_of
    asked = [special[str(value)] for value in point.values() if str(value) in special]
    return replace(guest, file_system=asked[0]) if asked else guest


def _argv(manifest: Manifest, point: dict[str, str | int], guest: GuestConfig, origin: Path) -> tuple[str, ...]:
    scaled = {k: math.ceil(v / manifest.scale) for k, v in manifest.workload.scaled.items()}
    machine = {"l1d_size": guest.cpu.l1d_size, "llc_size": guest.cpu.llc_size, "cache_size": guest.device.cache_size}
    machine["cache_page_size"] = guest.device.cache_page_size
    names: dict[str, Any] = machine | scaled | manifest.workload.fixed | point
    unknown = set(re.findall(r"{(\w*)}", manifest.workload.command)) - set(names)
    if unknown:
        raise TestbedError(
            f"{origin}: key 'workload.command' uses {{{min(unknown)}}}, which is neither in the matrix nor in "
            f"workload.scaled or workload.fixed; known: {', '.join(sorted(names))}"
        )
    try:
        return tuple(word.format(**names) for word in shlex.split(manifest.workload.command))
    except (
        ValueError,
        LookupError,
        AttributeError,
    ) as error:  # quotes and braces that do not close, {seed.x}, {seed[0]}
        raise TestbedError(f"{origin}: key 'workload.command': {error}; write {{{{ for a brace") from error
