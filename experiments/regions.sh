#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The memory that Linux has made of the device: for `testbed exec --script`.
set -eu
cxl list -M -R
ndctl list -R -N
df -h /pmem
