#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Build memsys-replay, the model and the program around it, with the host's C compiler.
set -euo pipefail

model=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

case "${1:-}" in
    inputs) # the model's headers and sources, not its tests
        cd "$model/../.."
        printf '%s\n' qemu-patches/model/*.[ch] qemu-patches/model/sources.list qemu-patches/model/replay
        ;;
    fingerprint)
        uname -m
        "${CC:-cc}" --version | head -n 1
        ;;
    build)
        out=$2
        cd "$model"
        mapfile -t sources <sources.list
        "${CC:-cc}" -std=c11 -D_POSIX_C_SOURCE=200809L -O2 -flto -Wall -Wextra -I. "${sources[@]}" replay/*.c \
            -o "$out/memsys-replay"
        "$out/memsys-replay" --help >"$out/usage.txt"
        ;;
    *)
        echo "usage: build.sh inputs | fingerprint | build OUT_DIR WORK_DIR" >&2
        exit 2
        ;;
esac
