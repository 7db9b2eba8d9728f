#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tbfs in a guest, as file-systems.sh of the image has it. It comes with the module and the tool.

tbfs_load() { load_module tbfs; }

tbfs_holds() { [[ $(head -c 8 "$1" | tr -d '\0') == tbesdtFS ]]; } # DISK

tbfs_needs_partition() { [[ $1 == 4KiB ]]; } # PAGE_SIZE

tbfs_make() { tbfs make "$1"; } # DISK

tbfs_check() { tbfs check "$1"; } # DISK
