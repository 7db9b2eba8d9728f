#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every linter over every tracked file of its language, side by side. Prints only faults.
# shellcheck disable=SC2317 # the checks are called through start()
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=0

files() {
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do
        if [[ -f $f ]]; then echo "$f"; fi
    done
}

start() { # NAME COMMAND...: run in the background, output kept until the end
    local name=$1
    shift
    {
        if "$@" >"$out/$name" 2>&1; then echo 0; else echo 1; fi >"$out/$name.status"
    } &
}

# QEMU's own style rules over overlay/; checkpatch knows them.
c_format() {
    files '*.c' '*.h' '*.cpp' '*.hpp' '*.cc' '*.java' ':!qemu-patches/overlay' | xargs -r clang-format-19 --dry-run --Werror
}
shell_check() {
    { files ':!*.j2' | xargs grep -lsE -m1 '^#!.*/(env )?(ba)?sh\b' || true; } | xargs -r shellcheck -x
}
manual_pages() { files 'snapshot-lib/man/*.[1-7]' | xargs -r mandoc -T lint -W warning; }
qemu_patch_style() { if [[ -x qemu-patches/build.sh ]]; then qemu-patches/build.sh checkpatch; fi; }
ansible_style() { ANSIBLE_HOME=$out/ansible "$bin"/ansible-lint --offline -q --profile production ansible/*.yml; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export PATH="$PWD/$bin:$PATH"
start clang-format c_format
start ruff "$bin"/ruff check -q .
start ruff-format "$bin"/ruff format -q --check .
start mypy "$bin"/mypy
start shellcheck shell_check
start ansible-lint ansible_style
start mandoc manual_pages
start prose env PYTHONPATH=tests "$bin"/python -m prose
start checkpatch qemu_patch_style
wait
for status in "$out"/*.status; do
    name=$(basename "$status" .status)
    if [[ $(cat "$status") != 0 ]]; then
        echo "lint: $name:"
        tail -n 40 "$out/$name" | cut -c 1-300
        failed=1
    fi
done
if [[ $failed -eq 0 ]]; then echo "lint: clean"; fi
exit $failed
