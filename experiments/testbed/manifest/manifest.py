# SPDX-License-Identifier: BSD-3-Clause
"""Manifests: TOML files that state an experiment, and the runs that follow from one."""

import itertools
import math
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, StrictStr, field_validator, model_validator

from .. import units
from ..errors import TestbedError
from ..patterns import Cells
from ..program import files_back, kernel_module, own_kernel
from ..program.bundle import Bundle, ProgramSection, pack
from ..program.job_archive import Job, command_job
from ..program.kernel_module import KernelModule
from ..program.own_kernel import OwnKernel
from ..validation import Strict, check, named
from . import bases, mount_options, page_sizes, profiles, topology
from .page_sizes import PageSize
from .parameters import CpuProfile, DeviceProfile
from .sections import Bytes, FileSystem, Picoseconds, ProfileSection
from .templates import fill, names_in_all
from .topology import Devices, RegionSection, Topology

INSN_PS_MAX = 2**32 - 1  # of `-icount boot-insn-ps`
MEMORY_BYTES_MIN = 128 * 2**20  # the guest's root, 65 MiB of archives, is in it
MEMORY_BYTES_MAX = 2**39  # what the CPU's 40 bits of address leave beside the device and its window
TIMEOUT_PS_MAX = 2**63 - 1
SEVERAL_OPTIONS = re.compile(r"-[^=\s]*\s|-.*\s-")  # "-n 4", "--a=1 --b=2", but not "--text=one two"
POINTS_MAX = 10**6  # to look at so many takes a minute

Axis = list[StrictStr | StrictInt]
Point = dict[str, str | int]
Archive = Literal[
    "threaded",
    "fams",
    "mtree",
    "pages",
    "filework",
    "pages-fams",
    "kyoto-server",
    "neo4j",
    "memcached-ycsb",
    "stl-map",
]


class GuestSection(Strict):
    """The machine around the CPU and the device."""

    # Cores of the CPU that the guest has, each a CPU to it; {names} of axes may stand here.
    cpus: StrictInt | StrictStr = 1
    memory: Annotated[Bytes, Field(ge=MEMORY_BYTES_MIN, le=MEMORY_BYTES_MAX, multiple_of=2**20)] = 2 * 2**30
    # At full size, if the workload needs more then; a study of 1/N gets 1/N of it, but no less than `memory`.
    memory_full: Annotated[Bytes, Field(le=MEMORY_BYTES_MAX)] = 0
    # Host time at the manifest's own scale, so that a hung guest ends; it has no influence on results.
    timeout: Annotated[Picoseconds, Field(ge=10**12, le=TIMEOUT_PS_MAX)] = 1200 * 10**12
    # Coarse time outside the region of interest: boot loops that poll for a span of virtual time end sooner.
    boot_insn: Annotated[Picoseconds, Field(ge=1, le=INSN_PS_MAX)] = 8000
    # What is at /pmem, and at points that have a certain value on some axis: an engine that needs another one.
    file_system: FileSystem = "ext4-dax"
    file_system_of: dict[str, FileSystem] = {}
    # Of a tbfs, as `mount -o` has them; {names} of axes may stand here.
    mount_options: str = ""
    # The pages by which processes map files of /pmem, "4KiB" or "2MiB"; {names} of axes may stand here. Unstated they
    # are as the file system lays its files out, which does not depend on the size of the device.
    page_size: str = ""
    # What the image holds back: programs that not every guest has, since what is in memory moves every measurement.
    archives: list[Archive] = []
    # Kernel modules that it loads before anything is mounted, in this order; paths are relative to the manifest.
    modules: list[str] = []
    # A kernel in the place of the image's, a bzImage or a vmlinux, and its modules, a folder lib/modules/RELEASE; those
    # beside it if none is named. And what any kernel is told after the testbed's own arguments.
    kernel: str = ""
    kernel_modules: str = ""
    kernel_arguments: str = ""
    # Whether it tells its kernel how fast memory is, by HMAT and CDATs. Unstated it does where a region is system-ram.
    hmat: StrictBool | None = None
    # Whether a load of poison is a machine check that its kernel survives. Without, only the event log tells of it.
    machine_checks: StrictBool = False
    # Whether its CPU has MOVDIR64B, which stores 64 bytes at once.
    direct_stores: StrictBool = False


class WorkloadSection(Strict):
    """`command` is run in the guest; {names} in it come from the matrix, `scaled` and `fixed`."""

    command: str
    scaled: dict[str, Annotated[StrictInt, Field(gt=0)]] = {}  # stated at full size, divided by the scale
    # Of `scaled`: how many times fewer at points with a certain value on some axis: an engine that would take hours.
    fewer: dict[str, dict[str, Annotated[int, Field(gt=0)]]] = {}
    fixed: dict[str, str | int] = {}


class ReplaySection(Strict):
    """`grid` lists values of device parameters; every combination is one configuration to replay a capture on."""

    grid: dict[str, list[str | int | float | bool]] = {}


class ResultsSection(Strict):
    """How to read what the program printed: each match of `pattern` is a row, its named groups are the cells. And which
    `files` of the guest are kept beside the result."""

    pattern: str = ""
    files: list[str] = []

    @field_validator("files")
    @classmethod
    def _names_files(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            if why := files_back.fault(pattern):
                raise ValueError(f"'{pattern}' {why}")
        return patterns

    @field_validator("pattern")
    @classmethod
    def _names_its_cells(cls, pattern: str) -> str:
        try:
            names = Cells(pattern).names
        except ValueError as error:
            raise ValueError(f"is no regular expression: {error}") from error
        if pattern and not names:
            raise ValueError("names no cell; write one as (?P<name>...)")
        return pattern


class PlotSection(Strict):
    """A panel for each `y` over `x`, a line for each value of `series`.

    They name axes of the matrix, cells of rows, counters of the model, or `time` and `hit_rate`.
    """

    x: str
    y: Annotated[list[str], Field(min_length=1)]
    series: str = ""


class Manifest(Strict):
    base: str = ""  # the manifest that says what this one does not
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    summary: str
    scale: Annotated[StrictInt, Field(ge=1)] = 1
    guest: GuestSection = GuestSection()
    cpu: ProfileSection
    device: Devices  # a table, or an array of tables
    region: list[RegionSection] = []
    workload: WorkloadSection
    matrix: dict[str, Axis] = {}
    replay: ReplaySection = ReplaySection()
    program: ProgramSection | None = None
    results: ResultsSection = ResultsSection()
    plot: PlotSection | None = None

    @field_validator("matrix")
    @classmethod
    def _axes_have_values(cls, matrix: dict[str, Axis]) -> dict[str, Axis]:
        for axis, values in matrix.items():
            if not values or len(set(values)) != len(values):
                raise ValueError(f"axis '{axis}' must list at least one value and none twice")
        return matrix

    @model_validator(mode="after")
    def _file_systems_are_for_points(self) -> "Manifest":
        _are_values("guest.file_system_of", self.guest.file_system_of, self.matrix)
        if self.guest.mount_options and "tbfs" not in (self.guest.file_system, *self.guest.file_system_of.values()):
            what = f"they are of a tbfs, and {self.guest.file_system} has none; leave them out, or ask for a tbfs"
            raise ValueError(f"key 'guest.mount_options': {what}")
        return self

    @model_validator(mode="after")
    def _regions_can_be(self) -> "Manifest":
        topology.check(self.device, self.region)
        said = sorted(self.guest.model_fields_set & {"file_system", "file_system_of"})
        for n, own in topology.file_systems(self.region):
            if said and (said, own) != (["file_system"], self.guest.file_system):
                raise ValueError(f"key 'guest.{said[0]}': region {n} states its own file_system, {own}; remove one")
        return self

    @model_validator(mode="after")
    def _fewer_is_of_scaled(self) -> "Manifest":
        for name, divisors in self.workload.fewer.items():
            if name not in self.workload.scaled:
                raise ValueError(f"key 'workload.fewer': '{name}' is not in workload.scaled; add it there")
            _are_values(f"workload.fewer.{name}", divisors, self.matrix)
        return self


def _are_values(key: str, asked: Iterable[str], matrix: Mapping[str, Axis]) -> None:
    values = {str(value) for axis in matrix.values() for value in axis}
    for value in asked:
        if value not in values:
            raise ValueError(f"key '{key}': '{value}' is no value of the matrix; remove it")


@dataclass(frozen=True)
class GuestConfig:
    """Everything about the machine that a run boots, in base units."""

    cpu: CpuProfile
    device: DeviceProfile
    memory_bytes: int
    boot_insn_ps: int
    timeout_s: float
    file_system: FileSystem = "ext4-dax"
    archives: tuple[Archive, ...] = ()
    modules: tuple[KernelModule, ...] = ()
    topology: Topology | None = None  # of a machine that has more than the one device
    kernel: OwnKernel | None = None  # in the place of the image's
    kernel_arguments: str = ""
    hmat: bool = False  # its kernel is told how fast memory is
    machine_checks: bool = False  # a load of poison is one
    direct_stores: bool = False  # its CPU has MOVDIR64B
    page_size: PageSize | None = None  # by which files are mapped; None: as the file system lays them out

    @property
    def devices(self) -> tuple[DeviceProfile, ...]:
        return (self.device, *(self.topology.others if self.topology else ()))


@dataclass(frozen=True)
class Run:
    """One point of a manifest's matrix: one guest."""

    manifest: str
    scale: int
    point: Point
    argv: tuple[str, ...]
    guest: GuestConfig
    full: GuestConfig = field(compare=False)  # the same before it was scaled, for messages
    program: Job | None = None  # what a manifest with a [program] sends along
    origin: str = field(default="", compare=False)  # the manifest's file, for messages

    @property
    def label(self) -> str:
        return "-".join(str(value) for value in self.point.values()) or "run"

    @property
    def job(self) -> Job:
        """What the guest is sent."""
        return self.program or command_job(self.argv)


def load(path: Path, scale: int | None = None) -> Manifest:
    """The checked manifest in `path`, at its own scale or at 1/`scale`."""
    manifest = check(Manifest, bases.stated(path, partial(check, Manifest)), path)
    return manifest if scale is None else at_scale(manifest, scale)


# What a command says of the guest puts out what a manifest says beside it.
_PUT_OUT = {"memory": ("memory_full",), "file_system": ("file_system_of", "mount_options")}


def load_changed(path: Path, own: bases.Data) -> tuple[Manifest, Path]:
    """The same with what options of a command say over it, and how to name that in messages.

    `own` says what a manifest would, and under "devices" the profiles of all devices: what the manifest overrides of
    its own no longer counts, while the bridges stay.
    """
    data = bases.stated(path, partial(check, Manifest))
    manifest = check(Manifest, data, path)
    if not own:
        return manifest, path
    for key in own.get("guest", {}):
        for other in _PUT_OUT.get(key, ()):
            data.get("guest", {}).pop(other, None)
    profiles = own.get("devices", [])
    if len(profiles) > 1 or any(map(bases.is_number, own.get("device", {}))):
        data["device"] = _tables(data["device"])
    if profiles:
        data["device"] = _of_profiles(data["device"], profiles)
    if "region" in own:
        data.setdefault("region", [])
    origin = path.with_name(f"{path.name}, with the options")
    changed = {table: keys for table, keys in own.items() if table != "devices"}
    return check(Manifest, bases.over(data, changed, origin), origin), origin


def _tables(device: bases.Data | list[bases.Data]) -> list[bases.Data]:
    return device if isinstance(device, list) else [device]


def _of_profiles(device: bases.Data | list[bases.Data], profiles: Sequence[str]) -> bases.Data | list[bases.Data]:
    """Devices of these profiles behind the bridges that there are, as a table or an array of tables as they were."""
    bridges = [{key: value for key, value in table.items() if key == "bridge"} for table in _tables(device)]
    tables = [{"profile": name, **(bridges[n] if n < len(bridges) else {})} for n, name in enumerate(profiles)]
    return tables if isinstance(device, list) else tables[0]


def at_scale(manifest: Manifest, scale: int) -> Manifest:
    """The same experiment at 1/`scale`; a larger one gets so much more host time."""
    timeout = manifest.guest.timeout * max(manifest.scale, scale) // scale
    guest = manifest.guest.model_copy(update={"timeout": timeout})
    return manifest.model_copy(update={"scale": scale, "guest": guest})


def guest_config(manifest: Manifest, origin: Path, point: Point | None = None) -> GuestConfig:
    """The machine of one point at the manifest's scale, the first if none is given. The model has not seen it yet."""
    return scaled(full_size(manifest, origin, point or first_point(manifest)), manifest.scale)


def full_size(manifest: Manifest, origin: Path, point: Point) -> GuestConfig:
    """The same with CPU and device before they are scaled, which is what overrides state."""
    section = manifest.guest
    cpu = profiles.load_cpu(*_at("cpu", manifest.cpu, point, origin), origin, _cpus(section, point, origin))
    memory_bytes = max(section.memory, _whole_mib(section.memory_full // manifest.scale))
    timeout_s = section.timeout / units.TIME_PS["s"]
    devices = full_devices(manifest, origin, point)
    file_system = _file_system(section, point)
    with named(origin, "guest.modules"):
        modules = kernel_module.several(kernel_module.read(origin.parent / name) for name in section.modules)
    options = _mount_options(section, file_system, point, origin)
    of = topology.of(manifest.device, manifest.region, devices, file_system, options)
    _check_direct_stores(section, of, origin)
    return GuestConfig(
        cpu,
        devices[0],
        memory_bytes,
        section.boot_insn,
        timeout_s,
        file_system,
        tuple(section.archives),
        modules,
        of,
        *_kernel(section, file_system, "tbfs" in (file_system, *(one.file_system for one in manifest.region)), origin),
        hmat=topology.has_memory(of) if section.hmat is None else section.hmat,
        machine_checks=section.machine_checks,
        direct_stores=section.direct_stores,
        page_size=_page_size(section, file_system, of, point, origin),
    )


def _kernel(
    section: GuestSection, file_system: FileSystem, has_tbfs: bool, origin: Path
) -> tuple[OwnKernel | None, str]:
    """The user's own, and what it or the guest's is told."""
    with named(origin, "guest.kernel_arguments"):
        arguments = own_kernel.checked_arguments(section.kernel_arguments)
    with named(origin, "guest.kernel"):
        if not section.kernel and section.kernel_modules:
            raise TestbedError("kernel_modules are of a kernel of one's own, and none is named; add kernel")
        if not section.kernel:
            return None, arguments
        if has_tbfs:
            raise TestbedError("the module of tbfs is for the image's kernel; leave kernel out, or the tbfs")
        folder = origin.parent / section.kernel_modules if section.kernel_modules else None
        return own_kernel.read(origin.parent / section.kernel, folder, file_system), arguments


def scaled(full: GuestConfig, scale: int) -> GuestConfig:
    """A machine for a 1/`scale` study."""
    device, *others = (profiles.scale_device(device, scale) for device in full.devices)
    of = full.topology and replace(full.topology, others=tuple(others))
    return replace(full, cpu=profiles.scale_cpu(full.cpu, scale), device=device, topology=of)


def _whole_mib(size_bytes: int) -> int:
    return -(-size_bytes // 2**20) * 2**20


def first_point(manifest: Manifest) -> Point:
    return {axis: values[0] for axis, values in manifest.matrix.items()}


def full_devices(manifest: Manifest, origin: Path, point: Point) -> list[DeviceProfile]:
    """The devices of one point before they are scaled."""
    sections = manifest.device
    keys = ["device"] if len(sections) == 1 else [f"device.{n}" for n in range(len(sections))]
    stated = zip(keys, sections, strict=True)
    return [profiles.load_device(*_at(key, section, point, origin), origin, key) for key, section in stated]


def check_one_device(manifest: Manifest, origin: Path, what: str) -> None:
    """Refuse a manifest that has more, for `what` takes no others."""
    if len(manifest.device) > 1 or manifest.region:
        key = "region" if manifest.region else "device"
        raise TestbedError(f"{origin}: key '{key}': {what} has one [device] and no [[region]]; take another manifest")


def _at(name: str, section: ProfileSection, point: Point, origin: Path) -> tuple[str, dict[str, Any]]:
    """The profile and the overrides of one point."""
    override = {
        key: fill(value, point, f"{name}.override.{key}", origin) if isinstance(value, str) else value
        for key, value in section.override.items()
    }
    return fill(section.profile, point, f"{name}.profile", origin), override


def _cpus(section: GuestSection, point: Point, origin: Path) -> int:
    filled = fill(str(section.cpus), point, "guest.cpus", origin)
    if not re.fullmatch("[0-9]{1,9}", filled):
        raise TestbedError(
            f"{origin}: key 'guest.cpus': '{filled}' is not a number of CPUs; write 4, or an axis: '{{threads}}'"
        )
    return int(filled)


def _file_system(section: GuestSection, point: Point) -> FileSystem:
    asked = [section.file_system_of[str(value)] for value in point.values() if str(value) in section.file_system_of]
    return asked[0] if asked else section.file_system


def _check_direct_stores(section: GuestSection, of: Topology | None, origin: Path) -> None:
    asked = [one for one in (of.regions if of else ()) if mount_options.STORES_LINES in one.mount_options.split(",")]
    if asked and not section.direct_stores:
        what = f"{mount_options.STORES_LINES} of a tbfs needs a CPU with MOVDIR64B; write it as true, or atomic=16"
        raise TestbedError(f"{origin}: key 'guest.direct_stores': {what}")


def _page_size(
    section: GuestSection, file_system: FileSystem, of: Topology | None, point: Point, origin: Path
) -> PageSize | None:
    """That of files that are mapped by DAX; points without any have none."""
    filled = fill(section.page_size, point, "guest.page_size", origin)
    mounted = [one.file_system for one in of.regions] if of else [file_system]
    with named(origin, "guest.page_size"):
        try:
            return page_sizes.checked(filled, [one for one in mounted if one])
        except ValueError as error:
            raise TestbedError(str(error)) from error


def _mount_options(section: GuestSection, file_system: FileSystem, point: Point, origin: Path) -> str:
    """Those of a tbfs; points with another file system have none."""
    filled = fill(section.mount_options, point, "guest.mount_options", origin)
    with named(origin, "guest.mount_options"):
        try:
            return mount_options.checked(filled) if file_system == "tbfs" else ""
        except ValueError as error:
            raise TestbedError(str(error)) from error


def runs(path: Path, scale: int | None = None) -> list[Run]:
    """Every run of the manifest in `path`, in the order of its matrix, at its own scale or at 1/`scale`."""
    return list(runs_one_by_one(path, scale))


def runs_one_by_one(path: Path, scale: int | None = None) -> "Runs":
    """The same, to be looked at one after the other."""
    return Runs(load(path, scale), path)


def runs_of(manifest: Manifest, origin: Path) -> list[Run]:
    """Those of a manifest that `origin` holds in another form."""
    return list(Runs(manifest, origin))


class Runs(Collection[Run]):
    """Each run is made when it is asked for, so that a million of them take no memory.

    What is wrong with a machine or with a value is found before. Machines that are alike are one.
    """

    def __init__(self, manifest: Manifest, origin: Path) -> None:
        self._manifest, self._origin = manifest, origin
        self._points = math.prod(len(values) for values in manifest.matrix.values())
        if self._points > POINTS_MAX:
            many = f"it has {self._points:,} points, and there may be {POINTS_MAX:,}"
            raise TestbedError(f"{origin}: key 'matrix': {many}; leave out values, or make several manifests")
        self._bundle = pack(manifest.program, origin) if manifest.program else None
        self._machine_axes = _machine_axes(manifest)
        self._machines: dict[tuple[str | int, ...], tuple[GuestConfig, GuestConfig]] = {}
        self._check()

    def __len__(self) -> int:
        return self._points

    def __contains__(self, run: object) -> bool:
        return any(one == run for one in self)

    def __iter__(self) -> Iterator[Run]:
        return map(self._at, _points(self._manifest.matrix))

    def _at(self, point: Point) -> Run:
        full, guest = self._machine(point)
        return _run_at(self._manifest, point, full, guest, self._bundle, self._origin)

    def _machine(self, point: Point) -> tuple[GuestConfig, GuestConfig]:
        """At full size and as scaled."""
        which = tuple(point[axis] for axis in self._machine_axes)
        if which not in self._machines:
            full = full_size(self._manifest, self._origin, point)
            self._machines[which] = full, scaled(full, self._manifest.scale)
        return self._machines[which]

    def _check(self) -> None:
        """Every machine, and every value of every axis in some run: what is wrong with one is found here."""
        first = first_point(self._manifest)
        self._at(first)
        for own in _points({axis: self._manifest.matrix[axis] for axis in self._machine_axes}):
            self._machine(first | own)
        for axis, values in self._manifest.matrix.items():
            for value in values:
                self._at(first | {axis: value})
                _check_word(self._manifest.workload.command, axis, value, self._origin)


def _points(matrix: Mapping[str, Axis]) -> Iterator[Point]:
    """Every combination of the values, in order."""
    return (dict(zip(matrix, values, strict=True)) for values in itertools.product(*matrix.values()))


def _machine_axes(manifest: Manifest) -> tuple[str, ...]:
    """The axes of which the machine of a point depends."""
    profiles_of = (manifest.cpu, *manifest.device)
    texts = [text for section in profiles_of for text in (section.profile, *section.override.values())]
    guest, file_systems = manifest.guest, manifest.guest.file_system_of
    named = names_in_all([*texts, guest.cpus, guest.mount_options, guest.page_size])
    return tuple(
        axis
        for axis, values in manifest.matrix.items()
        if axis in named or any(str(value) in file_systems for value in values)
    )


def _run_at(
    manifest: Manifest, point: Point, full: GuestConfig, guest: GuestConfig, bundle: Bundle | None, origin: Path
) -> Run:
    names = _names(manifest, point, guest)
    argv = _words(manifest.workload.command, names, origin)
    program = None
    if manifest.program and bundle:
        setup = fill(manifest.program.setup, names, "program.setup", origin)
        program = bundle.job(argv, setup, fill(manifest.program.finish, names, "program.finish", origin))
    if manifest.results.files:
        program = files_back.job(program or command_job(argv), manifest.results.files)
    return Run(manifest.name, manifest.scale, point, argv, guest, full, program, str(origin))


def _names(manifest: Manifest, point: Point, guest: GuestConfig) -> dict[str, Any]:
    """What {names} in a command stand for."""
    scaled = {k: math.ceil(v / _divisor(manifest, k, point)) for k, v in manifest.workload.scaled.items()}
    machine = {
        "cpus": guest.cpu.cores,
        "l1d_size": guest.cpu.l1d_size,
        "llc_size": guest.cpu.llc_size,
        "cache_size": guest.device.cache_size,
    }
    machine["cache_page_size"] = guest.device.cache_page_size
    return machine | scaled | manifest.workload.fixed | point


def _divisor(manifest: Manifest, name: str, point: Point) -> int:
    """What the number `name` of `workload.scaled` is divided by."""
    fewer = manifest.workload.fewer.get(name, {})
    return manifest.scale * max([1, *(fewer.get(str(value), 1) for value in point.values())])


def _check_word(command: str, axis: str, value: str | int, origin: Path) -> None:
    """A value is one word of the command, whatever is in it: several options in one are meant otherwise."""
    if f"{{{axis}}}" in _split(command) and SEVERAL_OPTIONS.match(str(value)):
        remedy = "make an axis of each, or write the value without the options' names"
        raise TestbedError(f"{origin}: key 'matrix.{axis}': '{value}' would be one word of the command; {remedy}")


_split = lru_cache(maxsize=1024)(shlex.split)


def _words(command: str, names: dict[str, Any], origin: Path) -> tuple[str, ...]:
    try:
        words = _split(command)
    except ValueError as error:  # quotes that do not close
        raise TestbedError(f"{origin}: key 'workload.command': {error}") from error
    argv = tuple(fill(word, names, "workload.command", origin) for word in words)
    if not argv or not argv[0]:
        raise TestbedError(f"{origin}: key 'workload.command': it is empty; write a program and its arguments")
    return argv
