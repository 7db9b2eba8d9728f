# SPDX-License-Identifier: BSD-3-Clause
"""A guest that any host may run, as plain data."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .. import canonical
from ..guest import own_archives
from ..guest.executor import GuestSpec, device_file
from ..manifest.render import Run
from ..program import packages
from ..program.job_archive import Job
from ..program.packages import Versions
from ..results import results


@dataclass(frozen=True)
class Begin:
    """The media that a guest leaves after this job. Each worker makes them by the job, equal to the bit."""

    job: Job
    digest: str  # of the media that the client's guest left


@dataclass(frozen=True)
class Errand:
    """A guest that any host may run. With a `begin`, the host makes these media and runs the guest on their folder."""

    label: str
    origin: str  # the manifest's file
    spec: GuestSpec
    begin: Begin | None = None

    @staticmethod
    def of(run: Run, trace: Path | None = None) -> "Errand":
        return Errand(run.label, run.origin or run.manifest, GuestSpec(run.guest, run.job, trace=trace))

    @property
    def packages(self) -> Versions:
        return self.spec.job.packages if self.spec.job else ()

    @property
    def workloads(self) -> tuple[str, ...]:
        return own_archives.workloads(self.spec.guest, self.spec.job)

    def digest(self, keys: dict[str, str]) -> str:
        """A hash of all parts that a host contributes; it differs between two hosts that would run different guests."""
        own_packages = packages.identity(self.packages) if self.packages else {}
        programs = own_archives.identity(self.workloads, keys)
        return canonical.digest([results.machine_identity(self.spec.guest, keys), own_packages, programs])


def media_digest(folder: Path) -> str:
    """A hash of the content of the only device's files."""
    content = hashlib.sha256()
    for kind in ("media", "lsa"):
        with (folder / device_file(kind, 0)).open("rb") as file:
            content.update(hashlib.file_digest(file, "sha256").digest())
    return content.hexdigest()
