#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Work of users by hand in a guest: a network of its own, and another namespace. For `testbed exec --script`, with the
# packages iproute2, findutils and diffutils.
set -eu
ip link set lo up
ip -brief address show lo
find /sys/bus/cxl/devices/mem0/ -name serial
cmp /etc/passwd /etc/passwd
umount /pmem
ndctl destroy-namespace -f namespace0.0
ndctl create-namespace --mode=devdax --map=mem
modprobe device_dax
daxctl enable-device dax0.0
ls -l /dev/dax0.0
