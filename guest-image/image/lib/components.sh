# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# One function per component: build_NAME OUT_DIR WORK_DIR. Sourced by build.sh.

# Unpacked, for in_root.sh.
build_buildroot() {
    local packages
    packages=$(resolved buildroot)
    kernel_hook=()
    # shellcheck disable=SC2086 # one argument a package
    unpack_packages "$2/root.tar" $packages
    mkdir -p "$1/root"
    tar -C "$1/root" -xf "$2/root.tar" --no-same-owner --same-permissions --exclude='./dev/*'
    mount_points "$1/root" /src /build /stage /cache/ccache
}

# in_root.sh binds these.
mount_points() { # ROOT FOLDER...
    local root=$1
    shift
    mkdir -p "$root"/{dev,proc,tmp} "${@/#/$root}"
    touch "$root"/dev/{null,zero,random,urandom}
}

# linux-image-… is only downloaded (apt verifies it) and then unpacked beside the root.
build_base() {
    local out=$1 work=$2 packages kernel
    packages=$(resolved base)
    kernel=$(resolved_kernel)
    # shellcheck disable=SC2016 # expanded by mmdebstrap's shell
    kernel_hook=(--extract-hook="mkdir \"\$1/kernel\" && cd \"\$1/kernel\" && APT_CONFIG=\"\$MMDEBSTRAP_APT_CONFIG\" apt-get -oAPT::Sandbox::User=root download $kernel")
    # shellcheck disable=SC2086 # one argument a package
    unpack_packages "$work/root.tar" $packages
    mkdir -p "$work/root" "$work/kernel"
    tar -C "$work/root" -xf "$work/root.tar" --no-same-owner --same-permissions --exclude-from="$here/packages/base-exclude" --exclude='./dev/*'
    dpkg-deb -x "$work"/root/kernel/*.deb "$work/kernel"
    rm -r "$work/root/kernel"
    install_kernel "$work" "$out"
    package_versions "$packages" >"$work/root/etc/testbed-packages.json"
    mkdir -p "$work/root/dev"
    ln -sf mawk "$work/root/usr/bin/awk" # the package leaves this link to its maintainer script
    cp -a "$here/overlay/." "$work/root/"
    pack_cpio "$work/root" "$out/base.cpio"
}

# The ELF image inside Debian's bzImage starts through PVH: no firmware menu, no decompression by the guest.
install_kernel() { # WORK OUT
    local release modules=$1/root/usr/lib/modules name path
    release=$(basename "$1"/kernel/usr/lib/modules/*)
    echo "$release" >"$2/kernel-release"
    extract_vmlinux "$1/kernel/boot/vmlinuz-$release" >"$2/vmlinux"
    mkdir -p "$modules/$release"
    for name in $(listed modules); do
        path=$(find "$1/kernel/usr/lib/modules/$release" -name "$name.ko.xz" -print -quit)
        [[ -n $path ]] || { echo "the kernel has no module $name" >&2; return 1; }
        xz -dc "$path" >"$modules/$release/$name.ko"
    done
    cp "$1/kernel/usr/lib/modules/$release"/modules.{builtin,builtin.modinfo,order} "$modules/$release/"
    /sbin/depmod -b "$1/root/usr" "$release" 2>/dev/null || /sbin/depmod -b "$1/root" "$release"
}

# The x86 boot protocol says where the compressed image lies: setup_sects at 0x1f1, payload_offset and payload_length at 0x248.
extract_vmlinux() { # BZIMAGE
    local sectors offset length
    sectors=$(od -An -tu1 -j $((0x1f1)) -N1 "$1")
    read -r offset length < <(od -An -tu4 -j $((0x248)) -N8 "$1")
    # The last four bytes are the unpacked size, appended by the kernel's own build.
    head -c $(((sectors + 1) * 512 + offset + length - 4)) "$1" | tail -c $((length - 4)) | zstd -dc
}

package_versions() { # NAME=VERSION...: one JSON object of the packages a result should name
    printf '%s\n' "$@" | grep -E '^(cxl|ndctl|daxctl|libpmem1|libpmemobj1|libc6|e2fsprogs)=' |
        sed -E 's/^([^=]+)=(.*)$/"\1":"\2"/' | paste -sd, | sed 's/.*/{&}/'
}

# The same files give the same bytes: sorted names, fixed times, owner root, renumbered inodes.
pack_cpio() { # DIRECTORY FILE
    find "$1" -print0 | xargs -0 touch -h -d "@$SOURCE_DATE_EPOCH"
    (cd "$1" && find . -mindepth 1 -printf '%P\0' | sort -z | cpio --null --create --quiet --format=newc --reproducible --owner=+0:+0) >"$2"
}

build_tools() {
    local out=$1 work=$2
    [[ -r ${BUILDROOT_DIR-}/root/usr/bin/cmake ]] || die "set BUILDROOT_DIR to the product of \`build.sh build buildroot\`"
    mkdir -p "$work"/{src,build,stage} "$ccache_dir"
    tar -C "$repo" -cf - "${tools_sources[@]}" | tar -C "$work/src" -xf -
    "$here/lib/in_root.sh" "$BUILDROOT_DIR/root" --bind "$work/src" /src --bind "$work/build" /build --bind "$work/stage" /stage \
        --bind "$ccache_dir" /cache/ccache /bin/bash /src/guest-image/image/lib/compile.sh tools guest-image/tools all
    pack_cpio "$work/stage" "$out/tools.cpio"
}
