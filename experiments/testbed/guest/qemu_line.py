# SPDX-License-Identifier: BSD-3-Clause
"""The whole QEMU command line in one place, each option with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ..manifest.guest_config import GuestConfig
from ..manifest.parameters import CpuProfile, DeviceProfile, properties
from ..manifest.topology import Window, has_memory
from ..paths import KERNEL_CMDLINE
from . import clock, file_systems, memory_tables

# With OVERFLOW-RECOV and SUCCOR, Linux survives a load of poison; with ERMS, also in its own copy routines.
MACHINE_CHECKS = ("erms", "overflow-recov", "succor")
# MOVDIR64B stores 64 bytes at once.
DIRECT_STORES = ("movdir64b",)
# -hypervisor: the kernel refuses to commit a CXL region under a hypervisor. -la57: 4-level page tables suffice.
# The other features, and ERMS, make kernel and libc prefer `rep movsb`, `rep stosb` and `rep cmpsb`, which run as one
# instruction per byte; Cascade Lake has only ERMS.
STOCK_CPU = "max,-hypervisor,-la57,-fsrm,-fzrm,-fsrs,-fsrc"
# CPUID describes the timed caches in leaf 8000001D, which can express 27.5 MiB; the guest reads it if it sees TOPOEXT.
TIMED_CPU = STOCK_CPU + ",+topoext,min-xlevel=0x8000001e"

FIXED_ADDRESSES = "norandmaps"  # an option of the kernel's command line
LSA_BYTES = 256 * 2**10
WATCH_SOCKET = "watch.qmp"  # in the guest's folder


def cpu_model(machine_checks: bool = False, timed: bool = True, direct_stores: bool = False) -> str:
    """The argument of QEMU's -cpu; by default for a guest that asks for no feature."""
    absent = (() if machine_checks else MACHINE_CHECKS) + (() if direct_stores else DIRECT_STORES)
    return ",".join([TIMED_CPU if timed else STOCK_CPU, *(f"-{feature}" for feature in absent)])


def kernel_arguments(seed: int = 0) -> str:
    """The guest's kernel command line; its file in the guest image gives a reason for each option.

    With a seed, processes have random addresses, which follow from the seed.
    """
    lines = (line.partition("#")[0].strip() for line in KERNEL_CMDLINE.read_text().splitlines())
    return " ".join(line for line in lines if line and not (seed and line == FIXED_ADDRESSES))


@dataclass(frozen=True)
class Images:
    """The built files that a guest starts from."""

    qemu: Path
    firmware: Path
    kernel: Path
    initrds: tuple[Path, ...]
    archives: Mapping[str, Path] = field(default_factory=dict)  # of workloads, by name; not built again


@dataclass(frozen=True)
class GuestFiles:
    """The files of one guest. Media and LSA, one for each device, outlive the guest if a later guest starts on them."""

    initrd: Path
    media: tuple[Path, ...]
    lsa: tuple[Path, ...]
    job: Path | None  # an archive that the guest unpacks once it has booted
    cdat: tuple[Path, ...] = ()  # one for each device of a machine that reports memory speeds to its kernel


@dataclass(frozen=True)
class Layout:
    """The number of devices, all of one profile and behind the host bridges in turn, and further kernel arguments.

    The host interleaves the window over all bridges. A machine with a topology defines its own devices and windows.
    """

    devices: int = 1
    bridges: int = 1
    kernel: str = ""
    window_bytes: int = 4 * 2**30


ONE_DEVICE = Layout()
NO_REGION = "testbed.nopmem"  # leaves regions, namespaces and file systems to the job


def devices_of(guest: GuestConfig, layout: Layout = ONE_DEVICE) -> list[tuple[DeviceProfile, int]]:
    """Each device with the number of its host bridge."""
    if guest.topology:
        return list(zip(guest.devices, guest.topology.bridges, strict=True))
    return [(guest.device, n % layout.bridges) for n in range(layout.devices)]


def windows_of(guest: GuestConfig, layout: Layout) -> Sequence[Window]:
    """The address windows that the host reserves for CXL memory."""
    if guest.topology:
        return guest.topology.windows(guest.device)
    return [Window(tuple(range(layout.bridges)), layout.window_bytes)]


def run_arguments(guest: GuestConfig, layout: Layout) -> list[str]:
    """The arguments of this run on the kernel's command line."""
    by_job = [NO_REGION] if guest.topology else []
    pages = f"testbed.pages={guest.page_size}" if guest.page_size else ""
    own = filter(None, (pages, layout.kernel, guest.kernel_arguments))
    return [*file_systems.arguments(guest), *by_job, *own]


@dataclass(frozen=True)
class PowerCut:
    """When to cut the power: at a virtual time, or after the n-th event: a line leaves the CPU or becomes durable."""

    at_ps: int | None = None
    at_event: int | None = None

    def properties(self) -> str:
        time = f",power-cut-at-ps={self.at_ps}" if self.at_ps is not None else ""
        event = f",power-cut-at-event={self.at_event}" if self.at_event is not None else ""
        return time + event


def cpu_timing(cpu: CpuProfile, helper_thread: bool) -> str:
    """The CPU model as an argument of -object."""
    return f"cpu-timing,id=cpu0{properties(cpu)},helper-thread={'on' if helper_thread else 'off'}"


def in_option(path: Path) -> str:
    """A path within an option, with each comma doubled: a single comma would begin another option."""
    return str(path).replace(",", ",,")


def mem_trace(trace: Path) -> str:
    """The capture of a trace as an argument of -object."""
    return f"mem-trace,id=trace0,file={in_option(trace)}"


def persist_journal(journal: Path) -> str:
    """The recording of a journal as an argument of -object."""
    return f"persist-journal,id=journal0,file={in_option(journal)}"


def job_file(job: Path | None, timed: bool) -> list[str]:
    """The fw_cfg entry of the guest's job. The monitor fills it after the boot; an unpatched QEMU reads the file."""
    if not job:
        return []
    content = "string=none" if timed else f"file={in_option(job)}"
    return ["-fw_cfg", f"name=opt/testbed/job,{content}"]


def makes_nodes(guest: GuestConfig) -> bool:
    """Whether the guest's kernel can use memory of a device as system RAM."""
    return any(device.volatile_size for device in guest.devices) or has_memory(guest.topology)


def local_node(guest: GuestConfig, devices: Sequence[tuple[DeviceProfile, int]]) -> list[str]:
    """Local memory as a NUMA node, so that the kernel makes another node of each window's memory."""
    if guest.hmat:
        return memory_tables.hmat_options(guest, devices, [bridge_name(n) for n in bridges_of(devices)])
    if makes_nodes(guest):
        return ["-object", f"memory-backend-ram,id=local,size={guest.memory_bytes}", "-numa", "node,memdev=local"]
    return []


def bridges_of(devices: Sequence[tuple[DeviceProfile, int]]) -> list[int]:
    """The numbers of the host bridges in use, in ascending order."""
    return sorted({bridge for _, bridge in devices})


def memory_devices(
    devices: Sequence[tuple[DeviceProfile, int]], files: GuestFiles, cut: PowerCut, timed: bool, private: bool
) -> list[str]:
    """The devices under test, each with its memory, behind root ports of the host bridges."""
    words: list[str] = []
    for n in bridges_of(devices):
        # hdm_for_passthrough: the bridge has decoders even with one port; otherwise only one region would be possible.
        words += ["-device", f"pxb-cxl,bus_nr={12 + 20 * n},bus=pcie.0,id={bridge_name(n)},hdm_for_passthrough=on"]
    for n, (device, bridge) in enumerate(devices):
        words += memory_device(n, bridge_name(bridge), device, files, cut, timed, private)
    return words


def bridge_name(n: int) -> str:
    """The ID of a host bridge."""
    return f"cxl.{n + 1}"


def memory_window(n: int, window: Window) -> str:
    """One of the host's windows for CXL memory, interleaved over its bridges."""
    name = f"cxl-fmw.{n}"
    targets = "".join(f"{name}.targets.{i}={bridge_name(bridge)}," for i, bridge in enumerate(window.bridges))
    granularity = f",{name}.interleave-granularity={window.granularity_bytes}" if window.granularity_bytes else ""
    return f"{targets}{name}.size={window.size_bytes}{granularity}"


def memory_device(
    n: int, bridge: str, device: DeviceProfile, files: GuestFiles, cut: PowerCut, timed: bool, private: bool
) -> list[str]:
    """One device with its memory: cxl-ssd if `timed`, otherwise upstream's type-3 device, for comparison.

    `private` memory starts with the content of its files and never changes the files.
    """
    # reserve=off: otherwise the host would count a private mapping in full against its memory.
    memory_file = "memory-backend-file," + ("share=off,reserve=off" if private else "share=on")
    persistent_bytes = device.capacity - device.volatile_size
    options = f"bus=rp{n},id=ssd{n},sn={n + 1}"
    words = []
    if persistent_bytes:
        words += ["-object", f"{memory_file},id=media{n},mem-path={in_option(files.media[n])},size={persistent_bytes}"]
        words += ["-object", f"{memory_file},id=lsa{n},mem-path={in_option(files.lsa[n])},size={LSA_BYTES}"]
        options += f",persistent-memdev=media{n},lsa=lsa{n}"
    if device.volatile_size:
        words += ["-object", f"memory-backend-ram,id=volatile{n},size={device.volatile_size}"]
        options += f",volatile-memdev=volatile{n}"
    if files.cdat:
        # Linux also limits the bandwidth to the bandwidth of the PCIe link. The widest possible link limits no profile.
        options += f",cdat={in_option(files.cdat[n])},x-speed=64,x-width=32"
    kind = f"cxl-ssd,{options}{properties(device)}{cut.properties()}" if timed else f"cxl-type3,{options}"
    return [*words, "-device", f"cxl-rp,port={n},bus={bridge},id=rp{n},chassis=0,slot={2 + n}", "-device", kind]


def command_line(
    images: Images,
    guest: GuestConfig,
    files: GuestFiles,
    cut: PowerCut,
    ports: list[str],
    timed: bool = True,
    trace: Path | None = None,
    layout: Layout = ONE_DEVICE,
    helper_thread: bool = False,
    private_media: bool = False,
    journal: Path | None = None,
    booted: datetime = clock.FIRST_BOOT,
) -> list[str]:
    """The line for one guest. `ports` are the options of the serial ports and the monitor.

    The file `trace` records the requests of the CPU's caches to memory, and the file `journal` the guest's operations
    on the persistent lines of its devices. A `helper_thread` works on the model beside the vCPU, which is faster on an
    idle host and changes no result. `private_media` leaves the files of the media unchanged. The guest's wall clock
    starts at `booted`. Without `timed` the line is for an unpatched QEMU: one nanosecond per instruction, and
    upstream's device.
    """
    devices = devices_of(guest, layout)
    windows = ",".join(memory_window(n, window) for n, window in enumerate(windows_of(guest, layout)))
    insn = f",insn-ps={guest.cpu.insn_ps},boot-insn-ps={guest.boot_insn_ps}" if timed else ""
    return [
        str(images.qemu),
        *("-L", str(images.firmware)),
        # No default devices: with a VGA, for instance, SeaBIOS alone takes 30 s to initialise it.
        *("-nodefaults", "-no-user-config", "-display", "none", "-vga", "none"),
        "-no-reboot",
        # Virtual time is a function of instructions and modelled stalls; idle time is skipped.
        # tb-size: otherwise the room for translated code would depend on the host's memory.
        *("-accel", "tcg,thread=single,tb-size=1024"),
        *("-icount", f"shift=0,sleep=off{insn}"),
        *("-machine", f"q35,cxl=on,{windows},hpet=off{',hmat=on' if guest.hmat else ''}"),
        *("-cpu", cpu_model(guest.machine_checks, timed, guest.direct_stores)),
        *("-smp", str(guest.cpu.cores), "-m", f"{guest.memory_bytes >> 20}M"),
        *local_node(guest, devices),
        # Random numbers and the wall clock are inputs too.
        *("-seed", str(1 + guest.cpu.seed), "-rtc", clock.option(booted)),
        # Kernel and initramfs only, no disk: the completions of a real disk arrive in host time.
        *("-kernel", str(images.kernel), "-initrd", str(files.initrd)),
        *("-append", " ".join([kernel_arguments(guest.cpu.seed), *run_arguments(guest, layout)])),
        *job_file(files.job, timed),
        *ports,
        *(("-object", cpu_timing(guest.cpu, helper_thread)) if timed else ()),
        *memory_devices(devices, files, cut, timed, private_media),
        *(("-object", mem_trace(trace)) if trace else ()),
        *(("-object", persist_journal(journal)) if journal else ()),
    ]


def batch_ports(console: Path, results: Path, monitor_fd: int) -> list[str]:
    """Serial ports that only write to files, so that no host timing reaches the guest, and QMP on a socket."""
    return [
        "-S",  # no instruction runs before the monitor is connected
        # The guest pauses at power-off, reset or panic, so that the counters can be read.
        *("-action", "shutdown=pause,panic=pause"),
        *("-chardev", f"file,id=console,path={in_option(console)}", "-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={in_option(results)}", "-serial", "chardev:results"),
        *("-chardev", f"socket,id=qmp,fd={monitor_fd}", "-mon", "chardev=qmp,mode=control"),
        *watch_port(console.parent),
    ]


def terminal_ports(results: Path) -> list[str]:
    """The console on this terminal (Ctrl-A X ends the guest); results still go to a file."""
    return [
        *("-chardev", "stdio,id=console,mux=on,signal=off", "-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={in_option(results)}", "-serial", "chardev:results"),
        *("-mon", "chardev=console,mode=readline"),
        *watch_port(results.parent),
    ]


def watch_port(folder: Path) -> list[str]:
    """A second monitor, for `testbed top`; QEMU does not wait for a connection."""
    chardev = f"socket,id=watch,path={in_option(folder / WATCH_SOCKET)},server=on,wait=off"
    return ["-chardev", chardev, "-mon", "chardev=watch,mode=control"]
