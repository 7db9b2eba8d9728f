#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A line of the device is poisoned, read, and healed: docs/howto/poison.md. For guests with guest.machine_checks.
set -e
mount -t debugfs none /sys/kernel/debug
poison=/sys/kernel/debug/cxl/mem0
from_the_device() { dd if=/dev/pmem0 bs=64K skip=4063 count=3 iflag=direct status=none | wc -c; }

echo 0x10000000 > $poison/inject_poison # a DPA that the file system does not use
cxl list -L -m mem0                     # media_errors
from_the_device                         # Input/output error
echo 0x10000000 > $poison/clear_poison
from_the_device
