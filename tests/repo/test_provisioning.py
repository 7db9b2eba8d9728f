# SPDX-License-Identifier: BSD-3-Clause
"""Provisioning rejects an unfit host with one sentence and exit status 2, and a second run changes nothing."""

import fcntl
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
import yaml

from testbed.paths import REPO

PREFLIGHT = REPO / "ansible" / "preflight.sh"


def preflight(call: str, fakes: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """One check, with programs in `fakes` found before the real ones."""
    path = f"{fakes}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", f"source {PREFLIGHT}; {call}"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment | {"PATH": path},
    )


def fake(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("testbed: ")
    return done.stderr


@pytest.mark.parametrize(
    ("distribution", "version", "supported"),
    [("debian", "12", True), ("debian", "13", True), ("ubuntu", "24.04", True), ("ubuntu", "26.04", True),
     ("debian", "11", False), ("ubuntu", "22.04", False), ("fedora", "41", False), ("", "", False)],
)  # fmt: skip
def test_distributions(tmp_path: Path, distribution: str, version: str, supported: bool) -> None:
    release = tmp_path / "os-release"
    release.write_text(f'ID={distribution}\nVERSION_ID="{version}"\nPRETTY_NAME="Some Linux {version}"\n')
    done = preflight("check_distribution", tmp_path, TESTBED_OS_RELEASE=str(release))
    if supported:
        assert done.returncode == 0
    else:
        assert f"unsupported distribution 'Some Linux {version}'" in refused(done)


def test_too_little_disk(tmp_path: Path) -> None:
    fake(tmp_path, "df", "echo Avail; echo 1048576")
    message = refused(preflight("check_disk", tmp_path, TESTBED_CACHE=str(tmp_path / "cache")))
    assert re.search(r"too little disk: .* has 1024 MiB free and 10 GiB are needed \(set TESTBED_CACHE", message)


def test_a_filled_cache_needs_less_disk(tmp_path: Path) -> None:
    fake(tmp_path, "df", "echo Avail; echo 3145728")
    (tmp_path / "cache" / "qemu-0123456789abcdef").mkdir(parents=True)
    assert preflight("check_disk", tmp_path, TESTBED_CACHE=str(tmp_path / "cache")).returncode == 0


def test_no_root_and_no_sudo(tmp_path: Path) -> None:
    fake(tmp_path, "id", "echo 1000")
    done = preflight("hash -r; PATH=" + str(tmp_path) + "; check_privileges ninja-build", tmp_path)
    assert "packages are missing (ninja-build) and this user is neither root nor has sudo" in refused(done)


def test_sudo_that_asks_without_a_terminal(tmp_path: Path) -> None:
    fake(tmp_path, "id", "echo 1000")
    fake(tmp_path, "sudo", "exit 1")
    message = refused(preflight("check_privileges ninja-build", tmp_path))
    assert "sudo asks for a password but there is no terminal" in message


def test_root_needs_no_sudo(tmp_path: Path) -> None:
    fake(tmp_path, "id", "echo 0")
    assert preflight("check_privileges ninja-build", tmp_path).returncode == 0


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with only the files that bootstrap.sh uses."""
    clone = tmp_path / "clone"
    (clone / "experiments").mkdir(parents=True)
    for name in ("ansible", "requirements.lock", "pyproject.toml"):
        subprocess.run(["cp", "-r", REPO / name, clone], check=True)
    return clone


def bootstrap(clone: Path, fakes: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PATH": f"{fakes}:{os.environ['PATH']}"} | more
    return subprocess.run(
        [clone / "ansible" / "bootstrap.sh"], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )


def venv_with_fakes(clone: Path) -> Path:
    """The folder for programs of an empty venv, to be filled with fakes."""
    fakes = clone / ".venv" / "bin"
    fakes.mkdir(parents=True)
    return fakes


def test_no_network_for_python_packages(clone: Path, tmp_path: Path) -> None:
    fake(venv_with_fakes(clone), "python", "echo 'Temporary failure in name resolution'; exit 1")
    done = bootstrap(clone, tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot install the Python packages of requirements.lock: the package index cannot be reached" in done.stderr


def test_no_network_for_debian_packages(clone: Path, tmp_path: Path) -> None:
    fakes = venv_with_fakes(clone)
    fake(fakes, "python", 'case "$1" in -) echo ninja-build;; esac')
    fake(fakes, "ansible-playbook", "echo 'Failed to update apt cache'; exit 2")
    fake(tmp_path, "sudo", "exit 0")
    done = bootstrap(clone, tmp_path)
    assert done.returncode == 2
    assert "cannot install the packages ninja-build: the package mirror cannot be reached" in done.stderr


# ---- Locks of apt and dpkg ----

HELD = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 77 (unattended-upgr)"
PLAYS = """
echo run >>runs
if [ "$(wc -l <runs)" -le {times} ]; then echo '{said}'; exit 2; fi
echo 'localhost : ok=4 changed=1 unreachable=0 failed=0'
"""


def play(clone: Path, fakes: Path, times: int, said: str, patience_s: int = 600) -> subprocess.CompletedProcess[str]:
    """Run a bootstrap with a playbook that fails `times` times with the words `said`, and then works."""
    programs = venv_with_fakes(clone)
    fake(programs, "python", 'case "$1" in -) echo ninja-build;; esac')
    fake(programs, "ansible-playbook", PLAYS.format(times=times, said=said))
    fake(fakes, "sudo", "exit 0")
    return bootstrap(clone, fakes, TESTBED_LOCK_PATIENCE_S=str(patience_s))


@pytest.mark.parametrize(
    ("said", "holder"),
    [
        (HELD, "process 77 (unattended-upgr)"),
        ("dpkg: error: dpkg frontend lock was locked by another process with pid 78", "process 78"),
        ("E: Unable to acquire the dpkg frontend lock, is another process using it?", "another process"),
    ],
)
def test_a_lock_is_waited_for_with_a_word(clone: Path, tmp_path: Path, said: str, holder: str) -> None:
    done = play(clone, tmp_path, 2, said)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"testbed: waiting for {holder}, which holds the lock of apt and dpkg\n") == 1
    assert "testbed: host provisioned: ok=4 changed=1" in done.stdout
    assert (clone / "runs").read_text().count("run") == 3


def test_a_lock_that_stays_is_said_with_its_holder(clone: Path, tmp_path: Path) -> None:
    message = refused(play(clone, tmp_path, 99, HELD, patience_s=1))
    assert "process 77 (unattended-upgr) has held the lock of apt and dpkg for 1 s; wait for it or end it" in message
    assert "mirror" not in message


def test_what_fails_for_another_reason_is_not_tried_again(clone: Path, tmp_path: Path) -> None:
    done = play(clone, tmp_path, 1, "Failed to fetch: the lock icon of the mirror is locked")
    assert (done.returncode, "the package mirror cannot be reached" in done.stderr) == (2, True)
    assert (clone / "runs").read_text().count("run") == 1


def test_the_lock_of_a_real_apt_is_waited_for(tmp_path: Path) -> None:
    """apt-get uses the lists of a temporary root; this process holds their lock for 3 s, as another apt-get would."""
    for folder in ("lists/partial", "archives/partial", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "status").touch()
    places = {"Dir::State::Lists": "lists", "Dir::State::Status": "status", "Dir::Cache": ".", "Dir::Etc": "etc"}
    options = " ".join(f"-o {name}={tmp_path / place}" for name, place in places.items())
    log = tmp_path / "log"
    log.touch()
    with (tmp_path / "lists" / "lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        release = threading.Timer(3.0, lambda: fcntl.lockf(lock, fcntl.LOCK_UN))
        release.start()
        done = preflight(f"with_package_lock {log} apt-get {options} update", tmp_path)
        release.join()
    assert done.returncode == 0, log.read_text()
    assert re.fullmatch(rf"testbed: waiting for process {os.getpid()} \(.*\), which holds .*\n", done.stdout), (
        done.stdout
    )


@pytest.mark.alone  # it reinstalls this clone's package
def test_a_provisioned_host_is_not_changed() -> None:
    """`make test` has provisioned this host, so the playbook must find nothing to do and need no root."""
    done = subprocess.run([REPO / "ansible" / "bootstrap.sh"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "changed=0" in done.stdout


def test_every_package_has_a_reason_and_is_listed_once() -> None:
    groups = yaml.safe_load((REPO / "ansible/vars/packages.yml").read_text())["testbed_package_groups"]
    packages = [package for group in groups for package in group["packages"]]
    assert all(group["reason"] for group in groups)
    assert len(packages) == len(set(packages))
