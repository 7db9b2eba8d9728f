# SPDX-License-Identifier: BSD-3-Clause
"""The machine of a run: the result of the step `resolve`, at full size, and of the step `scale`."""

from dataclasses import dataclass
from typing import NewType

from ..program.kernel_module import KernelModule
from ..program.own_kernel import OwnKernel
from . import topology
from .page_sizes import PageSize
from .parameters import CpuProfile, DeviceProfile
from .sections import FileSystem
from .topology import Mounted, Topology


@dataclass(frozen=True, kw_only=True)
class GuestConfig:
    """Everything about the machine that a run boots, in base units."""

    cpu: CpuProfile
    device: DeviceProfile
    memory_bytes: int
    boot_insn_ps: int
    timeout_s: float
    file_system: FileSystem = "ext4-dax"
    workloads: tuple[str, ...] = ()  # in addition to those that a job names
    modules: tuple[KernelModule, ...] = ()
    topology: Topology | None = None  # None: one device on bridge 0 and no [[region]]
    kernel: OwnKernel | None = None  # replaces the image's
    kernel_arguments: str = ""
    hmat: bool = False  # HMAT and CDATs tell the kernel how fast memory is
    machine_checks: bool = False  # a load of poison raises one
    direct_stores: bool = False  # the CPU supports MOVDIR64B
    page_size: PageSize | None = None  # of mapped files; None: the file system's layout determines it
    mount_options: str = ""  # as stated for the file system

    @property
    def devices(self) -> tuple[DeviceProfile, ...]:
        return (self.device, *(self.topology.others if self.topology else ()))

    @property
    def mounted(self) -> Mounted:
        """The file systems of all regions, with their stated mount options."""
        return topology.mounted(self.topology, self.file_system, self.mount_options)


FullSize = NewType("FullSize", GuestConfig)  # a machine before it is scaled
