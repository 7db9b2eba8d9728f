#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The archive of guests that ask for pages-fams: that, and the module that it needs. It is no part of the guest image, whose bytes
# decide where memory lies, and with it every result.
#
#   build.sh inputs | fingerprint          as guest-image/build.sh; the compilers are in the keys of what it is made with
#   build.sh build OUT_DIR WORK_DIR        make pages-fams.cpio; wants BUILDROOT_DIR and MODULE_ROOT_DIR, the products of these names
#
# Any failure is one sentence on stderr and exit status 2.
set -euo pipefail
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH=1767225600
umask 022

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
here=$repo/guest-image
module=(guest-image/fams/{Kbuild,core,include,module})
sources=(guest-image/fams/engine/{CMakeLists.txt,fams_module.hpp} guest-image/fams/include guest-image/programs/include
    snapshot-lib/engines/{engine,fams_exchange,heap,mapped_file,mount}.hpp snapshot-lib/runtime/track/written_pages.h
    snapshot-lib/workloads/{acknowledge,clock,driver,epoch_counts,options,progress,random,recovery,report,timed}.hpp
    snapshot-lib/workloads/{options,report,workload_engine}.cpp snapshot-lib/workloads/pages/pages.hpp)

die() {
    printf 'guest-image/fams/engine/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/lib/components.sh
. "$here/lib/components.sh"

compile_module() { # WORK
    tar -C "$repo" -cf - "${module[@]}" | tar -C "$1" -xf -
    "$here/module-root/compile.sh" "$MODULE_ROOT_DIR" "$1/guest-image/fams" || die "the module cannot be compiled: see the messages above"
}

compile_program() { # WORK
    tar -C "$repo" -cf "$1/source.tar" "${sources[@]}"
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$1/source.tar' /src" \
        --customize-hook="upload '$here/fams/engine/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /pages-fams '$1/pages-fams'" trixie /dev/null || die "the program cannot be compiled: see the messages above"
}

build() { # OUT_DIR WORK_DIR
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    [[ -r ${MODULE_ROOT_DIR-}/kernel-release ]] || die "set MODULE_ROOT_DIR to the product of \`guest-image/module-root/build.sh build\`"
    compile_module "$2"
    compile_program "$2"
    install -D --mode=644 "$2/guest-image/fams/fams.ko" "$2/root/usr/lib/fams/fams.ko"
    install -D --mode=755 "$2/pages-fams" "$2/root/usr/local/bin/pages-fams"
    pack_cpio "$2/root" "$1/pages-fams.cpio"
    truncate -s %512 "$1/pages-fams.cpio" # archives follow each other at such boundaries
}

case ${1-}:$# in
    inputs:1) printf '%s\n' "${module[@]}" "${sources[@]}" guest-image/fams/engine/{build,compile}.sh guest-image/module-root/compile.sh guest-image/lib/{components,enter}.sh | sort -u ;;
    fingerprint:1) ;;
    build:3) build "$2" "$3" ;;
    *) die "usage: build.sh inputs, fingerprint, or build OUT_DIR WORK_DIR" ;;
esac
