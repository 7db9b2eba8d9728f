# SPDX-License-Identifier: BSD-3-Clause
"""What an instruction of the guest takes the host, by how many CPUs the guest has.

`bench-cores` splits the same work among as many threads as the guest has CPUs, which share nothing of it. The guest
stops where the work begins and where it ends. QEMU has a clock of what it has taken of the host's CPUs, and that is
read there: who else runs on the host has no part in it, but for the caches that they share. Guests of all sizes take
turns, so that each meets the same host, and the least of several times counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import console
from ..build.components import cores_program
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from ..guest.session import open_session
from ..manifest import bases
from ..manifest.manifest import GuestConfig
from ..program.job_archive import Job, script_job
from ..replay import verdicts
from ..run.runner import drive

ROUNDS = 2
PROGRAM = "bench-cores"


@dataclass(frozen=True)
class Timed:
    """One time of some work: what QEMU took, and what the guest executed."""

    work: str
    cpu_s: float
    instructions: int
    slices: int  # turns of a vCPU

    @property
    def insn_ns(self) -> float:
        """Of the host, for an instruction of the guest."""
        return 1e9 * self.cpu_s / self.instructions

    @property
    def slices_per_1000(self) -> float:
        """Instructions, that is."""
        return 1000 * self.slices / self.instructions


Rounds = list[dict[int, list[Timed]]]  # of each round, by the number of CPUs


def parse_cpus(text: str) -> list[int]:
    """Numbers of CPUs as they are written: "1,2,4". The least is what all others are compared with."""
    words = text.split(",")
    counts = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(set(counts)) < len(words):
        raise TestbedError(f"--cpus wants numbers of CPUs, each once, such as 1,2,4, not '{text}'")
    return sorted(counts)


def read_times(outcome: GuestOutcome, clock_s: Sequence[float]) -> list[Timed]:
    """The times of one guest, with QEMU's clock where it stopped: for its job, then before and after each work."""
    begun_s, ended_s = clock_s[1::2], clock_s[2::2]
    if outcome.outcome != "ok" or not outcome.rows or not len(outcome.rows) == len(outcome.rois) == len(ended_s):
        tail = outcome.stderr.decode(errors="replace").strip() or outcome.error or outcome.console[-300:].strip()
        raise RunFailed(f"a guest of {PROGRAM} ended as {outcome.outcome} after {len(ended_s)} times: {tail}")
    spans_s = [end - begin for begin, end in zip(begun_s, ended_s, strict=True)]
    return [
        Timed(str(row["work"]), span_s, int(roi["instructions"]), int(roi.get("order", {}).get("slices", 0)))
        for row, roi, span_s in zip(outcome.rows, outcome.rois, spans_s, strict=True)
    ]


async def time_guest(executor: QemuExecutor, guest: GuestConfig, job: Job) -> list[Timed]:
    """Run one guest while reading QEMU's clock where it stops."""
    clock_s: list[float] = []
    outcome = await executor.run(GuestSpec(guest, job), asked=lambda qemu: clock_s.append(qemu.cpu_seconds()))
    return read_times(outcome, clock_s)


async def take_turns(executor: QemuExecutor, guests: Sequence[GuestConfig], job: Job) -> Rounds:
    """ROUNDS guests of each size, in turn and one at a time."""
    return [{guest.cpu.cores: await time_guest(executor, guest, job) for guest in guests} for _ in range(ROUNDS)]


def least(times: Sequence[Timed], work: str) -> Timed:
    """The time that the host disturbed least."""
    return min((time for time in times if time.work == work), key=lambda time: time.insn_ns)


def costs(rounds: Rounds) -> list[dict[str, Any]]:
    """For each work and number of CPUs the best of all rounds, as a ratio to that of the least number.

    The span of the ratio is that of single rounds, which says how quiet the host was.
    """
    first = min(rounds[0])
    rows = []
    for work in dict.fromkeys(time.work for time in rounds[0][first]):
        for cpus in rounds[0]:
            best, base = (least([t for r in rounds for t in r[n]], work) for n in (cpus, first))
            single = [least(r[cpus], work).insn_ns / least(r[first], work).insn_ns for r in rounds]
            rows.append(
                {
                    "work": work,
                    "cpus": cpus,
                    "insn_ns": round(best.insn_ns, 4),
                    "ratio": round(best.insn_ns / base.insn_ns, 4),
                    "ratio_least": round(min(single), 4),
                    "ratio_most": round(max(single), 4),
                    "slices_per_1000": round(best.slices_per_1000, 3),
                }
            )
    return rows


def run_host_cost(cpus: str) -> list[dict[str, Any]]:
    """Run it for these numbers of CPUs, print the table, return it."""
    path = bases.find("speed")
    guests = [verdicts.machine_of(path, {"guest": {"cpus": count}}) for count in parse_cpus(cpus)]
    job = script_job(f"exec ./{PROGRAM} /pmem/bench.bin", {PROGRAM: cores_program(PROGRAM)})
    rows = costs(drive(take_turns(open_session().qemu, guests, job)))
    cells = [
        (
            row["work"],
            row["cpus"],
            f"{row['insn_ns']:,.2f}",
            f"{row['ratio']:.2f}",
            f"{row['ratio_least']:.2f} to {row['ratio_most']:.2f}",
            f"{row['slices_per_1000']:.1f}",
        )
        for row in rows
    ]
    columns = ("work", "CPUs", "ns an instruction", "ratio", "of single rounds", "slices per 1000 instructions")
    console.show(f"CPU time of the host, least of {ROUNDS} rounds of guests in turn", columns, cells)
    return rows
