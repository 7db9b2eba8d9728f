# SPDX-License-Identifier: BSD-3-Clause
"""Machines of several devices: behind which bridges these are, the regions over them, and what becomes of each region.

A machine with one device and without a [[region]] has no topology: the guest's init sets it up.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt, ValidatorFunctionWrapHandler, WrapValidator

from .. import units
from ..validation import Strict
from . import mount_options
from .parameters import DeviceProfile
from .profiles import EXTENT_BYTES
from .sections import Bytes, FileSystem, ProfileSection

DEVICES_MAX = 8  # of the model
WAYS = (1, 2, 3, 4, 6, 8)  # of a region
WAYS_OF_BRIDGE = (1, 2, 4, 8)  # QEMU's host bridges know no others
REGIONS_OF_BRIDGE_MAX = 4  # HDM decoders of QEMU's host bridges
GRANULARITIES = tuple(256 << n for n in range(7))
INTERLEAVED_BYTES_MAX = 32 * 2**10  # a decoder tells ways apart by bits of the address below this one
REGION_BYTES_MAX = 4 * 2**30  # the guest keeps 1/64 of it in local memory

Partition = Literal["pmem", "ram"]
Use = Literal["fsdax", "devdax", "sector", "raw", "system-ram"]
USES: dict[Partition, tuple[Use, ...]] = {
    "pmem": ("fsdax", "devdax", "sector", "raw", "system-ram"),
    "ram": ("system-ram", "devdax"),
}
DISKS: tuple[Use, ...] = ("fsdax", "sector", "raw")  # on which there may be a file system
GUESTS_OWN = r"bin|boot|dev|etc|home|init|job|lib|lib64|own-modules|proc|root|run|sbin|sys|tmp|usr|var"
MOUNT = re.compile(rf"/(?!({GUESTS_OWN})$)[a-z][a-z0-9_-]{{0,63}}")


class DeviceSection(ProfileSection):
    """One of [[device]]."""

    bridge: Annotated[StrictInt, Field(ge=0, lt=DEVICES_MAX)] | None = None  # one of its own, by the device's number


class RegionSection(Strict):
    """One of [[region]]: all of one partition of these devices."""

    devices: Annotated[list[StrictInt], Field(min_length=1)]  # by number, in the order of the interleaving
    granularity: Bytes = GRANULARITIES[0]
    partition: Partition = "pmem"
    use: Use | None = None  # the first of those that its partition has
    file_system: FileSystem | None = None
    mount_options: str | None = None  # of a tbfs; those of the guest's if not stated
    mount: str | None = None


@dataclass(frozen=True)
class Region:
    """One region as the guest makes it."""

    devices: tuple[int, ...]
    granularity_bytes: int
    partition: Partition
    use: Use
    file_system: FileSystem | None = None
    mount: str = ""  # nothing: it is not mounted
    mount_options: str = ""  # of a tbfs
    key: str = field(default="", compare=False)  # of its table, for messages


@dataclass(frozen=True)
class Window:
    """Addresses of the host that go to these bridges in turn."""

    bridges: tuple[int, ...]
    size_bytes: int
    granularity_bytes: int = 0  # QEMU's own


@dataclass(frozen=True)
class Topology:
    """What a machine has beside its first device.

    Linux numbers regions as they are made, and each is in the window of its number. Those of volatile memory come
    first: addresses of a device and of a bridge are handed out in ascending order.
    """

    others: tuple[DeviceProfile, ...]
    bridges: tuple[int, ...]  # of each device
    regions: tuple[Region, ...]

    def windows(self, first: DeviceProfile) -> tuple[Window, ...]:
        """One for each region. The host interleaves over the bridges at the granularity of the region."""
        return tuple(
            Window(
                _in_turn(self.bridges[n] for n in region.devices),
                size_bytes(region, (first, *self.others)),
                region.granularity_bytes,
            )
            for region in self.regions
        )


def partition_bytes(device: DeviceProfile, partition: Partition) -> int:
    """How large a partition of a device is."""
    return device.volatile_size if partition == "ram" else device.capacity - device.volatile_size


def size_bytes(region: Region, devices: Sequence[DeviceProfile]) -> int:
    """As much of each of its devices as the smallest has, in whole extents."""
    ways = len(region.devices)
    each = min(REGION_BYTES_MAX // ways, *(partition_bytes(devices[n], region.partition) for n in region.devices))
    return ways * (each // EXTENT_BYTES * EXTENT_BYTES)


def has_memory(topology: Topology | None) -> bool:
    """Whether a region becomes the kernel's."""
    return topology is not None and any(region.use == "system-ram" for region in topology.regions)


def _in_turn(bridges: Iterable[int]) -> tuple[int, ...]:
    """The order in which the host goes over them."""
    return tuple(dict.fromkeys(bridges))


# ---- What a manifest says ----


def _one_or_several(value: Any, several: ValidatorFunctionWrapHandler) -> Any:
    """A table [device] is that of the only one."""
    return several(value) if isinstance(value, list) else [DeviceSection.model_validate(value)]


Devices = Annotated[list[DeviceSection], WrapValidator(_one_or_several)]


def of(
    stated: Sequence[DeviceSection],
    regions: Sequence[RegionSection],
    devices: Sequence[DeviceProfile],
    file_system: FileSystem,
    unstated_options: str = "",
) -> Topology | None:
    """That of a machine with these devices; the file system is that of regions which do not state their own.

    So are its options. The guest's init knows no tbfs, and so leaves the regions of a machine that has one to the job.
    """
    bridges = _bridges(stated)
    if len(devices) == 1 and not regions and bridges == (0,) and file_system != "tbfs":
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
    """The regions of a manifest that states none: those that each device has when it is the only one."""
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
    """Of each region; nothing if it has none. Unstated the first is at /pmem, others at /pmemN, N being a device."""
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
    if _file_system(region, mount, file_system) != "tbfs":
        return ""
    return unstated if region.mount_options is None else mount_options.checked(region.mount_options)


def file_systems(regions: Sequence[RegionSection]) -> list[tuple[int, FileSystem]]:
    """Those that regions state which would have the guest's."""
    return [(n, one.file_system) for n, one in enumerate(regions) if one.file_system and _use(one) == "fsdax"]


# ---- What it cannot say ----


def check(devices: Sequence[DeviceSection], regions: Sequence[RegionSection]) -> None:
    """Refuse what no machine can be, whatever its profiles are: ValueError with the key and the fix."""
    if not 1 <= len(devices) <= DEVICES_MAX:
        raise ValueError(f"key 'device': there are {len(devices)}, and a machine has 1 to {DEVICES_MAX}; remove some")
    of_each = (_faults(n, region, devices) for n, region in enumerate(regions))
    for fault in chain(*of_each, _faults_together(devices, regions)):
        raise ValueError(fault)


def _faults(n: int, region: RegionSection, devices: Sequence[DeviceSection]) -> Iterator[str]:
    """Of one region, each with its key."""
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
    # What a bridge gets in one piece is a granularity, too: that of a window over this one alone.
    most = min(INTERLEAVED_BYTES_MAX // _by_bits(ways), GRANULARITIES[-1] // _by_bits(over))
    if region.granularity > most:
        what = f"{ways} devices over {over} bridges are interleaved by {units.show_size(most)} at most"
        yield f"{what}, not {stated}; lower it"


def _by_bits(ways: int) -> int:
    """How many of so many ways bits of the address tell apart: three are told apart by a remainder."""
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
        if region.file_system.endswith(("-dax", "-exchange")) or region.file_system == "tbfs":
            yield "file_system", f"{use} has no DAX; write ext4-ordered, or use = 'fsdax'"
        if not region.mount:
            yield "mount", "it is missing, so that there is no file system; write it as '/disk'"


def _faults_of_options(region: RegionSection) -> Iterator[str]:
    if region.mount_options is None:
        return
    if region.file_system != "tbfs":
        yield "they are of a tbfs; write file_system = 'tbfs' beside them, or leave them out"
        return
    try:
        mount_options.checked(region.mount_options)
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
    """What is wrong with regions over these profiles, the key first; nothing if nothing is."""
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
