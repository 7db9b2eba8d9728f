# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Archives of programs that some guests ask for. They are no part of the guest image, whose bytes decide where memory lies, and with
# it every result. Sourced, after components.sh, by an archive's build.sh, which defines `repo`, `here` and `sources`.

# Run the compile.sh beside build.sh in the build root, on the tracked `sources` and, in program-sources, what SCRIPT prepares;
# pack the programs as OUT_DIR/NAME.cpio.
build_archive() { # NAME SCRIPT OUT_DIR WORK_DIR [TAR to lay over the build root]
    local name=$1 script=$2 out=$3 work=$4 folder over=()
    folder=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
    [[ -z ${5-} ]] || over=(--setup-hook="tar-in '$5' /")
    [[ -r ${BUILDROOT_DIR-}/buildroot.tar ]] || die "set BUILDROOT_DIR to the product of \`guest-image/build.sh build buildroot\`"
    "$script" prepare "$work/program-sources" || die "the sources of others' programs cannot be had: see the message above"
    tar -C "$repo" -cf "$work/source.tar" --owner=0 --group=0 --mtime="@$SOURCE_DATE_EPOCH" --sort=name "${sources[@]}" \
        -C "$work" program-sources
    mmdebstrap --variant=custom --architectures=amd64 --format=null --skip=setup,update,cleanup,check/empty \
        --setup-hook="tar-in '$BUILDROOT_DIR/buildroot.tar' /" "${over[@]}" \
        --customize-hook="mkdir \"\$1/src\"" --customize-hook="tar-in '$work/source.tar' /src" \
        --customize-hook="upload '$folder/compile.sh' /compile.sh" \
        --customize-hook="upload '$here/lib/enter.sh' /enter.sh" \
        --customize-hook="unshare --mount /bin/bash \"\$1/enter.sh\" \"\$1\"" \
        --customize-hook="download /programs.tar '$work/programs.tar'" trixie /dev/null || die "the programs cannot be compiled: see the messages above"
    mkdir -p "$work/root/usr/local/bin"
    tar -C "$work/root/usr/local/bin" -xf "$work/programs.tar" --no-same-owner --same-permissions
    pack_cpio "$work/root" "$out/$name.cpio"
    truncate -s %512 "$out/$name.cpio" # archives follow each other at such boundaries
}
