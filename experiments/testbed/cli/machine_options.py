# SPDX-License-Identifier: BSD-3-Clause
"""Options that change the machine of a command. Each corresponds to a key of manifests and is checked like it."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .. import units
from ..errors import TestbedError
from ..guest.qemu_line import PowerCut
from ..manifest import bases
from ..manifest.bases import is_number
from ..manifest.guest_config import GuestConfig
from ..program import bundle, streamed
from ..program.bundle import ProgramSection
from ..program.packages import Versions
from ..replay import verdicts
from ..validation import check
from .module_commands import Modules, with_modules
from .options import Seed

EVENTS_MAX = 2**63 - 1
Cpus = Annotated[
    int | None,
    typer.Option("--cpus", metavar="N", help="so many CPUs, each with a clock of its own; default: the manifest's"),
]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="local DRAM, as 4GiB; the manifest's if not given")
]
FileSystem = Annotated[
    str | None,
    typer.Option("--file-system", metavar="NAME", help="the file system at /pmem, as xfs-dax; default: the manifest's"),
]
MountOptions = Annotated[
    str | None,
    typer.Option("--mount-options", metavar="TEXT", help="of a tbfs, as data=hybrid,gc_read=off"),
]
Devices = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="PROFILE",
        help="another device, without the manifest's overrides for its own; repeat it for several devices",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="one value of a profile, as device.flash-read=3us or cpu.llc-size; of one of several devices and of a "
        "region, as device.1.flash-read, device.1.bridge or region.0.devices=0,1; of the guest, as guest.hmat=true; "
        "or scale=512",
    ),
]
Kernel = Annotated[
    Path | None,
    typer.Option("--kernel", metavar="FILE", help="another kernel than the image's: a bzImage or vmlinux"),
]
KernelModules = Annotated[
    Path | None,
    typer.Option("--kernel-modules", metavar="DIR", help="its modules, lib/modules/RELEASE, if they are not beside it"),
]
KernelArguments = Annotated[
    str | None, typer.Option("--kernel-arguments", metavar="TEXT", help="more for the kernel's command line")
]
Packages = Annotated[
    list[str] | None,
    typer.Option("--packages", metavar="NAMES", help="of Debian 13, as fio,jq, with their dependencies"),
]
CutAt = Annotated[
    str | None,
    typer.Option(
        "--power-cut",
        metavar="WHEN",
        help="at-event=N: after so many lines left the CPU or became durable; at-time=T: at a virtual time, as 9500ms",
    ),
]


SETTING = re.compile(r"(?:(guest|cpu|device|device\.[0-9]|region\.[0-9])\.)?([\w-]+)=(.*)")
_OF_TABLE = ("profile", "bridge")  # keys of a device's table that are not values of a profile
_NUMBERS, _LISTS = ("bridge", "cpus", "scale"), ("workloads", "devices", "modules")
_SWITCHES = ("hmat", "machine_checks", "direct_stores")
_PATHS = ("kernel", "kernel_modules", "modules")  # as options, relative to the current folder, not to the manifest


ManifestName = Annotated[
    str, typer.Option("--manifest", "-m", metavar="MANIFEST", help="take the machine (CPU, device, memory) from this")
]


@dataclass(frozen=True)
class MachineOptions:
    """The options of a command that boots one guest, as the user gave them."""

    module: Modules = None
    manifest: ManifestName = "kv-ycsb"
    cpus: Cpus = None
    memory: Memory = None
    file_system: FileSystem = None
    mount_options: MountOptions = None
    device: Devices = None
    setting: Settings = None
    kernel: Kernel = None
    kernel_modules: KernelModules = None
    kernel_arguments: KernelArguments = None
    seed: Seed = None

    def changes(self) -> dict[str, Any]:
        """The options in the form of a manifest, as parse.load_changed() takes them. TestbedError: one is wrong."""
        kernel = streamed.file_of("--kernel", self.kernel) if self.kernel else None
        said = {
            "cpus": self.cpus,
            "memory": self.memory,
            "file_system": self.file_system,
            "mount_options": self.mount_options,
            "kernel": str(kernel.absolute()) if kernel else None,
            "kernel_modules": str(self.kernel_modules.absolute()) if self.kernel_modules else None,
            "kernel_arguments": self.kernel_arguments,
        }
        return with_seed(_with_guest(_profiles(self.device, self.setting), said), self.seed)

    def guest(self) -> GuestConfig:
        """The scaled machine of the manifest with these options. TestbedError: the model rejects it."""
        return with_modules(verdicts.machine_of(bases.find(self.manifest), self.changes()), self.module)


def _profiles(device: list[str] | None, settings: list[str] | None) -> dict[str, Any]:
    """The options --device and --set in the form of a manifest."""
    own: dict[str, Any] = {"devices": device or []}
    for setting in settings or []:
        match = SETTING.fullmatch(setting)
        if not match or (not match[1] and match[2] != "scale"):
            why = "it is no key of a profile or of the machine with a value; write device.flash-read=3us"
            raise TestbedError(f"--set {setting}: {why}")
        keys, key, value = own, match[2].replace("-", "_"), match[3]
        of_profile = (match[1] or "").startswith(("cpu", "device")) and key not in _OF_TABLE
        for part in (*(match[1] or "").split("."), *(["override"] if of_profile else [])):
            keys = keys.setdefault(part, {}) if part else keys
        keys[key] = {"true": True, "false": False}.get(value, value) if of_profile else _of_table(key, value)
    return {table: keys for table, keys in own.items() if keys not in ({}, [])}


def with_seed(own: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """`own` with the value of --seed, if the option is given."""
    return own if seed is None else own | {"seed": seed}


def _with_guest(own: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """`own` with these options as keys of the guest. Raises TestbedError if --set states the same key."""
    said, guest = {key: value for key, value in options.items() if value is not None}, own.get("guest", {})
    for key in said.keys() & guest.keys():
        raise TestbedError(f"--{key.replace('_', '-')} and --set guest.{key} say the same key; leave one out")
    return own | {"guest": guest | said} if said else own


def _of_table(key: str, value: str) -> Any:
    """The value of a table's key in the type that TOML would give it: text, a number, a list or a Boolean."""
    values: list[Any] = value.split(",") if key in _LISTS else [value]
    if key in _PATHS:
        values = [str(Path(one).absolute()) for one in values]
    elif key in (*_NUMBERS, "devices"):
        values = [int(one) if is_number(one) else one for one in values]
    elif key in _SWITCHES:
        values = [{"true": True, "false": False}.get(value, value)]
    return values if key in _LISTS else values[0]


def versions(names: list[str] | None) -> Versions:
    """The versions of the packages that --packages names; the option may be repeated or list several names."""
    listed = [name for one in names or [] for name in one.split(",")]
    return bundle.versions(check(ProgramSection, {"packages": listed}, Path("--packages")), Path("--packages"))


def power_cut(when: str | None) -> PowerCut:
    """The power cut that --power-cut states; without the option one that never happens."""
    if when is None:
        return PowerCut()
    kind, _, value = when.partition("=")
    try:
        if kind == "at-event":
            return PowerCut(at_event=_within(units.parse(value, units.COUNT)))
        if kind == "at-time":
            return PowerCut(at_ps=_within(units.parse(value, units.TIME_PS)))
    except ValueError as error:
        raise TestbedError(f"--power-cut {when}: {error}") from error
    raise TestbedError(f"--power-cut {when}: it is neither at-event=N nor at-time=T; write at-event=1000 or at-time=9s")


def _within(number: int) -> int:
    if not 1 <= number <= EVENTS_MAX:
        raise ValueError("it must be at least 1 and below 2^63")
    return number
