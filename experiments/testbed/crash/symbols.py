# SPDX-License-Identifier: BSD-3-Clause
"""Names the functions and lines of instructions. A guest looks up kernel addresses: the kernel and its modules have the
same addresses on every boot, because there is no address randomisation."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from .. import scratch
from ..program.job_archive import Job
from ..program.kernel_module import KernelModule

OF_MODULE = re.compile(r"kernel ([\w.]+)\+(0x[0-9a-f]+) \[(\w+)\]")

# Addresses have 16 digits, so sorting text sorts numbers. The sort is stable: an address follows a symbol at it.
LOOK_UP = """sort -s -k1,1 /proc/kallsyms addresses | awk '
$2 == "at" { print $1, address, name; next }
$2 ~ /[tTwW]/ { address = $1; name = $3 " " $4 }'"""


def line_of(program: Path, address: int, *options: str) -> str:
    """Return the function and line of an instruction, with the functions it is inlined into; empty if unknown."""
    command = ["addr2line", "-f", "-s", "-i", *options, "-e", str(program), hex(address)]
    said = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    if len(said) < 2 or said[0] == "??":
        return ""
    frames = list(zip(said[::2], (line.split(" ")[0] for line in said[1::2]), strict=False))
    own = [frame for frame in frames if ".h:" not in frame[1]] or frames
    return " in ".join(f"{function} ({line})" for function, line in own)


def of_kernel(pc: int) -> bool:
    return bool(pc >> 63)


def job(pcs: Iterable[int]) -> Job:
    """Return a job that prints a line for each address."""
    lines = "".join(f"{pc:016x} at\n" for pc in pcs)
    return Job(f"#!/bin/bash\nexport LC_ALL=C\n{LOOK_UP}\n", {"addresses": lines.encode()})


def read(printed: bytes) -> dict[int, str]:
    """Parse the job's output into names by address."""
    names = {}
    for line in printed.decode(errors="replace").splitlines():
        pc, address, name, *module = line.split()
        of = f" {module[0]}" if module else ""
        names[int(pc, 16)] = f"kernel {name}+{int(pc, 16) - int(address, 16):#x}{of}"
    return names


def with_lines(names: Mapping[int, str], modules: Iterable[KernelModule]) -> dict[int, str]:
    """Add source lines to the names of functions in these modules, which contain their symbols."""
    with scratch.folder("symbols") as folder:
        files = {}
        for module in modules:
            files[module.name] = folder / f"{module.name}.ko"
            files[module.name].write_bytes(module.content)
        return {pc: _with_line(name, files) for pc, name in names.items()}


def _with_line(name: str, files: Mapping[str, Path]) -> str:
    """Add the source line of a function in `.text`; in another section the same offset belongs to another function."""
    match = OF_MODULE.fullmatch(name)
    if not match or match[3] not in files:
        return name
    for symbol in subprocess.run(["nm", files[match[3]]], capture_output=True, text=True).stdout.splitlines():
        address, function = symbol[:16], symbol[19:]
        if function == match[1] and address.strip():
            found = line_of(files[match[3]], int(address, 16) + int(match[2], 16), "-j", ".text")
            return f"{found} [{match[3]}]" if f"{function.partition('.')[0]} (" in found else name
    return name
