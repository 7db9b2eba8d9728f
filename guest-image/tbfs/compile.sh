#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile the tool of /src/guest-image/tbfs into /tbfs.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin
clang-19 -std=gnu11 -O2 -static -I/src/guest-image/tbfs/core -o /tbfs /src/guest-image/tbfs/{core,tools}/*.c
