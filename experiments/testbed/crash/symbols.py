# SPDX-License-Identifier: BSD-3-Clause
"""Which functions of the guest's kernel instructions are in. The guest is asked: its kernel and modules are where they
are on every boot, because it has no address randomisation."""

from collections.abc import Iterable

from ..program.job_archive import Job

# Addresses have 16 digits, so text sorts as numbers do. An address comes after a symbol that begins there.
LOOK_UP = """sort -s -k1,1 /proc/kallsyms addresses | awk '
$2 == "at" { print $1, address, name; next }
$2 ~ /[tTwW]/ { address = $1; name = $3 " " $4 }'"""


def of_kernel(pc: int) -> bool:
    return bool(pc >> 63)


def job(pcs: Iterable[int]) -> Job:
    """Prints a line for each address."""
    lines = "".join(f"{pc:016x} at\n" for pc in pcs)
    return Job(f"#!/bin/bash\nexport LC_ALL=C\n{LOOK_UP}\n", {"addresses": lines.encode()})


def read(printed: bytes) -> dict[int, str]:
    """The names, by address."""
    names = {}
    for line in printed.decode(errors="replace").splitlines():
        pc, address, name, *module = line.split()
        of = f" {module[0]}" if module else ""
        names[int(pc, 16)] = f"kernel {name}+{int(pc, 16) - int(address, 16):#x}{of}"
    return names
