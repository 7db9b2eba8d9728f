# SPDX-License-Identifier: BSD-3-Clause
"""Claims of PMFS: mapped files, Neo4j, write protection."""

from collections.abc import Sequence

from testbed.manifest import bases, parse

from ..data import records
from ..data.records import Record
from .claim import Claim, Results, span

FAST_NEO4J = "neo4j-dram"
MAPPED, PROTECTION, NEO4J = "mapped-access", "write-protection", "neo4j"
MANIFESTS = (MAPPED, PROTECTION, NEO4J, FAST_NEO4J)


def _records(results: Results, name: str) -> Sequence[Record]:
    return records.of_results(results[name], parse.load(bases.find(name)).results.pattern).all


def _neo4j_times(results: Results, name: str) -> dict[str, float]:
    """How many times as long an operation takes with PMFS's policy as on ext4 without DAX."""
    took = {(r["policy"], str(r["operation"])): float(r["mean_us"]) for r in _records(results, name)}
    operations = dict.fromkeys(operation for _, operation in took)
    return {o: took["inplace", o] / took["ext4-ordered", o] for o in operations}


def pmfs(results: Results) -> list[Claim]:
    mapped = {(r["way"], r["access"]): float(r["mean_us"]) for r in _records(results, MAPPED)}
    neo4j, fast = (_neo4j_times(results, name) for name in (NEO4J, FAST_NEO4J))
    windows = {(r["wprotect"], int(r["bytes"])): float(r["mean_us"]) for r in _records(results, PROTECTION)}
    small, large, cached = (
        [mapped[way, access] for access in ("loads", "stores")] for way in ("tbfs-4k", "tbfs", "ext4-ordered")
    )
    over = [theirs / ours for theirs, ours in zip(cached, large, strict=True)]
    pieces = [theirs / ours for theirs, ours in zip(cached, small, strict=True)]
    shown, there = (", ".join(f"{operation} {times:.2f}" for operation, times in of.items()) for of in (neo4j, fast))
    sizes = sorted({size for _, size in windows})
    costs = [100 * (windows["on", size] / windows["off", size] - 1) for size in sizes]
    return [
        Claim(
            "PMFS",
            "up to an order of magnitude faster than ext4 on a block device, without DAX",
            f"mapped files: loads {over[0]:.0f}, stores {over[1]:.0f} times",
            max(over) >= 10,
        ),
        Claim(
            "PMFS",
            "a mapped file, which no page cache copies, is faster with pages of 4 KiB, and more so with large ones",
            f"{span(pieces)} times with 4 KiB, {span(over)} with 2 MiB",
            min(pieces) > 1 and all(a > b for a, b in zip(over, pieces, strict=True)),
        ),
        Claim(
            "PMFS",
            "Neo4j: each operation takes less than on ext4 without DAX",
            f"times as long: {shown}",
            max(neo4j.values()) < 1,
            f"on memory as fast as DRAM: {there}",
        ),
        Claim(
            "PMFS",
            "write protection by windows: a figure",
            f"writes take {span(costs)} % more, {sizes[0]} bytes to {sizes[-1] // 1024} KiB",
            None,
        ),
    ]
