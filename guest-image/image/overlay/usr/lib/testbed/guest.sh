# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Shared by all steps of a guest's start: words for the host, the end of the guest, devices that appear, and kernel modules.
# Init sources the files of this folder, and so do scripts that set up a guest in its place.

results=/dev/ttyS1
cmdline=$(</proc/cmdline)
why= # a step failed, in words for the host

say() { printf '%s\n' "$1" >"$results"; }

# Without an exit line the host reports a lost guest, with this sentence as the reason.
give_up() {
    say "{\"type\":\"error\",\"message\":\"$1\"}"
    power_off
}

power_off() {
    cd /
    umount "$TESTBED_PMEM" 2>/dev/null
    sync
    echo o >/proc/sysrq-trigger
    exec sleep infinity
}

# Sets the variable to the value of testbed.NAME= on the kernel's command line, if that is there.
asked() { # NAME VARIABLE
    [[ ! " $cmdline" =~ \ testbed\."$1"=([^ ]*) ]] || printf -v "$2" %s "${BASH_REMATCH[1]}"
}

# Drivers probe in threads of their own; waiting for their devices costs virtual time only.
await() { # PATH
    local tries
    for ((tries = 0; tries < 500; tries++)); do
        [[ ! -e $1 ]] || return 0
        sleep 0.01
    done
    printf '%s did not appear\n' "$1" >&2
    return 1
}

# Archives over the image bring kernel modules as files of this folder. A run's own modules are listed in `order`.
modules=/usr/lib/testbed/modules

load_module() { # NAME [PARAMETER=VALUE...]
    modprobe "$modules/$1.ko" "${@:2}"
}

load_own_modules() {
    local name
    [[ -e $modules/order ]] || return 0
    for name in $(<"$modules/order"); do
        load_module "$name" || give_up "the kernel module $name cannot be loaded: see the console log"
    done
}
