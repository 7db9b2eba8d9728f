# SPDX-License-Identifier: BSD-3-Clause
"""Test hosts (tests/rigs/cluster/hosts.sh), and playbooks and commands on them."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conftest import MANIFEST, MOCK_QEMU
from testbed.build import components
from testbed.guest.cpio import CpioWriter
from testbed.paths import REPO, cache_root
from testbed.run import trust

HOME = Path("/srv/cxl-ssd-testbed")  # on every host; testbed_home's default
PATIENCE_S = 300  # limit of each wait
HOSTS, INTRUDER = (Path(__file__).with_name(name) for name in ("hosts.sh", "intruder.py"))


@dataclass(frozen=True)
class Lab:
    """A controller and workers: their folders, and the process that holds their namespaces and ends them."""

    folder: Path
    keeper: int

    def on(self, host: str, *command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command on the controller ("head") or, over SSH, on a worker."""
        if host != "head":
            options = ("-i", self.folder / "key", "-o", f"UserKnownHostsFile={self.folder}/known_hosts")
            command = ("ssh", *options, self.address(host), *command)
        return subprocess.run(self._inside(*command), text=True, capture_output=True, check=check, timeout=PATIENCE_S)

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        """Start a command on the controller without waiting for it; its input ends with communicate()."""
        pipe = subprocess.PIPE
        return subprocess.Popen(self._inside(*command), text=True, stdin=pipe, stdout=pipe, stderr=pipe)

    def play(self, playbook: str, *options: str) -> str:
        """Run a playbook on the controller and return its output. AssertionError, with the output: it fails."""
        configuration = f"ANSIBLE_CONFIG={REPO}/ansible/ansible.cfg"
        command: list[str | Path] = [
            REPO / ".venv/bin/ansible-playbook",
            "-i",
            self.folder / "inventory.yml",
            REPO / "ansible" / playbook,
        ]
        done = self.on("head", "env", configuration, *command, *options, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr
        return done.stdout

    def address(self, host: str) -> str:
        inventory = yaml.safe_load((self.folder / "inventory.yml").read_text())
        hosts: dict[str, dict[str, Any]] = inventory["controller"]["hosts"] | inventory["workers"]["hosts"]
        return str(hosts[host]["ansible_host"])

    def dask_ports(self, host: str) -> list[str]:
        """Return the addresses at which Dask processes listen on that host."""
        said = self.on(host, "ss", "-Hltnp").stdout.splitlines()
        return [line.split()[3] for line in said if "python" in line or "dask" in line]

    def path(self, host: str, path: Path) -> Path:
        """Return this process's path to a file below a host's /srv."""
        return self.folder / host / path.relative_to("/")

    def link(self, host: str, state: str) -> None:
        """Take a worker's link "down" or "up"."""
        self.on("head", "ip", "link", "set", host, state)

    def _inside(self, *command: str | Path) -> list[str | Path]:
        environment = ("-u", "TESTBED_RESULTS", f"HOME={self.folder}/head/home")
        spaces = ["--net", "--mount", "--uts", "--pid"] + ["--user"] * (os.geteuid() != 0)  # as hosts.sh enters them
        return ["nsenter", "--target", str(self.keeper), *spaces, "--", "env", *environment, *command]


@contextmanager
def hosts(folder: Path, count: int) -> Iterator[Lab]:
    """Start a controller and `count` workers; remove them at the end."""
    command: list[str | Path] = ["setpriv", "--pdeathsig", "KILL", HOSTS, folder, str(count)]
    process = subprocess.Popen([*command, "sh", "-c", "echo up; exec sleep inf"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout and process.stdout.readline() == "up\n"
        yield Lab(folder.resolve(), _only_child(process.pid))
    finally:
        process.kill()
        process.wait()


def _only_child(pid: int) -> int:
    listed = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], text=True, capture_output=True, check=True)
    return int(listed.stdout)


MOCKED = (*components.TESTBED, "kv")  # components that `testbed build` makes


def fill_with_mocks(cache: Path, keys: dict[str, str]) -> None:
    """Fill a cache with every component: a mock of QEMU, and one program in the guest."""
    cache.mkdir(parents=True)
    for name in ("debian-lists", "fingerprints"):  # inputs of the keys
        (cache / name).symlink_to(cache_root() / name)
    qemu, buildroot, base, tools, kv = (cache / f"{name}-{keys[name][:16]}" for name in MOCKED)
    for folder in (qemu / "bin", qemu / "share/qemu", buildroot, base, tools, kv):
        folder.mkdir(parents=True)
    shutil.copy(MOCK_QEMU, qemu / "bin/qemu-system-x86_64")
    (base / "vmlinux").write_text("mock\n")
    for archive in (base / "base.cpio", tools / "tools.cpio", kv / "kv.cpio"):
        write_mock_archive(archive)


def write_mock_manifest(path: Path, runs: int, pause_s: float, more: str = "") -> Path:
    """Write a manifest, named like its file, of `runs` mock guests that pause for `pause_s`."""
    command = f'command = "mock --pause-s {pause_s} --point {{point}}"\n[matrix]\npoint = {list(range(runs))}\n'
    head = MANIFEST.partition("[workload]")[0].replace('"small"', f'"{path.stem}"')
    path.write_text(f"{head}{more}[workload]\n{command}")
    return path


def result_bytes(folder: Path) -> dict[str, bytes]:
    """Return the results of all manifests below a folder, by file name."""
    return {path.name: path.read_bytes() for path in folder.glob("*/*.json")}


def write_mock_archive(archive: Path) -> None:
    with archive.open("wb") as file:
        writer = CpioWriter(file)
        writer.add_file("usr/local/bin/mock", archive.name.encode(), executable=True)
        writer.close()


def wait_for(what: str, condition: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    end = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < end, f"not within {patience_s} s: {what}"
        time.sleep(0.1)


def sign_for_days(folder: Path, days: int, what: str = "certificate") -> None:
    """Replace the folder's certificate or authority by one that expires after `days`."""
    script, changes = re.subn(rf"\b{what}_days=\d+", f"{what}_days={days}", trust.SCRIPT.read_text())
    assert changes == 1
    other = folder.parent / "other-tls.sh"
    other.write_text(script)
    (folder / "host.crt").unlink()
    if what == "authority":
        (folder / "ca.crt").unlink()
    subprocess.run(["bash", other, "alone", folder, "test"], check=True, capture_output=True)
