# SPDX-License-Identifier: BSD-3-Clause
"""Neo4j's kernel in a guest: its answers match a second implementation of the graph, and two runs give equal bytes."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from testbed.guest.session import Session
from testbed.manifest import render
from testbed.run.runner import run_with_bar

NODES, EDGES, DELETED, PATHS, SEED = 300, 5, 20, 8, 7
SMALL = f'''
name = "small-neo4j"
summary = "small"
base = "neo4j"
workload.command = """neo4j --folder /pmem/graph --nodes {NODES} --edges-of-node {EDGES} --deleted {DELETED}
    --paths {PATHS} --seed {SEED}"""
workload.scaled = {{}}
workload.fixed = {{}}
'''

pytestmark = [pytest.mark.guest, pytest.mark.by_hand]  # eight minutes; test_debian.py has smaller programs in the gate


class Graph:
    """A second implementation of experiments/workloads/neo4j/driver/Graph.java."""

    def __init__(self) -> None:
        self.state = SEED
        self.edges: list[tuple[int, int]] = []
        for node in range(1, NODES):
            first = (node - 1) * EDGES
            for _ in range(EDGES):
                if not first or not self.below(4):
                    end = self.below(node)
                else:
                    earlier = self.edges[self.below(first)]
                    end = earlier[0] if not self.below(2) else earlier[1]
                self.edges.append((node, end))

    def below(self, bound: int) -> int:
        self.state = self.state * 48271 % 2147483647
        return self.state % bound

    def chosen(self, count: int) -> list[int]:
        found: dict[int, None] = {}
        while len(found) < count:
            found[self.below(NODES)] = None
        return list(found)

    def of(self, node: int, gone: Iterable[int]) -> int:
        """Count the node's edges to nodes that are not in `gone`."""
        without = set(gone)
        return sum(node in edge and not without & set(edge) for edge in self.edges)

    def distance(self, one: int, other: int) -> int:
        """Count the steps between two nodes by a breadth-first search."""
        reached, steps = {one}, 0
        while other not in reached:
            reached |= {end for edge in self.edges if reached & set(edge) for end in edge}
            steps += 1
        return steps


def expected() -> dict[str, list[int]]:
    """Return the result of each call, by operation."""
    graph = Graph()
    chosen = graph.chosen(2 * DELETED)[:DELETED]
    pairs = []
    for _ in range(PATHS):
        first = graph.below(NODES)
        pairs.append((first, (first + 1 + graph.below(NODES - 1)) % NODES))
    return {
        "delete": [graph.of(node, chosen[:at]) for at, node in enumerate(chosen)],
        "insert": [graph.of(node, chosen[at + 1 :]) for at, node in enumerate(chosen)],
        "query": [graph.distance(*pair) for pair in pairs],
    }


def checksum(counts: list[int]) -> int:
    total = 0
    for count in counts:
        total = (total * 31 + count) % 1_000_000_007
    return total


def test_a_database_answers_as_the_graph_does_and_twice_to_the_byte(copying: Session, tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    chosen = [run for run in render.runs(path) if run.point["policy"] == "cow"]
    one, two = (run_with_bar(chosen, copying, tmp_path / name)[0] for name in ("1", "2"))
    assert one.path.read_bytes() == two.path.read_bytes()
    found = {row["operation"]: (row["calls"], row["count"], row["checksum"]) for row in one.rows}
    assert found == {name: (len(of), sum(of), checksum(of)) for name, of in expected().items()}
    assert all(row["mean_us"] > 0 for row in one.rows)
    assert one.counters["cxl-writes"] > 2 * DELETED, "each transaction is on the device"
