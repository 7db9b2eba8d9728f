# SPDX-License-Identifier: BSD-3-Clause
"""Every figure and study: its name, its inputs, and the function that draws it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from testbed.errors import TestbedError

from ..data.drawn import Drawn, Gathered
from ..figures import (
    engines,
    file_latency,
    filework,
    kyoto,
    kyoto_modes,
    memcached_checkpoints,
    metadata_updates,
    msync_share,
    mtree_costs,
    overhead,
    page_commits,
    persist,
    stl_map,
    store_statistics,
)
from ..scorecard import claims
from ..studies import (
    checkpoint_costs,
    commits_beside,
    epoch_lengths,
    epoch_recovery,
    equal_dram,
    log_merging,
    overwrites,
    pages_lines,
    placement,
    recovery_time,
    sensitivity,
    sweep_plot,
    tail_latency,
    tenants,
    thread_commits,
    thread_epochs,
    thread_kv,
    write_amplification,
)


@dataclass(frozen=True)
class Entry:
    """One figure. `draw` makes it of results and runs nothing. The scorecard follows all entries.

    `manifests` are run. `sweeps` are manifests, too; each of their points is captured and replayed on their grid.
    With several seeds, `draw` gets the results of one seed at a time, or of all together if the figure is `over_seeds`.
    """

    name: str
    manifests: tuple[str, ...]
    draw: Callable[[Gathered], Drawn]
    sweeps: tuple[str, ...] = ()
    over_seeds: bool = False


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
    Entry(mtree_costs.NAME, mtree_costs.MANIFESTS, mtree_costs.drawn),
    Entry(file_latency.NAME, (file_latency.NAME,), file_latency.drawn),
    Entry(filework.NAME, (filework.NAME,), filework.drawn),
    Entry(page_commits.SIZES[0], page_commits.SIZES, page_commits.drawn),
    Entry(kyoto_modes.NAME, (kyoto_modes.NAME,), kyoto_modes.drawn),
    Entry(stl_map.NAME, (stl_map.NAME,), stl_map.drawn),
    Entry(memcached_checkpoints.STUDY, memcached_checkpoints.MANIFESTS, memcached_checkpoints.drawn),
    Entry(metadata_updates.NAME, (metadata_updates.NAME,), metadata_updates.drawn),
    Entry(claims.NAME, claims.MANIFESTS, claims.drawn),
)

# Studies are not compared with published values, and drawn only by name (docs/results/). Only `epoch-cost`
# is drawn beside published values, which are of another program (docs/results/epochs.md).
STUDIES = (
    Entry("tail-latency", ("kv-latency", "kv-ycsb"), tail_latency.drawn),
    Entry("equal-dram", ("equal-dram", "equal-dram-rivals"), equal_dram.drawn),
    Entry("recovery", ("recovery",), recovery_time.drawn),
    Entry("write-amplification", ("engines", "wear"), write_amplification.drawn),
    Entry("sensitivity", (), sensitivity.drawn, sweeps=("sensitivity",)),
    Entry(thread_commits.NAME, (thread_commits.NAME,), thread_commits.drawn),
    Entry(commits_beside.NAME, (commits_beside.NAME,), commits_beside.drawn),
    Entry(thread_kv.NAME, (thread_kv.NAME,), thread_kv.drawn),
    Entry(thread_epochs.NAME, (thread_epochs.NAME,), thread_epochs.drawn),
    Entry(tenants.NAME, (tenants.NAME,), tenants.drawn),
    Entry(checkpoint_costs.COST, ("epochs-ycsb", "epochs-beside"), checkpoint_costs.drawn),
    Entry(epoch_lengths.NAME, ("epochs-lengths",), epoch_lengths.drawn),
    Entry(epoch_recovery.NAME, ("epochs-recovery",), epoch_recovery.drawn),
    Entry(overwrites.NAME, (overwrites.NAME,), overwrites.drawn),
    Entry(log_merging.NAME, (log_merging.NAME,), log_merging.drawn),
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
ALL_STUDIES = "studies"  # selects every study


# Of each kind of figure one whose runs are short: the study of placement needs many seeds.
PLACED = ("kv-ycsb", "list", "btree", "persist", "msync-share", "file-latency", "stl-map", "metadata-updates")
_PLACED = {entry.name: placement.Shown(entry.manifests, entry.draw) for entry in FIGURES if entry.name in PLACED}

# Drawn only by name, since they need several seeds.
OVER_SEEDS = (
    Entry(
        placement.NAME,
        tuple(dict.fromkeys(name for shown in _PLACED.values() for name in shown.manifests)),
        placement.drawn(_PLACED),
        over_seeds=True,
    ),
)


def every() -> list[Entry]:
    """Return all figures and studies in the order of the catalogue."""
    return [*FIGURES, *STUDIES, *OVER_SEEDS]


def pick(names: Sequence[str]) -> list[Entry]:
    """Return the named figures and studies in the order of the catalogue, or all figures if `names` is empty."""
    known = [*(entry.name for entry in every()), ALL_STUDIES]
    for name in names:
        if name not in known:
            raise TestbedError(f"no figure '{name}'; there are: {', '.join(known)}")
    wanted = {*names, *(entry.name for entry in STUDIES if ALL_STUDIES in names)}
    return [entry for entry in every() if entry.name in wanted] if names else list(FIGURES)
