# SPDX-License-Identifier: BSD-3-Clause
"""The manifest of a crash test: a program that passes marks, and what is to hold wherever its power is cut."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StrictInt

from ..errors import TestbedError
from ..manifest import bases
from ..manifest.manifest import GuestConfig
from ..manifest.sections import FileSystem, Picoseconds
from ..paths import REPO
from ..program import kernel_module
from ..program.bundle import PackageName, ProgramSection, pack
from ..program.job_archive import Job
from ..program.packages import Versions
from ..validation import Strict, check, named
from . import symbols
from .states import Bounds

DOORBELL = REPO / "guest-image" / "programs" / "include"
STOPPING = REPO / "experiments" / "crash" / "include"  # before it: marks at which a workload can be stopped
LibraryName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+._-]*$")]  # without its "lib"
# None has the compiler write elsewhere, or run another program.
FlagText = Annotated[str, Field(pattern=r"^(-[DIU].+|-O[0-3gs]?|-w|-W[a-z0-9=-]*|-std=[a-z0-9+]+|[^-@].*\.c)$")]
DUMP_TREE = "dump-tree"  # the program that is there for a dump

VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class BoundsSection(Strict):
    """As `Bounds`."""

    exhaustive: Annotated[StrictInt, Field(ge=1)] = 256
    subsets: Annotated[StrictInt, Field(ge=0)] = 64
    samples: Annotated[StrictInt, Field(ge=0)] = 16
    seed: StrictInt = 1


class CrashSection(Strict):
    """Shell lines, each run in a guest with the device at /pmem, in the folder of the files."""

    sources: list[str] = []  # C files beside the manifest: each is compiled into a program of its name
    modules: list[str] = []  # folders beside it: each is compiled into kernel modules, which the guests load
    files: list[str] = []  # files and folders beside the manifest
    flags: list[FlagText] = []  # more arguments of the compiler, where they are compiled
    libraries: list[LibraryName] = []  # that these are linked with; `packages` has them for the guest
    packages: list[PackageName] = []  # of Debian 13, with what they depend on
    environment: dict[VariableName, str] = {}  # of all lines
    setup: str = ""  # on a new file system
    workload: str  # is recorded; states are of points between its first mark and its last
    recover: str = ""  # after a power cut, then
    check: str = ""  # which fails if something is lost; $CRASH_MARK is the last mark that was passed
    dump: str = f"{DUMP_TREE} /pmem"  # prints the state that an oracle compares
    oracle: Literal["command", "atomic", "prefix"] = "command"
    operations: list[str] = []  # what is under way after each mark, for people
    bounds: BoundsSection = BoundsSection()
    timeout: Annotated[Picoseconds, Field(ge=10**9)] | None = None  # of recovery, check and dump; the guest's time


class Plan(Strict):
    base: str = ""  # the manifest that says what this one does not
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,99}$")]
    summary: str
    machine: str = "kv-ycsb-quick"  # the manifest that says what the guest is
    file_system: FileSystem | None = None  # in place of that one's
    crash: CrashSection

    def guest(self, machine: GuestConfig, origin: Path) -> GuestConfig:
        if machine.topology:
            what = f"{self.machine} has several devices, regions of its own or a tbfs, and a crash test has one device"
            raise TestbedError(f"{origin}: key 'machine': {what}; name another manifest")
        if self.file_system == "tbfs":
            what = "the guests' init mounts it, which knows no tbfs"
            raise TestbedError(f"{origin}: key 'file_system': {what}; name another, and make a tbfs in crash.setup")
        with named(origin, "crash.modules"):
            own = kernel_module.compile_all([origin.parent / name for name in self.crash.modules])
            modules = kernel_module.several((*machine.modules, *own))
        return replace(machine, file_system=self.file_system or machine.file_system, modules=modules)

    def bounds(self) -> Bounds:
        return Bounds(**self.crash.bounds.model_dump())

    def compares(self) -> bool:
        """Whether its oracle needs dumps."""
        return self.crash.oracle != "command"

    def setup(self) -> str:
        """What makes the media that the workload begins with."""
        return self.crash.setup or "true"

    def judging(self) -> str:
        """What runs after each power cut. Nothing but the dump is on the standard output."""
        lines = f"{self.crash.recover}\n{self.crash.check}"
        return f"{{\n:\n{lines}\n}} >&2\n" + (self.crash.dump if self.compares() else "")


@dataclass(frozen=True)
class Programs:
    """What the guests bring along. The programs are kept with their symbols."""

    files: dict[str, bytes]
    executables: dict[str, bytes]
    compiled: tuple[Path, ...]
    packages: Versions = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def job(self, lines: str) -> Job:
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self.environment.items())
        script = f"#!/bin/bash\nset -eu\nexport PATH=/job:$PATH\n{exports}{lines}\n"
        return Job(script, self.files, self.executables, packages=self.packages)

    def symbol(self, pc: int) -> str:
        """The function and line of an instruction, with those that it is inlined in; or its address."""
        found = (symbols.line_of(program, pc) for program in self.compiled)
        return next(filter(None, found), f"{'kernel ' if symbols.of_kernel(pc) else ''}{pc:#x}")


def load(path: Path) -> Plan:
    plan = check(Plan, bases.stated(path, partial(check, Plan)), path)
    if not plan.compares() and not plan.crash.check.strip():
        raise TestbedError(f"{path}: key 'crash.check' is missing; or say what is to hold by oracle = \"atomic\"")
    return plan


def programs(plan: Plan, origin: Path, folder: Path) -> Programs:
    """Compile and read what the plan names; the programs are made in the folder."""
    bundle = pack(ProgramSection(files=plan.crash.files, packages=plan.crash.packages), origin)
    how = (plan.crash.flags, plan.crash.libraries)
    compiled = tuple(compile_source(origin, name, folder, *how) for name in plan.crash.sources)
    executables = bundle.executables | {path.name: path.read_bytes() for path in compiled}
    if plan.compares():
        dump_tree = compile_source(STOPPING / "crash.toml", "dump_tree.c", folder).read_bytes()
        executables = {DUMP_TREE: dump_tree, "roi": (STOPPING / "roi").read_bytes()} | executables
    return Programs(bundle.files, executables, compiled, bundle.packages, plan.crash.environment)


def compile_source(
    origin: Path, name: str, folder: Path, flags: Sequence[str] = (), libraries: Sequence[str] = ()
) -> Path:
    """Compile a source of `[crash]` in a folder, the paths of `flags` relative to `origin`. Returns the program.

    Its code has the same addresses in every process, so that the report can name them, and no path of the host.
    TestbedError: no such source, or it does not compile.
    """
    source = Path(os.path.normpath((origin.parent / name).absolute()))
    if not source.is_file():
        raise TestbedError(f"{origin}: key 'crash.sources': {name} does not exist; paths are relative to the manifest")
    program = folder / source.stem
    home = source.parent
    include = [f"-I{STOPPING}", f"-I{DOORBELL}", f"-ffile-prefix-map={REPO}=testbed", f"-ffile-prefix-map={home}=."]
    command = ["cc", "-Og", "-g", "-march=x86-64-v2", "-mclwb", "-mclflushopt", *include, "-o", str(program)]
    linked = ["-no-pie", *(f"-l{library}" for library in libraries)] if libraries else ["-static"]
    done = subprocess.run([*command, str(source), *flags, *linked], cwd=origin.parent, capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"{origin}: key 'crash.sources': {name} cannot be compiled: {done.stderr.strip()}")
    return program
