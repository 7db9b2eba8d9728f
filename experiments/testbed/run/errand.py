# SPDX-License-Identifier: BSD-3-Clause
"""A guest that any host may run, as plain data."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .. import canonical
from ..guest.executor import GuestSpec, device_file
from ..manifest.manifest import Run
from ..program import packages
from ..program.job_archive import Job
from ..program.packages import Versions
from ..results import results


@dataclass(frozen=True)
class Begin:
    """Media as a guest leaves them that has done this job. They are not sent: a worker makes them, to the bit."""

    job: Job
    digest: str  # of what the client's guest has left


@dataclass(frozen=True)
class Errand:
    """A guest that any host may run. With a `begin`, its media folder is where its host has made that."""

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

    def digest(self, keys: dict[str, str]) -> str:
        """Of all that a host adds of its own, so that two who would run different guests find it out."""
        own_packages = packages.identity(self.packages) if self.packages else {}
        return canonical.digest([results.machine_identity(self.spec.guest, keys), own_packages])


def media_digest(folder: Path) -> str:
    """Of the content of the one device's files."""
    content = hashlib.sha256()
    for kind in ("media", "lsa"):
        with (folder / device_file(kind, 0)).open("rb") as file:
            content.update(hashlib.file_digest(file, "sha256").digest())
    return content.hexdigest()
