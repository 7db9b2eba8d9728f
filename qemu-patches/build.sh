#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Build the testbed's QEMU from Debian 13's source package, our patch series,
# the overlay of whole files and the timing model.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
upstream=10.0 # the series is written against this branch

usage() {
    cat <<'EOF'
usage: build.sh inputs                    print the files that go into the product
       build.sh fingerprint               print what else can change the product
       build.sh source DIR                unpack the patched source into DIR
       build.sh build OUT_DIR WORK_DIR    build into OUT_DIR, with scratch in WORK_DIR
       build.sh checkpatch                run QEMU's checkpatch over patches and overlay

environment:
  TESTBED_QEMU_TARBALL, TESTBED_QEMU_SHA256  build from this QEMU 10.0.x tarball
  TESTBED_QEMU_STOCK=1       build without our patches, for comparisons
  TESTBED_DEBIAN_MIRROR      Debian mirror, if the host's own sources name none
  TESTBED_CACHE              where the package index of Debian 13 and ccache's files are kept
  TESTBED_PYTHON             Python with meson >= 1.5 and pycotap (default: that of .venv, else python3)
EOF
}

die() {
    printf 'qemu-patches/build.sh: %s\n' "$*" >&2
    exit 2
}

# shellcheck source=guest-image/image/lib/archive.sh
. "$here/../guest-image/image/lib/archive.sh"
# shellcheck source=qemu-patches/model/files.sh
. "$here/model/files.sh"

# "PATH SHA256" of the newest 10.0.x orig tarball. Only that file: mirrors may lack the packaging.
orig_tarball() {
    private_apt apt-cache showsrc --only-source qemu | awk -v upstream="$upstream" '
        /^Package:/ { hashes = 0; name = ""; dir = "" }
        /^Checksums-Sha256:/ { hashes = 1; next }
        /^[^ ]/ { hashes = 0 }
        hashes && $3 ~ /\.orig\.tar\.xz$/ { name = $3; sum = $1 }
        /^Directory:/ { dir = $2 }
        /^$/ || /^Directory:/ {
            if (name != "" && dir ~ /^pool\/main/ && index(name, "qemu_" upstream ".") == 1)
                print dir "/" name, sum
        }' | sort -uV | tail -n 1
}

main_mirror() {
    local mirror
    mirror=$(sources | awk 'NR == 1 { print $3 }')
    echo "${mirror%/}"
}

firmware_packages() {
    private_apt apt-get download --print-uris seabios qemu-system-data | awk '{ print $2, $4 }'
}

fingerprint() {
    refresh_lists
    if [ -n "${TESTBED_QEMU_TARBALL:-}" ]; then
        echo "tarball ${TESTBED_QEMU_SHA256:?set it to the SHA-256 of TESTBED_QEMU_TARBALL}"
    else
        echo "source $(orig_tarball)"
    fi
    firmware_packages
    echo "stock ${TESTBED_QEMU_STOCK:-0}"
    uname -m
    "${CC:-cc}" --version | head -n 1
    ld --version | head -n 1
    pkg-config --modversion glib-2.0 2>/dev/null || true
}

fetch() {
    local uri=$1 file=$2 sum=$3
    /usr/lib/apt/apt-helper -o APT::Sandbox::User="$(id -un)" download-file "$uri" "$file" "SHA256:$sum" >/dev/null ||
        die "cannot download $(basename "$file") with SHA-256 $sum from the mirror"
}

fetch_source() {
    local dir=$1 path sum
    if [ -n "${TESTBED_QEMU_TARBALL:-}" ]; then
        echo "$TESTBED_QEMU_SHA256  $TESTBED_QEMU_TARBALL" | sha256sum --check --quiet ||
            die "$TESTBED_QEMU_TARBALL does not have the SHA-256 $TESTBED_QEMU_SHA256"
        cp "$TESTBED_QEMU_TARBALL" "$dir/qemu.tar"
        return
    fi
    refresh_lists
    read -r path sum <<<"$(orig_tarball)"
    [ -n "$path" ] || die "Debian $suite has no source package of QEMU $upstream.x; give one by TESTBED_QEMU_TARBALL"
    fetch "$(main_mirror)/$path" "$dir/qemu.tar" "$sum"
}

apply_series() {
    local src=$1 patch
    while read -r patch; do
        if [ "${TESTBED_QEMU_STOCK:-0}" = 1 ] && [[ $patch != 0001-* ]]; then
            continue
        fi
        patch -d "$src" -p1 --fuzz=0 --quiet --input "$here/patches/$patch" ||
            die "patches/$patch does not apply to QEMU $(cat "$src/VERSION")"
    done < <(grep -v '^#' "$here/series")
}

# The unpacked source with patches, overlay and model in place: DIR appears whole or not at all.
prepare_source() {
    local src=$1 tree devices
    mkdir -p "$(dirname "$src")"
    tree=$(mktemp -d "$src.XXXXXX")
    fetch_source "$tree"
    tar -x -f "$tree/qemu.tar" -C "$tree" --strip-components=1 --no-same-owner
    rm "$tree/qemu.tar"
    apply_series "$tree"
    devices=$tree/configs/devices/x86_64-softmmu/testbed.mak
    if [ "${TESTBED_QEMU_STOCK:-0}" = 1 ]; then
        grep -v -x CONFIG_CXL_SSD=y "$here/devices.mak" >"$devices"
    else
        cp "$here/devices.mak" "$devices"
        cp -R "$here/overlay/." "$tree/"
        mkdir -p "$tree/hw/mem/memsys"
        (cd "$here/model" && model_files . | xargs cp --parents -t "$tree/hw/mem/memsys/")
    fi
    mv "$tree" "$src"
}

check_python() {
    local python=$1
    "$python" -c 'import mesonbuild, pycotap' 2>/dev/null ||
        die "$python lacks meson or pycotap; run through make, or pip install 'meson>=1.5' pycotap"
}

compile() {
    local src=$1 python
    python=${TESTBED_PYTHON:-$here/../.venv/bin/python}
    [ -x "$python" ] || python=$(command -v python3)
    check_python "$python"
    mkdir -p "$src/build"
    # Most rebuilds are for a few changed lines; ccache, where installed, knows the rest wherever the tree lies.
    local cc=${CC:-cc}
    if command -v ccache >/dev/null; then
        cc="ccache $cc"
        CCACHE_DIR=$ccache_dir
        export CCACHE_DIR CCACHE_BASEDIR=$src CCACHE_NOHASHDIR=1
    fi
    (
        cd "$src/build"
        PATH=$(dirname "$python"):$PATH
        # Only features that the testbed's command line uses. QEMU would clear registers on each return, against
        # hostile guests; that is off, because each miss in the guest's L1 takes a dozen returns.
        ../configure --cc="$cc" --python="$python" --disable-download --without-default-features \
            --without-default-devices --with-devices-x86_64=testbed --target-list=x86_64-softmmu --enable-tcg \
            --enable-trace-backends=log --disable-docs --disable-install-blobs \
            --extra-cflags=-fzero-call-used-regs=skip
        ninja qemu-system-x86_64
    )
}

# SeaBIOS and the -kernel option ROMs of Debian 13, so that the guest boots alike on every host.
install_firmware() {
    local share=$1 work=$2
    mkdir -p "$work/firmware" "$share"
    refresh_lists
    (cd "$work/firmware" && private_apt apt-get download seabios qemu-system-data)
    for package in "$work"/firmware/*.deb; do
        dpkg-deb --extract "$package" "$work/firmware"
    done
    cp "$work"/firmware/usr/share/seabios/bios-256k.bin \
        "$work"/firmware/usr/share/qemu/{linuxboot_dma,kvmvapic,pvh}.bin "$share/"
}

build() {
    local out=$1 work=$2
    mkdir -p "$out/bin" "$work"
    out=$(cd "$out" && pwd)
    work=$(cd "$work" && pwd)
    prepare_source "$work/source"
    compile "$work/source"
    install_firmware "$out/share/qemu" "$work"
    install -s "$work/source/build/qemu-system-x86_64" "$out/bin/"
    "$out/bin/qemu-system-x86_64" --version | head -n 1 >"$out/version.txt"
    cat "$out/version.txt"
}

# The opcode tables keep upstream's own layout, which checkpatch would have otherwise.
without_opcode_tables() {
    awk '/^diff --git/ { skip = /decode-new/ } !skip' "$1"
}

# QEMU's own style checker, kept beside the package lists.
checkpatch_script() {
    local kept scratch
    kept=$(dirname "$lists_dir")/checkpatch.pl
    if [ ! -f "$kept" ]; then
        scratch=$(mktemp -d)
        fetch_source "$scratch"
        tar -x -f "$scratch/qemu.tar" -C "$scratch" --wildcards --strip-components=2 '*/scripts/checkpatch.pl'
        mv "$scratch/checkpatch.pl" "$kept"
        rm -r "$scratch"
    fi
    echo "$kept"
}

checkpatch() {
    local script patch status=0
    script=$(checkpatch_script)
    for patch in "$here"/patches/*.patch; do
        without_opcode_tables "$patch" | perl "$script" --no-tree --no-signoff --terse --strict - || status=1
    done
    find "$here/overlay" -name '*.[ch]' -print0 |
        xargs -0 perl "$script" --no-tree --no-signoff --terse --strict -f || status=1
    return $status
}

inputs() {
    cd "$here/.."
    ls -d qemu-patches/{build.sh,series,devices.mak,model/files.sh} guest-image/image/lib/archive.sh
    if [ "${TESTBED_QEMU_STOCK:-0}" = 1 ]; then
        ls qemu-patches/patches/0001-*
    else
        ls -d qemu-patches/{patches,overlay}
        model_files qemu-patches/model | sed 's|^|qemu-patches/model/|'
    fi
}

case ${1:-} in
inputs) inputs ;;
fingerprint) fingerprint ;;
source) prepare_source "${2:?usage: build.sh source DIR}" ;;
build) build "${2:?usage: build.sh build OUT_DIR WORK_DIR}" "${3:?usage: build.sh build OUT_DIR WORK_DIR}" ;;
checkpatch) checkpatch ;;
-h | --help | help) usage ;;
*)
    usage >&2
    exit 2
    ;;
esac
