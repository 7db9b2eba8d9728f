# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Packages of kernels that Debian 13 or its backports have beside the image's own. Sourced after lib/archive.sh, by a script that defines die().

# The backports have package lists of their own, so that the versions of the guest's image stay as they are.
use_backports() {
    lists_dir=$lists_dir-backports
    backports_mirror=$(sources | awk 'NR == 1 { print $3 }')
    [[ -n $backports_mirror ]] || exit 2 # it has said why
    sources() { printf 'deb [signed-by=%s] %s %s-backports main\n' "$keyring" "$backports_mirror" "$suite"; }
}

dependencies() { # PACKAGE VERSION: what it depends on, a name a line
    private_apt apt-cache show "$1=$2" | sed -n 's/^Depends: //p' | sed 's/[,|]/\n/g' | awk '{ print $1 }'
}

unpack_exactly() { # ROOT WORK NAME=VERSION...
    local root=$1 work=$2 deb
    shift 2
    (cd "$work" && private_apt apt-get download -qq "$@") || {
        forget_lists
        die "Debian's archive cannot be reached, or has not all of $* any more: run the same command again"
    }
    for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$root"; done
}
