# SPDX-License-Identifier: BSD-3-Clause
"""Machines of several devices: the bridges of the devices, the regions over them, and the use of each region.

A machine with one device, on bridge 0, and without a [[region]] has no topology: the guest's init sets it up.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, ValidatorFunctionWrapHandler, WrapValidator

from .. import units
from ..file_systems.table import FileSystem as FileSystemRow
from ..file_systems.table import table, with_options
from ..validation import Strict
from .parameters import EXTENT_BYTES, DeviceProfile
from .sections import Bytes, FileSystem, ProfileSection

DEVICES_MAX = 8  # the model's limit
WAYS = (1, 2, 3, 4, 6, 8)  # numbers of devices that a region can interleave
WAYS_OF_BRIDGE = (1, 2, 4, 8)  # QEMU's host bridges support no others
REGIONS_OF_BRIDGE_MAX = 4  # HDM decoders of QEMU's host bridges
GRANULARITIES = tuple(256 << n for n in range(7))
INTERLEAVED_BYTES_MAX = 32 * 2**10  # a decoder selects a way by address bits below this one
REGION_BYTES_MAX = 4 * 2**30  # the guest keeps 1/64 of this size in local memory

Partition = Literal["pmem", "ram"]
Use = Literal["fsdax", "devdax", "sector", "raw", "system-ram"]
USES: dict[Partition, tuple[Use, ...]] = {
    "pmem": ("fsdax", "devdax", "sector", "raw", "system-ram"),
    "ram": ("system-ram", "devdax"),
}
DISKS: tuple[Use, ...] = ("fsdax", "sector", "raw")  # uses that may carry a file system
GUESTS_OWN = r"bin|boot|dev|etc|home|init|job|lib|lib64|proc|root|run|sbin|sys|tmp|usr|var"
MOUNT = re.compile(rf"/(?!({GUESTS_OWN})$)[a-z][a-z0-9_-]{{0,63}}")


class DeviceSection(ProfileSection):
    """One table of [[device]]."""

    bridge: Annotated[StrictInt, Field(ge=0, lt=DEVICES_MAX)] | None = None  # None: the bridge with the device's number


class RegionSection(Strict):
    """One table of [[region]]: a region over one partition of each of these devices."""

    devices: Annotated[list[StrictInt], Field(min_length=1)]  # by number, in the order of the interleaving
    granularity: Bytes = GRANULARITIES[0]
    partition: Partition = "pmem"
    use: Use | None = None  # None: the first use of its partition in USES
    file_system: FileSystem | None = None
    mount_options: str | None = None  # of a file system that accepts some; None: the guest's options
    mount: str | None = None


@dataclass(frozen=True)
class Region:
    """One region as the guest makes it."""

    devices: tuple[int, ...]
    granularity_bytes: int
    partition: Partition
    use: Use
    file_system: FileSystem | None = None
    mount: str = ""  # empty: not mounted
    mount_options: str = ""  # as stated
    key: str = field(default="", compare=False)  # of its table, for messages


@dataclass(frozen=True)
class Window:
    """A window of host addresses that is interleaved over these bridges."""

    bridges: tuple[int, ...]
    size_bytes: int
    granularity_bytes: int = 0  # 0: QEMU's default


@dataclass(frozen=True)
class Topology:
    """The parts of a machine besides its first device.

    Linux numbers regions in the order of their creation, and each region is in the window of its number. Regions of
    volatile memory come first, because devices and bridges assign addresses in ascending order.
    """

    others: tuple[DeviceProfile, ...]
    bridges: tuple[int, ...]  # of each device
    regions: tuple[Region, ...]

    def windows(self, first: DeviceProfile) -> tuple[Window, ...]:
        """One window for each region. The host interleaves over the bridges at the granularity of the region."""
        return tuple(
            Window(
                _in_turn(self.bridges[n] for n in region.devices),
                size_bytes(region, (first, *self.others)),
                region.granularity_bytes,
            )
            for region in self.regions
        )


def partition_bytes(device: DeviceProfile, partition: Partition) -> int:
    """The size of a partition of a device."""
    return device.volatile_size if partition == "ram" else device.capacity - device.volatile_size


def size_bytes(region: Region, devices: Sequence[DeviceProfile]) -> int:
    """The size of a region: from each device as much as the smallest one has, in whole extents."""
    ways = len(region.devices)
    each = min(REGION_BYTES_MAX // ways, *(partition_bytes(devices[n], region.partition) for n in region.devices))
    return ways * (each // EXTENT_BYTES * EXTENT_BYTES)


def has_memory(topology: Topology | None) -> bool:
    """Whether the kernel uses a region as its memory (system-ram)."""
    return topology is not None and any(region.use == "system-ram" for region in topology.regions)


Mounted = tuple[tuple[FileSystemRow, str], ...]  # each file system, with its stated mount options


def mounted(topology: Topology | None, file_system: FileSystem, options: str) -> Mounted:
    """The file systems of all regions; the arguments give the only one of a machine without a topology."""
    regions = [(one.file_system, one.mount_options) for one in topology.regions] if topology else None
    return tuple((table()[name], stated) for name, stated in regions or [(file_system, options)] if name)


def _in_turn(bridges: Iterable[int]) -> tuple[int, ...]:
    """The order in which the host interleaves over the bridges."""
    return tuple(dict.fromkeys(bridges))


# ---- Topologies of manifests ----


def _one_or_several(value: Any, several: ValidatorFunctionWrapHandler) -> Any:
    """Accept a single table [device] as a list of one device."""
    return several(value) if isinstance(value, list) else [DeviceSection.model_validate(value)]


Devices = Annotated[list[DeviceSection], WrapValidator(_one_or_several)]


def of(
    stated: Sequence[DeviceSection],
    regions: Sequence[RegionSection],
    devices: Sequence[DeviceProfile],
    file_system: FileSystem,
    unstated_options: str = "",
) -> Topology | None:
    """The topology of a machine with these devices; None if it has one device on bridge 0 and no region.

    The file system and its options apply to regions that do not state their own.
    """
    bridges = _bridges(stated)
    if len(devices) == 1 and not regions and bridges == (0,):
        return None
    sections = regions or _each_alone(devices)
    made = [
        Region(
            tuple(section.devices),
            section.granularity,
            section.partition,
            _use(section),
            _file_system(section, mount, file_system),
            mount,
            _mount_options(section, mount, file_system, unstated_options),
            f"region.{n}",
        )
        for n, (section, mount) in enumerate(zip(sections, _mounts(sections), strict=True))
    ]
    return Topology(tuple(devices[1:]), bridges, tuple(sorted(made, key=lambda region: region.partition == "pmem")))


def _bridges(devices: Sequence[DeviceSection]) -> tuple[int, ...]:
    return tuple(n if device.bridge is None else device.bridge for n, device in enumerate(devices))


def _each_alone(devices: Sequence[DeviceProfile]) -> list[RegionSection]:
    """The regions of a manifest that states none: one for each partition of each device."""
    partitions: tuple[Partition, ...] = ("ram", "pmem")
    return [
        RegionSection(devices=[n], partition=partition)
        for n, device in enumerate(devices)
        for partition in partitions
        if partition_bytes(device, partition)
    ]


def _use(region: RegionSection) -> Use:
    return region.use or USES[region.partition][0]


def _mounts(regions: Sequence[RegionSection]) -> list[str]:
    """The mount point of each region, or an empty string. The defaults are /pmem, then /pmemN, N being a device."""
    found: list[str] = []
    for region in regions:
        unstated = f"/pmem{region.devices[0]}" if "/pmem" in found else "/pmem"
        found.append(region.mount or (unstated if _use(region) == "fsdax" else ""))
    return found


def _file_system(region: RegionSection, mount: str, file_system: FileSystem) -> FileSystem | None:
    if not mount:
        return None
    return region.file_system or (file_system if _use(region) == "fsdax" else "ext4-ordered")


def _mount_options(region: RegionSection, mount: str, file_system: FileSystem, unstated: str) -> str:
    name = _file_system(region, mount, file_system)
    checked = table()[name].checked if name else None
    if not checked:
        return ""
    return unstated if region.mount_options is None else checked(region.mount_options)


def file_systems(regions: Sequence[RegionSection]) -> list[tuple[int, FileSystem]]:
    """The number and stated file system of each fsdax region, which otherwise would get the guest's."""
    return [(n, one.file_system) for n, one in enumerate(regions) if one.file_system and _use(one) == "fsdax"]


# ---- Checks of topologies ----


def check(devices: Sequence[DeviceSection], regions: Sequence[RegionSection]) -> None:
    """Raise ValueError, with the key and the fix, for a machine that is impossible with any profiles."""
    if not 1 <= len(devices) <= DEVICES_MAX:
        raise ValueError(f"key 'device': there are {len(devices)}, and a machine has 1 to {DEVICES_MAX}; remove some")
    of_each = (_faults(n, region, devices) for n, region in enumerate(regions))
    for fault in chain(*of_each, _faults_together(devices, regions)):
        raise ValueError(fault)


def _faults(n: int, region: RegionSection, devices: Sequence[DeviceSection]) -> Iterator[str]:
    """The faults of one region, each with its key."""
    bridges = _bridges(devices)
    yield from (f"key 'region.{n}.devices': {fault}" for fault in _faults_of_ways(region, bridges))
    yield from (f"key 'region.{n}.granularity': {fault}" for fault in _faults_of_granularity(region, bridges))
    yield from (f"key 'region.{n}.{key}': {fault}" for key, fault in _faults_of_use(region))
    yield from (f"key 'region.{n}.mount_options': {fault}" for fault in _faults_of_options(region))


def _faults_of_ways(region: RegionSection, bridges: Sequence[int]) -> Iterator[str]:
    ways, last = len(region.devices), len(bridges) - 1
    for number, times in Counter(region.devices).items():
        if not 0 <= number <= last:
            yield f"there is no device {number}; the machine has devices 0 to {last}"
            return
        if times > 1:
            yield f"device {number} stands there {times} times; leave it once"
    if ways not in WAYS:
        yield f"{ways} devices cannot be interleaved; name 1, 2, 3, 4, 6 or 8"
    behind = [bridges[number] for number in region.devices]
    over = _in_turn(behind)
    each = ways // len(over)
    if set(Counter(behind).values()) != {each}:
        yield f"they are behind the bridges {_listed(behind)}, not as many behind each; change device.N.bridge"
    elif each not in WAYS_OF_BRIDGE:
        yield f"a bridge interleaves 1, 2, 4 or 8 devices, not {each}; put them behind other bridges"
    elif behind != list(over) * each:
        of_each = [[number for number in region.devices if bridges[number] == bridge] for bridge in over]
        fix = _listed(chain(*zip(*of_each, strict=True)))
        yield f"the host's window goes over the bridges in turn; write them as [{fix}]"


def _faults_of_granularity(region: RegionSection, bridges: Sequence[int]) -> Iterator[str]:
    stated, ways = units.show_size(region.granularity), len(region.devices)
    if region.granularity not in GRANULARITIES:
        yield f"{stated} is none of 256B, 512B, 1KiB and so on to 16KiB; write one of them"
    over = len(_in_turn(bridges[number] for number in region.devices))
    # A bridge interleaves at the granularity times the bridges of the window, which must be a granularity, too.
    most = min(INTERLEAVED_BYTES_MAX // _by_bits(ways), GRANULARITIES[-1] // _by_bits(over))
    if region.granularity > most:
        what = f"{ways} devices over {over} bridges are interleaved by {units.show_size(most)} at most"
        yield f"{what}, not {stated}; lower it"


def _by_bits(ways: int) -> int:
    """The number of ways that address bits tell apart: a remainder tells a factor of three apart."""
    return ways // 3 if ways % 3 == 0 else ways


def _faults_of_use(region: RegionSection) -> Iterator[tuple[str, str]]:
    use, uses = _use(region), USES[region.partition]
    if use not in uses:
        yield "use", f"of a partition '{region.partition}' can be {' or '.join(uses)}, not {use}; change one of them"
    if region.mount is not None:
        if use not in DISKS:
            yield "mount", f"{use} has no file system; remove it"
        elif not MOUNT.fullmatch(region.mount):
            yield "mount", f"'{region.mount}' is no folder for it; write /pmem1, or another that the guest has not"
    if region.file_system and use not in DISKS:
        yield "file_system", f"{use} has none; remove it"
    elif region.file_system and use != "fsdax":
        if table()[region.file_system].is_dax:
            yield "file_system", f"{use} has no DAX; write ext4-ordered, or use = 'fsdax'"
        if not region.mount:
            yield "mount", "it is missing, so that there is no file system; write it as '/disk'"


def _faults_of_options(region: RegionSection) -> Iterator[str]:
    if region.mount_options is None:
        return
    checked = table()[region.file_system].checked if region.file_system else None
    if not checked:
        yield f"they are of a {with_options()}; write file_system = '{with_options()}' beside them, or leave them out"
        return
    try:
        checked(region.mount_options)
    except ValueError as error:
        yield str(error)


def _faults_together(devices: Sequence[DeviceSection], regions: Sequence[RegionSection]) -> Iterator[str]:
    bridges = _bridges(devices)
    owners: dict[tuple[int, Partition], int] = {}
    used = Counter[int]()
    mounted: dict[str, int] = {}
    for n, (region, mount) in enumerate(zip(regions, _mounts(regions), strict=True)):
        for number in region.devices:
            owner = owners.setdefault((number, region.partition), n)
            if owner != n:
                what = f"region {owner} has the {region.partition} of device {number}"
                yield f"key 'region.{n}.devices': {what}; take it out"
        for bridge in _in_turn(bridges[number] for number in region.devices):
            used[bridge] += 1
            if used[bridge] > REGIONS_OF_BRIDGE_MAX:
                most = f"bridge {bridge} leads to {used[bridge]} regions, and can to {REGIONS_OF_BRIDGE_MAX}"
                yield f"key 'region.{n}.devices': {most}; put devices behind another one"
        if mount and mounted.setdefault(mount, n) != n:
            yield f"key 'region.{n}.mount': {mount} is that of region {mounted[mount]}; write another"


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def problem(topology: Topology, first: DeviceProfile) -> str:
    """The first fault of the regions over these profiles, with the key first; empty if there is no fault."""
    devices = (first, *topology.others)
    for region in topology.regions:
        for number in region.devices:
            if not partition_bytes(devices[number], region.partition):
                what = f"device {number}, {devices[number].name}, has no {region.partition}"
                return f"key '{region.key}.partition': {what}; change it, or device.{number}.override.volatile_size"
        volatile = {devices[number].volatile_size for number in region.devices}
        if len(volatile) > 1:
            sizes = " and ".join(map(units.show_size, sorted(volatile)))
            return f"key '{region.key}.devices': their volatile partitions are of {sizes}; make them of one size"
    return ""
