#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Compile in the build root ROOT, which has no device nodes of its own: a user namespace may not make any. Runs in a mount namespace.
set -euo pipefail
mkdir -p "$1/dev"
for node in null zero random urandom; do
    [[ -c $1/dev/$node ]] || : >"$1/dev/$node"
    mount --bind "/dev/$node" "$1/dev/$node"
done
exec chroot "$1" /bin/bash /compile.sh
