# SPDX-License-Identifier: BSD-3-Clause
"""The Slurm example of docs/howto/cluster.md on Debian's Slurm with two test hosts as nodes, and with mock guests."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rigs.cluster import slurm_lab
from rigs.cluster.cluster_lab import (
    INTRUDER,
    MOCKED,
    PATIENCE_S,
    fill_with_mocks,
    hosts,
    result_bytes,
    wait_for,
    write_mock_manifest,
)
from rigs.cluster.slurm_lab import Slurm
from testbed.build import components
from testbed.paths import REPO
from testbed.run import trust

SCHEDULER = "tls://192.0.2.1:8786"
PYTHON = REPO / ".venv/bin/python"
NODES = ["worker1", "worker2"]
HOSTS = {"192.0.2.1", "192.0.2.11", "192.0.2.12"}
HERE = (  # numbers of the documented partition, and of this one
    ("cores=8", "cores=1"),
    ('memory="64GB"', 'memory="1GB"'),
    ('"8", "--memory", "60000MiB"', '"1", "--memory", "8000MiB"'),
    ("LOGIN-NODE", "192.0.2.1"),
    ("jobs=4", f"jobs={len(NODES)}"),
)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with hosts(tmp_path_factory.mktemp("slurm"), len(NODES)) as lab:
        # On a file system that all hosts share, like the scratch space of a site.
        fill_with_mocks(lab.folder / "cache", components.keys(MOCKED))
        trust.make(lab.folder / "tls", "lab")
        yield slurm_lab.start(lab, NODES)


def documented(folder: Path) -> str:
    text = (REPO / "docs/howto/cluster.md").read_text().partition("```python\n")[2].partition("```")[0]
    for theirs, ours in (*HERE, ("/scratch/testbed", f"{folder}/cache")):
        assert text.count(theirs) == 1, theirs
        text = text.replace(theirs, ours)
    return text


def start_sweep(slurm: Slurm, manifest: Path, results: Path, *options: str) -> subprocess.Popen[str]:
    folder = slurm.lab.folder
    where = (f"TESTBED_CACHE={folder}/cache", f"TESTBED_RESULTS={results}")
    return slurm.lab.start("env", *where, PYTHON, "-m", "testbed", "run", manifest, *options)


def of_others(slurm: Slurm) -> list[str]:
    """The addresses beyond loopback at which Dask listens, on any host."""
    hosts = ("head", *NODES)
    return [where for host in hosts for where in slurm.lab.dask_ports(host) if not where.startswith("127.")]


def intrusions(slurm: Slurm) -> set[str]:
    """The outcomes of a node without a certificate at all of these addresses."""
    there = [f"{scheme}://{where}" for where in of_others(slurm) for scheme in ("tcp", "tls")]
    return set(slurm.lab.on("worker2", PYTHON, INTRUDER, "-", *there).stdout.splitlines())


def ended(process: subprocess.Popen[str]) -> bool:
    """Return False, or raise AssertionError with the complaints of a process that has ended too early."""
    assert process.poll() is None, process.communicate()[1]
    return False


def test_a_sweep_on_slurm_outlives_a_cancelled_job_and_gives_the_bytes_of_this_host(slurm: Slurm) -> None:
    """The lost run goes to the other node; the jobs end with the example."""
    folder = slurm.lab.folder
    manifest = write_mock_manifest(folder / "sweep.toml", runs=12, pause_s=0.5)
    (folder / "example.py").write_text(documented(folder))
    tls = folder / "tls"
    example = slurm.lab.start("env", "-C", folder, f"TESTBED_TLS={tls}", *slurm.environment, PYTHON, "example.py")
    wait_for("a job on every node", lambda: sorted(slurm.jobs().values()) == NODES or ended(example))
    wait_for("scheduler, workers and nannies", lambda: len(of_others(slurm)) >= 5 or ended(example))
    assert {where.rpartition(":")[0] for where in of_others(slurm)} == HOSTS
    assert intrusions(slurm) == {"refused"}
    sweep = start_sweep(slurm, manifest, folder / "there", "--scheduler", SCHEDULER, "--tls", str(tls))
    wait_for("results", lambda: len(result_bytes(folder / "there")) >= 3 or ended(sweep))
    job, node = min(slurm.jobs().items())
    slurm.on("head", "scancel", job)
    _, said = sweep.communicate(timeout=PATIENCE_S)
    assert sweep.returncode == 0, said
    assert f"lost on {slurm.lab.address(node)}" in said
    _, complaints = example.communicate("\n", timeout=PATIENCE_S)
    assert example.returncode == 0, complaints
    wait_for("the end of the jobs", lambda: slurm.jobs() == {})
    alone = start_sweep(slurm, manifest, folder / "here")
    assert alone.communicate(timeout=PATIENCE_S) and alone.returncode == 0
    assert len(result_bytes(folder / "here")) == 12
    assert result_bytes(folder / "there") == result_bytes(folder / "here")
