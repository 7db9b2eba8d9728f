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

# A program of the host finds its libraries in a separate root, into which the guest's own folders are mounted: the
# device at /pmem, the job's folder, /proc, /dev, /sys and /run.
GUESTS_OWN = ("proc", "dev", "sys", "run", "pmem", "job")
ENTER_ROOT = f"""root=/job/root
mkdir -p "$root/tmp"
for folder in {" ".join(GUESTS_OWN)}; do
    mkdir -p "$root/$folder"
    mount --bind "/$folder" "$root/$folder"
done
"""


def in_root(words: list[str], cwd: str) -> str:
    """The shell words that run a program in that root."""
    return shlex.join(["unshare", "--root=/job/root", f"--wd={cwd}", "--", *words])


def program_job(argv: list[str], extras: list[Path], cwd: Path, marked: bool = False) -> Job:
    """A job that runs `argv` as it would run here in `cwd`; all of it is the region of interest unless `marked`."""
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
        ):  # two paths with a link and '..' in them may clash
            raise TestbedError(f"{path} and another file would be one in the guest; give their paths without '..'")
        (executables if os.access(path, os.X_OK) else files)[name] = content
    # The guest resolves '..' in a path as well, so every folder on the way must exist there.
    on_the_way = {inside(parent) for path in needed if ".." in path.parts for parent in path.parents}
    command = in_root([str(program), *argv[1:]], str(cwd))
    script = f"#!/bin/bash\nset -e\n{ENTER_ROOT}exec {'' if marked else 'roi-run '}{command}\n"
    return Job(script, files=files, executables=executables, folders=tuple(sorted({inside(cwd), *on_the_way})))


def inside(path: Path) -> str:
    """The path of a host file or folder in the job's archive. TestbedError: it is in one of the guest's own folders."""
    plain = _plain(path)
    if is_guests_own(plain):
        own = f"/{plain.parts[1]}"
        raise TestbedError(f"{path}: {own} is the guest's own there; take it from another folder")
    return f"root{plain}".rstrip("/")


def _plain(path: Path) -> Path:
    return Path("/" + os.path.normpath(path).lstrip("/"))


def is_guests_own(path: Path) -> bool:
    """Whether the path is in one of the guest's own folders."""
    return _plain(path).parts[1:2] != () and _plain(path).parts[1] in GUESTS_OWN


def read(path: Path, size: int = -1) -> bytes:
    """The content of a host file, or its first `size` bytes."""
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
    """Whether a file with this header is an ELF file for x86-64."""
    is_elf64 = len(header) >= ELF_HEADER_BYTES and header[:5] == b"\x7fELF\x02"
    return is_elf64 and struct.unpack_from("<H", header, 18)[0] == _MACHINE_X86_64


def interpreter(program: Path) -> str | None:
    """The dynamic loader that an x86-64 ELF program names, or None if the program is static."""
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
    """The kind of a program that is no x86-64 ELF program, and the remedy."""
    if not header.startswith(b"#!"):
        return "is not an x86-64 ELF program; give the path of one"
    starts = header[2:].partition(b"\n")[0].decode(errors="replace").strip()
    remedy = "name its interpreter and then the script, or, of a script that only starts a program, that program"
    return f"is a script of '{starts}' and not an x86-64 ELF program; {remedy}"


def libraries(program: Path) -> list[Path]:
    """The loader and every library that it would map, as the loader itself lists them."""
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
    """The files here that arguments name, except for files in the guest's own folders; the job brings them along."""
    paths = [cwd / argument for argument in arguments if argument]
    return [path for path in paths if kind_of(path) == "file" and not is_guests_own(path)]


def extra_files(extra: Path, path: Path) -> list[Path]:
    """The files that `--file` names: one file, or all files of a folder. TestbedError: the path is neither."""
    if kind_of(path) not in ("file", "folder") or not path.name:
        raise TestbedError(f"--file {extra}: {why_not_there(path) or 'is neither a file nor a folder with a name'}")
    inside(path)  # rejects a folder like /proc before it is read
    return tree(path)


def tree(path: Path) -> list[Path]:
    """The file, or all files under the folder, with links followed. TestbedError: an entry is no file and no folder."""
    return sorted(_walk(path, ())) if path.is_dir() else [path]


def _walk(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    """The files under the folder; `above` are the folders that contain this one, with links resolved."""
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
