#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Build memsys-replay, the model and the program around it, with the host's C compiler.
set -euo pipefail

model=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=qemu-patches/model/files.sh
. "$model/files.sh"

# The model's headers and sources, not its tests, and the program's.
compiled() {
    model_files "$model"
    (cd "$model" && ls replay/*.[ch])
}

case "${1:-}" in
    inputs)
        { compiled && printf '%s\n' files.sh replay/build.sh; } | sed 's|^|qemu-patches/model/|'
        ;;
    fingerprint)
        uname -m
        "${CC:-cc}" --version | head -n 1
        ;;
    build)
        out=$(cd "$2" && pwd) work=$(cd "$3" && pwd)
        (cd "$model" && compiled | xargs cp --parents -t "$work")
        cd "$work"
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
