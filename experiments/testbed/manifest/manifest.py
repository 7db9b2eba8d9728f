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
from typing import Annotated, Any

from pydantic import Field, StrictBool, StrictInt, StrictStr, field_validator, model_validator

from .. import units
from ..build import workloads
from ..errors import TestbedError
from ..file_systems.table import table, with_options
from ..patterns import Cells
from ..program import files_back, kernel_module, own_kernel
from ..program.bundle import Bundle, ProgramSection, pack
from ..program.job_archive import Job, command_job
from ..program.kernel_module import KernelModule
from ..program.own_kernel import OwnKernel
from ..validation import Strict, check, named
from . import bases, page_sizes, profiles, topology
from .page_sizes import PageSize
from .parameters import CpuProfile, DeviceProfile
from .sections import Bytes, FileSystem, Picoseconds, ProfileSection
from .templates import fill, names_in_all
from .topology import Devices, Mounted, RegionSection, Topology

INSN_PS_MAX = 2**32 - 1  # limit of `-icount boot-insn-ps`
MEMORY_BYTES_MIN = 128 * 2**20  # it also holds the guest's root, 65 MiB of archives
MEMORY_BYTES_MAX = 2**39  # 40 address bits of the CPU also cover the device and its window
TIMEOUT_PS_MAX = 2**63 - 1
SEVERAL_OPTIONS = re.compile(r"-[^=\s]*\s|-.*\s-")  # matches "-n 4" and "--a=1 --b=2", but not "--text=one two"
POINTS_MAX = 10**6  # checking a million points takes a minute
SEED_MAX = 2**32 - 1

Axis = list[StrictStr | StrictInt]
Point = dict[str, str | int]


class GuestSection(Strict):
    """The machine around the CPU and the device."""

    # The number of the CPU's cores that the guest gets, each as one CPU; may contain {names} of axes.
    cpus: StrictInt | StrictStr = 1
    memory: Annotated[Bytes, Field(ge=MEMORY_BYTES_MIN, le=MEMORY_BYTES_MAX, multiple_of=2**20)] = 2 * 2**30
    # Memory at full size, if the workload needs more there; a study of 1/N gets 1/N of it, but at least `memory`.
    memory_full: Annotated[Bytes, Field(le=MEMORY_BYTES_MAX)] = 0
    # Limit of host time at the manifest's own scale, which ends a hung guest; it does not influence results.
    timeout: Annotated[Picoseconds, Field(ge=10**12, le=TIMEOUT_PS_MAX)] = 1200 * 10**12
    # Time per instruction outside the region of interest: a coarse one ends boot loops that poll virtual time sooner.
    boot_insn: Annotated[Picoseconds, Field(ge=1, le=INSN_PS_MAX)] = 8000
    # The file system at /pmem. `file_system_of` names another one for points with a certain value on some axis, for
    # example an engine that needs it.
    file_system: FileSystem = "ext4-dax"
    file_system_of: dict[str, FileSystem] = {}
    # Options as of `mount -o`, for a file system that accepts stated options; may contain {names} of axes.
    mount_options: str = ""
    # The page size with which processes map files of /pmem, "4KiB" or "2MiB"; may contain {names} of axes. Without it
    # the layout of files by the file system determines the pages, independent of the size of the device.
    page_size: str = ""
    # Workloads with programs that the guest needs in addition to the programs that the command names.
    workloads: list[str] = []
    # Kernel modules that the guest loads, in this order, before it mounts; paths are relative to the manifest.
    modules: list[str] = []
    # A kernel that replaces the image's, a bzImage or a vmlinux, and its modules, a folder lib/modules/RELEASE, by
    # default the modules beside it. `kernel_arguments` follow the testbed's own arguments, with any kernel.
    kernel: str = ""
    kernel_modules: str = ""
    kernel_arguments: str = ""
    # Whether HMAT and CDATs tell the kernel how fast memory is. By default they do if a region is system-ram.
    hmat: StrictBool | None = None
    # Whether a load of poison raises a machine check that the kernel survives. If not, only the event log reports it.
    machine_checks: StrictBool = False
    # Whether the CPU supports MOVDIR64B, which stores 64 bytes at once.
    direct_stores: StrictBool = False


class WorkloadSection(Strict):
    """The guest runs `command`; {names} in it come from the matrix, `scaled`, `fixed` and the machine (_names())."""

    command: str
    scaled: dict[str, Annotated[StrictInt, Field(gt=0)]] = {}  # at full size; divided by the scale
    # Further divisors of `scaled` at points with a certain value on some axis, as for an engine that would take hours.
    fewer: dict[str, dict[str, Annotated[int, Field(gt=0)]]] = {}
    fixed: dict[str, str | int] = {}


class ReplaySection(Strict):
    """`grid` lists values of device parameters; every combination is one configuration to replay a capture on."""

    grid: dict[str, list[str | int | float | bool]] = {}


class ResultsSection(Strict):
    """How to parse the program's output: each match of `pattern` is a row, its named groups are the cells. `files` are
    patterns of guest files that are kept beside the result."""

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

    All three name axes of the matrix, cells of rows, counters of the model, or `time` and `hit_rate`.
    """

    x: str
    y: Annotated[list[str], Field(min_length=1)]
    series: str = ""


class Manifest(Strict):
    base: str = ""  # the manifest that supplies all keys not stated here
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    summary: str
    scale: Annotated[StrictInt, Field(ge=1)] = 1
    # Selects one of the machines that differ only in arbitrary choices, as the placement of pages; 0 changes nothing.
    seed: Annotated[StrictInt, Field(ge=0, le=SEED_MAX)] = 0
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
        asked = (self.guest.file_system, *self.guest.file_system_of.values())
        if self.guest.mount_options and not any(table()[name].checked for name in asked):
            of, own = with_options(), self.guest.file_system
            what = f"they are of a {of}, and {own} has none; leave them out, or ask for a {of}"
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
    workloads: tuple[str, ...] = ()  # in addition to those that a job names
    modules: tuple[KernelModule, ...] = ()
    topology: Topology | None = None  # None: one device on bridge 0 and no [[region]]
    kernel: OwnKernel | None = None  # replaces the image's
    kernel_arguments: str = ""
    hmat: bool = False  # HMAT and CDATs tell the kernel how fast memory is
    machine_checks: bool = False  # a load of poison raises one
    direct_stores: bool = False  # the CPU supports MOVDIR64B
    page_size: PageSize | None = None  # of mapped files; None: the file system's layout determines it
    mount_options: str = ""  # as stated for the file system

    @property
    def devices(self) -> tuple[DeviceProfile, ...]:
        return (self.device, *(self.topology.others if self.topology else ()))

    @property
    def mounted(self) -> Mounted:
        """The file systems of all regions, with their stated mount options."""
        return topology.mounted(self.topology, self.file_system, self.mount_options)


@dataclass(frozen=True)
class Run:
    """One point of a manifest's matrix: one guest."""

    manifest: str
    scale: int
    point: Point
    argv: tuple[str, ...]
    guest: GuestConfig
    full: GuestConfig = field(compare=False)  # the machine before it is scaled, for messages
    program: Job | None = None  # the job of a manifest with a [program] or files to bring back
    origin: str = field(default="", compare=False)  # the manifest's file, for messages

    @property
    def label(self) -> str:
        return "-".join(str(value) for value in self.point.values()) or "run"

    @property
    def title(self) -> str:
        """The label for people, with a seed that is not 0, which distinguishes the runs of one point."""
        return f"{self.label} seed {seed}" if (seed := self.guest.cpu.seed) else self.label

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads with programs in the guest, sorted by name."""
        named = self.program.all_workloads if self.program else workloads.named_in(shlex.join(self.argv))
        return tuple(sorted({*self.guest.workloads, *named}))

    @property
    def job(self) -> Job:
        """The job that the guest runs."""
        return self.program or command_job(self.argv)


def load(path: Path, scale: int | None = None) -> Manifest:
    """The checked manifest in `path`, at its own scale or at 1/`scale`."""
    manifest = check(Manifest, bases.stated(path, partial(check, Manifest)), path)
    return manifest if scale is None else at_scale(manifest, scale)


# An option for the key on the left removes these keys of the manifest, which belong to the replaced value.
_PUT_OUT = {"memory": ("memory_full",), "file_system": ("file_system_of", "mount_options")}


def load_changed(path: Path, own: bases.Data) -> tuple[Manifest, Path]:
    """The checked manifest in `path` with the options of a command merged over it, and its name for messages.

    `own` has the form of a manifest, and under "devices" the profiles of all devices. The profiles replace
    the manifest's device tables with all overrides; only the bridges stay.
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
    """Device tables with these profiles and the present bridges, in the form of `device`: a table or an array."""
    bridges = [{key: value for key, value in table.items() if key == "bridge"} for table in _tables(device)]
    tables = [{"profile": name, **(bridges[n] if n < len(bridges) else {})} for n, name in enumerate(profiles)]
    return tables if isinstance(device, list) else tables[0]


def at_scale(manifest: Manifest, scale: int) -> Manifest:
    """The same experiment at 1/`scale`; the limit of host time grows in proportion for a larger one."""
    timeout = manifest.guest.timeout * max(manifest.scale, scale) // scale
    guest = manifest.guest.model_copy(update={"timeout": timeout})
    return manifest.model_copy(update={"scale": scale, "guest": guest})


def guest_config(manifest: Manifest, origin: Path, point: Point | None = None) -> GuestConfig:
    """The machine of one point, by default the first, at the manifest's scale. The model has not checked it yet."""
    return scaled(full_size(manifest, origin, point or first_point(manifest)), manifest.scale)


def full_size(manifest: Manifest, origin: Path, point: Point) -> GuestConfig:
    """The machine of one point with CPU and devices at full size, the size for which overrides state values."""
    section = manifest.guest
    cpu = profiles.load_cpu(*_at("cpu", manifest.cpu, point, origin), origin, _cpus(section, point, origin))
    cpu = replace(cpu, seed=manifest.seed)
    memory_bytes = max(section.memory, _whole_mib(section.memory_full // manifest.scale))
    timeout_s = section.timeout / units.TIME_PS["s"]
    devices = full_devices(manifest, origin, point)
    file_system = _file_system(section, point)
    with named(origin, "guest.modules"):
        modules = kernel_module.several(kernel_module.read(origin.parent / name) for name in section.modules)
    options = _mount_options(section, file_system, point, origin)
    of = topology.of(manifest.device, manifest.region, devices, file_system, options)
    mounted = topology.mounted(of, file_system, options)
    _check_direct_stores(section, mounted, origin)
    return GuestConfig(
        cpu,
        devices[0],
        memory_bytes,
        section.boot_insn,
        timeout_s,
        file_system,
        _workloads(section, origin),
        modules,
        of,
        *_kernel(section, file_system, mounted, origin),
        hmat=topology.has_memory(of) if section.hmat is None else section.hmat,
        machine_checks=section.machine_checks,
        direct_stores=section.direct_stores,
        page_size=_page_size(section, mounted, point, origin),
        mount_options=options,
    )


def _workloads(section: GuestSection, origin: Path) -> tuple[str, ...]:
    with named(origin, "guest.workloads"):
        try:
            return workloads.checked(section.workloads)
        except ValueError as error:
            raise TestbedError(str(error)) from error


def _kernel(
    section: GuestSection, file_system: FileSystem, mounted: Mounted, origin: Path
) -> tuple[OwnKernel | None, str]:
    """The user's own kernel, if the manifest names one, and the arguments for the kernel that the guest boots."""
    with named(origin, "guest.kernel_arguments"):
        arguments = own_kernel.checked_arguments(section.kernel_arguments)
    with named(origin, "guest.kernel"):
        if not section.kernel and section.kernel_modules:
            raise TestbedError("kernel_modules are of a kernel of one's own, and none is named; add kernel")
        if not section.kernel:
            return None, arguments
        if brought := next((one.name for one, _ in mounted if one.component), ""):
            raise TestbedError(f"the module of {brought} is for the image's kernel; leave kernel out, or the {brought}")
        folder = origin.parent / section.kernel_modules if section.kernel_modules else None
        return own_kernel.read(origin.parent / section.kernel, folder, file_system), arguments


def scaled(full: GuestConfig, scale: int) -> GuestConfig:
    """The machine for a 1/`scale` study."""
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
    """Refuse a manifest with several devices or a region, which `what` does not support."""
    if len(manifest.device) > 1 or manifest.region:
        key = "region" if manifest.region else "device"
        raise TestbedError(f"{origin}: key '{key}': {what} has one [device] and no [[region]]; take another manifest")


def _at(name: str, section: ProfileSection, point: Point, origin: Path) -> tuple[str, dict[str, Any]]:
    """The profile's name and the overrides at one point."""
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


def _check_direct_stores(section: GuestSection, mounted: Mounted, origin: Path) -> None:
    for one, options in mounted:
        for option, instead in one.line_stores.items():
            if option in options.split(",") and not section.direct_stores:
                what = f"{option} of a {one.name} needs a CPU with MOVDIR64B; write it as true, or {instead}"
                raise TestbedError(f"{origin}: key 'guest.direct_stores': {what}")


def _page_size(section: GuestSection, mounted: Mounted, point: Point, origin: Path) -> PageSize | None:
    """The page size of files that are mapped by DAX; None if unstated. Refused if no mounted file system has DAX."""
    filled = fill(section.page_size, point, "guest.page_size", origin)
    with named(origin, "guest.page_size"):
        try:
            return page_sizes.checked(filled, [one for one, _ in mounted])
        except ValueError as error:
            raise TestbedError(str(error)) from error


def _mount_options(section: GuestSection, file_system: FileSystem, point: Point, origin: Path) -> str:
    """The stated mount options; empty at points with a file system that accepts no stated options."""
    filled = fill(section.mount_options, point, "guest.mount_options", origin)
    checked = table()[file_system].checked
    with named(origin, "guest.mount_options"):
        try:
            return checked(filled) if checked else ""
        except ValueError as error:
            raise TestbedError(str(error)) from error


def runs(path: Path, scale: int | None = None) -> list[Run]:
    """Every run of the manifest in `path`, in the order of its matrix, at its own scale or at 1/`scale`."""
    return list(runs_one_by_one(path, scale))


def runs_one_by_one(path: Path, scale: int | None = None) -> "Runs":
    """The same runs as a collection that makes each run when it is asked for."""
    return Runs(load(path, scale), path)


def runs_of(manifest: Manifest, origin: Path) -> list[Run]:
    """The runs of a manifest that `origin` holds in another form."""
    return list(Runs(manifest, origin))


def with_seeds(runs: Sequence[Run], count: int) -> list[Run]:
    """Each of the runs with the seeds from 0 to `count` - 1; runs that share a machine still share it for each seed."""
    machines: dict[tuple[int, int], GuestConfig] = {}

    def seeded(guest: GuestConfig, seed: int) -> GuestConfig:
        return machines.setdefault((id(guest), seed), replace(guest, cpu=replace(guest.cpu, seed=seed)))

    return [
        replace(run, guest=seeded(run.guest, seed), full=seeded(run.full, seed))
        for run in runs
        for seed in range(count)
    ]


class Runs(Collection[Run]):
    """The runs of a manifest. Each run is made when it is asked for, so that a million of them take no memory.

    The constructor finds all faults of machines and values. Runs with equal machines share one object.
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
        """The machine of a point, at full size and as scaled."""
        which = tuple(point[axis] for axis in self._machine_axes)
        if which not in self._machines:
            full = full_size(self._manifest, self._origin, point)
            self._machines[which] = full, scaled(full, self._manifest.scale)
        return self._machines[which]

    def _check(self) -> None:
        """Make every machine, and a run for every value of every axis, so that their faults are found here."""
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
    """The axes on which the machine of a point depends."""
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
    """The values of {names} in a command."""
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
    """The divisor of the number `name` of `workload.scaled`."""
    fewer = manifest.workload.fewer.get(name, {})
    return manifest.scale * max([1, *(fewer.get(str(value), 1) for value in point.values())])


def _check_word(command: str, axis: str, value: str | int, origin: Path) -> None:
    """Refuse a value with several options: a value is always one word of the command, so they would be one argument."""
    if f"{{{axis}}}" in _split(command) and SEVERAL_OPTIONS.match(str(value)):
        remedy = "make an axis of each, or write the value without the options' names"
        raise TestbedError(f"{origin}: key 'matrix.{axis}': '{value}' would be one word of the command; {remedy}")


_split = lru_cache(maxsize=1024)(shlex.split)


def _words(command: str, names: dict[str, Any], origin: Path) -> tuple[str, ...]:
    try:
        words = _split(command)
    except ValueError as error:  # unclosed quotes
        raise TestbedError(f"{origin}: key 'workload.command': {error}") from error
    argv = tuple(fill(word, names, "workload.command", origin) for word in words)
    if not argv or not argv[0]:
        raise TestbedError(f"{origin}: key 'workload.command': it is empty; write a program and its arguments")
    return argv
