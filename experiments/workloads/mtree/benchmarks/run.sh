#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mtree beside the crate masstree, natively: build both below BUILD/masstree and compare them. By hand: it needs cargo with
# rustc 1.92 or newer, and once the registry of crates.
#     run.sh BUILD [KEYS [THREADS]]
set -euo pipefail
build=${1:?run.sh: give a folder to build in}/masstree
here=$(cd "$(dirname "$0")" && pwd)
workloads=$here/../..
command -v cargo >/dev/null || { echo "run.sh: there is no cargo: install Rust 1.92 or newer" >&2; exit 2; }
mkdir -p "$build"
cp "$here/Cargo.toml" "$here/yardstick.rs" "$build"
RUSTFLAGS='-C target-cpu=native' cargo build --quiet --release --manifest-path "$build/Cargo.toml"
clang++-19 -std=c++20 -O3 -march=native -DNDEBUG -Wall -Wextra -I "$workloads/common" -I "$workloads/mtree" \
    -I "$workloads/../engines" "$here/mtree_yardstick.cpp" "$build/target/release/libyardstick.a" \
    -lpthread -ldl -o "$build/mtree_yardstick"
shift
exec "$build/mtree_yardstick" "$@"
