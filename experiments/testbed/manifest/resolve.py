# SPDX-License-Identifier: BSD-3-Clause
"""Second step: profiles, overrides and files of one point of a manifest become its machine at full size."""

import re
from dataclasses import replace
from typing import Any

from .. import units
from ..build import workloads
from ..errors import TestbedError
from ..file_systems.table import table
from ..program import kernel_module, own_kernel
from ..program.own_kernel import OwnKernel
from ..validation import named
from . import page_sizes, profiles, topology
from .guest_config import FullSize, GuestConfig
from .page_sizes import PageSize
from .parameters import CpuProfile, DeviceProfile
from .parse import Manifest, Point
from .sections import FileSystem, ProfileSection
from .templates import fill, names_in_all
from .topology import Mounted


def full_size(manifest: Manifest, point: Point) -> FullSize:
    """The machine of one point at full size, the size for which overrides state values."""
    section, origin = manifest.guest, manifest.origin
    cpu = _cpu(manifest, point)
    own = devices(manifest, point)
    file_system = _file_system(manifest, point)
    with named(origin, "guest.modules"):
        modules = kernel_module.several(kernel_module.read(origin.parent / name) for name in section.modules)
    options = _mount_options(manifest, point, file_system)
    of = topology.of(manifest.device, manifest.region, own, file_system, options)
    mounted = topology.mounted(of, file_system, options)
    _check_direct_stores(manifest, mounted)
    return FullSize(
        GuestConfig(
            cpu=cpu,
            device=own[0],
            memory_bytes=max(section.memory, section.memory_full),
            boot_insn_ps=section.boot_insn,
            timeout_s=section.timeout / units.TIME_PS["s"],
            file_system=file_system,
            workloads=_workloads(manifest),
            modules=modules,
            topology=of,
            kernel_arguments=_kernel_arguments(manifest),
            kernel=_kernel(manifest, file_system, mounted),
            hmat=topology.has_memory(of) if section.hmat is None else section.hmat,
            machine_checks=section.machine_checks,
            direct_stores=section.direct_stores,
            page_size=_page_size(manifest, point, mounted),
            mount_options=options,
        )
    )


def devices(manifest: Manifest, point: Point) -> list[DeviceProfile]:
    """The devices of one point at full size."""
    sections = manifest.device
    keys = ["device"] if len(sections) == 1 else [f"device.{n}" for n in range(len(sections))]
    stated = zip(keys, sections, strict=True)
    return [profiles.load_device(*_at(manifest, point, key, section), manifest.origin, key) for key, section in stated]


def machine_axes(manifest: Manifest) -> tuple[str, ...]:
    """The axes on which the machine of a point depends."""
    profiles_of = (manifest.cpu, *manifest.device)
    texts = [text for section in profiles_of for text in (section.profile, *section.override.values())]
    guest, file_systems = manifest.guest, manifest.guest.file_system_of
    named_axes = names_in_all([*texts, guest.cpus, guest.mount_options, guest.page_size])
    return tuple(
        axis
        for axis, values in manifest.matrix.items()
        if axis in named_axes or any(str(value) in file_systems for value in values)
    )


def _at(manifest: Manifest, point: Point, name: str, section: ProfileSection) -> tuple[str, dict[str, Any]]:
    """The profile's name and the overrides at one point."""
    override = {
        key: fill(value, point, f"{name}.override.{key}", manifest.origin) if isinstance(value, str) else value
        for key, value in section.override.items()
    }
    return fill(section.profile, point, f"{name}.profile", manifest.origin), override


def _cpu(manifest: Manifest, point: Point) -> CpuProfile:
    name, override = _at(manifest, point, "cpu", manifest.cpu)
    cpu = profiles.load_cpu(name, override, manifest.origin, _cpus(manifest, point))
    return replace(cpu, seed=manifest.seed)


def _cpus(manifest: Manifest, point: Point) -> int:
    filled = fill(str(manifest.guest.cpus), point, "guest.cpus", manifest.origin)
    if not re.fullmatch("[0-9]{1,9}", filled):
        what = f"'{filled}' is not a number of CPUs; write 4, or an axis: '{{threads}}'"
        raise TestbedError(f"{manifest.origin}: key 'guest.cpus': {what}")
    return int(filled)


def _file_system(manifest: Manifest, point: Point) -> FileSystem:
    of_values = manifest.guest.file_system_of
    asked = (of_values[str(value)] for value in point.values() if str(value) in of_values)
    return next(asked, manifest.guest.file_system)


def _mount_options(manifest: Manifest, point: Point, file_system: FileSystem) -> str:
    """The stated mount options; empty at points with a file system that accepts no stated options."""
    filled = fill(manifest.guest.mount_options, point, "guest.mount_options", manifest.origin)
    checked = table()[file_system].checked
    with named(manifest.origin, "guest.mount_options"):
        return checked(filled) if checked else ""


def _check_direct_stores(manifest: Manifest, mounted: Mounted) -> None:
    for one, options in mounted:
        for option, instead in one.line_stores.items():
            if option in options.split(",") and not manifest.guest.direct_stores:
                what = f"{option} of a {one.name} needs a CPU with MOVDIR64B; write it as true, or {instead}"
                raise TestbedError(f"{manifest.origin}: key 'guest.direct_stores': {what}")


def _workloads(manifest: Manifest) -> tuple[str, ...]:
    with named(manifest.origin, "guest.workloads"):
        return workloads.checked(manifest.guest.workloads)


def _kernel_arguments(manifest: Manifest) -> str:
    with named(manifest.origin, "guest.kernel_arguments"):
        return own_kernel.checked_arguments(manifest.guest.kernel_arguments)


def _kernel(manifest: Manifest, file_system: FileSystem, mounted: Mounted) -> OwnKernel | None:
    """The user's own kernel, if the manifest names one."""
    section, here = manifest.guest, manifest.origin.parent
    with named(manifest.origin, "guest.kernel"):
        if not section.kernel and section.kernel_modules:
            raise TestbedError("kernel_modules are of a kernel of one's own, and none is named; add kernel")
        if not section.kernel:
            return None
        if brought := next((one.name for one, _ in mounted if one.component), ""):
            raise TestbedError(f"the module of {brought} is for the image's kernel; leave kernel out, or the {brought}")
        folder = here / section.kernel_modules if section.kernel_modules else None
        return own_kernel.read(here / section.kernel, folder, file_system)


def _page_size(manifest: Manifest, point: Point, mounted: Mounted) -> PageSize | None:
    """The page size of files that are mapped by DAX; None if unstated. Refused if no mounted file system has DAX."""
    filled = fill(manifest.guest.page_size, point, "guest.page_size", manifest.origin)
    with named(manifest.origin, "guest.page_size"):
        return page_sizes.checked(filled, [one for one, _ in mounted])
