# SPDX-License-Identifier: BSD-3-Clause
"""The whole QEMU command line in one place, each option with its reason."""

from dataclasses import dataclass
from pathlib import Path

from .manifest import GuestConfig
from .parameters import CpuProfile, DeviceProfile, properties
from .paths import KERNEL_CMDLINE

# -hypervisor: the kernel refuses to commit a CXL region under a hypervisor. -la57: 4-level page tables suffice.
# -erms, -fsrm: `rep movsb` counts one instruction a byte, so libc must not prefer it.
CPU = "max,-hypervisor,-la57,-erms,-fsrm"

LSA_BYTES = 256 * 2**10
WATCH_SOCKET = "watch.qmp"  # in the guest's folder


def kernel_arguments() -> str:
    """The guest's kernel command line, which the guest image keeps with a reason for each option."""
    lines = (line.partition("#")[0].strip() for line in KERNEL_CMDLINE.read_text().splitlines())
    return " ".join(line for line in lines if line)


@dataclass(frozen=True)
class Images:
    """The built files that a guest starts from."""

    qemu: Path
    firmware: Path
    kernel: Path
    initrds: tuple[Path, ...]


@dataclass(frozen=True)
class GuestFiles:
    """The files of one guest. Media and LSA outlive it when a later guest is to start on them."""

    initrd: Path
    media: Path
    lsa: Path


@dataclass(frozen=True)
class PowerCut:
    """When to cut the power: at a virtual time or when the guest reports its n-th mark."""

    at_ps: int | None = None
    at_mark: int | None = None

    def properties(self) -> str:
        time = f",power-cut-at-ps={self.at_ps}" if self.at_ps is not None else ""
        mark = f",power-cut-at-mark={self.at_mark}" if self.at_mark is not None else ""
        return time + mark


def cpu_timing(cpu: CpuProfile) -> str:
    """The CPU model object."""
    return f"cpu-timing,id=cpu0{properties(cpu)}"


def cxl_ssd(device: DeviceProfile, cut: PowerCut) -> str:
    """The device under test."""
    return f"cxl-ssd,bus=rp0,id=ssd0,persistent-memdev=media0,lsa=lsa0,sn=1{properties(device)}{cut.properties()}"


def mem_trace(trace: Path) -> str:
    """The capture of a trace. A comma in an option is written twice."""
    return f"mem-trace,id=trace0,file={str(trace).replace(',', ',,')}"


def stock_ssd() -> str:
    """Upstream's untimed type-3 device in place of ours, for comparison."""
    return "cxl-type3,bus=rp0,id=ssd0,persistent-memdev=media0,lsa=lsa0,sn=1"


def command_line(
    images: Images,
    guest: GuestConfig,
    files: GuestFiles,
    cut: PowerCut,
    ports: list[str],
    timed: bool = True,
    trace: Path | None = None,
) -> list[str]:
    """The line for one guest. `ports` are the options of the serial ports and the monitor.

    With a `trace`, that file takes what the CPU's caches ask of memory. Not `timed` is the line for an unpatched QEMU:
    one nanosecond an instruction and upstream's device.
    """
    device = guest.device
    insn = f",insn-ps={guest.cpu.insn_ps},boot-insn-ps={guest.boot_insn_ps}" if timed else ""
    memory_file = "memory-backend-file,share=on"
    return [
        str(images.qemu),
        *("-L", str(images.firmware)),
        # Nothing but what is asked for here: SeaBIOS alone takes 30 s with a VGA to initialise.
        *("-nodefaults", "-no-user-config", "-display", "none", "-vga", "none"),
        "-no-reboot",
        # Virtual time is a function of instructions and modelled stalls; idle time is skipped.
        *("-accel", "tcg,thread=single"),
        *("-icount", f"shift=0,sleep=off{insn}"),
        *("-machine", "q35,cxl=on,cxl-fmw.0.targets.0=cxl.1,cxl-fmw.0.size=4G,hpet=off"),
        *("-cpu", CPU, "-smp", "1", "-m", f"{guest.memory_bytes >> 20}M"),
        # Random numbers and the wall clock are inputs too.
        *("-seed", "1", "-rtc", "base=2026-01-01T00:00:00,clock=vm"),
        # Kernel and initramfs only: completions of a real disk arrive in host time.
        *("-kernel", str(images.kernel), "-initrd", str(files.initrd), "-append", kernel_arguments()),
        *ports,
        *(("-object", cpu_timing(guest.cpu)) if timed else ()),
        *("-object", f"{memory_file},id=media0,mem-path={files.media},size={device.capacity}"),
        *("-object", f"{memory_file},id=lsa0,mem-path={files.lsa},size={LSA_BYTES}"),
        *("-device", "pxb-cxl,bus_nr=12,bus=pcie.0,id=cxl.1"),
        *("-device", "cxl-rp,port=0,bus=cxl.1,id=rp0,chassis=0,slot=2"),
        *("-device", cxl_ssd(device, cut) if timed else stock_ssd()),
        *(("-object", mem_trace(trace)) if trace else ()),
    ]


def watch_port(folder: Path) -> list[str]:
    """A second monitor, for `testbed top`; nothing waits for it."""
    chardev = f"socket,id=watch,path={folder / WATCH_SOCKET},server=on,wait=off"
    return ["-chardev", chardev, "-mon", "chardev=watch,mode=control"]


def batch_ports(console: Path, results: Path, monitor_fd: int) -> list[str]:
    """Serial ports that only write to files, so that no host timing reaches the guest, and QMP on a socket."""
    return [
        "-S",  # no instruction runs before the monitor is there
        # The run stops at power-off, reset or panic, so that the counters can be read.
        *("-action", "shutdown=pause,panic=pause"),
        *("-chardev", f"file,id=console,path={console}", "-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={results}", "-serial", "chardev:results"),
        *("-chardev", f"socket,id=qmp,fd={monitor_fd}", "-mon", "chardev=qmp,mode=control"),
        *watch_port(console.parent),
    ]


def terminal_ports(results: Path) -> list[str]:
    """The console on this terminal (Ctrl-A X ends the guest); results still go to a file."""
    return [
        *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={results}", "-serial", "chardev:results"),
        *("-mon", "chardev=console,mode=readline"),
        *watch_port(results.parent),
    ]
