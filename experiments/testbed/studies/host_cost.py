# SPDX-License-Identifier: BSD-3-Clause
"""Host CPU time for an instruction of the guest, by the number of CPUs of the guest.

`bench-cores` splits the same work among as many threads as the guest has CPUs; the threads share no data. The guest
stops where the work begins and where it ends, and the host reads the CPU time of the QEMU process there. Other
processes on the host therefore have no influence except through shared caches. Guests of all sizes take turns, so that
each meets the same host, and the least of several times counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .. import console
from ..errors import RunFailed, TestbedError
from ..guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from ..guest.session import open_session
from ..manifest import bases
from ..manifest.guest_config import GuestConfig
from ..program.job_archive import Job, script_job
from ..replay import verdicts
from ..run.runner import drive

ROUNDS = 2
PROGRAM = "bench-cores"


@dataclass(frozen=True)
class Timed:
    """One measurement of some work: CPU seconds of QEMU, and instructions and slices of the guest."""

    work: str
    cpu_s: float
    instructions: int
    slices: int  # turns of a vCPU

    @property
    def insn_ns(self) -> float:
        """Nanoseconds of host CPU time for an instruction of the guest."""
        return 1e9 * self.cpu_s / self.instructions

    @property
    def slices_per_1000(self) -> float:
        """Slices for 1000 instructions."""
        return 1000 * self.slices / self.instructions


Rounds = list[dict[int, list[Timed]]]  # for each round, the times by number of CPUs


def parse_cpus(text: str) -> list[int]:
    """Parse numbers of CPUs such as "1,2,4", and sort them: all others are compared with the least."""
    words = text.split(",")
    counts = [int(word) for word in words if word.isascii() and word.isdigit()]
    if len(set(counts)) < len(words):
        raise TestbedError(f"--cpus wants numbers of CPUs, each once, such as 1,2,4, not '{text}'")
    return sorted(counts)


def read_times(outcome: GuestOutcome, clock_s: Sequence[float]) -> list[Timed]:
    """Return one guest's times, from QEMU's CPU time at its stops: for its job, then before and after each work."""
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
    """Run one guest, and read QEMU's CPU time at each stop."""
    clock_s: list[float] = []
    outcome = await executor.run(GuestSpec(guest, job), asked=lambda qemu: clock_s.append(qemu.cpu_seconds()))
    return read_times(outcome, clock_s)


async def take_turns(executor: QemuExecutor, guests: Sequence[GuestConfig], job: Job) -> Rounds:
    """Time ROUNDS guests of each size, in turn and one at a time."""
    return [{guest.cpu.cores: await time_guest(executor, guest, job) for guest in guests} for _ in range(ROUNDS)]


def least(times: Sequence[Timed], work: str) -> Timed:
    """Return the measurement that the host disturbed least."""
    return min((time for time in times if time.work == work), key=lambda time: time.insn_ns)


def costs(rounds: Rounds) -> list[dict[str, Any]]:
    """Return for each work and number of CPUs the best of all rounds, as a ratio to the best with the fewest CPUs.

    The span of the ratio over single rounds shows how quiet the host was.
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
    """Measure with these numbers of CPUs, print the table, return its rows."""
    path = bases.find("speed")
    guests = [verdicts.machine_of(path, {"guest": {"cpus": count}}) for count in parse_cpus(cpus)]
    job = script_job(f"exec {PROGRAM} /pmem/bench.bin")
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
