#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for neo4j: Neo4j's kernel, a Java run-time for it, and a driver of ours. It is no part of the guest
# image, whose bytes decide where memory lies, and with it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; "NAME=VERSION" of what compiles it
#   build.sh build OUT_DIR WORK_DIR        make neo4j.cpio
#
# Neo4j's kernel is under the GPL, version 3, so nothing of it is here. Maven fetches it, from where the machine's own settings say.
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/guest-image
copy=org.apache.maven.plugins:maven-dependency-plugin:2.8:copy
# The release line that PMFS was measured with. GROUP:NAME:VERSION, and the SHA-256 of the jar.
artifacts=(
    "org.neo4j:neo4j-kernel:1.9.9 c24703c911b7485897947a5425377ecbd8f317b8fedc26bd798407c2980ab6cd"
    "org.neo4j:neo4j-graph-algo:1.9.9 a03a5b771e4fd918c372f8c60aaf030115b7abe61c46a9332eb23a213b2f4fa1"
    "org.apache.geronimo.specs:geronimo-jta_1.1_spec:1.1.1 3a0c3c1bbc2efe8383969574922791959670ef547d6c897496915617025c3023"
)

die() {
    printf 'guest-image/neo4j/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/archive.sh
. "$here/lib/archive.sh"
# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

fetch() { # FOLDER
    local artifact name sum file
    command -v mvn >/dev/null || die "there is no mvn, which fetches Neo4j's kernel: install the package maven"
    for artifact in "${artifacts[@]}"; do
        read -r name sum <<<"$artifact"
        mvn --quiet --batch-mode "$copy" "-Dartifact=$name" "-DoutputDirectory=$1" ||
            die "Maven cannot fetch $name: check the network and Maven's settings, and run again"
        file=${name#*:}
        file=$1/${file/:/-}.jar
        echo "$sum  $file" | sha256sum --check --status ||
            die "$name has not the SHA-256 $sum: Maven's local repository is damaged, or the registry has another one now"
    done
}

build() { # OUT_DIR WORK_DIR
    local packages
    packages=$(resolved neo4j)
    kernel_hook=()
    mkdir "$2/src"
    fetch "$2/src/jars"
    cp -r "$here/neo4j/driver" "$2/src/"
    # shellcheck disable=SC2086 # one argument a package
    unpack_packages "$2/root.tar" $packages
    tar -C "$2" -cf "$2/source.tar" src
    # Java finds its own libraries by /proc.
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$2/root.tar' /" --customize-hook="tar-in '$2/source.tar' /" \
        --customize-hook="upload '$here/neo4j/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/sh -ec 'mkdir -p \"\$0/proc\"; mount --rbind /proc \"\$0/proc\"; exec /bin/bash \"\$0/enter.sh\" \"\$0\"' \"\$1\"" \
        --customize-hook="download /neo4j.tar '$2/neo4j.tar'" trixie /dev/null || die "the driver or its run-time cannot be made: see the messages above"
    mkdir -p "$2/root/usr/local/lib/neo4j"
    tar -C "$2/root/usr/local/lib/neo4j" -xf "$2/neo4j.tar" --no-same-owner
    install -D --mode=755 --target-directory="$2/root/usr/local/bin" "$here/neo4j/neo4j"
    pack_cpio "$2/root" "$1/neo4j.cpio"
    truncate -s %512 "$1/neo4j.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    inputs:1) printf '%s\n' guest-image/neo4j guest-image/packages/neo4j guest-image/lib/{archive,components,enter}.sh ;;
    fingerprint:1) resolved neo4j ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
