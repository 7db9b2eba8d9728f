#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Builds the programs of one workload into an archive of the guest's root, which the guests have that run one of them.
#
#   workload.sh fingerprint NAME             inputs other than the sources: versions of Debian's packages
#   workload.sh build NAME OUT_DIR WORK_DIR  make OUT_DIR/NAME.cpio; wants BUILDROOT_DIR and, for a module, MODULE_ROOT_DIR
#
# NAME is a folder of experiments/workloads. The testbed reads its workload.toml and passes its values here:
#
#   PROJECT   folder with the CMakeLists.txt             UPSTREAM  script that unpacks sources of others, as sources.sh
#   TARGET    target that ninja makes                    MODULE    folder of a kernel module NAME.ko
#   SOURCES   files and folders that are compiled        JARS      "GROUP:NAME:VERSION SHA256" of Maven, one a line
#   PACKAGES  of Debian, laid over the build root with their dependencies
#   SEEDED    part with seeded bugs, which are inserted into a copy of its sources
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo=$(cd "$here/../.." && pwd)

die() {
    printf 'guest-image/image/workload.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/image/lib/components.sh
. "$here/lib/components.sh"

# Without the packages of the build root.
packages() {
    local names
    read -ra names <<<"$PACKAGES"
    comm -23 <(resolved_names "${names[@]}") <(resolved buildroot)
}

fingerprint() {
    [[ -z $PACKAGES ]] || packages
    [[ -z $UPSTREAM ]] || "$repo/$UPSTREAM" fingerprint
}

lay_packages() { # OVER WORK
    local versions
    mapfile -t versions < <(packages)
    mkdir -p "$2/debs"
    (cd "$2/debs" && private_apt apt-get download -qq "${versions[@]}") || {
        forget_lists
        die "Debian's archive has not all of ${versions[*]} any more, or cannot be reached: check the network and run again"
    }
    unpack_debs "$1" "$2"/debs/*.deb
}

# Maven fetches from where the machine's own settings say.
fetch_jars() { # FOLDER
    local name sum file
    command -v mvn >/dev/null || die "there is no mvn, which fetches what $workload is made of: install the package maven"
    while read -r name sum; do
        mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:2.8:copy "-Dartifact=$name" "-DoutputDirectory=$1" ||
            die "Maven cannot fetch $name: check the network and Maven's settings, and run again"
        file=${name#*:}
        file=$1/${file/:/-}.jar
        echo "$sum  $file" | sha256sum --check --status ||
            die "$name has not the SHA-256 $sum: Maven's local repository is damaged, or the registry has another one now"
    done <<<"$JARS"
}

compile_module() { # SOURCES STAGE
    local name=${MODULE##*/}
    cp -r "$1/$MODULE" "$1/module"
    "$here/compile-module.sh" "$MODULE_ROOT_DIR" "$1/module" || die "the module $name cannot be compiled: see the messages above"
    install -D --mode=644 "$1/module/$name.ko" "$2/usr/lib/testbed/modules/$name.ko"
}

build() { # OUT WORK
    local out=$1 work=$2 over=() sources
    [[ -r ${BUILDROOT_DIR-}/root/usr/bin/cmake ]] || die "set BUILDROOT_DIR to the product of \`guest-image/image/build.sh build buildroot\`"
    [[ -z $MODULE || -r ${MODULE_ROOT_DIR-}/kernel-release ]] || die "set MODULE_ROOT_DIR to the product of \`guest-image/image/module-root.sh build\`"
    mkdir -p "$work"/{src,build,stage,over} "$ccache_dir"
    read -ra sources <<<"$SOURCES"
    tar -C "$repo" -cf - "${sources[@]}" guest-image/image/lib/compile.sh tests/ccached.sh | tar -C "$work/src" -xf -
    if [[ -n $PACKAGES ]]; then
        lay_packages "$work/over" "$work"
        over=(--over "$work/over")
    fi
    if [[ -n $UPSTREAM ]]; then
        "$repo/$UPSTREAM" prepare "$work/src/program-sources" || die "the sources of others' programs cannot be had: see the message above"
    fi
    [[ -z $SEEDED ]] || "$repo/tests/seeded_bugs.sh" copy "$SEEDED" "$work/src/seeded-bugs" ||
        die "the seeded bugs of $SEEDED do not fit its sources: see the message above"
    [[ -z $JARS ]] || fetch_jars "$work/src/jars"
    [[ -z $MODULE ]] || compile_module "$work/src" "$work/stage"
    "$here/lib/in_root.sh" "$BUILDROOT_DIR/root" "${over[@]}" --bind "$work/src" /src --bind "$work/build" /build \
        --bind "$work/stage" /stage --bind "$ccache_dir" /cache/ccache /bin/bash /src/guest-image/image/lib/compile.sh "$workload" "$PROJECT" "$TARGET" ||
        die "the programs of $workload cannot be compiled: see the messages above"
    pack_cpio "$work/stage" "$out/$workload.cpio"
    truncate -s %512 "$out/$workload.cpio" # archives follow each other at such boundaries
}

verb=${1-} workload=${2-}
: "${PROJECT:=experiments/workloads/$workload}" "${TARGET:=all}" "${SOURCES:=}" "${PACKAGES:=}" "${UPSTREAM:=}" "${MODULE:=}" "${SEEDED:=}" "${JARS:=}"
case $verb:$# in
    fingerprint:2) fingerprint ;;
    build:4) build "$3" "$4" ;;
    *) die "usage: workload.sh fingerprint NAME, or build NAME OUT_DIR WORK_DIR" ;;
esac
