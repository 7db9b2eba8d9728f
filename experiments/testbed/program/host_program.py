# SPDX-License-Identifier: BSD-3-Clause
"""Turns a program of the host into a guest job: the program, its libraries, its files, and a chroot around them."""

import os
import shlex
import shutil
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ..errors import TestbedError
from ..paths import kind_of, why_not_there
from .job_archive import Job

_PT_INTERP = 3
_MACHINE_X86_64 = 62
ELF_HEADER_BYTES = 64

# A program of the host finds its libraries in a root of its own, which has what is the guest's in it: the device at
# /pmem, the job's folder, /proc, /dev, /sys and /run.
GUESTS_OWN = ("proc", "dev", "sys", "run", "pmem", "job")
ENTER_ROOT = f"""root=/job/root
mkdir -p "$root/tmp"
for folder in {" ".join(GUESTS_OWN)}; do
    mkdir -p "$root/$folder"
    mount --bind "/$folder" "$root/$folder"
done
"""


def in_root(words: list[str], cwd: str) -> str:
    """The shell words that run a program there."""
    return shlex.join(["unshare", "--root=/job/root", f"--wd={cwd}", "--", *words])


def program_job(argv: list[str], extras: list[Path], cwd: Path, marked: bool = False) -> Job:
    """A job that runs `argv` as it would run here in `cwd`: all of it the region of interest, unless it is `marked`."""
    program = find(argv[0], cwd)
    needed = [program, *libraries(program), *_argument_files(argv[1:], cwd)]
    for extra in extras:
        needed += extra_files(extra, cwd / extra)
    files: dict[str, bytes] = {}
    executables: dict[str, bytes] = {}
    for path in dict.fromkeys(needed):
        name, content = inside(path), read(path)
        if (
            files.get(name, executables.get(name, content)) != content
        ):  # of two files with a link and '..' in their paths
            raise TestbedError(f"{path} and another file would be one in the guest; give their paths without '..'")
        (executables if os.access(path, os.X_OK) else files)[name] = content
    # A path through '..' is followed in the guest, too: every folder on its way must be there.
    on_the_way = {inside(parent) for path in needed if ".." in path.parts for parent in path.parents}
    command = in_root([str(program), *argv[1:]], str(cwd))
    script = f"#!/bin/bash\nset -e\n{ENTER_ROOT}exec {'' if marked else 'roi-run '}{command}\n"
    return Job(script, files=files, executables=executables, folders=tuple(sorted({inside(cwd), *on_the_way})))


def inside(path: Path) -> str:
    """Where a file or folder of the host is in the job's archive."""
    plain = _plain(path)
    if is_guests_own(plain):
        own = f"/{plain.parts[1]}"
        raise TestbedError(f"{path}: {own} is the guest's own there; take it from another folder")
    return f"root{plain}".rstrip("/")


def _plain(path: Path) -> Path:
    return Path("/" + os.path.normpath(path).lstrip("/"))


def is_guests_own(path: Path) -> bool:
    """Whether the path is in a folder that the guest has itself."""
    return _plain(path).parts[1:2] != () and _plain(path).parts[1] in GUESTS_OWN


def read(path: Path, size: int = -1) -> bytes:
    """What a file of the host holds, or begins with."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise TestbedError(f"cannot take {path} along: {error.strerror}") from error


def find(name: str, cwd: Path) -> Path:
    """The program that a shell in `cwd` would start as `name`."""
    found = str(cwd / name) if "/" in name else shutil.which(name)
    if not found or not kind_of(Path(found)):
        where = "does not exist" if "/" in name else "is not on the PATH"
        raise TestbedError(f"program '{name}' {where}; give the path of an x86-64 program")
    path = Path(os.path.normpath(found))
    if kind_of(path) != "file" or not os.access(path, os.X_OK):
        raise TestbedError(f"program '{name}' is not an executable file; make it one with chmod +x")
    return path


def is_x86_64(header: bytes) -> bool:
    """Whether an ELF file that begins so is for x86-64."""
    is_elf64 = len(header) >= ELF_HEADER_BYTES and header[:5] == b"\x7fELF\x02"
    return is_elf64 and struct.unpack_from("<H", header, 18)[0] == _MACHINE_X86_64


def interpreter(program: Path) -> str | None:
    """The dynamic loader that an x86-64 ELF program names; None if it is static."""
    with program.open("rb") as file:
        header = file.read(ELF_HEADER_BYTES)
        if not is_x86_64(header):
            raise TestbedError(f"program '{program}' {_other_kind(header)}")
        offset, (size, count) = struct.unpack_from("<Q", header, 32)[0], struct.unpack_from("<HH", header, 54)
        for index in range(count):
            file.seek(offset + index * size)
            segment = struct.unpack("<IIQQQQQQ", file.read(56))
            if segment[0] == _PT_INTERP:
                file.seek(segment[2])
                return file.read(segment[5]).rstrip(b"\0").decode()
    return None


def _other_kind(header: bytes) -> str:
    """What a program is that is no ELF program, and what to do."""
    if not header.startswith(b"#!"):
        return "is not an x86-64 ELF program; give the path of one"
    starts = header[2:].partition(b"\n")[0].decode(errors="replace").strip()
    remedy = "name its interpreter and then the script, or, of a script that only starts a program, that program"
    return f"is a script of '{starts}' and not an x86-64 ELF program; {remedy}"


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
    paths = [cwd / argument for argument in arguments if argument]
    return [path for path in paths if kind_of(path) == "file" and not is_guests_own(path)]


def extra_files(extra: Path, path: Path) -> list[Path]:
    """What `--file` names, which is there: a file, or all files of a folder."""
    if kind_of(path) not in ("file", "folder") or not path.name:
        raise TestbedError(f"--file {extra}: {why_not_there(path) or 'is neither a file nor a folder with a name'}")
    inside(path)  # refused before a folder like /proc is read
    return tree(path)


def tree(path: Path) -> list[Path]:
    """The file, or every file under the folder, links followed. What no guest can be given is refused."""
    return sorted(_walk(path, ())) if path.is_dir() else [path]


def _walk(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    """`above` are the folders that this one is in, without links."""
    real = folder.resolve()
    if real in above:
        raise TestbedError(f"cannot take {folder} along: it is a link to a folder that it is in; remove it")
    try:
        children = list(folder.iterdir())
    except OSError as error:
        raise TestbedError(f"cannot take {folder} along: {error.strerror}") from error
    for child in children:
        kind = kind_of(child)
        if kind == "folder":
            yield from _walk(child, (*above, real))
        elif kind == "file":
            yield child
        else:
            why = "it is neither a file nor a folder" if kind else f"{why_not_there(child)} at the end of the link"
            raise TestbedError(f"cannot take {child} along: {why}; remove it, or name the files that are to go along")
