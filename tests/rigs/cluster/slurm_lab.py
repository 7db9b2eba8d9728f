# SPDX-License-Identifier: BSD-3-Clause
"""Debian's Slurm on test hosts: the controller schedules, workers are its nodes."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from rigs.cluster.cluster_lab import Lab, wait_for

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client")
MUNGE_FILES = ("key-file", "socket", "pid-file", "seed-file", "log-file")

# Slurm finds processes by their parents and not by control groups, which test hosts may not have. (This version
# requires the kind of control groups all the same.) A node is smaller than the machine that it shares with the others.
CONTROL_GROUPS = "CgroupPlugin=cgroup/v1\n"
CONFIGURATION = """\
ClusterName=lab
SlurmctldHost=head({head})
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n.spool
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
MpiDefault=none
ReturnToService=2
{nodes}
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@dataclass(frozen=True)
class Slurm:
    """Slurm's daemons on the hosts of a lab, which end with the lab."""

    lab: Lab
    packages: Path
    configuration: Path

    @property
    def environment(self) -> tuple[str, ...]:
        """Return the variables by which a program finds Slurm's commands and their configuration."""
        libraries = ":".join(sorted({str(path.parent) for path in self.packages.rglob("lib*.so*")}))
        path = f"{self.packages}/usr/bin:{self.packages}/usr/sbin:{os.environ['PATH']}"
        return (f"PATH={path}", f"LD_LIBRARY_PATH={libraries}", f"SLURM_CONF={self.configuration}")

    def on(self, host: str, *command: str | Path) -> str:
        """Run a command of Slurm on that host and return its output."""
        return self.lab.on(host, "env", *self.environment, *command).stdout

    def jobs(self) -> dict[str, str]:
        """Return the node of each running job, by the job's id."""
        listed = self.on("head", "squeue", "--noheader", "--states=R", "--format=%i %N")
        return dict(line.split() for line in listed.splitlines())


def start(lab: Lab, nodes: list[str]) -> Slurm:
    """Start Slurm with those workers as nodes of one CPU each, and wait until they are idle."""
    folder = lab.folder / "slurm"
    slurm = Slurm(lab, unpack_packages(folder / "packages"), folder / "slurm.conf")
    (folder / "state").mkdir()
    (folder / "munge.key-file").write_bytes(b"for test hosts, which nobody else can reach")
    (folder / "munge.key-file").chmod(0o600)
    (folder / "cgroup.conf").write_text(CONTROL_GROUPS)
    (plugins,) = slurm.packages.glob("usr/lib/*/slurm-wlm")
    described = "\n".join(f"NodeName={node} NodeAddr={lab.address(node)} CPUs=1 RealMemory=1024" for node in nodes)
    named = {"head": lab.address("head"), "folder": folder, "plugins": plugins, "nodes": described}
    slurm.configuration.write_text(CONFIGURATION.format(**named))
    # One munged serves all hosts, as they share its socket file; with --force, as others may not enter the folder.
    slurm.on("head", "munged", "--force", *(f"--{name}={folder}/munge.{name}" for name in MUNGE_FILES))
    slurm.on("head", "slurmctld-wlm")
    for node in nodes:
        slurm.on(node, "slurmd-wlm", "-d", slurm.packages / "usr/sbin/slurmstepd-wlm")
    states = ("sinfo", "--noheader", "--Node", "--format=%T")
    wait_for("idle nodes", lambda: slurm.on("head", *states).split() == ["idle"] * len(nodes))
    return slurm


def unpack_packages(folder: Path) -> Path:
    """Unpack Slurm's packages and dependencies; installed, they would start services or collide with a site's Slurm."""
    folder.mkdir(parents=True)
    plan = _output("apt-get", "install", "--dry-run", "--no-install-recommends", *PACKAGES)
    missing = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    _output("apt-get", "download", *sorted(missing | set(PACKAGES)), folder=folder)
    for package in sorted(folder.glob("*.deb")):
        _output("dpkg-deb", "--extract", package, folder / "root")
    return folder / "root"


def _output(*command: str | Path, folder: Path | None = None) -> str:
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout
