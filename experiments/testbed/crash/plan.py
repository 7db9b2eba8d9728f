# SPDX-License-Identifier: BSD-3-Clause
"""The manifest of a crash test: a program that passes marks, and the conditions that must hold after any power cut."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from ..build import workloads
from ..errors import TestbedError
from ..manifest import bases
from ..manifest.guest_config import GuestConfig
from ..manifest.sections import FileSystem, Picoseconds
from ..paths import CRASH_TESTS, REPO
from ..program import kernel_module
from ..program.bundle import PackageName, ProgramSection, pack
from ..program.job_archive import Job
from ..program.packages import Versions
from ..validation import Strict, named
from . import symbols
from .states import Bounds

DOORBELL = REPO / "guest-image" / "tools" / "include"
STOPPING = CRASH_TESTS / "include"  # searched before DOORBELL: its marks can stop a workload
LibraryName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+._-]*$")]  # without the prefix "lib"
# No flag of this form makes the compiler write elsewhere or run another program.
FlagText = Annotated[str, Field(pattern=r"^(-[DIU].+|-O[0-3gs]?|-w|-W[a-z0-9=-]*|-std=[a-z0-9+]+|[^-@].*\.c)$")]
DUMP_TREE = "dump-tree"  # the default program for a dump

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class BoundsSection(Strict):
    """The limits of `Bounds`, as a manifest states them."""

    exhaustive: Annotated[StrictInt, Field(ge=1)] = Bounds.exhaustive
    subsets: Annotated[StrictInt, Field(ge=0)] = Bounds.subsets
    samples: Annotated[StrictInt, Field(ge=0)] = Bounds.samples
    seed: StrictInt = Bounds.seed


class CrashSection(Strict):
    """The shell lines run in guests with the device at /pmem, in the folder of the files."""

    sources: list[str] = []  # C files beside the manifest: each is compiled into a program of its name
    modules: list[str] = []  # folders beside the manifest: each is compiled into kernel modules, which the guests load
    files: list[str] = []  # files and folders beside the manifest
    flags: list[FlagText] = []  # more compiler arguments for `sources`
    libraries: list[LibraryName] = []  # linked with `sources`; `packages` installs them in the guest
    packages: list[PackageName] = []  # of Debian 13; the guest gets their dependencies, too
    environment: dict[VariableName, str] = {}  # of all shell lines
    setup: str = ""  # runs on a new file system
    workload: str  # is recorded; states are of points from its first mark to behind its last
    recover: str = ""  # runs after a power cut, before `check`
    check: str = ""  # fails if something is lost; $CRASH_MARK is the last mark that was passed
    dump: str = f"{DUMP_TREE} /pmem"  # prints the state that an oracle compares
    oracle: Literal["command", "atomic", "prefix"] = "command"
    operations: list[str] = []  # the name of the operation after each mark, for people
    bounds: BoundsSection = BoundsSection()
    timeout: Annotated[Picoseconds, Field(ge=10**9)] | None = None  # for mount, recovery, check and dump; in guest time


class Plan(Strict):
    base: str = ""  # the manifest with the keys that are missing here
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    summary: str
    machine: str = "kv-ycsb-quick"  # the manifest that defines the guest
    file_system: FileSystem | None = None  # in place of the machine's
    cpus: Annotated[StrictInt, Field(ge=1)] | None = None  # in place of the machine's
    crash: CrashSection

    def of_machine(self) -> dict[str, Any]:
        """Return the keys of the machine's manifest that this manifest overrides."""
        return {"guest": {"cpus": self.cpus}} if self.cpus else {}

    def guest(self, machine: GuestConfig, origin: Path) -> GuestConfig:
        if machine.topology:
            what = f"{self.machine} has several devices or regions of its own, and a crash test has one device"
            raise TestbedError(f"{origin}: key 'machine': {what}; name another manifest")
        with named(origin, "crash.modules"):
            own = kernel_module.compile_all([origin.parent / name for name in self.crash.modules])
            modules = kernel_module.several((*machine.modules, *own))
        guest = replace(machine, modules=modules)
        return replace(guest, file_system=self.file_system, mount_options="") if self.file_system else guest

    def bounds(self) -> Bounds:
        return Bounds(**self.crash.bounds.model_dump())

    def compares(self) -> bool:
        """Whether the oracle needs dumps."""
        return self.crash.oracle != "command"

    def setup(self) -> str:
        """Return the shell lines that make the initial media of the workload."""
        return self.crash.setup or "true"

    def judging(self) -> str:
        """Return the shell lines to run after each power cut. Only the dump writes to standard output."""
        lines = f"{self.crash.recover}\n{self.crash.check}"
        return f"{{\n:\n{lines}\n}} >&2\n" + (self.crash.dump if self.compares() else "")


@dataclass(frozen=True)
class Programs:
    """The files, programs and packages of the guests. `compiled` are the programs with their symbols."""

    files: dict[str, bytes]
    executables: dict[str, bytes]
    compiled: tuple[Path, ...]
    packages: Versions = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    workloads: tuple[str, ...] = ()  # all guests of the test get these, regardless of their job

    def job(self, lines: str) -> Job:
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.environment.items())
        script = f"#!/bin/bash\nset -eu\nexport PATH=/job:$PATH\n{exports}{lines}\n"
        return Job(script, self.files, self.executables, packages=self.packages, workloads=self.workloads)

    def symbol(self, pc: int) -> str:
        """Return the function and line of an instruction, with the functions it is inlined into; else its address."""
        found = (symbols.line_of(program, pc) for program in self.compiled)
        return next(filter(None, found), f"{'kernel ' if symbols.of_kernel(pc) else ''}{pc:#x}")


def load(path: Path) -> Plan:
    plan, _ = bases.load(Plan, path)
    if not plan.compares() and not plan.crash.check.strip():
        raise TestbedError(f"{path}: key 'crash.check' is missing; or state the rule by oracle = \"atomic\"")
    return plan


def programs(plan: Plan, origin: Path, folder: Path) -> Programs:
    """Compile and read everything that the plan names; the compiler writes programs to the folder."""
    bundle = pack(ProgramSection(files=plan.crash.files, packages=plan.crash.packages), origin)
    how = (plan.crash.flags, plan.crash.libraries)
    compiled = tuple(compile_source(origin, name, folder, *how) for name in plan.crash.sources)
    executables = bundle.executables | {path.name: path.read_bytes() for path in compiled}
    if plan.compares():
        dump_tree = compile_source(STOPPING / "crash.toml", "dump_tree.c", folder).read_bytes()
        executables = {DUMP_TREE: dump_tree, "roi": (STOPPING / "roi").read_bytes()} | executables
    lines = "\n".join((plan.setup(), plan.crash.workload, plan.judging()))
    named = workloads.named_in(lines)
    return Programs(bundle.files, executables, compiled, bundle.packages, plan.crash.environment, named)


def compile_source(
    origin: Path, name: str, folder: Path, flags: Sequence[str] = (), libraries: Sequence[str] = ()
) -> Path:
    """Compile a source of `[crash]` in a folder, the paths of `flags` relative to `origin`. Returns the program.

    The code has the same addresses in every process, so that the report can name them, and contains no path of the
    host. The program's bytes do not depend on the folder of the manifest.
    TestbedError: no such source, or it does not compile.
    """
    source = _beside(origin, name)
    if not source.is_file():
        raise TestbedError(f"{origin}: key 'crash.sources': {name} does not exist; paths are relative to the manifest")
    program = folder / source.stem
    home = source.parent
    include = [f"-I{STOPPING}", f"-I{DOORBELL}", f"-ffile-prefix-map={REPO}=testbed", f"-ffile-prefix-map={home}=."]
    command = ["cc", "-Og", "-g", "-march=x86-64-v2", "-mclwb", "-mclflushopt", *include, "-o", str(program)]
    placed = [_from(home, flag, origin) for flag in flags]
    linked = ["-no-pie", *(f"-l{library}" for library in libraries)] if libraries else ["-static"]
    done = subprocess.run([*command, str(source), *placed, *linked], cwd=home, capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"{origin}: key 'crash.sources': {name} cannot be compiled: {done.stderr.strip()}")
    return program


def _beside(origin: Path, name: str) -> Path:
    """Return the absolute path of a path that is relative to the manifest."""
    return Path(os.path.normpath((origin.parent / name).absolute()))


def _from(home: Path, flag: str, origin: Path) -> str:
    """Make a compiler argument relative to the source's folder, so that symbols have the same paths on any host."""
    option = "-I" if flag.startswith("-I") else ""
    if flag.startswith("-") and not option:
        return flag
    path = _beside(origin, flag.removeprefix(option))
    is_near = Path(os.path.commonpath((path, home))) != Path(path.root)
    return f"{option}{os.path.relpath(path, home) if is_near else path}"
