# SPDX-License-Identifier: BSD-3-Clause
"""A mutated copy of a subject's sources, compiled once."""

import fcntl
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mutants.rewrite import Rewriter
from mutants.sites import Site, Table
from mutants.subjects import Subject

ROOT = Path(__file__).resolve().parents[2]
SHARED = (
    "tests/ccached.sh",
    "tests/seeded_bugs.sh",
    "tests/rigs/seeded_bug.h",
    "tests/rigs/seeded_bugs.cmake",
    "tests/rigs/power_cut",
)
MUTATING = ("build.py", "rewrite.py", "runtime.c", "sites.py", "subjects.py")  # decide the meaning of a site's number


@dataclass
class Mutated:
    """The sites of a subject, in a copy of its sources that is not compiled yet."""

    subject: Subject
    sites: list[Site]
    tree: Path
    binary: Path  # build folder
    state: Path  # folder of this subject's results
    digest: str  # of all copied files


def run(command: list[str], **options: object) -> None:
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"mutants: {shlex.join(command)[:200]} failed:\n{(done.stdout + done.stderr)[-4000:]}")


def tracked(subject: Subject) -> list[str]:
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *subject.needed, *SHARED],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    return sorted(n for n in names if (ROOT / n).is_file())


def copy(subject: Subject, tree: Path) -> str:
    shutil.rmtree(tree, ignore_errors=True)
    digest = hashlib.sha256()
    for name in [*tracked(subject), *(f"tests/mutants/{name}" for name in MUTATING)]:
        content = (ROOT / name).read_bytes()
        digest.update(f"{name} {len(content)} ".encode() + content)
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    return digest.hexdigest()


def configure(subject: Subject, tree: Path, binary: Path) -> None:
    launcher = str(tree / "tests/ccached.sh")
    run(
        ["cmake", "-G", "Ninja", "-S", str(tree / subject.part), "-B", str(binary),
         "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
         "-DCMAKE_C_COMPILER=clang-19", "-DCMAKE_CXX_COMPILER=clang++-19", f"-DCMAKE_C_COMPILER_LAUNCHER={launcher}",
         f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}", "-DCMAKE_C_FLAGS=-w", f"-DSEEDED_SOURCES={tree}",
         f"-DCMAKE_EXE_LINKER_FLAGS={binary.parent / 'runtime.o'}", *subject.options]
    )  # fmt: skip


def find_sites(subject: Subject, tree: Path, binary: Path) -> list[Site]:
    """The site table, from one translation unit for each source; headers belong to all of them."""
    table, done = Table(subject, tree), set()
    for entry in json.loads((binary / "compile_commands.json").read_text()):
        source = Path(entry["file"]).resolve()
        if str(source) not in table.files or source in done or source.suffix != ".c":
            continue
        done.add(source)
        words = [w for w in shlex.split(entry["command"]) if not w.endswith("ccached.sh") and "-fsanitize" not in w]
        words = words[: words.index("-o")]
        table.read([*words, "-fsyntax-only", str(source)], Path(entry["directory"]), source)
    return table.sites()


def reserve(state: Path) -> None:
    """Lock the folder: two runs would share files of tests, and each would count the other's failures as its own."""
    lock = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)  # held until this process ends
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"mutants: {state}: another run uses this folder; wait until it has ended", file=sys.stderr)
        sys.exit(2)


def find(subject: Subject) -> Mutated:
    state = ROOT / "build/mutants" / subject.name
    tree, binary = state / "tree", state / "build"
    state.mkdir(parents=True, exist_ok=True)
    reserve(state)
    digest = copy(subject, tree)
    run(["clang-19", "-O2", "-fPIC", "-c", str(Path(__file__).with_name("runtime.c")), "-o", str(state / "runtime.o")])
    configure(subject, tree, binary)
    return Mutated(subject, find_sites(subject, tree, binary), tree, binary, state, digest)


def build(mutated: Mutated) -> None:
    """Compile all mutants at once; the environment chooses one for each run."""
    for file in {site.file for site in mutated.sites}:
        path = mutated.tree / file
        path.write_text(Rewriter(path.read_text(), [s for s in mutated.sites if s.file == file]).whole())
    run(["nice", "ninja", "-j2", "-C", str(mutated.binary), *mutated.subject.targets])
