#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# compile-module.sh MODULE_ROOT FOLDER: compile the kernel modules from their sources in FOLDER, there, with the product of module-root.sh.
# The folder is /module for the compiler, so that the same sources give the same bytes.
set -euo pipefail
# Types for BPF are left out: they are made from the whole kernel, which is not there.
exec "$(dirname "$0")/lib/in_root.sh" "$1/root" --bind "$2" /module make --silent --jobs="$(nproc)" \
    -C "/usr/src/linux-headers-$(<"$1/kernel-release")" M=/module CONFIG_DEBUG_INFO_BTF_MODULES= modules
