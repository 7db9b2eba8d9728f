# SPDX-License-Identifier: BSD-3-Clause
"""Every figure and study there is: its name, what it is drawn from, and the function that draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.errors import TestbedError

from . import (
    checkpoints,
    claims,
    engines,
    equal_dram,
    file_latency,
    filework,
    kyoto,
    kyoto_modes,
    memcached_checkpoints,
    metadata_updates,
    msync_share,
    overhead,
    page_commits,
    page_logs,
    pages_lines,
    persist,
    recovery_time,
    scaling,
    sensitivity,
    stl_map,
    store_statistics,
    sweep_plot,
    tail_latency,
    tenants,
    write_amplification,
)
from .drawn import Drawn, Gathered


@dataclass(frozen=True)
class Entry:
    """One figure. `draw` writes its files, NAME.*, into a folder and runs nothing. The scorecard closes them all.

    `manifests` are run; of `sweeps`, manifests too, each point is captured and replayed on the manifest's grid.
    """

    name: str
    manifests: tuple[str, ...]
    draw: Callable[[Gathered, Path], Drawn]
    sweeps: tuple[str, ...] = ()


def _engines(name: str, title: str) -> Entry:
    return Entry(name, (name,), engines.drawn(name, name, title))


FIGURES = (
    _engines("kv-ycsb", "KV store on a memory-semantic SSD: Snapshot against PMDK under YCSB A-G"),
    _engines("engines", "KV store on a memory-semantic SSD: every engine under YCSB A-G"),
    _engines("engines-optane", "KV store on Optane memory: the published engines under YCSB A-G"),
    _engines("list", "Linked list: every engine, on both devices"),
    _engines("btree", "B-tree: every engine, on both devices"),
    Entry(kyoto.NAME, (kyoto.NAME,), kyoto.drawn),
    Entry(persist.NAME, (persist.NAME,), persist.drawn),
    Entry(overhead.NAME, (overhead.NAME,), overhead.drawn),
    Entry(msync_share.NAME, (msync_share.NAME,), msync_share.drawn),
    Entry(store_statistics.NAME, (store_statistics.NAME,), store_statistics.drawn),
    Entry(checkpoints.MTREE_COST, ("mtree-ycsb", "mtree-beside", "rivals-ycsb"), checkpoints.mtree_costs_drawn),
    Entry(file_latency.NAME, (file_latency.NAME,), file_latency.drawn),
    Entry(filework.NAME, (filework.NAME,), filework.drawn),
    Entry(page_commits.SIZES[0], page_commits.SIZES, page_commits.drawn),
    Entry(kyoto_modes.NAME, (kyoto_modes.NAME,), kyoto_modes.drawn),
    Entry(stl_map.NAME, (stl_map.NAME,), stl_map.drawn),
    Entry(memcached_checkpoints.STUDY, memcached_checkpoints.MANIFESTS, memcached_checkpoints.drawn),
    Entry(metadata_updates.NAME, (metadata_updates.NAME,), metadata_updates.drawn),
    Entry(claims.NAME, claims.MANIFESTS, claims.drawn),
)

# Nothing published is compared with these: drawn when they are named (docs/studies.md, docs/programs.md). Beside
# `epoch-cost` stands what was published of another program (docs/epochs.md).
STUDIES = (
    Entry("tail-latency", ("kv-latency", "kv-ycsb"), tail_latency.drawn),
    Entry("equal-dram", ("equal-dram", "equal-dram-rivals"), equal_dram.drawn),
    Entry("recovery", ("recovery",), recovery_time.drawn),
    Entry("write-amplification", ("engines", "wear"), write_amplification.drawn),
    Entry("sensitivity", (), sensitivity.drawn, sweeps=("sensitivity",)),
    Entry(scaling.COMMITS, (scaling.COMMITS,), scaling.commits_drawn),
    Entry(scaling.BESIDE, (scaling.BESIDE,), scaling.beside_drawn),
    Entry(scaling.KV, (scaling.KV,), scaling.kv_drawn),
    Entry(scaling.EPOCHS, (scaling.EPOCHS,), scaling.epochs_drawn),
    Entry(tenants.NAME, (tenants.NAME,), tenants.drawn),
    Entry(checkpoints.COST, ("epochs-ycsb", "epochs-beside"), checkpoints.costs_drawn),
    Entry(checkpoints.LENGTHS, ("epochs-lengths",), checkpoints.lengths_drawn),
    Entry(checkpoints.RECOVERY, ("epochs-recovery",), checkpoints.recovery_drawn),
    Entry(page_logs.OVERWRITES, (page_logs.OVERWRITES,), page_logs.overwrites_drawn),
    Entry(page_logs.MERGING, (page_logs.MERGING,), page_logs.merging_drawn),
    Entry("write-protection", ("write-protection",), sweep_plot.drawn("write-protection")),
    Entry("mapped-access", ("mapped-access",), sweep_plot.drawn("mapped-access")),
    Entry("file-utilities", ("file-utilities",), sweep_plot.drawn("file-utilities")),
    Entry("postmark", ("postmark",), sweep_plot.drawn("postmark")),
    Entry("fsmark", ("fsmark",), sweep_plot.drawn("fsmark")),
    Entry("rocksdb", ("rocksdb",), sweep_plot.drawn("rocksdb")),
    Entry("neo4j", ("neo4j",), sweep_plot.drawn("neo4j")),
    Entry(pages_lines.MAP[0], pages_lines.MAP, pages_lines.drawn),
    Entry("sqlite", ("sqlite",), sweep_plot.drawn("sqlite")),
    Entry("redis", ("redis",), sweep_plot.drawn("redis")),
    Entry("fio", ("fio",), sweep_plot.drawn("fio")),
    Entry("sysbench", ("sysbench",), sweep_plot.drawn("sysbench")),
    Entry("memcached", ("memcached",), sweep_plot.drawn("memcached")),
    Entry("redis-threads", ("redis-threads",), sweep_plot.drawn("redis-threads")),
)
ALL_STUDIES = "studies"  # names them all


def pick(names: Sequence[str]) -> list[Entry]:
    """The named figures and studies, all figures if none is named, in the order of the catalogue."""
    known = [*(entry.name for entry in (*FIGURES, *STUDIES)), ALL_STUDIES]
    for name in names:
        if name not in known:
            raise TestbedError(f"no figure '{name}'; there are: {', '.join(known)}")
    wanted = {*names, *(entry.name for entry in STUDIES if ALL_STUDIES in names)}
    return [entry for entry in (*FIGURES, *STUDIES) if entry.name in wanted] if names else list(FIGURES)
