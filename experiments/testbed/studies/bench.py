# SPDX-License-Identifier: BSD-3-Clause
"""Guest speed and CXL access rate of this QEMU against stock icount and upstream's MMIO path.

`bench_guest` runs each benchmark in the region of interest and reports on the results port just before and just after
it. The host times these reports as they arrive, and sleeps until then: polling a thousand times a second would take the
second core from our QEMU, which has a helper thread for its model. Runs of the two QEMUs alternate, so that both see
the same host. Each guest runs a benchmark a few times, and the best time of all counts: a benchmark needs one moment
without disturbance. The deviation of single rounds from the best ratio shows how quiet the host was.
"""

import json
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

from .. import console
from ..errors import RunFailed
from ..guest import boots
from ..guest.executor import GuestOutcome, GuestSpec, QemuExecutor
from ..guest.session import Session, open_session
from ..manifest import bases, parse
from ..manifest.scale import guest_config
from ..program.job_archive import script_job
from ..run.runner import drive

ROUNDS = 4
TIMES = 3  # passes over all benchmarks in each guest
# Benchmark -> operations: about a second of host time on the slower QEMU.
BENCHMARKS = {
    "l1_chase": 300_000_000,
    "hash_map": 5_000_000,
    "copy_8b": 50_000_000,
    "memcpy": 400,
    "chase_64mib": 5_000_000,
    "cxl_sequential": 6_000_000,
    "cxl_random": 1_000_000,
}
ONCE = [f"bench_guest {name} --ops {n} --file /pmem/bench.bin" for name, n in BENCHMARKS.items()]
JOB = "\n".join(["set -e", *(ONCE * TIMES)])


@dataclass
class Timing:
    """One guest: host seconds from start to the first benchmark, and each benchmark's best time and instructions."""

    boot_s: float = 0.0
    seconds: dict[str, float] = field(default_factory=dict)
    instructions: dict[str, int] = field(default_factory=dict)


def read_event(line: bytes, now_s: float, timing: Timing, begun: dict[str, float], started_s: float) -> None:
    """Process a line of the results port that arrived at `now_s`."""
    try:
        message: dict[str, Any] = json.loads(line)
    except ValueError:
        return
    if message.get("type") != "bench":
        return
    name = str(message["kernel"])
    if message["at"] == "begin":
        timing.boot_s = timing.boot_s or now_s - started_s
        begun[name] = now_s
    else:
        timing.seconds[name] = min(now_s - begun[name], timing.seconds.get(name, now_s))


async def time_guest(executor: QemuExecutor, spec: GuestSpec) -> Timing:
    """Run one guest while timing its reports. RunFailed: the guest did not finish all benchmarks."""
    timing, begun, started_s = Timing(), dict[str, float](), time.monotonic()
    rest = b""

    def report(piece: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            read_event(line, time.monotonic(), timing, begun, started_s)

    outcome = await executor.run(spec, report)
    check_finished(outcome, timing)
    # Stock QEMU reports no regions of interest, but executes the same instructions.
    for benchmark, roi in zip(BENCHMARKS, outcome.rois, strict=False):
        timing.instructions[benchmark] = int(roi["instructions"])
    return timing


def check_finished(outcome: GuestOutcome, timing: Timing) -> None:
    missing = [name for name in BENCHMARKS if name not in timing.seconds]
    if outcome.outcome != "ok" or missing:
        tail = outcome.stderr.decode(errors="replace").strip() or outcome.console[-300:].strip()
        raise RunFailed(f"the benchmark's guest ended as {outcome.outcome} without {', '.join(missing)}: {tail}")


def best(timings: list[Timing], name: str) -> float:
    """Return the shortest time of a benchmark: a disturbance can only make a benchmark longer."""
    return min(timing.seconds[name] for timing in timings)


def spread(stock: list[Timing], ours: list[Timing], name: str) -> tuple[float, float]:
    """Return the lowest and the highest ratio of two neighbouring guests alone."""
    of_rounds = [one.seconds[name] / other.seconds[name] for one, other in zip(stock, ours, strict=True)]
    return min(of_rounds), max(of_rounds)


def ratios(stock: list[Timing], ours: list[Timing]) -> dict[str, float]:
    """Return our speed over stock, higher is better, and the median time of our QEMU to the first benchmark."""
    values = {name: round(best(stock, name) / best(ours, name), 4) for name in BENCHMARKS}
    return values | {"boot_seconds": round(statistics.median(timing.boot_s for timing in ours), 2)}


async def alternate(stock: Session, ours: Session) -> tuple[list[Timing], list[Timing]]:
    """Time ROUNDS guests of each QEMU, in turn and one at a time."""
    path = bases.find("speed")
    guest = guest_config(parse.load(path))
    job = script_job(JOB)
    timings: tuple[list[Timing], list[Timing]] = ([], [])
    for _ in range(ROUNDS):
        timings[0].append(await time_guest(stock.qemu, GuestSpec(guest, job, timed=False)))
        timings[1].append(await time_guest(ours.qemu, GuestSpec(guest, job, helper_thread=True)))
    return timings


async def empty_runs(session: Session) -> dict[str, float]:
    """Time a run with an empty job in host seconds, in a separate machine and in a copy of a booted one, in turn."""
    path = bases.find("speed")
    spec = GuestSpec(guest_config(parse.load(path)), script_job("true"))
    alone_s, copy_s = [], []
    async with boots.shared(session.qemu, 1) as copies:
        await copies.run(spec)  # boots the guest to copy
        for _ in range(ROUNDS):
            alone_s.append((await session.qemu.run(spec)).host_seconds)
            copy_s.append((await copies.run(spec)).host_seconds)
    return {"run_alone_seconds": round(min(alone_s), 2), "run_in_copy_seconds": round(min(copy_s), 2)}


def run_bench() -> dict[str, float]:
    """Run all benchmarks, print the table, return the flat object of build/bench.json."""
    stock, ours = drive(alternate(open_session("qemu-stock"), open_session()))
    values = ratios(stock, ours) | drive(empty_runs(open_session()))
    rows = []
    for name, operations in BENCHMARKS.items():
        cxl = name.startswith("cxl_")
        work = operations if cxl else ours[0].instructions[name]
        rates = [f"{work / best(timings, name) / 1e6:,.1f}" for timings in (stock, ours)]
        low, high = spread(stock, ours, name)
        unit = "M accesses/s" if cxl else "MIPS"
        rows.append((name, unit, *rates, f"{values[name]:.2f}", f"{low:.2f} to {high:.2f}"))
    columns = ("benchmark", "unit", "stock", "timed", "ratio", "of single rounds")
    console.show(f"guest speed in host time, best of {ROUNDS} rounds of {TIMES}", columns, rows)
    console.out.print(f"boot to the first benchmark: {values['boot_seconds']:.1f} s")
    alone_s, copy_s = values["run_alone_seconds"], values["run_in_copy_seconds"]
    faster = f"{alone_s / copy_s:.1f} times as fast"
    console.out.print(f"a run that does nothing: {alone_s} s; in a copy of a booted guest {copy_s} s, {faster}")
    return values
