# SPDX-License-Identifier: BSD-3-Clause
"""The guests of a crash test: one that prepares, one that is recorded, and copies of one that judge a state each.

The guest that is copied makes the region, and then mounts and gives the mount back once: a copy finds most code
translated then, which is most of its time otherwise. A copy's media are put in place under a region that is there
already. That is the same as before it was made if no state has another content of a line that making it reads.
"""

import struct
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from statistics import median

from ..guest.executor import GuestExecutor, GuestOutcome, GuestSpec, Rehearsed
from ..guest.qemu_line import NO_REGION, Layout
from ..manifest.manifest import GuestConfig
from ..program.job_archive import Job
from ..units import TIME_PS
from .images import Lines, flat
from .lines import Place
from .plan import Plan, Programs

WITHOUT_REGION = Layout(kernel=NO_REGION)
MEDIA_LINE = struct.Struct("<QQ64s")  # device, DPA, content

# Region, namespace and mount are made by init's own functions, and a guest that cannot make them says so in its words.
# What asks for a job beyond its stages has ended: the host takes the next copy. A process costs as much as a mount, so
# those that have nothing to do are left out; no state is given a new file system.
REHEARSAL = r"""
exec >/dev/console 2>&1
eval "$(sed -n '/^results=/p; /^say() /,/^stty /{/^stty /d;p}' /init)"
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
eval "$(take-job)"
"""
STAGES = 3  # of it: the region, its partitions, the mount


@dataclass
class Times:
    """How long guests took their host: in no report."""

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
    """Whether it is there before a copy's media are put in place."""

    is_there: bool = True


@dataclass
class Rehearsal:
    """Whether recovery and check are run once before copies are made; not if they leave the guest changed."""

    is_clean: bool = True


@dataclass
class Date:
    """When a copy boots: after the end of the recorded guest, and so after each of its power cuts."""

    booted: datetime | None = None


@dataclass(frozen=True)
class Guests:
    """What they are, and what they run."""

    plan: Plan
    guest: GuestConfig
    programs: Programs
    executor: GuestExecutor
    folder: Path  # for what they leave
    jobs: int = 1  # so many copies at a time
    times: Times = field(default_factory=Times)
    region: Region = field(default_factory=Region)
    rehearsal: Rehearsal = field(default_factory=Rehearsal)
    date: Date = field(default_factory=Date)

    async def run(self, lines: str, media: Path, record: Path | None = None) -> GuestOutcome:
        """A guest of its own, whose devices are kept in the folder."""
        job = self.programs.job(lines)
        outcome = await self.executor.run(GuestSpec(self.guest, job, media_folder=media, journal=record))
        self.times.boots_s.append(outcome.host_seconds)
        return outcome

    async def judge(self, begin: Path, lines: Lines, mark: int | None) -> GuestOutcome:
        """Recovery, check and dump in a copy, on the media in the folder but for these lines."""
        does = f"judge {mark or 0}"
        outcome = await self.copy(begin, lines, does)
        if not self.is_clean(outcome):
            outcome = await self.copy(begin, lines, does)
        if not self.suits(outcome, lines):
            outcome = await self.copy(begin, lines, does)
        return outcome

    def is_clean(self, copy: GuestOutcome) -> bool:
        """Whether its guest had rehearsed without failing or leaving anything mounted; if not, no guest does again."""
        self.rehearsal.is_clean = self.rehearsal.is_clean and not copy.rehearsal_status
        return not copy.rehearsal_status

    def suits(self, copy: GuestOutcome, lines: Collection[Place]) -> bool:
        """Whether these lines may differ from copy to copy; if its region depends on them, each makes its own then."""
        suits = not self.region.is_there or not any(place in lines for place in settled(copy))
        self.region.is_there = self.region.is_there and suits
        return suits

    async def copy(self, begin: Path, lines: Lines, does: str) -> GuestOutcome:
        """One copy on such media, which does this with the functions of its rehearsal."""
        job = self.programs.job(self.plan.judging())
        limit = self.plan.crash.timeout
        settings = {
            "region_is": "there" if self.region.is_there else "made",
            "judge_is": "rehearsed" if self.rehearsal.is_clean else "new",
            "timeout_s": f"{limit / TIME_PS['s']:.9f}" if limit else "",
        }
        script = "#!/bin/bash\n" + "".join(f"{name}={value}\n" for name, value in settings.items()) + REHEARSAL
        rehearsal = replace(job, script=script, executables={**job.executables, "judge": job.script.encode()})
        copied = Job(does, packages=job.packages)
        copy = Rehearsed(rehearsal, media_lines(lines), STAGES, self.date.booted)
        outcome = await self.executor.run(
            GuestSpec(self.guest, copied, media_folder=begin, layout=WITHOUT_REGION, copy_of=copy)
        )
        self.times.copies_s.append(outcome.host_seconds)
        return outcome


def settled(outcome: GuestOutcome) -> set[Place]:
    """What a copy's region depends on: lines that were read as it was made, but those that each copy reads again."""
    made, again = (set(places(reads)) for reads in (*outcome.rehearsed[:2], b"", b"")[:2])
    return made - again


def places(reads: bytes) -> list[Place]:
    """The lines that a guest has told of, in their order."""
    return [Place(device, dpa) for device, dpa in struct.iter_unpack("<QQ", reads)]


def media_lines(lines: Lines) -> bytes:
    """As a copy is given them: docs/qemu.md."""
    return b"".join([MEDIA_LINE.pack(*place, content) for place, content in flat(lines).items()])
