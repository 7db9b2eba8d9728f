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

# The program sees its files at their own paths, the guest's /proc, /dev and /sys, and the device at /pmem.
_SCRIPT = """#!/bin/bash
set -e
root=/job/root
mkdir -p "$root/tmp"
for folder in proc dev sys pmem; do
    mkdir -p "$root/$folder"
    mount --bind "/$folder" "$root/$folder"
done
exec roi-run unshare --root="$root" --wd={cwd} -- {command}
"""


def program_job(argv: list[str], extra_files: list[Path], cwd: Path) -> Job:
    """A job that runs `argv` as it would run here in `cwd`, within the region of interest."""
    program = _find(argv[0], cwd)
    needed = [program, *_libraries(program), *_argument_files(argv[1:], cwd)]
    for extra in extra_files:
        if not (cwd / extra).exists():
            raise TestbedError(f"--file {extra}: no such file or folder")
        needed += _tree(cwd / extra)
    files: dict[str, bytes] = {}
    executables: dict[str, bytes] = {}
    for path in dict.fromkeys(needed):
        group = executables if os.access(path, os.X_OK) else files
        group[_inside(path)] = path.read_bytes()
    command = shlex.join([str(program), *argv[1:]])
    script = _SCRIPT.format(cwd=shlex.quote(str(cwd)), command=command)
    return Job(script, files=files, executables=executables, folders=(_inside(cwd),))


def _inside(path: Path) -> str:
    return f"root/{str(path).lstrip('/')}".rstrip("/")


def _find(name: str, cwd: Path) -> Path:
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


def _libraries(program: Path) -> list[Path]:
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


def _tree(path: Path) -> list[Path]:
    return [child for child in sorted(path.rglob("*")) if child.is_file()] if path.is_dir() else [path]
