# SPDX-License-Identifier: BSD-3-Clause
"""What was published without a number to divide by: orders, bounds, "stays as it is". Does it hold here?

Each claim is judged by a rule that stands beside it. Of one that does not hold, what was tested as its cause is said.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from testbed.manifest import bases, manifest
from testbed.results.results import Result

from . import (
    checkpoints,
    filework,
    kyoto_modes,
    memcached_checkpoints,
    page_commits,
    page_logs,
    plotting,
    published,
    records,
    stl_map,
    study,
)
from .drawn import Drawn, Gathered
from .records import Record

NAME = "claims"
OPTANE = filework.MEASURED
UNPREFETCHED, CACHED = "overwrites-unprefetched", "overwrites-cached"
NARROW, JOURNAL = "filework-narrow", "filework-journal"
FULL_CACHE = ("msync-pages-cache", "msync-pages-cache-plain")
FAST_NEO4J, CACHED_MODES, CACHED_MAPS = "neo4j-dram", "kyoto-modes-cached", "stl-map-cached"
MAPPED, PROTECTION, NEO4J = "mapped-access", "write-protection", "neo4j"
REVERSE, FORWARD = "hybrid,gc_read=off", "hybrid,gc_read=off,read=forward"
TREE = ("mtree-ycsb", "mtree-beside", "rivals-ycsb")
MANIFESTS = (
    *(filework.NAME, NARROW, JOURNAL, page_logs.OVERWRITES, UNPREFETCHED, CACHED),
    *(MAPPED, PROTECTION, NEO4J, FAST_NEO4J),
    *(kyoto_modes.NAME, CACHED_MODES, stl_map.NAME, CACHED_MAPS, *page_commits.SIZES, *FULL_CACHE),
    *(*TREE, *memcached_checkpoints.MANIFESTS),
)
COLUMNS = ("system", "published", "holds here", "ours", "tested as a cause")
EQUAL = 1.1  # about equal, or as before: the scorecard's narrowest bound
NOTHING = 2.0  # percent, "close to 0"
NOTES = (
    "about equal, close together, as before: within 10 %; close to 0 %: at most 2 %; an order of magnitude: 10 times",
    "holds here: '-' where a figure without a number was published, so that there is nothing to judge",
    "HDPM and CpNvm: on Optane memory; PMFS: on its own; failure-atomic msync: on every device that is measured",
    "by pages, by lines: the two ways to know what a commit has to write",
)


@dataclass(frozen=True)
class Claim:
    """What is published, in our words; what was measured; whether that agrees, None where nothing can."""

    system: str
    says: str
    ours: str
    holds: bool | None
    cause: str = ""

    def cells(self) -> list[str]:
        verdict = {True: "yes", False: "no", None: "-"}[self.holds]
        cause = self.cause if self.holds is False else ""
        return [self.system, self.says, verdict, self.ours, cause or ("not tested" if self.holds is False else "")]


def span(values: Iterable[float], digits: int = 2) -> str:
    """From the least to the most."""
    ends = sorted(values)
    least, most = (f"{plotting.short(end, digits):g}" for end in (ends[0], ends[-1]))
    return least if least == most else f"{least} to {most}"


def all_of(claims: Gathered) -> list[Claim]:
    results = claims.results
    return [claim for part in (hdpm, pmfs, failure_atomic, cpnvm) for claim in part(results)]


Results = Mapping[str, Sequence[Result]]


# ---- HDPM ----


def hdpm(results: Results) -> list[Claim]:
    return [*_flows(results), *_scans(results)]


def _flows(results: Results) -> list[Claim]:
    rows = filework.reported(results[filework.NAME])
    narrow = filework.reported(results[NARROW])
    rates = {
        (flow, threads): {policy: filework.kilo_operations(row) for policy, row in of.items()}
        for (device, flow, threads), of in sorted(rows.items())
        if device == OPTANE
    }
    mail, proxy = ([of for (name, _), of in rates.items() if name == flow] for flow in ("varmail", "webproxy"))
    gains = [of["hybrid"] / of["cow"] for of in mail]
    tested = {
        flow: f"with a tenth of the bandwidth hybrid makes {filework.gain(of):.3f} times as much as cow"
        for (_, flow, _), of in narrow.items()
    }
    (journal,) = (filework.kilo_operations(study.row_of(one, "roi_ns")) for one in results[JOURNAL])
    near = [max(a, b) / min(a, b) for of in proxy for a in _three(of) for b in _three(of)]
    above = [of["cow"] / max(of["ext4-dax"], of["ext4-ordered"]) for of in mail]
    worst = [of["ext4-ordered"] / min(_three(of)) for of in proxy]
    return [
        Claim(
            "HDPM",
            "Varmail: hybrid makes more than copying only, with any number of threads",
            f"{span(gains)} times as much",
            min(gains) > 1,
            tested["varmail"],
        ),
        Claim(
            "HDPM",
            "Varmail: the gain grows with the threads",
            f"{gains[0]:.2f} times as much with the fewest, {gains[-1]:.2f} with the most",
            all(a < b for a, b in pairwise(gains)),
            tested["varmail"],
        ),
        Claim(
            "HDPM", "Varmail: copying only makes more than ext4 does", f"{span(above)} times as much", min(above) > 1
        ),
        Claim(
            "HDPM",
            "Webproxy: hybrid, copying only and ext4 with DAX are close together",
            f"up to {max(near):.2f} times apart",
            max(near) <= EQUAL,
            tested["webproxy"],
        ),
        Claim(
            "HDPM",
            "Webproxy: ext4 without DAX makes the least",
            f"{span(worst)} times the least of the three",
            max(worst) < 1,
            f"with a journal of data {journal / min(_three(proxy[-1])):.2g} times, by the most threads",
        ),
    ]


def _three(of: Mapping[str, float]) -> list[float]:
    return [of[policy] for policy in ("hybrid", "cow", "ext4-dax")]


def _reads(results: Sequence[Result], way: str, call: str) -> dict[int, float]:
    """By overwrites, us of a read of a page after them."""
    return {
        int(row["times"]): float(page_logs.mean_us(row, call) or 0)
        for result in results
        if (str(result.point["device"]), page_logs.label(str(result.point["way"]))) == (OPTANE, way)
        for row in page_logs.reported(result)
    }


def _scans(results: Results) -> list[Claim]:
    # The first read of a page finds nothing of it in the CPU's caches, those after it all.
    calls = {page_logs.OVERWRITES: "read", UNPREFETCHED: "read", CACHED: "read_again"}
    timed = {
        name: {way: _reads(results[name], way, call) for way in (REVERSE, FORWARD)} for name, call in calls.items()
    }
    own = timed[page_logs.OVERWRITES]
    most, once = max(own[REVERSE]), min(times for times in own[REVERSE] if times)
    rise = {name: {way: of[way][most] / of[way][once] for way in of} for name, of in timed.items()}
    over = {name: of[FORWARD][most] / of[REVERSE][most] for name, of in timed.items()}
    return [
        Claim(
            "HDPM",
            "a read takes as long after many overwrites of its page as after one, scanned from the newest entry",
            f"{rise[page_logs.OVERWRITES][REVERSE]:.2g} times as long after {most} as after {once}",
            rise[page_logs.OVERWRITES][REVERSE] <= EQUAL,
            f"with all of it in the CPU's caches {rise[CACHED][REVERSE]:.2g} times",
        ),
        Claim(
            "HDPM",
            "scanned from the oldest entry it takes markedly longer",
            f"{over[page_logs.OVERWRITES]:.2f} times as long after {most}",
            over[page_logs.OVERWRITES] > EQUAL,
            f"without the CPU's prefetcher {over[UNPREFETCHED]:.2f} times, in its caches {over[CACHED]:.2f}",
        ),
    ]


# ---- PMFS ----


def _records(results: Results, name: str) -> Sequence[Record]:
    return records.of_results(results[name], manifest.load(bases.find(name)).results.pattern).all


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


# ---- Failure-atomic msync ----


def failure_atomic(results: Results) -> list[Claim]:
    return [*_modes(results), *_sizes(results), *_maps(results)]


def _modes(results: Results) -> list[Claim]:
    own, cached = (
        [rows for (_, db, _), rows in kyoto_modes.rows_of(results[name]).items() if db == "tree"]
        for name in (kyoto_modes.NAME, CACHED_MODES)
    )
    pages, lines = kyoto_modes.ATOMIC
    low, high = (float(row["percent"]) for row in published.table("fams-tycoon-gain"))

    def beside(tree: Sequence[Mapping[str, Mapping[str, int]]], engine: str) -> list[float]:
        return [kyoto_modes.response_us(of[engine]) / kyoto_modes.response_us(of["sync"]) for of in tree]

    def of_own(tree: Sequence[Mapping[str, Mapping[str, int]]], engine: str) -> list[float]:
        return [1 - kyoto_modes.less_than_wal(of, engine) / 100 for of in tree]

    return [
        Claim(
            "failure-atomic msync",
            "a Kyoto Tycoon whose data are safe responds as one does that synchronizes without safety",
            f"{span(beside(own, pages))} times as long by pages",
            max(beside(own, pages)) <= EQUAL,
            f"by lines {span(beside(own, lines))} times; the other without DAX, {span(beside(cached, pages))}",
        ),
        Claim(
            "failure-atomic msync",
            f"it responds in {low:g} to {high:g} % less time than with its own transactions",
            f"{span(of_own(own, pages))} times as long by pages",
            max(of_own(own, pages)) <= 1 - low / 100,
            f"by lines {span(of_own(own, lines))} times; the transactions without DAX, {span(of_own(cached, pages))}",
        ),
    ]


def _over(found: page_commits.Sizes, engine: str, light: bool) -> dict[str, dict[int, float]]:
    """By device and pages, what part of the conventional call's time this engine takes under that load."""
    return {
        device: {pages: us / found[device, think, page_commits.CONVENTIONAL][pages] for pages, us in times.items()}
        for (device, think, name), times in found.items()
        if name == engine and (think > 0) == light
    }


def _ends(found: page_commits.Sizes, engine: str) -> list[tuple[float, float]]:
    """Of each device under heavy load, with one page and with the most."""
    return [(of[min(of)], of[max(of)]) for of in _over(found, engine, light=False).values()]


def _shown(ends: Sequence[tuple[float, float]]) -> str:
    return f"{span(one for one, _ in ends)} with 1 page, {span(most for _, most in ends)} with the most"


def _sizes(results: Results) -> list[Claim]:
    found, cached = (
        page_commits.sizes([result for name in names for result in results[name]])
        for names in (page_commits.SIZES, FULL_CACHE)
    )
    (theirs,) = (int(row["pages"]) for row in published.table("fams") if row["what"] == "fast SSD")
    light = _over(found, page_commits.LATER, light=True)
    beyond = [ratio for of in light.values() for pages, ratio in of.items() if pages > theirs]
    ends = {engine: _ends(found, engine) for engine in (page_commits.AT_ONCE, page_commits.LATER)}
    at_once, later = (_over(found, engine, light=False) for engine in ends)
    eager = [sum(at_once[device][pages] < ratio for pages, ratio in of.items()) for device, of in later.items()]
    return [
        Claim(
            "failure-atomic msync",
            f"applied later and under light load it is faster than the conventional call, beyond {theirs} pages",
            f"{sum(ratio < 1 for ratio in beyond)} of {len(beyond)} times; {span(beyond, 4)} of its time",
            max(beyond) < 1,
        ),
        Claim(
            "failure-atomic msync",
            "under heavy load it comes nearer to the conventional call's time as more pages are stored to",
            "; ".join(f"{engine.partition(', ')[2]} {_shown(of)}" for engine, of in ends.items()),
            any(all(most < one for one, most in of) for of in ends.values()),
            f"with a device cache that holds all: later {_shown(_ends(cached, page_commits.LATER))}",
        ),
        Claim(
            "failure-atomic msync",
            "on some devices applying at once is faster than later, under heavy load",
            f"with {' and '.join(map(str, eager))} of {len(next(iter(later.values())))} sizes",
            max(eager) > 0,
        ),
    ]


def _maps(results: Results) -> list[Claim]:
    own, cached = (list(stl_map.rows_of(results[name]).values()) for name in (stl_map.NAME, CACHED_MAPS))
    pages = stl_map.MAPS[0]

    def over(rows: Sequence[Mapping[str, Mapping[str, int]]], *stores: str) -> list[float]:
        return [stl_map.over(of, store, pages) for of in rows for store in stores]

    first = sum(min(of, key=lambda store: of[store]["response_ns"]) == "leveldb" for of in _without_lines(own))
    return [
        Claim(
            "failure-atomic msync",
            "of a std::map on it, Kyoto Cabinet, SQLite and LevelDB, LevelDB is the fastest",
            f"{first} of {len(own)} times; {span(over(own, 'leveldb'))} times the map's time by pages",
            first == len(own),
            f"without DAX {span(over(cached, 'leveldb'))} times",
        ),
        Claim(
            "failure-atomic msync",
            "Kyoto Cabinet and SQLite take as long as the map or longer",
            f"{span(over(own, 'kyoto', 'sqlite'))} times the map's time by pages",
            min(over(own, "kyoto", "sqlite")) >= 1 / EQUAL,
            f"without DAX {span(over(cached, 'kyoto', 'sqlite'))} times",
        ),
    ]


def _without_lines(rows: Iterable[Mapping[str, Mapping[str, int]]]) -> Iterator[Mapping[str, Mapping[str, int]]]:
    """The map by pages only: nobody published one by lines."""
    return ({store: row for store, row in of.items() if store != stl_map.MAPS[1]} for of in rows)


# ---- CpNvm ----


def cpnvm(results: Results) -> list[Claim]:
    return [*_tree(results), *_memcached(results)]


def _tree(results: Results) -> list[Claim]:
    table = [cost for cost in checkpoints.mtree_costs(results) if cost.place[0] == OPTANE]
    epoch_ms = checkpoints.PUBLISHED_EPOCH_MS / results[TREE[0]][0].data["scale"]
    never_ms = max(cost.epoch_ms or 0 for cost in table)
    hand, marked = (
        {(cost.place[2], cost.epoch_ms): cost.overhead for cost in table if cost.engine == engine}
        for engine in ("cpnvm", "snapshot-epoch")
    )
    (device,) = (c.overhead for c in table if c.engine == checkpoints.ON_DEVICE and c.place[2] == "C")
    bound = float(checkpoints.REFERENCE["masstree-cpnvm all"]["overhead_high_pct"])
    low, high = (
        float(checkpoints.REFERENCE["masstree-on-optane all"][f"overhead_{end}_pct"]) for end in ("low", "high")
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


# ---- The figure ----


def summary(cells: Sequence[Sequence[str]]) -> str:
    """In one line, of a claim's cells."""
    verdicts = [row[2] for row in cells]
    judged, tested = len(verdicts) - verdicts.count("-"), [row[4] for row in cells if row[2] == "no"]
    return (
        f"{len(cells)} claims without a number to divide by: {verdicts.count('yes')} of {judged} that can be judged "
        f"hold; of the {len(tested)} others {sum(cause != 'not tested' for cause in tested)} have a test beside them"
    )


def drawn(gathered: Gathered, folder: Path) -> Drawn:
    """The figure as the catalogue has it."""
    cells = [claim.cells() for claim in all_of(gathered)]
    text = Drawn(
        name=NAME,
        title="Claims of HDPM, PMFS, failure-atomic msync and CpNvm that have no number to divide by",
        caption=f"{summary(cells)}.",
        notes=NOTES,
        columns=COLUMNS,
        rows=cells,
    )
    return study.saved(text, _figure(cells), folder)


def _figure(cells: Sequence[Sequence[str]]) -> Figure:
    systems = list(dict.fromkeys(row[0] for row in cells))
    colours = {"yes": "#2f855a", "no": "#c05621", "-": "#a0aec0"}
    with plt.rc_context(plotting.STYLE):
        figure, axes = plt.subplots(figsize=(6.4, 0.9 + 0.4 * len(systems)), layout="constrained")
        begins = [0] * len(systems)
        for verdict, colour in colours.items():
            counts = [sum((row[0], row[2]) == (system, verdict) for row in cells) for system in systems]
            label = {"yes": "holds", "no": "does not hold", "-": "nothing to judge"}[verdict]
            axes.barh(range(len(systems)), counts, left=begins, color=colour, label=label)
            begins = [begin + count for begin, count in zip(begins, counts, strict=True)]
        axes.set_yticks(range(len(systems)), systems)
        axes.invert_yaxis()
        axes.set_xlabel("claims")
        figure.legend(frameon=False, ncols=3, fontsize=7, loc="outside lower center")
        return figure
