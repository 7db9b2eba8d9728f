# SPDX-License-Identifier: BSD-3-Clause
"""Claims of CpNvm: Masstree and Memcached with checkpoints."""

from ..figures import memcached_checkpoints, mtree_costs
from ..studies import checkpoint_costs
from .claim import OPTANE, Claim, Results

MANIFESTS = (*mtree_costs.MANIFESTS, *memcached_checkpoints.MANIFESTS)
NOTHING = 2.0  # percent, "close to 0"


def cpnvm(results: Results) -> list[Claim]:
    return [*_tree(results), *_memcached(results)]


def _tree(results: Results) -> list[Claim]:
    table = [cost for cost in mtree_costs.costs_of(results) if cost.place[0] == OPTANE]
    epoch_ms = checkpoint_costs.PUBLISHED_EPOCH_MS / results[mtree_costs.MANIFESTS[0]][0].data["scale"]
    never_ms = max(cost.epoch_ms or 0 for cost in table)
    hand, marked = (
        {(cost.place[2], cost.epoch_ms): cost.overhead for cost in table if cost.engine == engine}
        for engine in ("cpnvm", "snapshot-epoch")
    )
    (device,) = (c.overhead for c in table if c.engine == checkpoint_costs.ON_DEVICE and c.place[2] == "C")
    bound = float(checkpoint_costs.REFERENCE["masstree-cpnvm all"]["overhead_high_pct"])
    low, high = (
        float(checkpoint_costs.REFERENCE["masstree-on-optane all"][f"overhead_{end}_pct"]) for end in ("low", "high")
    )
    shown = ", ".join(f"{workload} {hand[workload, epoch_ms]:.3g} %" for workload in "ABC")
    return [
        Claim(
            "CpNvm",
            f"Masstree with checkpoints takes at most {bound:g} % more than in DRAM under all workloads",
            f"{shown} by calls",
            max(hand[workload, epoch_ms] for workload in "ABC") <= bound,
            f"without any checkpoint A takes {hand['A', never_ms]:.2g} % more; with the pass A "
            f"{marked['A', epoch_ms]:.2g}, B {marked['B', epoch_ms]:.2g} %",
        ),
        Claim(
            "CpNvm",
            "under C, which only reads, close to 0 %",
            f"{hand['C', epoch_ms]:.2g} % by calls, {marked['C', epoch_ms]:.2g} % with the pass",
            max(abs(of["C", epoch_ms]) for of in (hand, marked)) <= NOTHING,
        ),
        Claim(
            "CpNvm",
            f"on Optane memory itself Masstree takes {low:g} to {high:g} % more",
            f"C {device:.3g} %",
            low <= device <= high,
        ),
    ]


def _memcached(results: Results) -> list[Claim]:
    runs = [result for name in memcached_checkpoints.MANIFESTS for result in results[name]]
    costs = [c for c in memcached_checkpoints.costs(runs) if (c.device, c.engine) == (OPTANE, "snapshot")]
    many, single = ({c.writes: c.overhead for c in costs if (c.depth > 1) == together} for together in (True, False))
    high = float(memcached_checkpoints.REFERENCE["overhead_high_pct"])
    shown, alone = (", ".join(f"{of[w]:.0f}" for w in sorted(of)) for of in (many, single))
    shares = ", ".join(map(str, sorted(many)))
    return [
        Claim(
            "CpNvm",
            f"Memcached with checkpoints takes 0 to {high:g} % more at any share of writes",
            f"{shown} % at {shares} % writes",
            max(many.values()) <= high,
            f"one request at a time: {alone} %",
        )
    ]
