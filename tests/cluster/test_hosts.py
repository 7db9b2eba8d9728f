# SPDX-License-Identifier: BSD-3-Clause
"""Ansible's playbooks and a sweep over test hosts, with mock guests; other tests cover the guests."""

import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.cluster.cluster_lab import (
    HOME,
    INTRUDER,
    MOCKED,
    PATIENCE_S,
    Lab,
    fill_with_mocks,
    hosts,
    result_bytes,
    sign_for_days,
    wait_for,
    write_mock_archive,
    write_mock_manifest,
)
from testbed.build import components
from testbed.build.cache import Cache
from testbed.paths import REPO
from testbed.program import packages
from testbed.run import trust

SCHEDULER = "tls://192.0.2.1:8786"
TLS = HOME / "tls"
COMMON = ("-e", f"testbed_venv={REPO}/.venv testbed_scheduler_worker_ttl_s=8",
          "-e", "testbed_worker_guests=2 testbed_worker_memory=16GiB testbed_sweep_poll_s=1")  # fmt: skip


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two workers and a controller that already has every component, after a first run of the playbook."""
    with hosts(tmp_path_factory.mktemp("hosts"), 2) as lab:
        fill_with_mocks(lab.path("head", HOME / "cache"), components.keys(MOCKED))
        write_mock_manifest(lab.folder / "few.toml", runs=3, pause_s=0.1)
        first = recap(lab.play("site.yml", *options(lab)))
        assert all(counts["changed"] > 0 for counts in first.values())
        yield lab


def options(lab: Lab) -> tuple[str, ...]:
    return (*COMMON, "-e", f"testbed_manifest={lab.folder}/few.toml testbed_gather_folder={lab.folder}/gathered")


def recap(output: str) -> dict[str, dict[str, int]]:
    """Ansible's counts by host."""
    lines = re.findall(r"^(\w+) +: (ok=.*)$", output, re.MULTILINE)
    return {host: {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", counts)} for host, counts in lines}


def test_a_second_run_of_the_playbook_changes_nothing(lab: Lab) -> None:
    made = result_bytes(lab.folder / "gathered")
    assert len(made) == 3
    second = recap(lab.play("site.yml", *options(lab)))
    assert {host: counts["changed"] for host, counts in second.items()} == {"head": 0, "worker1": 0, "worker2": 0}
    assert result_bytes(lab.folder / "gathered") == result_bytes(lab.path("head", HOME / "results")) == made


def test_under_systemd_a_worker_is_a_unit_that_starts_with_the_host(lab: Lab) -> None:
    """Only root can boot a host with systemd (rigs/cluster/hosts.sh); else worker1 has runit, as the other hosts."""
    booted_by = lab.on("worker1", "cat", "/proc/1/comm").stdout.strip()
    assert (booted_by == "systemd") == (os.geteuid() == 0)
    if booted_by == "systemd":
        asked = "UnitFileState,ActiveState,Restart,KillMode"
        unit = lab.on("worker1", "systemctl", "show", "testbed-worker", "-p", asked)
        said = dict(line.split("=") for line in unit.stdout.splitlines())
        assert said == {
            "UnitFileState": "enabled", "ActiveState": "active", "Restart": "always", "KillMode": "control-group"
        }  # fmt: skip
        assert lab.on("worker1", "systemctl", "--failed", "--no-legend").stdout == ""


def test_what_the_playbook_starts_talks_only_to_holders_of_its_certificates(lab: Lab, tmp_path: Path) -> None:
    """Services refuse a host without a certificate or with one from another authority; Dask's pages are on loopback."""
    trust.make(tmp_path / "theirs", "stranger")
    for host in ("head", "worker1", "worker2"):
        found = lab.dask_ports(host)
        assert {where.rpartition(":")[0] for where in found} == {lab.address(host), "127.0.0.1"}
        assert len(found) == 2
        there = next(where for where in found if where.startswith("192."))
        for certificates, came in (("-", "refused"), (tmp_path / "theirs", "refused"), (TLS, "ran as process")):
            intruder = (REPO / ".venv/bin/python", INTRUDER, certificates, f"tls://{there}", f"tcp://{there}")
            encrypted, plain = lab.on("worker1", *intruder).stdout.splitlines()
            assert encrypted.startswith(came), (host, certificates, encrypted)
            assert plain == "refused"


def test_keys_stay_where_they_were_made(lab: Lab) -> None:
    """Only its owner can read a key, each host has another one, and the authority's is only on the controller."""
    keys = {host: lab.path(host, TLS / "host.key") for host in ("head", "worker1", "worker2")}
    assert {path.stat().st_mode & 0o777 for path in keys.values()} == {0o600}
    assert {path.parent.stat().st_mode & 0o777 for path in keys.values()} == {0o700}
    assert len({path.read_bytes() for path in keys.values()}) == 3
    found = {host: [path.name for path in lab.path(host, HOME).rglob("ca.key")] for host in keys}
    assert found == {"head": ["ca.key"], "worker1": [], "worker2": []}


def test_a_certificate_that_is_about_to_end_is_renewed_and_its_service_restarted(lab: Lab, tmp_path: Path) -> None:
    """Only that host changes; verification reports the certificate before the renewal."""
    there, authority = lab.path("worker2", TLS), lab.path("head", HOME / "tls-authority")
    shutil.copytree(there, tmp_path / "tls")
    shutil.copy(authority / "ca.key", tmp_path / "tls/ca.key")
    sign_for_days(tmp_path / "tls", 10)
    (there / "host.crt").write_bytes((tmp_path / "tls/host.crt").read_bytes())
    with pytest.raises(AssertionError, match="ends within 30 days"):
        lab.play("verify.yml", *COMMON, "--tags", "always,hosts")
    worker = ("pgrep", "-f", "distributed.cli.dask_worker")
    before = lab.on("worker2", *worker).stdout
    changed = {
        host: counts["changed"] for host, counts in recap(lab.play("site.yml", *COMMON, "--tags", "services")).items()
    }
    assert (changed["head"], changed["worker1"], changed["worker2"] > 0) == (0, 0, True)
    wait_for("another worker", lambda: lab.on("worker2", *worker, check=False).stdout not in ("", before))
    lab.play("verify.yml", *COMMON, "--tags", "always,hosts")


def test_verification_compares_hosts_and_results(lab: Lab) -> None:
    """Verification passes, and fails once a component differs on one host."""
    assert all(counts["changed"] == 0 for counts in recap(lab.play("verify.yml", *options(lab))).values())
    (kernel,) = lab.path("worker2", HOME / "cache").glob("base-*/vmlinux")
    good = kernel.read_text()
    kernel.write_text("another\n")
    try:
        with pytest.raises(AssertionError, match="worker2 has other files than the controller in base-"):
            lab.play("verify.yml", *options(lab))
    finally:
        kernel.write_text(good)


def test_the_packages_of_a_manifest_reach_the_workers(lab: Lab) -> None:
    """No host here could fetch packages. The mock guest's result has the hash of all it was sent, packages included."""
    path = write_mock_manifest(lab.folder / "packaged.toml", 2, 0.1, '[program]\npackages = ["redis-server"]\n')
    component = packages.component(packages.resolve(("redis-server",)))
    product = Cache(lab.path("head", HOME / "cache")).path("packages", components.component_key(component, {}))
    product.mkdir()
    write_mock_archive(product / "packages.cpio")
    packaged = (*COMMON, "-e", f"testbed_manifest={path} testbed_gather_folder={lab.folder}/packaged")
    played = lab.play("site.yml", *packaged, "--tags", "always,components,sweep,gather")
    changed = {host: counts["changed"] for host, counts in recap(played).items()}
    assert changed["worker1"] == changed["worker2"] > 0
    copy = lab.path("worker2", HOME / "cache") / product.name / "packages.cpio"
    good = copy.read_bytes()
    assert len(result_bytes(lab.folder / "packaged")) == 2 + 3
    copy.write_text("another\n")
    with pytest.raises(AssertionError, match=f"worker2 has other files than the controller in .*{product.name}"):
        lab.play("verify.yml", *packaged, "--tags", "always,hosts")
    copy.write_bytes(good)


def test_a_sweep_outlives_a_killed_worker_and_an_unreachable_host(lab: Lab) -> None:
    """The sweep completes, and every result has the bytes of a run on the controller alone."""
    manifest = write_mock_manifest(lab.folder / "many.toml", runs=24, pause_s=0.5)
    there = lab.path("head", HOME / "results/many")
    worker = ("pgrep", "-f", "distributed.cli.dask_worker")
    sweep = lab.start(HOME / "testbed", "run", manifest, "--scheduler", SCHEDULER)
    started = time.monotonic()
    wait_for("first results", lambda: len(list(there.glob("*.json"))) >= 4)
    killed = lab.on("worker1", *worker).stdout
    lab.on("worker1", "kill", "-KILL", killed)
    lab.link("worker2", "down")  # at once: on a busy host the sweep may end before the other worker is back
    wait_for("the worker again", lambda: lab.on("worker1", *worker, check=False).stdout not in ("", killed))
    _, said = sweep.communicate(timeout=PATIENCE_S)
    lab.link("worker2", "up")
    print(f"24 runs of 0.5 s, one worker killed, one host unreachable: {time.monotonic() - started:.1f} s")
    assert sweep.returncode == 0, said
    assert {host for host in ("192.0.2.11", "192.0.2.12") if f"lost on {host}" in said} == {"192.0.2.11", "192.0.2.12"}
    own = lab.folder / "own"
    lab.on("head", "env", f"TESTBED_RESULTS={own}", HOME / "testbed", "run", manifest)
    assert len(result_bytes(own)) == 24
    assert result_bytes(own) == {path.name: path.read_bytes() for path in there.glob("*.json")}
    lab.play("verify.yml", *COMMON, "--tags", "always,hosts")  # the unreachable worker is back


def test_nothing_of_the_hosts_stays(tmp_path: Path) -> None:
    with hosts(tmp_path, 1) as lab:
        keeper = Path(f"/proc/{lab.keeper}")
        inside = Path(f"/proc/{lab.keeper}/ns/net").readlink()
        assert lab.on("worker1", "hostname").stdout == "worker1\n"
    wait_for("the end of all processes", lambda: not keeper.exists())
    spaces = [path.readlink() for path in Path("/proc").glob("[0-9]*/ns/net") if path.is_symlink()]
    assert inside not in spaces
