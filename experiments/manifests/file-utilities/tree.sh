#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tree.sh FILES SEED FOLDER: a source tree of that many files, the same for the same seed. Sizes are log-normal, with a median of
# 5 KiB and a mean of 17 KiB; 16 files to a folder, folders three deep. Text is lines of words, of which a few are rare.
set -euo pipefail
mkdir -p "$3"
cd "$3"
mawk -v files="$1" -v seed="$2" '
    function below(bound) { state = (state * 48271) % 2147483647; return int(state / 2147483647 * bound) }
    function unit() { return (below(1000000) + 1) / 1000001 }
    function bytes() { return int(exp(log(5120) + 1.57 * sqrt(-2 * log(unit())) * cos(6.283185307179586 * unit()))) + 1 }
    BEGIN {
        state = seed + 1
        for (w = 0; w < 512; w++) { word = ""; for (c = below(7) + 2; c > 0; c--) word = word sprintf("%c", 97 + below(26)); words[w] = word }
        # Lines are drawn once: a file is made of whole ones from any place on.
        for (l = 0; l < 1024; l++) {
            line = ""
            for (w = below(9) + 2; w > 0; w--) line = line words[below(512)] " "
            lines[l] = line
        }
        for (f = 0; f < files; f++) {
            d = int(f / 16)
            folder = sprintf("%02d/%02d/%02d", int(d / 16) % 16, d % 16, int(d / 256))
            if (f % 16 == 0) system("mkdir -p " folder)
            path = folder "/file" f ".c"
            at = below(1024)
            for (left = bytes(); left > 0; left -= length(lines[at]) + 1) { at = (at + 1) % 1024; print lines[at] > path }
            if (f % 50 == 0) print "needle_of_" f > path
            close(path)
        }
    }'
