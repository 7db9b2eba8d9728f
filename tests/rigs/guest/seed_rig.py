# SPDX-License-Identifier: BSD-3-Clause
"""A machine without a kernel, which shows each effect of a seed separately: no timer runs, no page is chosen."""

import asyncio
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qemu.qmp import EventListener, QMPClient, QMPError

from rigs.guest.bare_rig import assemble
from testbed.guest.executor import GuestSpec, prepare_files
from testbed.guest.qemu_line import PowerCut, command_line
from testbed.guest.session import Session
from testbed.manifest.guest_config import GuestConfig
from testbed.run.runner import drive

# One interrupt starts all CPUs but the first, which runs this code itself. The others start at the same time, and each
# takes the next number. Then the first CPU writes the order of the others to the port and begins a region of interest,
# in which all CPUs loop.
CPUS = """
.code16
    .globl begin
begin:
    xor %ax, %ax
    mov %ax, %ds
    mov %ax, %ss
    mov $0x7000, %sp
    mov $0x1b, %ecx              # IA32_APIC_BASE: bit 8 is set on the first CPU
    rdmsr
    test $0x100, %eax
    jz started
    or $0xc00, %eax              # x2APIC, whose registers are MSRs
    wrmsr
    .if {others}
    mov $0x830, %ecx             # ICR: start at F000:0000, all excluding self
    xor %edx, %edx
    mov $0xc46f0, %eax
    wrmsr
    .endif
wait:
    cmpb ${others}, 0x601
    jne wait
    mov $0x3f8, %dx
    xor %si, %si
    .rept {others}
    mov 0x610(%si), %al
    out %al, %dx
    inc %si
    .endr
    xor %edx, %edx
    mov $0x832, %ecx             # the APIC's timer, once: no interrupt is taken here
    mov $0x20, %eax
    wrmsr
    mov $0x83e, %ecx             # undivided: a nanosecond each
    mov $0xb, %eax
    wrmsr
    mov $0x838, %ecx
    mov ${timer_ns}, %eax
    wrmsr
    mov $0x4358534c, %eax
    mov $1, %ecx
    mov $1, %ebx
    cpuid
    mov $20000, %edi
1:  dec %edi
    jnz 1b
    lidt %cs:nothing
    int3                         # a triple fault, within the region
started:
    mov $1, %al
    lock xadd %al, 0x600
    xor %ah, %ah
    mov %ax, %si
    mov $1, %eax
    cpuid
    shr $24, %ebx                # the number of the CPU
    mov %bl, 0x610(%si)
    lock incb 0x601
2:  jmp 2b
nothing:
    .word 0, 0, 0
.org 0xfff0
    ljmp $0xf000, $begin
.org 0x10000
"""


@dataclass(frozen=True)
class Told:
    """Effects of a seed on the machine."""

    order: list[int]  # the started CPUs, by the number that each took
    began_ps: list[int]  # the clock of each CPU as the region of interest began


def told(session: Session, guest: GuestConfig, folder: Path, seed: int, timer_ns: int = 0) -> Told:
    """Run from reset to the triple fault. A timer is due `timer_ns` after the request for the region; 0: no timer."""
    rom = CPUS.replace("{others}", str(guest.cpu.cores - 1)).replace("{timer_ns}", str(timer_ns))
    return drive(_told(session, replace(guest, cpu=replace(guest.cpu, seed=seed)), folder, assemble(rom, folder)))


async def _told(session: Session, guest: GuestConfig, folder: Path, rom: Path) -> Told:
    order = folder / "order"
    files = prepare_files(replace(session.images, initrds=()), GuestSpec(guest, None, media_folder=folder), folder)
    ours, theirs = socket.socketpair()
    ports = ["-S", "-action", "shutdown=pause", "-chardev", f"file,id=told,path={order}", "-serial", "chardev:told"]
    ports += ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"]
    line = [*command_line(session.images, guest, files, PowerCut(), ports), "-bios", str(rom)]
    with ours, theirs:
        qemu = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()
        qmp, ended = QMPClient(), EventListener(("SHUTDOWN",))
        qmp.register_listener(ended)
        try:
            await qmp.connect(ours)
            await qmp.execute("cont")
            async with asyncio.timeout(60):
                await ended.get()
            return Told(list(order.read_bytes()), await _began_ps(qmp, guest.cpu.cores))
        finally:
            qemu.kill()
            qemu.wait()
            with suppress(QMPError, EOFError, OSError):
                await qmp.disconnect()


async def _began_ps(qmp: QMPClient, cpus: int) -> list[int]:
    """Compute the begin from each clock and its advance within the region, which has not ended."""
    device: Any = await qmp.execute("query-cxl-ssd")
    region = device["running"]
    if cpus == 1:
        return [region["begin-ps"]]
    clocks: Any = await qmp.execute("query-vcpu-clocks")
    return [now["clock-ps"] - since["time-ps"] for now, since in zip(clocks["vcpus"], region["vcpus"], strict=True)]
