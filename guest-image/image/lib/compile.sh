#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# compile.sh COMPONENT PROJECT TARGET: inside the build root, compile /src/PROJECT in /build and install COMPONENT into /stage.
set -euo pipefail
component=$1 project=$2 target=$3
export CC=clang-19 CXX=clang++-19 SNAPSHOT_REPORT=1 TESTBED_CACHE=/cache PATH=/usr/lib/jvm/java-21-openjdk-amd64/bin:$PATH

# The base has libc, libstdc++ and the persistent-memory libraries; anything else a program links travels with it.
in_base='^(libc|libm|libstdc\+\+|libgcc_s|libatomic|libnuma|libpmem|libpmem2|libpmemobj|libpmempool|libndctl|libdaxctl|libuuid|libkmod|libudev|libz|liblzma|libzstd|libcrypto|libcap)\.so'
add_libraries() {
    local program library
    for program in /stage/usr/local/bin/*; do
        { LD_LIBRARY_PATH=/stage/usr/local/lib ldd "$program" 2>/dev/null || true; } |
            mawk '$2 == "=>" && $3 ~ "^/(usr/)?lib/" { print $3 }'
    done | sort -u | while read -r library; do
        [[ $(basename "$library") =~ $in_base ]] || install -D "$library" "/stage/usr/local/lib/$(basename "$library")"
    done
}

# The report of the pass on the stores of each program, as JSON lines: ninja repeats the compiler's messages.
pass_report() { # LOG
    mawk '/ Building CXX object / { program = sub(/.* (workloads\/)?CMakeFiles\//, "") && sub(/\.dir\/.*/, "") ? $0 : "" }
        program != "" && /^snapshot: .*\/workload_engine\.cpp: total: / {
            sub(/.*: total: /, "")
            line = "{\"program\": \"" program "\""
            for (i = split($0, counts, ", "); i > 0; i--) {
                number = counts[i] + 0
                sub(/^[0-9]+ /, "", counts[i])
                line = line ", \"" counts[i] "\": " number
            }
            print line "}"
        }' "$1" | sort
}

cmake -G Ninja -S "/src/$project" -B /build -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr/local \
    -DCMAKE_C_COMPILER_LAUNCHER=/src/tests/ccached.sh -DCMAKE_CXX_COMPILER_LAUNCHER=/src/tests/ccached.sh \
    -DWORKLOAD_TESTS=OFF -DSNAPSHOT_TESTS=OFF -DSNAPSHOT_MANUALS=OFF -DSNAPSHOT_PROGRAMS="$([[ -d /src/program-sources ]] && echo ON || echo OFF)" \
    -DPROGRAM_SOURCES=/src/program-sources -DTESTBED_ROI_INCLUDE=/src/guest-image/tools/include --no-warn-unused-cli
ninja -C /build "$target" | tee /build/log
DESTDIR=/stage cmake --install /build --component "$component"
add_libraries
report=$(pass_report /build/log)
if [[ -n $report ]]; then
    mkdir -p /stage/usr/local/share/pass-report
    printf '%s\n' "$report" >"/stage/usr/local/share/pass-report/$component.jsonl"
fi
