# SPDX-License-Identifier: BSD-3-Clause
"""Every state of the devices that a power cut can leave, at each ordering point of a journal.

docs/explanation/crash.md states the rules. A power cut can leave one of several contents in a line (lines.py), and
each line is chosen independently. Where caches keep their power, one choice holds for all lines: the number of
stores that had executed. Among these stores, only non-temporal ones can then be missing.
"""

import itertools
import math
import mmap
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import TestbedError
from .images import Base, Image, Layer, Lines, image_digest
from .journal import CLFLUSH, LINE_BYTES, Journal, Kind, Record
from .lines import CONTENTS_MAX, NO_CORE, NOTHING, Heights, Line, Open, Place, changes, tears

STORES = (Kind.STORE, Kind.NT_STORE)
ORDERING = (Kind.FENCE, Kind.BARRIER, Kind.WBINVD, Kind.MARK, Kind.POWER_CUT, Kind.END)

PAUSE_RECORDS = 4096  # Ctrl-C waits for at most so many records

Changes = tuple[tuple[int, int], ...]  # pairs of a line's number and the number of its content
Lost = Mapping[Place, tuple[int, ...]]  # for each line, the records of the stores that it lacks


def media_image(journal: Journal, files: Sequence[Path]) -> Image:
    """Map the devices' media files, which must not change meanwhile. Each begins after its device's volatile part."""
    maps, firsts = [], []
    for n, path in enumerate(files):
        with path.open("rb") as file:
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        firsts.append(volatile_bytes(journal, n))

    def line(place: Place) -> bytes:
        at = place.dpa - firsts[place.device]
        return maps[place.device][at : at + LINE_BYTES]

    return line


def volatile_bytes(journal: Journal, device: int) -> int:
    """Return the address at which the persistent part of a device begins."""
    return int(journal.parameters[f"device{device}.volatile-size"])


@dataclass(frozen=True)
class Domain:
    """The persistence domain: the data that is promised to survive a power cut."""

    name: str = "adr"  # none, adr, eadr, gpf
    cache_protected: bool = True  # data that the device has accepted is durable
    gpf_energy_nj: int = 0
    gpf_line_nj: int = 0
    gpf_page_nj: int = 0
    page_bytes: int = 4096

    @staticmethod
    def of(journal: Journal) -> "Domain":
        """Return the domain of the machine. TestbedError: its devices have different domains."""
        found = {_domain(journal.parameters, n) for n in range(8) if f"device{n}.capacity" in journal.parameters}
        if len(found) != 1:
            raise TestbedError("the devices of the journal have different persistence domains; give them one profile")
        return found.pop()


def _domain(parameters: Mapping[str, str], device: int) -> Domain:
    def value(name: str) -> str:
        return parameters[f"device{device}.{name}"]

    protected = value("cache-power-loss-protected") == "on"
    energy = [int(value(name)) for name in ("gpf-energy-uj", "gpf-line-nj", "gpf-page-nj")]
    saved_bytes = LINE_BYTES if value("flash-channels") == "0" else int(value("cache-page-size"))
    return Domain(value("persist-domain"), protected, energy[0] * 1000, energy[1], energy[2], saved_bytes)


@dataclass(frozen=True)
class Bounds:
    """Limits of the exploration at one point. Up to `exhaustive` combinations are all tried.

    If there are more, the bounds select all newest and all oldest contents, up to `subsets` changes of one or two lines
    to each of these two, and `samples` combinations drawn by the seed.
    """

    exhaustive: int = 256
    subsets: int = 64
    samples: int = 16
    seed: int = 1

    def divided(self, parts: int) -> "Bounds":
        """Return the bounds for each of so many parts."""
        return Bounds(max(1, self.exhaustive // parts), self.subsets // parts, self.samples // parts, self.seed)


@dataclass(frozen=True)
class Point:
    """A place where the power is cut: before this record of the journal has any effect."""

    record: int
    kind: Kind
    mark: int | None  # the last one that the workload had passed; None before the first
    at_ps: int
    combinations: int  # of contents; an image may count once for each way to produce it


@dataclass(frozen=True)
class State:
    """An image that one power cut leaves."""

    point: Point
    lines: Lines  # all lines that can differ from the image at the begin of the run
    lost: Lost  # for the lines that lack their newest bytes
    digest: bytes  # equal for equal images


@dataclass
class Counts:
    """The extent of an exploration.

    Attributes:
        points: Number of instants at which the power was cut.
        points_in_part: Number of points with more combinations than were tried.
        combinations: Number of combinations of line contents over all points.
        tried: Number of combinations that were tried.
        states: Number of distinct states.
    """

    points: int = 0
    points_in_part: int = 0
    combinations: int = 0
    tried: int = 0
    states: int = 0


class Choice(NamedTuple):
    """Contents of some lines, and the stores that these contents lack."""

    lines: dict[Place, bytes]
    lost: Lost


def explore(
    journal: Journal, image: Image, bounds: Bounds = Bounds(), marked: bool = False, counts: Counts | None = None
) -> Iterator[State]:
    """Yield each distinct state once, at its first point. If `marked`, only those of walk() with marks.

    Equal images after different marks are different states: an acknowledgement can turn a valid image into a violation.
    """
    counts = Counts() if counts is None else counts
    seen: set[tuple[int | None, bytes]] = set()
    for point, tracker in walk(journal, image, marked):
        counts.points += 1
        yield from new_states(point, tracker, bounds, seen, counts)


def walk(journal: Journal, image: Image, marked: bool = False) -> Iterator[tuple[Point, "Tracker"]]:
    """Yield each point with its tracker. If `marked`, only points from the first mark to behind the last."""
    return filter(None, walking(journal, image, marked))


def walking(journal: Journal, image: Image, marked: bool) -> Iterator[tuple[Point, "Tracker"] | None]:
    """Like walk(), but yield None every PAUSE_RECORDS records: millions of records can precede a point."""
    tracker = tracker_of(Domain.of(journal), image)
    mark: int | None = None
    asked = asked_records(journal, marked)
    # A cut just before a mark does not ask for the operation that it acknowledges: hence one more, behind the last.
    behind = asked.stop if asked else None
    for index, record in enumerate(journal.records):
        if index % PAUSE_RECORDS == 0:
            yield None
        if is_ordering(record) or index == behind:
            if index in asked or index == behind:
                yield Point(index, record.kind, mark, record.at_ps, tracker.combinations()), tracker
            tracker.passed()
        if record.kind == Kind.MARK:
            mark = record.value
        tracker.apply(index, record)


def asked_records(journal: Journal, marked: bool) -> range:
    """Return the range of records in which ordering points are explored."""
    if not marked:
        return range(len(journal.records))
    marks = journal.records.of_kind(Kind.MARK)
    return range(marks[0] + 1, marks[-1] + 1) if marks else range(0)


def is_ordering(record: Record) -> bool:
    """Whether a record is an ordering point: durable data may change here, or the run passes a mark or ends."""
    return record.kind in ORDERING or (record.kind == Kind.FLUSH and record.value == CLFLUSH)


def points_among(journal: Journal, indices: range) -> int:
    """Count the ordering points among these records."""
    return sum(is_ordering(journal.records[index]) for index in indices)


def new_states(
    point: Point, tracker: "Tracker", bounds: Bounds, seen: set[tuple[int | None, bytes]], counts: Counts
) -> Iterator[State]:
    """Yield the states of a point that are not in `seen` yet, and update `seen` and `counts`."""
    tried, begin, base = 0, tracker.base().image, tracker.base().snapshot()
    for choice in tracker.choices(bounds, f"{bounds.seed}/{point.record}"):
        tried += 1
        lines = Layer(base, choice.lines)
        digest = image_digest(lines, begin)
        if (point.mark, digest) not in seen:
            seen.add((point.mark, digest))
            counts.states += 1
            yield State(point, lines, choice.lost, digest)
    counts.points_in_part += tried < point.combinations
    counts.combinations += point.combinations
    counts.tried += tried


class Tracker(Protocol):
    """The stores that can survive a power cut, updated record by record."""

    def apply(self, index: int, record: Record) -> None: ...

    def passed(self) -> None:
        """Leave a point, after its states were explored or skipped."""

    def base(self) -> Base:
        """Return the image that all choices modify."""
        ...

    def unsure(self) -> "list[Place]":
        """Return every line that may lose its newest bytes here or, while caches keep their power, at a later point."""
        ...

    def combinations(self) -> int: ...

    def open_lines(self, bounds: Bounds) -> list[Open] | None:
        """Return every line with a choice, by device and address; None if lines are not chosen one by one."""
        ...

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]: ...


def tracker_of(domain: Domain, image: Image) -> Tracker:
    """Select the tracker by domain. If the device cache is unprotected, CPU caches that keep power do not help."""
    if domain.name == "gpf":
        return Flushed(domain, image)
    if domain.name == "eadr" and domain.cache_protected:
        return Prefixes(image)
    return Subsets(domain, image)


def place_of(record: Record) -> Place:
    return Place(record.device, record.dpa // LINE_BYTES * LINE_BYTES)


def stored_to(journal: Journal, indices: range) -> set[Place]:
    """Return the lines that any store among these records writes to."""
    return set(map(Place._make, journal.records.lines_of(STORES, indices)))


# ---- Lines chosen independently ----


class Subsets:
    """CPUs may have written back any line at any time, so each line may have any content that its parts allow."""

    def __init__(self, domain: Domain, image: Image) -> None:
        self._protected = domain.cache_protected
        self._base = Base(image)
        self._lines: dict[Place, Line] = {}
        self._awaiting: dict[int, set[Place]] = {}  # for each core, the lines that wait for its next fence

    def apply(self, index: int, record: Record) -> None:
        match record.kind:
            case Kind.STORE | Kind.NT_STORE:
                self._store(index, record)
            case Kind.FLUSH if record.value == CLFLUSH:
                self._arrive(place_of(record), record.core)
            case Kind.FLUSH:
                self._flush(record.core, place_of(record))
            case Kind.FENCE:
                self._fence(record.core)
            case Kind.WBINVD:
                for place in list(self._lines):
                    self._arrive(place, record.core)
            case Kind.BARRIER:
                for place, line in list(self._lines.items()):
                    self._sure(place, line.accepted)

    def passed(self) -> None:
        pass

    def base(self) -> Base:
        return self._base

    def newest(self, place: Place) -> bytes:
        line = self._lines.get(place)
        return line.newest() if line else self._base.line(place)

    def _store(self, index: int, record: Record) -> None:
        place = place_of(record)
        line = self._lines.get(place) or Line(self._base.line(place))
        line.store(index, record)
        if not line.is_sure():
            self._lines[place] = line
            self._note(record.core, place, line)

    def _flush(self, core: int, place: Place) -> None:
        line = self._lines.get(place)
        if line:
            line.flush_until_fence(core)
            self._note(core, place, line)

    def _note(self, core: int, place: Place, line: Line) -> None:
        if core in line.flushed:
            self._awaiting.setdefault(core, set()).add(place)

    def _fence(self, core: int) -> None:
        for place in self._awaiting.pop(core, set()):
            line = self._lines.get(place)
            if line and core in line.flushed:
                self._reach(place, line, line.flushed.pop(core))

    def _arrive(self, place: Place, core: int) -> None:
        line = self._lines.get(place)
        if line:
            self._reach(place, line, line.flush(core))

    def _reach(self, place: Place, line: Line, parts: Heights) -> None:
        """Record that the device has accepted these parts, which are then durable if its cache is protected."""
        if self._protected:
            self._sure(place, parts)
        else:
            line.accept(parts)

    def _sure(self, place: Place, parts: Heights) -> None:
        line = self._lines[place]
        line.be_sure(parts)
        self._base.put(place, line.sure)
        if line.is_sure():
            del self._lines[place]

    def unsure(self) -> list[Place]:
        """Return every line that may lose its newest bytes."""
        return list(self._lines)

    def open_lines(self, bounds: Bounds) -> list[Open]:
        return open_lines(self._lines, bounds)

    def combinations(self) -> int:
        return math.prod(line.count() for line in self._lines.values())

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        return choices(self.open_lines(bounds), bounds, seed)


def open_lines(lines: Mapping[Place, Line], bounds: Bounds) -> list[Open]:
    """Return the lines with a choice, by device and address: with all their contents if combinations are few."""
    counts = [count for line in lines.values() if (count := line.count()) > 1]
    most = bounds.exhaustive
    if math.prod(counts) > most:
        most = max(CONTENTS_MAX, int(most ** (1 / len(counts))))
    return [found for at in sorted(lines) if (found := lines[at].open(at, most, str(bounds.seed)))]


def choices(lines: Sequence[Open], bounds: Bounds, seed: str) -> Iterator[Choice]:
    """Yield choices of one content for each of these lines."""
    for numbers in combinations([line.newest for line in lines], [len(line.contents) for line in lines], bounds, seed):
        picked = [(line, n) for line, n in zip(lines, numbers, strict=True)]
        lost = {line.place: line.lost[n] for line, n in picked if n != line.newest}
        yield Choice({line.place: line.contents[n] for line, n in picked}, lost)


def combinations(newest: Sequence[int], sizes: Sequence[int], bounds: Bounds, seed: str) -> Iterator[tuple[int, ...]]:
    """Yield content numbers, one for each line; 0 is the oldest. If all are tried, fewest lost lines come first."""
    if math.prod(sizes) > bounds.exhaustive:
        yield from bounded(tuple(newest), sizes, bounds, seed)
        return
    every = itertools.product(*map(range, sizes))
    yield from sorted(every, key=lambda numbers: sum(n != new for n, new in zip(numbers, newest, strict=True)))


def bounded(newest: tuple[int, ...], sizes: Sequence[int], bounds: Bounds, seed: str) -> Iterator[tuple[int, ...]]:
    """Yield some combinations: all newest, all oldest, one or two lines that differ from these, and random ones."""
    oldest = (0,) * len(sizes)
    yield newest
    yield oldest
    for chosen in itertools.islice(_some_changes(newest, sizes), bounds.subsets):
        yield _changed(newest, chosen)
        yield _changed(oldest, tuple((line, n or newest[line]) for line, n in chosen))
    draw = random.Random(seed)
    for _ in range(bounds.samples):
        yield tuple(draw.randrange(size) for size in sizes)


def _some_changes(newest: Sequence[int], sizes: Sequence[int]) -> Iterator[Changes]:
    """Yield each line's oldest content, then in turn a content of one line in between and the oldest ones of two."""
    yield from (((line, 0),) for line in range(len(sizes)))
    ranks = range(1, max(sizes, default=0))
    singles: Iterator[Changes] = (
        ((line, n),) for n in ranks for line, size in enumerate(sizes) if n < size and n != newest[line]
    )
    pairs: Iterator[Changes] = (((a, 0), (b, 0)) for a, b in itertools.combinations(range(len(sizes)), 2))
    for both in itertools.zip_longest(singles, pairs):
        yield from (changes for changes in both if changes)


def _changed(numbers: tuple[int, ...], changes: Changes) -> tuple[int, ...]:
    found = list(numbers)
    for line, n in changes:
        found[line] = n
    return tuple(found)


# ---- Caches that keep their power ----


class Instant(NamedTuple):
    """An instant at which some stores since the last point have executed. The next instant modifies its mappings."""

    left: Sequence[tuple[int, Record]]  # the stores not executed yet, with the one under way
    content: Mapping[Place, bytes]  # of the lines that were stored to
    weak: Mapping[Place, Line]  # the lines with non-temporal stores that no fence of their core has followed
    ways: int  # how many combinations of contents these lines can have


class Prefixes:
    """All stores up to an instant survive; the last may be torn. Instants before the last point belong to older points.

    Non-temporal stores wait in buffers that lose their power: until a fence any of their words can be missing.
    """

    def __init__(self, image: Image) -> None:
        self._base = Base(image)  # as of the last point
        self._weak: dict[Place, Line] = {}  # as of the last point
        self._steps: list[tuple[int, Record]] = []  # the stores since the last point

    def apply(self, index: int, record: Record) -> None:
        match record.kind:
            case Kind.STORE | Kind.NT_STORE:
                self._steps.append((index, record))
            case Kind.FENCE:
                self._settle(lambda _, line: line.flushed.pop(record.core, NOTHING))
            case Kind.WBINVD:
                self._settle(lambda _, line: line.flush(record.core))
            case Kind.FLUSH if record.value == CLFLUSH:
                self._settle(lambda at, line: line.flush(record.core) if at == place_of(record) else NOTHING)

    def _settle(self, sure: Callable[[Place, Line], Heights]) -> None:
        """Make the parts durable that the record of a point settles, before any later store executes."""
        for place, line in list(self._weak.items()):
            line.be_sure(sure(place, line))
            if line.is_sure():
                del self._weak[place]

    def passed(self) -> None:
        for now in self._instants():
            last = now
        for place, content in last.content.items():
            self._base.put(place, content)
        self._weak, self._steps = dict(last.weak), []

    def base(self) -> Base:
        return self._base

    def unsure(self) -> list[Place]:
        return list(self._weak)

    def combinations(self) -> int:
        return sum(now.ways for now in self._instants())

    def open_lines(self, bounds: Bounds) -> None:  # noqa: ARG002
        return None

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        ways = [now.ways for now in self._instants()]
        wanted, share = set(range(len(ways))), bounds
        if len(ways) > bounds.exhaustive:
            wanted = {0, len(ways) - 1, *random.Random(seed).sample(range(len(ways)), bounds.exhaustive)}
        if sum(ways) > bounds.exhaustive:
            share = bounds.divided(len(wanted))
        for number, now in enumerate(self._instants()):
            if number in wanted:
                for choice in choices(open_lines(now.weak, share), share, f"{seed}/{number}"):
                    yield Choice({**now.content, **choice.lines}, lost_with(now.left, choice.lost))

    def _instants(self) -> Iterator[Instant]:
        content: dict[Place, bytes] = {}
        weak = dict(self._weak)
        ways = math.prod(line.count() for line in weak.values())
        yield Instant(self._steps, content, weak, ways)
        for number, (index, record) in enumerate(self._steps):
            place = place_of(record)
            before, now_ways = weak.get(place) or Line(content.get(place) or self._base.line(place)), ways
            for line, is_whole in executed(before, index, record):
                content[place] = line.newest()
                weak[place] = line
                now_ways = ways // before.count() * line.count()
                if line.is_sure():
                    del weak[place]
                yield Instant(self._steps[number + is_whole :], content, weak, now_ways)
            ways = now_ways


def executed(line: Line, index: int, record: Record) -> Iterator[tuple[Line, bool]]:
    """Yield the line as a store executes, and whether the store is complete. Executed cached parts are durable."""
    if record.kind == Kind.NT_STORE:
        done = line.copy()
        done.store(index, record)
        yield done, True
        return
    parts = [record._replace(dpa=place_of(record).dpa + at, data=piece) for at, piece in changes(line, record)]
    for torn in tears(parts):
        done = line.copy()
        for part in torn:
            done.store(index, part)
        done.be_sure(done.flush(NO_CORE))
        yield done, len(torn) == len(parts)


def lost_with(left: Iterable[tuple[int, Record]], lost: Lost) -> Lost:
    """Return, by line, the stores that were not executed and the executed stores that are lost."""
    found = {place: set(stores) for place, stores in lost.items()}
    for index, record in left:
        found.setdefault(place_of(record), set()).add(index)
    return {place: tuple(sorted(stores)) for place, stores in found.items()}


class Flushed:
    """A Global Persistent Flush: caches act as if they kept their power only if the energy suffices for all lines."""

    def __init__(self, domain: Domain, image: Image) -> None:
        self._domain = domain
        self._subsets = Subsets(domain, image)
        self._prefixes = Prefixes(image)

    def apply(self, index: int, record: Record) -> None:
        self._subsets.apply(index, record)
        self._prefixes.apply(index, record)

    def passed(self) -> None:
        self._prefixes.passed()

    def _now(self) -> Subsets | Prefixes:
        lines = self._subsets.unsure()
        pages = {(place.device, place.dpa // self._domain.page_bytes) for place in lines}
        needed_nj = len(lines) * self._domain.gpf_line_nj
        needed_nj += 0 if self._domain.cache_protected else len(pages) * self._domain.gpf_page_nj
        return self._prefixes if needed_nj <= self._domain.gpf_energy_nj else self._subsets

    def base(self) -> Base:
        return self._now().base()

    def unsure(self) -> list[Place]:
        return self._subsets.unsure()

    def combinations(self) -> int:
        return self._now().combinations()

    def open_lines(self, bounds: Bounds) -> list[Open] | None:
        return self._now().open_lines(bounds)

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        return self._now().choices(bounds, seed)
