# SPDX-License-Identifier: BSD-3-Clause
"""The guests of a crash test: one runs the setup, one is recorded, and copies of a third one judge a state each.

The guest that is copied makes the region, and then mounts and unmounts once: its copies find most code translated, and
translation would take most of their time. QEMU puts a copy's media in place under the region that already exists. The
result equals a region made on these media, provided that no state changes a line that making the region reads.
"""

import struct
from collections.abc import Collection, Iterator, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from statistics import median

from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, Rehearsed
from ..guest.qemu_line import NO_REGION, Layout
from ..manifest.guest_config import GuestConfig
from ..program.job_archive import Job
from ..units import TIME_PS
from .images import Lines, encoded
from .lines import Place
from .plan import Plan, Programs

WITHOUT_REGION = Layout(kernel=NO_REGION)

# Init's own functions make region, namespace and mount, so a guest that cannot make them reports init's messages. A
# request for a job after the last stage ends a copy, and the host takes the next one. A process costs as much as a
# mount, so commands with nothing to do are left out; no state gets a new file system.
REHEARSAL = r"""
exec >/dev/console 2>&1
. /usr/lib/testbed/region.sh
. /usr/lib/testbed/job.sh
power_off() { take-job; }
make_file_system() { :; }
mkfifo /run/testbed/never
exec {never}<>/run/testbed/never
sleep() { read -rt "$1" -u "$never" || :; }

make_region() {
    await /sys/bus/cxl/devices/mem0/ram/size || return
    # Memory of a NUMA node is not given back.
    (($(<"/sys/bus/cxl/devices/mem0/ram/size") == 0)) || return
    mount() { :; }
    set_up_pmem
    local status=$?
    unset -f mount
    return "$status"
}

# Which partitions a disk has is read as it appears.
read_partitions() { blockdev --rereadpt /dev/pmem0; }

rehearse() {
    modprobe() { :; }
    mkdir() { :; }
    cxl() { :; }
    if [[ $region_is == there ]]; then
        make_file_system() { read_partitions; }
    fi
    if set_up_pmem; then
        rehearse_judge
        umount "$TESTBED_PMEM"
    fi
    if [[ $region_is == made ]]; then
        unset -f cxl
        ndctl disable-region region0
        cxl disable-region region0
        cxl destroy-region -f region0
    fi
}

# A copy must not see what the rehearsal leaves behind, such as a mounted file system. The host is told of it, and makes
# copies of a guest without this rehearsal then.
rehearse_judge() {
    local mounts status=0 judge watch
    [[ $judge_is == rehearsed ]] || return
    mounts=$(</proc/mounts)
    (cd /job; CRASH_MARK=0; . ./judge) &
    judge=$!
    { await_timeout && kill -KILL "$judge"; } &
    watch=$!
    wait "$judge" || status=$?
    kill "$watch"
    [[ $mounts == "$(</proc/mounts)" ]] || status=1
    say "{\"type\":\"rehearsal\",\"status\":$status}"
}

await_timeout() {
    [[ $timeout_s ]] && sleep "$timeout_s"
}

judge() { # CRASH_MARK
    export CRASH_MARK=$1
    { await_timeout && say '{"type":"timeout"}' && power_off; } &
    set_up_pmem || give_up "setting up the CXL region, its namespace or its file system failed: see the console log"
    cd /job
    (. ./judge) </dev/null >/run/testbed/stdout 2>/run/testbed/stderr
    tell $?
    power_off
}

tell() { # EXIT STATUS
    if [[ -s /run/testbed/stdout || -s /run/testbed/stderr || -s $TESTBED_RESULT ]]; then
        report "$1"
    else
        say "{\"type\":\"exit\",\"status\":$1}"
    fi
}

modprobe -a cxl_acpi cxl_pci cxl_mem
make_region
made=$?
take-job >/run/testbed/nothing
((made > 0)) || read_partitions
take-job >/run/testbed/nothing
((made > 0)) || rehearse
. <(take-job)
"""
STAGES = 3  # of the rehearsal: the region, its partitions, the mount


@dataclass
class Times:
    """The host times of boots and copies, which no report contains."""

    boots_s: list[float] = field(default_factory=list)
    copies_s: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        if not self.copies_s:
            return "no copy of a guest was needed"
        boot_s, copy_s = median(self.boots_s), median(self.copies_s)
        ratio = f", {boot_s / copy_s:.0f} times as long" if copy_s else ""
        copies = f"{len(self.copies_s)} copies of a guest took {copy_s:.2f} s each (median)"
        return f"{copies}; a guest of its own {boot_s:.1f} s{ratio}"


@dataclass
class Region:
    """Whether the region exists before a copy's media are put in place."""

    is_there: bool = True


@dataclass
class Rehearsal:
    """Whether recovery and check run once before copies are made; not if they fail or leave the guest changed."""

    is_clean: bool = True


@dataclass
class Date:
    """The boot date of a copy: after the end of the recorded guest, and so after each of its power cuts."""

    booted: datetime | None = None


@dataclass(frozen=True)
class Guests:
    """The configuration of a test's guests, and the jobs that they run."""

    plan: Plan
    guest: GuestConfig
    programs: Programs
    executor: GuestExecutor
    folder: Path  # for files that the guests leave
    jobs: int = 1  # copies at a time
    times: Times = field(default_factory=Times)
    region: Region = field(default_factory=Region)
    rehearsal: Rehearsal = field(default_factory=Rehearsal)
    date: Date = field(default_factory=Date)

    async def run(self, lines: str, media: Path, record: Path | None = None) -> GuestOutcome:
        """Boot a separate guest for these shell lines; the folder `media` keeps the content of its devices."""
        job = self.programs.job(lines)
        outcome = await self.executor.run(GuestSpec(self.guest, job, media_folder=media, journal=record))
        self.times.boots_s.append(outcome.host_seconds)
        return outcome

    async def judge(self, begin: Path, lines: Lines, mark: int | None) -> GuestOutcome:
        """Run recovery, check and dump in a copy, on the media in `begin` with these lines changed."""
        does = f"judge {mark or 0}"
        outcome = await self.copy(begin, lines, does)
        if not self.is_clean(outcome):
            outcome = await self.copy(begin, lines, does)
        if not self.suits(outcome, lines):
            outcome = await self.copy(begin, lines, does)
        return outcome

    def is_clean(self, copy: GuestOutcome) -> bool:
        """Whether the copied guest rehearsed without failing or leaving a mount behind; if not, no guest does again."""
        self.rehearsal.is_clean = self.rehearsal.is_clean and not copy.rehearsal_status
        return not copy.rehearsal_status

    def suits(self, copy: GuestOutcome, lines: Collection[Place]) -> bool:
        """Whether these lines may differ between copies; if the region depends on them, later copies make their own."""
        suits = not self.region.is_there or not any(place in lines for place in settled(copy))
        self.region.is_there = self.region.is_there and suits
        return suits

    async def copy(self, begin: Path, lines: Lines, does: str) -> GuestOutcome:
        """Run one copy on these media; `does` calls functions of its rehearsal."""
        job = self.programs.job(self.plan.judging())
        limit = self.plan.crash.timeout
        settings = {
            "region_is": "there" if self.region.is_there else "made",
            "judge_is": "rehearsed" if self.rehearsal.is_clean else "new",
            "timeout_s": f"{limit / TIME_PS['s']:.9f}" if limit else "",
        }
        script = "#!/bin/bash\n" + "".join(f"{name}={value}\n" for name, value in settings.items()) + REHEARSAL
        rehearsal = replace(job, script=script, executables={**job.executables, "judge": job.script.encode()})
        copied = Job(does, packages=job.packages, workloads=job.all_workloads)
        copy = Rehearsed(rehearsal, encoded(lines), STAGES, self.date.booted)
        outcome = await self.executor.run(
            GuestSpec(self.guest, copied, media_folder=begin, layout=WITHOUT_REGION, copy_of=copy)
        )
        self.times.copies_s.append(outcome.host_seconds)
        return outcome


def settled(outcome: GuestOutcome) -> Set[Place]:
    """Return the lines that a copy's region depends on: read when it was made, and not read again by each copy."""
    return _settled(*(*outcome.rehearsed[:2], b"", b"")[:2])


@lru_cache(maxsize=1)  # all copies of a guest have the same rehearsal
def _settled(made: bytes, again: bytes) -> Set[Place]:
    return set(places(made)) - set(places(again))


def places(reads: bytes) -> Iterator[Place]:
    """Yield the lines that a guest has reported, in their order."""
    return map(Place._make, pairs(reads))


def pairs(reads: bytes) -> Iterator[tuple[int, int]]:
    """Like places(), but yield plain tuples, which equal the places: a copy can report hundreds of thousands."""
    return struct.iter_unpack("<QQ", reads)
