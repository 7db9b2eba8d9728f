#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# From a bare machine to a venv with Ansible in it, and then the playbook. Run by `make testbed` and `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=ansible/preflight.sh
source ansible/preflight.sh

log=build/provision.log

as_root() {
    if [[ $(id -u) -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

# The first Python >= 3.11 that can make a venv with pip in it; nothing if there is none.
find_python() {
    local python
    for python in python3 /usr/bin/python3; do
        if "$python" -c 'import sys, venv, ensurepip; assert sys.version_info >= (3, 11)' 2>/dev/null; then
            command -v "$python"
            return
        fi
    done
}

apt_install() { as_root apt-get update && as_root apt-get install -y --no-install-recommends "$@"; }

install_python() {
    check_privileges "python3-venv"
    echo "testbed: installing python3-venv"
    with_package_lock "$log" apt_install python3-venv python3-apt ||
        refuse "cannot install python3-venv: the package mirror cannot be reached or refuses (log: $log)"
}

make_venv() {
    local python
    python=$(find_python)
    if [[ -z $python ]]; then
        install_python
        python=$(find_python)
        [[ -n $python ]] || refuse "no Python 3.11 or later with the venv module was found"
    fi
    [[ -x .venv/bin/python ]] || "$python" -m venv .venv
    echo "testbed: installing the Python packages of requirements.lock"
    if ! { .venv/bin/python -m pip install --disable-pip-version-check -r requirements.lock &&
        .venv/bin/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .; } >>"$log" 2>&1; then
        refuse "cannot install the Python packages of requirements.lock: the package index cannot be reached or refuses (log: $log)"
    fi
}

missing_packages() {
    .venv/bin/python - <<'PY'
import pathlib, platform, subprocess, yaml
groups = yaml.safe_load(pathlib.Path("ansible/vars/packages.yml").read_text())["testbed_package_groups"]
shown = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package}\n"],
                       capture_output=True, text=True, check=True).stdout
have = {line.split()[1] for line in shown.splitlines() if line.startswith("installed ")}
here = platform.freedesktop_os_release()["ID"]
wanted = [group for group in groups if group.get("distribution", here) == here]
print(*[package for group in wanted for package in group["packages"] if package not in have])
PY
}

run_playbook() {
    local missing options=()
    missing=$(missing_packages)
    if [[ -n $missing ]]; then
        check_privileges "$missing"
        if [[ $(id -u) -ne 0 ]] && ! sudo -n true 2>/dev/null; then options+=(--ask-become-pass); fi
        echo "testbed: installing $(wc -w <<<"$missing") packages"
    fi
    # The playbook waits for no lock, because nobody would hear that it does.
    if ! with_package_lock "$log" env ANSIBLE_LOCALHOST_WARNING=false ANSIBLE_INVENTORY_UNPARSED_WARNING=false \
        .venv/bin/ansible-playbook -e ansible_python_interpreter=/usr/bin/python3 -e testbed_packages_lock_timeout_s=2 \
        "${options[@]}" ansible/playbook.yml; then
        refuse "cannot install the packages ${missing:-(none missing)}: the package mirror cannot be reached or refuses (log: $log)"
    fi
    tail -n 3 "$log" | grep -o 'ok=.*failed=[0-9]*' | sed 's/ \+/ /g; s/^/testbed: host provisioned: /'
}

mkdir -p build
: >"$log"
check_distribution
check_disk
make_venv
run_playbook
