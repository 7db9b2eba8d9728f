# SPDX-License-Identifier: GPL-2.0-or-later
# The devices of QEMU that a guest of the testbed has (experiments/testbed/guest/qemu_line.py). All others are left out
# of the build.
CONFIG_Q35=y
CONFIG_PXB=y
CONFIG_CXL=y
CONFIG_CXL_MEM_DEVICE=y
CONFIG_CXL_SSD=y
CONFIG_PCIE_PORT=y
CONFIG_SERIAL_ISA=y
CONFIG_VIRTIO_PCI=y
CONFIG_VIRTIO_SERIAL=y
