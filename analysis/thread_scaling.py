# SPDX-License-Identifier: BSD-3-Clause
"""How commits of several threads scale on this host: `python -m analysis.thread_scaling BUILD_DIR`.

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
from typing import Any

import matplotlib.pyplot as plt

from . import plotting

ENGINES = ("volatile", "snapshot", "pmdk")
THREADS = (1, 2, 3, 4, 6, 8)
COLOURS = {"volatile": "#a0aec0", "snapshot": "#2b6cb0", "pmdk": "#dd6b20"}


@dataclass(frozen=True)
class Point:
    engine: str
    threads: int
    updates: int
    time_ns: int

    @property
    def rate(self) -> float:
        """Million updates a second, of all threads together."""
        return self.updates * 1e3 / self.time_ns


def measure(build: Path, engine: str, threads: int, rounds: int, batch: int) -> Point:
    """The fastest of three runs on a file in memory: what disturbs a run only makes it longer."""
    with tempfile.TemporaryDirectory(prefix="threads-", dir="/dev/shm") as folder:
        command = [str(build / "workloads" / "threads"), "--engine", engine, "--file", f"{folder}/pool"]
        command += ["--threads", str(threads), "--rounds", str(rounds), "--batch", str(batch)]
        environment = os.environ | {"PMEM_IS_PMEM_FORCE": "1"}
        runs = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(3)]
    rows = [json.loads(run.stdout) for run in runs]
    return Point(engine, threads, rows[0]["updates"], min(row["roi_ns"] for row in rows))


def title(rounds: int, batch: int) -> str:
    return f"{rounds} rounds of {batch} updates a thread, {os.cpu_count()} cores; million updates a second"


def table_text(points: Sequence[Point], heading: str) -> str:
    """A line a number of threads, a column an engine."""
    rates = {(point.threads, point.engine): point.rate for point in points}
    lines = [heading, "threads" + "".join(f"{engine:>10}" for engine in ENGINES)]
    lines += [f"{n:>7}" + "".join(f"{rates[n, engine]:>10.2f}" for engine in ENGINES) for n in THREADS]
    return "\n".join(lines)


def draw(points: Sequence[Point], heading: str) -> Any:
    """Rate over threads, a line an engine."""
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
        for engine in ENGINES:
            mine = [point for point in points if point.engine == engine]
            axes.plot([p.threads for p in mine], [p.rate for p in mine], "o-", color=COLOURS[engine], label=engine)
        axes.set_xlabel("threads")
        axes.set_ylabel("million updates a second")
        axes.set_ylim(bottom=0)
        axes.set_title(heading, fontsize=8)
        axes.legend(frameon=False)
        return figure


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
    with plt.rc_context(plotting.STYLE):
        for path in plotting.save(draw(points, heading), options.out / "thread-scaling"):
            print(f"written: {path}")


if __name__ == "__main__":
    main()
