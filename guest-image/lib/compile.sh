#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the build root: compile the guest's software from /src and pack what is to be installed: into /software.tar what every
# guest has, into /threaded.tar, /fams.tar, /mtree.tar and /pages.tar what only those have that ask for it.
set -euo pipefail
export PATH=/usr/sbin:/usr/bin CC=clang-19 CXX=clang++-19 SNAPSHOT_REPORT=1

compile() { # PROJECT
    cmake -G Ninja -S "/src/$1" -B "/build/$1" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr/local \
        -DSNAPSHOT_TESTS=OFF -DSNAPSHOT_MANUALS=OFF -DPROGRAM_SOURCES=/src/program-sources \
        -DTESTBED_ROI_INCLUDE=/src/guest-image/programs/include --no-warn-unused-cli
    ninja -C "/build/$1"
    DESTDIR=/stage cmake --install "/build/$1" --component Unspecified
}

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

# What the pass made of the writes of each workload's programs, as JSON lines: ninja repeats what the compiler says. Those that not every
# guest has are in a folder below.
pass_report() {
    mawk '/ Building CXX object / { program = sub(/.* workloads\/CMakeFiles\//, "") && sub(/\.dir\/.*/, "") ? $0 : "" }
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

compile guest-image/programs
compile snapshot-lib | tee /build/snapshot-lib.log
add_libraries
# The compiler plug-in, headers and manuals are for building, not for the guest's memory.
cd /stage/usr/local
rm -rf include share lib/cmake lib/pkgconfig lib/snapshot lib/*.a bin/snapcc bin/snap++
mkdir share
pass_report /build/snapshot-lib.log >share/pass-report.jsonl
tar -C /stage -cf /software.tar .
for component in threaded fams mtree pages; do
    DESTDIR=/$component cmake --install /build/snapshot-lib --component $component
    tar -C /$component -cf /$component.tar .
done
