# SPDX-License-Identifier: BSD-3-Clause
"""Turns a program of the host into a guest job: the program, its libraries, its files, and a chroot around them."""

import os
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

from .errors import TestbedError
from .job import Job

_PT_INTERP = 3
_MACHINE_X86_64 = 62

# A program of the host finds its libraries in a root of its own, which has what is the guest's in it: the device at
# /pmem, the job's folder, /proc, /dev, /sys and /run.
ENTER_ROOT = """root=/job/root
mkdir -p "$root/tmp"
for folder in proc dev sys run pmem job; do
    mkdir -p "$root/$folder"
    mount --bind "/$folder" "$root/$folder"
done
"""


def in_root(words: list[str], cwd: str) -> str:
    """The shell words that run a program there."""
    return shlex.join(["unshare", "--root=/job/root", f"--wd={cwd}", "--", *words])


def program_job(argv: list[str], extra_files: list[Path], cwd: Path, marked: bool = False) -> Job:
    """A job that runs `argv` as it would run here in `cwd`: all of it the region of interest, unless it is `marked`."""
    program = find(argv[0], cwd)
    needed = [program, *libraries(program), *_argument_files(argv[1:], cwd)]
    for extra in extra_files:
        if not (cwd / extra).exists():
            raise TestbedError(f"--file {extra}: no such file or folder")
        needed += tree(cwd / extra)
    files: dict[str, bytes] = {}
    executables: dict[str, bytes] = {}
    for path in dict.fromkeys(needed):
        group = executables if os.access(path, os.X_OK) else files
        group[inside(path)] = path.read_bytes()
    command = in_root([str(program), *argv[1:]], str(cwd))
    script = f"#!/bin/bash\nset -e\n{ENTER_ROOT}exec {'' if marked else 'roi-run '}{command}\n"
    return Job(script, files=files, executables=executables, folders=(inside(cwd),))


def inside(path: Path) -> str:
    """Where a file of the host is in the job's archive."""
    return f"root/{str(path).lstrip('/')}".rstrip("/")


def find(name: str, cwd: Path) -> Path:
    """The program that a shell in `cwd` would start as `name`."""
    found = str(cwd / name) if "/" in name else shutil.which(name)
    if not found or not Path(found).exists():
        where = "does not exist" if "/" in name else "is not on the PATH"
        raise TestbedError(f"program '{name}' {where}; give the path of an x86-64 program")
    path = Path(os.path.normpath(found))
    if not path.is_file() or not os.access(path, os.X_OK):
        raise TestbedError(f"program '{name}' is not an executable file; make it one with chmod +x")
    return path


def interpreter(program: Path) -> str | None:
    """The dynamic loader that an x86-64 ELF program names; None if it is static."""
    with program.open("rb") as file:
        header = file.read(64)
        is_elf64 = len(header) == 64 and header[:5] == b"\x7fELF\x02"
        if not is_elf64 or struct.unpack_from("<H", header, 18)[0] != _MACHINE_X86_64:
            raise TestbedError(f"program '{program}' is not an x86-64 ELF program (for a script, name its interpreter)")
        offset, (size, count) = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<HH", header, 54)
        for index in range(count):
            file.seek(offset + index * size)
            segment = struct.unpack("<IIQQQQQQ", file.read(56))
            if segment[0] == _PT_INTERP:
                file.seek(segment[2])
                return file.read(segment[5]).rstrip(b"\0").decode()
    return None


def libraries(program: Path) -> list[Path]:
    """The loader and every library it would map, asked of the loader itself."""
    loader = interpreter(program)
    if loader is None:
        return []
    listed = subprocess.run([loader, "--list", str(program)], capture_output=True, text=True)
    if listed.returncode:
        raise TestbedError(f"program '{program}': its libraries cannot be listed: {listed.stderr.strip()}")
    paths = [Path(loader)]
    for line in listed.stdout.splitlines():
        if "not found" in line:
            raise TestbedError(f"program '{program}' needs the library {line.split()[0]}, which is not installed")
        target = line.partition("=>")[2] or line
        if target.strip().startswith("/"):
            paths.append(Path(target.split(" (")[0].strip()))
    return paths


def _argument_files(arguments: list[str], cwd: Path) -> list[Path]:
    """Arguments that name a file here are taken along, but for what the guest has of its own."""
    own = ("/dev", "/proc", "/sys", "/pmem")
    paths = [cwd / argument for argument in arguments if argument and (cwd / argument).is_file()]
    return [path for path in paths if not str(path).startswith(own)]


def tree(path: Path) -> list[Path]:
    """The file, or every file under the folder."""
    return [child for child in sorted(path.rglob("*")) if child.is_file()] if path.is_dir() else [path]
