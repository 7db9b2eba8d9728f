# SPDX-License-Identifier: BSD-3-Clause
"""Claims of HDPM: flows of a mail server and a proxy, and reads of pages with a log."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from testbed.results.results import Result

from ..data import records
from ..figures import filework
from ..studies import overwrites
from .claim import EQUAL, OPTANE, Claim, Results, span

UNPREFETCHED, CACHED = "overwrites-unprefetched", "overwrites-cached"
NARROW, JOURNAL = "filework-narrow", "filework-journal"
MANIFESTS = (filework.NAME, NARROW, JOURNAL, overwrites.NAME, UNPREFETCHED, CACHED)
REVERSE, FORWARD = "hybrid,gc_read=off", "hybrid,gc_read=off,read=forward"


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
    (journal,) = (filework.kilo_operations(records.row_of(one, "roi_ns")) for one in results[JOURNAL])
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
    """Map the number of overwrites of a page to the time of a read after them, in us."""
    return {
        int(row["times"]): float(overwrites.mean_us(row, call) or 0)
        for result in results
        if (str(result.point["device"]), overwrites.label(str(result.point["way"]))) == (OPTANE, way)
        for row in overwrites.reported(result)
    }


def _scans(results: Results) -> list[Claim]:
    # The first read of a page finds no line of the page in the CPU's caches; later reads find all lines.
    calls = {overwrites.NAME: "read", UNPREFETCHED: "read", CACHED: "read_again"}
    timed = {
        name: {way: _reads(results[name], way, call) for way in (REVERSE, FORWARD)} for name, call in calls.items()
    }
    own = timed[overwrites.NAME]
    most, once = max(own[REVERSE]), min(times for times in own[REVERSE] if times)
    rise = {name: {way: of[way][most] / of[way][once] for way in of} for name, of in timed.items()}
    over = {name: of[FORWARD][most] / of[REVERSE][most] for name, of in timed.items()}
    return [
        Claim(
            "HDPM",
            "a read takes as long after many overwrites of its page as after one, scanned from the newest entry",
            f"{rise[overwrites.NAME][REVERSE]:.2g} times as long after {most} as after {once}",
            rise[overwrites.NAME][REVERSE] <= EQUAL,
            f"with all of it in the CPU's caches {rise[CACHED][REVERSE]:.2g} times",
        ),
        Claim(
            "HDPM",
            "scanned from the oldest entry it takes markedly longer",
            f"{over[overwrites.NAME]:.2f} times as long after {most}",
            over[overwrites.NAME] > EQUAL,
            f"without the CPU's prefetcher {over[UNPREFETCHED]:.2f} times, in its caches {over[CACHED]:.2f}",
        ),
    ]
