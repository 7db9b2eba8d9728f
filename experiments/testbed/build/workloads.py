# SPDX-License-Identifier: BSD-3-Clause
"""Workloads: each is a folder of experiments/workloads with a workload.toml that lists the sources of its programs.

Two folders are no workloads but have sources of several: `common`, and `upstream` for programs of Debian's sources.

A guest has the programs of the workloads that its commands name. guest-image/image/workload.sh packs each workload into
an archive.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, StrictBool

from ..errors import TestbedError
from ..paths import REPO
from ..validation import Strict, check, load_toml

FOLDER = REPO / "experiments" / "workloads"
FILE = "workload.toml"
SHARED = ("common", "upstream")
PROJECT = "snapshot-lib"  # builds the workloads that run on every engine
SEEDED = (  # kv has a program with a seeded bug, which proves that a crash test can fail
    f"{PROJECT}/tests/seeded-bugs.patch",
    "tests/rigs/seeded_bug.h",
    "tests/rigs/seeded_bugs.cmake",
    "tests/seeded_bugs.sh",
)
LIBRARY = (  # the compiled parts of snapshot-lib, and its workloads' shared sources; tests and manuals change no result
    *(f"{PROJECT}/{part}" for part in ("CMakeLists.txt", "bin", "include", "pass", "runtime")),
    "experiments/engines",
    "experiments/workloads/CMakeLists.txt",
    "experiments/workloads/common",
    "guest-image/tools/include",
    *SEEDED,
)
NOT_BUILT = ("benchmarks", "tests", FILE)  # parts of a folder of sources that are not built
OWN = "/usr/local/"  # where guests have the programs
# Separators of the words of a command. A path is one word: /pmem/kv does not name the program kv.
_BREAKS = re.compile(r"[\s;|&(){}<>$`'\"=]+")

ProgramName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
# A path in the repository.
Inside = Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w-]*(\.[\w-]+)*(/[\w-]+(\.[\w-]+)*)*$")]
DebianName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9+.-]+$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Workload(Strict):
    """A workload.toml. `programs` are in /usr/local/bin; a program `kv` also stands for programs `kv-ENGINE`."""

    about: str
    programs: Annotated[list[ProgramName], Field(min_length=1)]
    project: Inside | None = None  # the folder with the CMakeLists.txt; None: the workload's own
    sources: list[Inside] = []  # compiled in addition to the workload's folder
    library: StrictBool = False  # whether snapshot-lib is compiled, too, with the workloads that it builds
    upstream: Inside | None = (
        None  # a script that unpacks source packages, as experiments/workloads/upstream/sources.sh
    )
    packages: list[DebianName] = []  # of Debian, for compiling and linking
    module: Inside | None = None  # the folder of a kernel module that the guest has as NAME.ko
    jars: dict[str, Sha256] = {}  # "GROUP:NAME:VERSION" of Maven, and its SHA-256


@cache
def known() -> dict[str, Workload]:
    """The workloads by name. Raises TestbedError if a folder has no workload.toml, or if two have the same program."""
    found, owners = dict[str, Workload](), dict[str, str]()
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir() and path.name not in SHARED):
        path = folder / FILE
        if not path.exists():
            raise TestbedError(f"{folder} has no {FILE}, which says how its programs are built; write one")
        found[folder.name] = check(Workload, load_toml(path), path)
        for program in found[folder.name].programs:
            if program in owners:
                where = FOLDER / owners[program] / FILE
                raise TestbedError(f"{path}: key 'programs': {where} has '{program}', too; give one another name")
            owners[program] = folder.name
    return found


@lru_cache(maxsize=4096)
def named_in(text: str) -> tuple[str, ...]:
    """The names of the workloads with programs that a shell text names, sorted."""
    words = {word.rpartition("/")[2] if word.startswith(OWN) else word for word in _BREAKS.split(text)}
    return tuple(sorted({owner for word in words if (owner := _owner(word))}))


def _owner(word: str) -> str | None:
    """The workload with the longest matching program: `kyoto-server-wal` belongs to `kyoto-server`, not to `kyoto`."""
    parts = word.split("-")
    owners = _owners()
    return next(filter(None, (owners.get("-".join(parts[:n])) for n in range(len(parts), 0, -1))), None)


def programs() -> tuple[str, ...]:
    """The programs of all workloads."""
    return tuple(_owners())


@cache
def _owners() -> dict[str, str]:
    return {program: name for name, workload in known().items() for program in workload.programs}


def checked(names: Iterable[str]) -> tuple[str, ...]:
    """The same names, sorted. Raises ValueError for an unknown workload."""
    for name in names:
        if name not in known():
            raise ValueError(f"there is no workload '{name}'; there are: {', '.join(known())}")
    return tuple(sorted(set(names)))


def inputs(name: str) -> tuple[str, ...]:
    """The files and folders from which a workload is built, relative to this repository."""
    workload = known()[name]
    folders = {FOLDER / name, *(REPO / path for path in (workload.module,) if path)}
    folders |= {REPO / Path(workload.upstream).parent} if workload.upstream else set()
    folders |= _built_with(workload.upstream) if workload.library else set()
    parts = (part for folder in folders for part in folder.iterdir() if part.name not in NOT_BUILT)
    whole = {*workload.sources, *(LIBRARY if workload.library else ())}
    return tuple(sorted({*whole, *(str(part.relative_to(REPO)) for part in parts)}))


def _built_with(upstream: str | None) -> set[Path]:
    """The folders of the workloads that snapshot-lib builds, with and without these sources of others."""
    sources = (None, upstream)
    return {FOLDER / name for name, other in known().items() if other.project == PROJECT and other.upstream in sources}


def environment(name: str) -> tuple[tuple[str, str], ...]:
    """The workload.toml as environment variables for guest-image/image/workload.sh."""
    workload = known()[name]
    said = {
        "PROJECT": workload.project or f"experiments/workloads/{name}",
        "TARGET": f"{name}-programs" if workload.project else "all",
        "SOURCES": " ".join(inputs(name)),
        "PACKAGES": " ".join(workload.packages),
        "UPSTREAM": workload.upstream or "",
        "MODULE": workload.module or "",
        "SEEDED": PROJECT if workload.library else "",
        "JARS": "\n".join(f"{jar} {sha256}" for jar, sha256 in sorted(workload.jars.items())),
    }
    return tuple(said.items())
