# SPDX-License-Identifier: BSD-3-Clause
"""Claims of failure-atomic msync: Kyoto Tycoon, one msync() by pages, a std::map."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..data import published
from ..figures import kyoto_modes, page_commits, stl_map
from .claim import EQUAL, Claim, Results, span

FULL_CACHE = ("msync-pages-cache", "msync-pages-cache-plain")
CACHED_MODES, CACHED_MAPS = "kyoto-modes-cached", "stl-map-cached"
MANIFESTS = (kyoto_modes.NAME, CACHED_MODES, stl_map.NAME, CACHED_MAPS, *page_commits.SIZES, *FULL_CACHE)


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
    """Divide the engine's time under this load by the conventional call's, for each device and number of pages."""
    return {
        device: {pages: us / found[device, think, page_commits.CONVENTIONAL][pages] for pages, us in times.items()}
        for (device, think, name), times in found.items()
        if name == engine and (think > 0) == light
    }


def _ends(found: page_commits.Sizes, engine: str) -> list[tuple[float, float]]:
    """Return the ratios of _over() for each device under heavy load, with one page and with the most pages."""
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
    """Leave out the map that commits by lines, because only a map by pages is published."""
    return ({store: row for store, row in of.items() if store != stl_map.MAPS[1]} for of in rows)
