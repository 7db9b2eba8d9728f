# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Checks made before anything is installed. Sourced by bootstrap.sh; each failure is one sentence and exit status 2.

refuse() {
    printf 'testbed: %s\n' "$1" >&2
    exit 2
}

cache_root() {
    printf '%s\n' "${TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cxl-ssd-testbed}"
}

# Debian 12 and 13 and Ubuntu 24.04 or later carry LLVM 19 and a Python new enough.
check_distribution() {
    local file=${TESTBED_OS_RELEASE:-/etc/os-release} id='' version='' name=''
    if [[ -r $file ]]; then
        id=$(sed -n 's/^ID=//p' "$file" | tr -d '"')
        version=$(sed -n 's/^VERSION_ID=//p' "$file" | tr -d '"')
        name=$(sed -n 's/^PRETTY_NAME=//p' "$file" | tr -d '"')
    fi
    case "$id-${version%%.*}" in
    debian-12 | debian-13) return ;;
    ubuntu-*) [[ ${version%%.*} =~ ^[0-9]+$ && ${version%%.*} -ge 24 ]] && return ;;
    esac
    refuse "unsupported distribution '${name:-unknown}' ($file): Debian 12 or 13, or Ubuntu 24.04 or later, is needed"
}

# A full build of QEMU and the guest needs 10 GiB; once they are in the cache, running needs 2.
check_disk() {
    local root parent need_gib=10 free_kib
    root=$(cache_root)
    compgen -G "$root/qemu-*" >/dev/null && need_gib=2
    parent=$root
    while [[ ! -d $parent ]]; do parent=$(dirname "$parent"); done
    free_kib=$(df --output=avail -k "$parent" | tail -n 1)
    if ((free_kib < need_gib * 1024 * 1024)); then
        refuse "too little disk: $parent has $((free_kib / 1024)) MiB free and $need_gib GiB are needed (set TESTBED_CACHE to a larger disk)"
    fi
}

# Root is needed only for installing packages; $1 says which.
check_privileges() {
    [[ $(id -u) -eq 0 ]] && return
    command -v sudo >/dev/null || refuse "packages are missing ($1) and this user is neither root nor has sudo: install them as root, then run this again"
    sudo -n true 2>/dev/null && return
    [[ -t 0 ]] || refuse "packages are missing ($1) and sudo asks for a password but there is no terminal: run this once from a terminal"
}

# The holder of the lock that a command could not get, from its output; nothing if it failed for another reason.
lock_holder() {
    local said who
    said=$(cat)
    grep -qE 'Could not get lock|lock (is|was) locked by another process|Unable to (acquire|lock)' <<<"$said" || return 0
    who=$(grep -oE 'held by process [0-9]+ \([^)]*\)|with pid [0-9]+' <<<"$said" | sed -n '1s/held by //; 1s/with pid/process/; 1p')
    printf '%s\n' "${who:-another process}"
}

# Run a command that installs packages; its output goes to the log. While another process holds a lock of apt or dpkg,
# which is said once, it is tried again for ten minutes.
with_package_lock() { # LOG COMMAND...
    local log=$1 holder='' before patience_s=${TESTBED_LOCK_PATIENCE_S:-600} begun_s=$SECONDS
    shift
    while before=$(stat -c %s "$log") && ! "$@" >>"$log" 2>&1; do
        local now
        now=$(tail -c "+$((before + 1))" "$log" | lock_holder)
        [[ -n $now ]] || return 1
        ((SECONDS - begun_s < patience_s)) ||
            refuse "packages cannot be installed: $now has held the lock of apt and dpkg for $patience_s s; wait for it or end it, then run this again (log: $log)"
        [[ $now == "$holder" ]] || echo "testbed: waiting for $now, which holds the lock of apt and dpkg"
        holder=$now
        sleep 2
    done
}
