# SPDX-License-Identifier: BSD-3-Clause
"""How commits of several threads scale on this host: `python -m analysis.studies.thread_scaling BUILD_DIR`.

Runs the workload `threads` of a native build of snapshot-lib for 1 to 8 threads, prints a table and draws a figure.
Host time: only comparable within one run, and flat beyond the host's cores.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..charts import files
from ..data.chart import Axis, Chart, Line, Lines
from ..data.values import Value

ENGINES = ("volatile", "snapshot", "pmdk")
THREADS = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Point:
    """One engine with one number of threads, run several times."""

    engine: str
    threads: int
    updates: int
    times_ns: Sequence[int]

    @property
    def rate(self) -> Value:
        """Million updates a second of all threads together: the fastest run, with the spread of all runs."""
        rates = [self.updates * 1e3 / ns for ns in self.times_ns]
        return Value(max(rates), min(rates), max(rates))


def measure(build: Path, engine: str, threads: int, rounds: int, batch: int) -> Point:
    """Make three runs on a file in memory. The fastest counts, because disturbances can only lengthen a run."""
    with tempfile.TemporaryDirectory(prefix="threads-", dir="/dev/shm") as folder:
        command = [str(build / "workloads" / "threads"), "--engine", engine, "--file", f"{folder}/pool"]
        command += ["--threads", str(threads), "--rounds", str(rounds), "--batch", str(batch)]
        environment = os.environ | {"PMEM_IS_PMEM_FORCE": "1"}
        runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(3)]
    rows = [json.loads(run.stdout) for run in runs]
    return Point(engine, threads, rows[0]["updates"], [row["roi_ns"] for row in rows])


def title(rounds: int, batch: int) -> str:
    return f"{rounds} rounds of {batch} updates a thread, {os.cpu_count()} cores; million updates a second"


def table_text(points: Sequence[Point], heading: str) -> str:
    """Format a table with one line per number of threads and one column per engine."""
    rates = {(point.threads, point.engine): point.rate.value for point in points}
    lines = [heading, "threads" + "".join(f"{engine:>10}" for engine in ENGINES)]
    lines += [f"{n:>7}" + "".join(f"{rates[n, engine]:>10.2f}" for engine in ENGINES) for n in THREADS]
    return "\n".join(lines)


def chart(points: Sequence[Point], heading: str) -> Chart:
    """Plot the rate over threads, one line per engine."""
    lines = [Line(engine, [(p.threads, p.rate) for p in points if p.engine == engine]) for engine in ENGINES]
    return Chart([[Lines(Axis("threads"), Axis("million updates a second", from_zero=True), lines, heading)]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="where snapshot-lib was built natively")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--out", type=Path, default=Path("build/figures"), help="folder of the figure")
    options = parser.parse_args()
    heading = title(options.rounds, options.batch)
    points = [measure(options.build, e, n, options.rounds, options.batch) for e in ENGINES for n in THREADS]
    print(table_text(points, heading))
    for path in files.draw(chart(points, heading), options.out / "thread-scaling"):
        print(f"written: {path}")


if __name__ == "__main__":
    main()
