# SPDX-License-Identifier: BSD-3-Clause
"""Programs without a kernel: a ROM in place of the firmware, in real mode, which writes numbers to a port."""

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from testbed.guest.executor import GuestSpec, prepare_files
from testbed.guest.qemu_line import PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig

REPEATS = 100  # of each measured instruction
ROM_BYTES = 0x10000

# The ROM begins a region of interest and gets a stack line into L1. The last instruction is a triple fault, which ends
# QEMU.
ROM = """
.code16
.macro tell                      # EAX, to the first serial port
    mov $0x3f8, %dx
    .rept 4
    out %al, %dx
    shr $8, %eax
    .endr
.endm
.macro timed count, body         # virtual nanoseconds of `count` of these, and of what stands around them
    rdtsc
    mov %eax, %esi
    .rept \\count
    \\body
    .endr
    rdtsc
    sub %esi, %eax
    tell
.endm
    .globl begin
begin:
    xor %ax, %ax
    mov %ax, %ss
    mov $0x7000, %sp
    mov %sp, %bp
    mov $0x4358534c, %eax
    mov $1, %ecx
    mov $1, %ebx
    cpuid
    push %ax
    pop %ax
    mfence
{body}
    push $0
    push $0
    push $0
    lidt -6(%bp)
    int3
.org 0xfff0
    ljmp $0xf000, $begin
.org 0x10000
"""


def assemble(text: str, folder: Path) -> Path:
    """Assemble a whole ROM and return its file."""
    source, linked, rom = (folder / name for name in ("rom.S", "rom.o", "rom.bin"))
    source.write_text(text)
    subprocess.run(["as", "--32", "-o", linked, source], check=True)
    subprocess.run(
        ["ld", "-m", "elf_i386", "--oformat=binary", "-Ttext=0", "--entry=begin", "-o", rom, linked], check=True
    )
    assert rom.stat().st_size == ROM_BYTES
    return rom


def words(session: Session, guest: GuestConfig, folder: Path, body: str) -> list[int]:
    """Run a program and return the 32-bit numbers that it wrote to the port."""
    told = folder / "told"
    files = prepare_files(replace(session.images, initrds=()), GuestSpec(guest, None, media_folder=folder), folder)
    ports = ["-chardev", f"file,id=told,path={told}", "-serial", "chardev:told"]
    line = command_line(session.images, guest, files, PowerCut(), ports)
    done = subprocess.run(
        [*line, "-bios", assemble(ROM.replace("{body}", body), folder)], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b""), done.stderr.decode()
    return [word for (word,) in struct.iter_unpack("<I", told.read_bytes())]


def cost_ps(session: Session, guest: GuestConfig, folder: Path, bodies: Sequence[str]) -> dict[str, float]:
    """Return the cost of one of each of these in picoseconds, to a hundredth of a nanosecond."""
    lines = [f'    timed {REPEATS}, "{body}"' for body in bodies]
    nothing, *told = words(session, guest, folder, "\n".join(['    timed 0, ""', *lines]))
    return {body: (ns - nothing) * 1000 / REPEATS for body, ns in zip(bodies, told, strict=True)}
