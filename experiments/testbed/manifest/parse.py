# SPDX-License-Identifier: BSD-3-Clause
"""First step: a TOML file and its bases become a checked manifest. Errors name the file, the key and the fix."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, PrivateAttr, StrictBool, StrictInt, StrictStr, field_validator, model_validator

from ..errors import TestbedError
from ..file_systems.table import table, with_options
from ..patterns import Cells
from ..program import files_back
from ..program.bundle import ProgramSection
from ..validation import Strict, check
from . import bases, topology
from .sections import Bytes, FileSystem, Picoseconds, ProfileSection
from .topology import Devices, RegionSection

INSN_PS_MAX = 2**32 - 1  # limit of `-icount boot-insn-ps`
MEMORY_BYTES_MIN = 128 * 2**20  # it also holds the guest's root, 65 MiB of archives
MEMORY_BYTES_MAX = 2**39  # 40 address bits of the CPU also cover the device and its window
TIMEOUT_PS_MAX = 2**63 - 1
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
    _origin: Path = PrivateAttr(Path())

    @property
    def origin(self) -> Path:
        """The manifest's file, for messages and for paths relative to it."""
        return self._origin

    @property
    def first_point(self) -> Point:
        return {axis: values[0] for axis, values in self.matrix.items()}

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


def with_origin(manifest: Manifest, origin: Path) -> Manifest:
    """The same manifest, stated in the file `origin`."""
    copy = manifest.model_copy()
    copy._origin = origin
    return copy


def load(path: Path, scale: int | None = None) -> Manifest:
    """The checked manifest in `path`, at its own scale or at 1/`scale`."""
    manifest = with_origin(bases.load(Manifest, path)[0], path)
    return manifest if scale is None else at_scale(manifest, scale)


def at_scale(manifest: Manifest, scale: int) -> Manifest:
    """The same experiment at 1/`scale`; the limit of host time grows in proportion for a larger one."""
    timeout = manifest.guest.timeout * max(manifest.scale, scale) // scale
    guest = manifest.guest.model_copy(update={"timeout": timeout})
    return manifest.model_copy(update={"scale": scale, "guest": guest})


def check_one_device(manifest: Manifest, what: str) -> None:
    """Refuse a manifest with several devices or a region, which `what` does not support."""
    if len(manifest.device) > 1 or manifest.region:
        key = "region" if manifest.region else "device"
        fix = f"{what} has one [device] and no [[region]]; take another manifest"
        raise TestbedError(f"{manifest.origin}: key '{key}': {fix}")


# ---- Manifests with the options of a command ----

# An option for the key on the left removes these keys of the manifest, which belong to the replaced value.
_PUT_OUT = {"memory": ("memory_full",), "file_system": ("file_system_of", "mount_options")}


def load_changed(path: Path, own: bases.Data) -> Manifest:
    """The checked manifest in `path` with the options of a command merged over it.

    `own` has the form of a manifest, and under "devices" the profiles of all devices. The profiles replace
    the manifest's device tables with all overrides; only the bridges stay.
    """
    manifest, data = bases.load(Manifest, path)
    if not own:
        return with_origin(manifest, path)
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
    return with_origin(check(Manifest, bases.over(data, changed, origin), origin), origin)


def _tables(device: bases.Data | list[bases.Data]) -> list[bases.Data]:
    return device if isinstance(device, list) else [device]


def _of_profiles(device: bases.Data | list[bases.Data], profiles: Sequence[str]) -> bases.Data | list[bases.Data]:
    """Device tables with these profiles and the present bridges, in the form of `device`: a table or an array."""
    bridges = [{key: value for key, value in table.items() if key == "bridge"} for table in _tables(device)]
    tables = [{"profile": name, **(bridges[n] if n < len(bridges) else {})} for n, name in enumerate(profiles)]
    return tables if isinstance(device, list) else tables[0]
