#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Test hosts on this machine: a controller and COUNT workers, and COMMAND run on the controller.
#
#   tests/rigs/cluster/hosts.sh FOLDER COUNT COMMAND...
#
# Each worker is a network namespace with an SSH server, joined to the controller's by a link that can be taken down
# (ip link set worker1 down), and has its own processes, home, /srv and host name; the rest of the file system is shared.
# Under root, worker1 is booted by systemd, which needs control groups; other hosts run their services under runit.
# FOLDER gets an Ansible inventory and the keys, and keeps the files of the hosts. All of it lives in one PID namespace
# that ends with COMMAND, or with this script, so nothing stays behind but an empty control group, which the next run
# removes. Works as any user that may use user namespaces.
set -euo pipefail

address() { echo "192.0.2.$1"; } # TEST-NET-1: never routed anywhere
controller_number=1
first_worker_number=11
cgroups=/sys/fs/cgroup
cgroup_prefix=testbed-hosts-

runs_systemd() { [[ $1 == worker1 && ${HOSTS_OF_ROOT-} == yes ]]; } # HOST

enter() { # FUNCTION ARGUMENTS...: go on in new namespaces
    local as_user=()
    [[ $(id -u) -eq 0 ]] || as_user=(--map-root-user --map-auto)
    exec unshare "${as_user[@]}" --net --mount --uts --pid --fork --kill-child=KILL --mount-proc "$0" "$@"
}

# The files of one host: name, home (through passwd), /srv.
furnish() { # FOLDER
    mkdir -p "$1"/{home/.ssh,srv}
    chmod -R go-w "$1/home"
    hostname "$(basename "$1")"
    awk -F: -v OFS=: -v home="$1/home" -v uid="$(id -u)" '$3 == uid { $6 = home } 1' /etc/passwd >"$1/passwd"
    mount --bind "$1/passwd" /etc/passwd
    mount --bind "$1/srv" /srv
    ip link set lo up
}

be_worker() { # FOLDER NUMBER
    local sshd
    sshd=("$(type -P dropbear)" -F -s -m -r "$1/host_key" -P "$1/sshd.pid" -p "$(address "$2"):22")
    furnish "$1"
    echo "$BASHPID" >"$1/pid" # in a network of its own by now
    cp "$1/../key.pub" "$1/home/.ssh/authorized_keys"
    until ip link set eth0 up 2>/dev/null; do sleep 0.05; done
    ip address add "$(address "$2")/24" dev eth0
    if runs_systemd "$(basename "$1")"; then
        enter_cgroup "$1" "${sshd[@]}"
    fi
    "${sshd[@]}" 2>"$1/sshd.log"
}

# The remains of earlier hosts; hosts that run beside these have processes.
remove_empty_cgroups() {
    local group
    for group in "$cgroups/$cgroup_prefix"*; do
        if grep -qs '^populated 0' "$group/cgroup.events"; then
            find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
        fi
    done
}

# A control group that systemd will see as the root.
enter_cgroup() { # FOLDER SSHD...
    local group=$cgroups/$cgroup_prefix$BASHPID-$RANDOM
    [[ $(stat -fc %T "$cgroups") == cgroup2fs ]] || mount -t cgroup2 cgroup2 "$cgroups"
    remove_empty_cgroups
    until mkdir -p "$group" && echo 0 >"$group/cgroup.procs"; do sleep 0.05; done 2>/dev/null
    exec unshare --cgroup "$0" --systemd "$@"
}

# Of this machine's units it has the targets only: the others mount, clean and start things that all hosts share.
be_systemd() { # FOLDER SSHD...
    local folder=$1
    shift
    mkdir -p "$folder"/{vendor_units,units,generators}
    cp /usr/lib/systemd/system/*.target "$folder/vendor_units"
    printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=%s\nKillMode=process\n' "$*" >"$folder/vendor_units/sshd.service"
    hostname >"$folder/hostname"
    umount "$cgroups" # it shows the groups of all
    mount -t cgroup2 cgroup2 "$cgroups"
    mount -t tmpfs tmpfs /run
    mount --bind "$folder/hostname" /etc/hostname
    mount --bind "$folder/units" /etc/systemd/system
    mount --bind "$folder/generators" /usr/lib/systemd/system-generators
    mount --bind "$folder/vendor_units" /usr/lib/systemd/system
    exec env -i container=testbed-hosts /usr/lib/systemd/systemd --unit=sshd.service --log-target=null
}

connect() { # NAME PID
    ip link add "$1" type veth peer name eth0 netns "$2"
    ip link set "$1" master hosts up
}

be_controller() { # FOLDER COUNT COMMAND...
    local folder=$1 count=$2 n name
    shift 2
    furnish "$folder/head"
    ip link add hosts type bridge
    ip address add "$(address $controller_number)/24" dev hosts
    ip link set hosts up
    for ((n = 0; n < count; n++)); do
        name=worker$((n + 1))
        "$0" --enter-worker "$folder/$name" $((first_worker_number + n)) &
        until [[ -s $folder/$name/pid ]]; do sleep 0.02; done
        connect "$name" $!
    done
    for ((n = 0; n < count; n++)); do
        until (: <"/dev/tcp/$(address $((first_worker_number + n)))/22") 2>/dev/null; do sleep 0.05; done
    done
    "$@"
}

write_keys() { # FOLDER COUNT
    local n name
    rm -f "$1"/key{,.pub} "$1/known_hosts"
    ssh-keygen -q -t ed25519 -N '' -C testbed -f "$1/key"
    for ((n = 0; n < $2; n++)); do
        name=worker$((n + 1))
        mkdir -p "$1/$name"
        rm -f "$1/$name/pid"
        [[ -f $1/$name/host_key ]] || dropbearkey -t ed25519 -f "$1/$name/host_key" >/dev/null 2>&1
        echo "$(address $((first_worker_number + n))) $(dropbearkey -y -f "$1/$name/host_key" | grep '^ssh-')" >>"$1/known_hosts"
    done
}

write_inventory() { # FOLDER COUNT
    local n name manager
    cat <<EOF
all:
  vars:
    ansible_python_interpreter: /usr/bin/python3
    ansible_ssh_private_key_file: $1/key
    ansible_ssh_common_args: -o UserKnownHostsFile=$1/known_hosts -o StrictHostKeyChecking=yes
    ansible_ssh_transfer_method: piped
controller:
  hosts:
    head: {ansible_connection: local, ansible_host: $(address $controller_number), testbed_service_manager: process}
workers:
  hosts:
EOF
    for ((n = 0; n < $2; n++)); do
        name=worker$((n + 1))
        manager=$(runs_systemd "$name" && echo systemd || echo process)
        echo "    $name: {ansible_host: $(address $((first_worker_number + n))), testbed_service_manager: $manager}"
    done
}

case ${1-} in
--controller) shift && be_controller "$@" ;;
--enter-worker) shift && enter --worker "$@" ;;
--worker) shift && be_worker "$@" ;;
--systemd) shift && be_systemd "$@" ;;
"" | -*) sed -n '3,13s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
*)
    (($# >= 3)) || { echo "hosts.sh: FOLDER, COUNT and COMMAND are needed" >&2 && exit 2; }
    [[ $(id -u) -ne 0 ]] || export HOSTS_OF_ROOT=yes
    folder=$(mkdir -p "$1" && cd "$1" && pwd)
    write_keys "$folder" "$2"
    write_inventory "$folder" "$2" >"$folder/inventory.yml"
    enter --controller "$folder" "${@:2}"
    ;;
esac
