# SPDX-License-Identifier: BSD-3-Clause
"""The run time of a Masstree-like tree with checkpoints above the same tree in DRAM, beside the tree's rivals."""

from collections.abc import Mapping, Sequence

from testbed.results.results import Result

from ..data import ratios
from ..data.drawn import Drawn, Gathered
from ..studies.checkpoint_costs import BASELINE, PUBLISHED_EPOCH_MS, Cost, chart, comparisons, costs

NAME = "mtree-cost"
MANIFESTS = ("mtree-ycsb", "mtree-beside", "rivals-ycsb")


def costs_of(results: Mapping[str, Sequence[Result]]) -> list[Cost]:
    """Return the costs of the tree and of its rivals."""
    rivals = results["rivals-ycsb"]
    epochs = [*results["mtree-ycsb"], *(r for r in rivals if r.point["engine"] != BASELINE)]
    return costs(epochs, [*results["mtree-beside"], *(r for r in rivals if r.point["engine"] == BASELINE)])


def drawn(gathered: Gathered) -> Drawn:
    """Draw the overheads of the tree and of its rivals, each above its own run in DRAM."""
    first = gathered.results["mtree-ycsb"][0]
    table, setting = costs_of(gathered.results), ratios.text(first)
    return Drawn(
        name=NAME,
        title="Masstree-like tree with checkpoints, and rivals: run time above that in DRAM",
        caption=f"By device, program, YCSB workload, engine and length of an epoch; {setting}.",
        notes=[
            "Overhead has all work of the one CPU in it; less replay is without the time that replays took.",
            "leaves and payloads are rivals with their data on the device. Each is above itself in DRAM, no tree.",
            "cpnvm is above volatile-cpnvm, which has its allocator; that lays nodes out by lines.",
            "A crash loses an epoch at most, and of payloads two.",
            "Without an epoch a transaction ends with a commit; msync-4k has its data on the device.",
            "Published, of Masstree on six threads: below 15 % under all workloads of YCSB, close to 0 % under C; on "
            "Optane memory itself 64 to 127 %, and with InCLL there 100 to 178 %.",
        ],
        columns=[
            *("device", "program", "YCSB", "engine", "epoch ms", "ns a request", "overhead %", "less replay %"),
            *("checkpoints", "updates each", "stop us", "replay %"),
        ],
        rows=[c.cells() for c in table],
        comparisons=comparisons(table, PUBLISHED_EPOCH_MS / first.data["scale"], NAME),
        chart=chart(table, setting),
    )
