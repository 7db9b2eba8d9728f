# SPDX-License-Identifier: BSD-3-Clause
"""Every state of the devices that a power cut can leave, at each ordering point of a journal.

docs/crash.md has the rules. A line has several contents that a cut can leave (lines.py): one of them is chosen, for
each line alone. Where caches keep their power, one choice is made for all lines: how many of the stores had been
executed. Only non-temporal stores can be missing then.
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

PAUSE_RECORDS = 4096  # for so many Ctrl-C waits

Changes = tuple[tuple[int, int], ...]  # lines by their number, and the content of each
Lost = Mapping[Place, tuple[int, ...]]  # the stores that lines lack, by their records


def media_image(journal: Journal, files: Sequence[Path]) -> Image:
    """Of the devices' media files, which nothing may change meanwhile. They begin where the volatile part ends."""
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
    """Where the persistent part of a device begins."""
    return int(journal.parameters[f"device{device}.volatile-size"])


@dataclass(frozen=True)
class Domain:
    """What is promised to survive a power cut."""

    name: str = "adr"  # none, adr, eadr, gpf
    cache_protected: bool = True  # what the device has accepted is durable
    gpf_energy_nj: int = 0
    gpf_line_nj: int = 0
    gpf_page_nj: int = 0
    page_bytes: int = 4096

    @staticmethod
    def of(journal: Journal) -> "Domain":
        """That of the machine. Devices that differ in it have no common one."""
        found = {_domain(journal.parameters, n) for n in range(8) if f"device{n}.capacity" in journal.parameters}
        if len(found) != 1:
            raise TestbedError("the devices of the journal differ in what survives a power cut; give them one profile")
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
    """How much is tried at one point. What there is up to `exhaustive` is tried whole.

    Of more: all newest and all oldest, then up to `subsets` of one and two elements and as many complements, and
    `samples` drawn by the seed.
    """

    exhaustive: int = 256
    subsets: int = 256
    samples: int = 64
    seed: int = 1

    def divided(self, parts: int) -> "Bounds":
        """For each of so many parts."""
        return Bounds(max(1, self.exhaustive // parts), self.subsets // parts, self.samples // parts, self.seed)


@dataclass(frozen=True)
class Point:
    """Where the power is cut: before this record of the journal has any effect."""

    record: int
    kind: Kind
    mark: int | None  # the last that the workload had passed
    at_ps: int
    combinations: int  # of versions; equal images are counted as often as they can come about


@dataclass(frozen=True)
class State:
    """What one power cut leaves."""

    point: Point
    lines: Lines  # all that can differ from the image at the begin of the run
    lost: Lost  # of the lines that have not their newest bytes
    digest: bytes  # equal for equal images


@dataclass
class Counts:
    """What an exploration has covered."""

    points: int = 0
    points_in_part: int = 0  # with more combinations than were tried
    combinations: int = 0
    tried: int = 0
    states: int = 0  # distinct


class Choice(NamedTuple):
    """Contents of some lines, and the stores that are lost with them."""

    lines: dict[Place, bytes]
    lost: Lost


def explore(
    journal: Journal, image: Image, bounds: Bounds = Bounds(), marked: bool = False, counts: Counts | None = None
) -> Iterator[State]:
    """Each distinct state once, at the first point that has it. If `marked`, of points from the first mark to the last.

    A state is another one with another mark: what was fine before an acknowledgement may not be after it.
    """
    counts = Counts() if counts is None else counts
    seen: set[tuple[int | None, bytes]] = set()
    for point, tracker in walk(journal, image, marked):
        counts.points += 1
        yield from new_states(point, tracker, bounds, seen, counts)


def walk(journal: Journal, image: Image, marked: bool = False) -> Iterator[tuple[Point, "Tracker"]]:
    """Each ordering point, with what can survive there. If `marked`, those from the first mark to the last."""
    return filter(None, walking(journal, image, marked))


def walking(journal: Journal, image: Image, marked: bool) -> Iterator[tuple[Point, "Tracker"] | None]:
    """The same, and None now and then: there can be millions of records before a point."""
    tracker = tracker_of(Domain.of(journal), image)
    mark: int | None = None
    asked = asked_records(journal, marked)
    for index, record in enumerate(journal.records):
        if index % PAUSE_RECORDS == 0:
            yield None
        if is_ordering(record):
            if index in asked:
                yield Point(index, record.kind, mark, record.at_ps, tracker.combinations()), tracker
            tracker.passed()
        if record.kind == Kind.MARK:
            mark = record.value
        tracker.apply(index, record)


def asked_records(journal: Journal, marked: bool) -> range:
    """Where points are asked for."""
    if not marked:
        return range(len(journal.records))
    marks = journal.records.of_kind(Kind.MARK)
    return range(marks[0] + 1, marks[-1] + 1) if marks else range(0)


def is_ordering(record: Record) -> bool:
    """Whether what is durable may change at this record."""
    return record.kind in ORDERING or (record.kind == Kind.FLUSH and record.value == CLFLUSH)


def points_among(journal: Journal, indices: range) -> int:
    """How many of these records are ordering points."""
    return sum(is_ordering(journal.records[index]) for index in indices)


def new_states(
    point: Point, tracker: "Tracker", bounds: Bounds, seen: set[tuple[int | None, bytes]], counts: Counts
) -> Iterator[State]:
    """Those of a point that no one before it had."""
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
    """What can survive, as the journal goes on."""

    def apply(self, index: int, record: Record) -> None: ...

    def passed(self) -> None:
        """The states at a point were asked for, or not."""

    def base(self) -> Base:
        """What all choices are changes of."""
        ...

    def unsure(self) -> "list[Place]":
        """Every line whose newest bytes may be lost here or, where caches keep their power for now, later."""
        ...

    def combinations(self) -> int: ...

    def open_lines(self, bounds: Bounds) -> list[Open] | None:
        """Every line with a choice, by device and address; None if lines are not chosen one by one."""
        ...

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]: ...


def tracker_of(domain: Domain, image: Image) -> Tracker:
    """By what the domain promises. With an unprotected device cache caches that keep their power do not help."""
    if domain.name == "gpf":
        return Flushed(domain, image)
    if domain.name == "eadr" and domain.cache_protected:
        return Prefixes(image)
    return Subsets(domain, image)


def place_of(record: Record) -> Place:
    return Place(record.device, record.dpa // LINE_BYTES * LINE_BYTES)


def stored_to(records: Iterable[Record]) -> set[Place]:
    """The lines that any store among these changes."""
    return {place_of(record) for record in records if record.kind in STORES}


# ---- Any choice of lines ----


class Subsets:
    """Any line may have been written back at any time: each may have any content that its parts allow."""

    def __init__(self, domain: Domain, image: Image) -> None:
        self._protected = domain.cache_protected
        self._base = Base(image)
        self._lines: dict[Place, Line] = {}
        self._awaiting: dict[int, set[Place]] = {}  # of each core, what its next fence makes sure

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
        """The device has accepted these."""
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
        """Every line whose newest bytes may be lost."""
        return list(self._lines)

    def open_lines(self, bounds: Bounds) -> list[Open]:
        return open_lines(self._lines, bounds)

    def combinations(self) -> int:
        return math.prod(line.count() for line in self._lines.values())

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        return choices(self.open_lines(bounds), bounds, seed)


def open_lines(lines: Mapping[Place, Line], bounds: Bounds) -> list[Open]:
    """Those with a choice, by device and address: all contents of each if there are few combinations."""
    counts = [count for line in lines.values() if (count := line.count()) > 1]
    most = bounds.exhaustive
    if math.prod(counts) > most:
        most = max(CONTENTS_MAX, int(most ** (1 / len(counts))))
    return [found for at in sorted(lines) if (found := lines[at].open(at, most, str(bounds.seed)))]


def choices(lines: Sequence[Open], bounds: Bounds, seed: str) -> Iterator[Choice]:
    """A content for each of these lines."""
    for numbers in combinations([line.newest for line in lines], [len(line.contents) for line in lines], bounds, seed):
        picked = [(line, n) for line, n in zip(lines, numbers, strict=True)]
        lost = {line.place: line.lost[n] for line, n in picked if n != line.newest}
        yield Choice({line.place: line.contents[n] for line, n in picked}, lost)


def combinations(newest: Sequence[int], sizes: Sequence[int], bounds: Bounds, seed: str) -> Iterator[tuple[int, ...]]:
    """Numbers below the sizes, one for each line; 0 is the oldest content. What loses fewest lines comes first."""
    if math.prod(sizes) > bounds.exhaustive:
        yield from bounded(tuple(newest), sizes, bounds, seed)
        return
    every = itertools.product(*map(range, sizes))
    yield from sorted(every, key=lambda numbers: sum(n != new for n, new in zip(numbers, newest, strict=True)))


def bounded(newest: tuple[int, ...], sizes: Sequence[int], bounds: Bounds, seed: str) -> Iterator[tuple[int, ...]]:
    """Some of them: all newest, all oldest, one and two that differ from these, and what is drawn."""
    oldest = (0,) * len(sizes)
    yield newest
    yield oldest
    for chosen in itertools.islice(_some_changes(sizes), bounds.subsets):
        yield _changed(newest, chosen)
        kept = chosen if len(chosen) == 1 else tuple((line, newest[line]) for line, _ in chosen)
        yield _changed(oldest, kept)
    draw = random.Random(seed)
    for _ in range(bounds.samples):
        yield tuple(draw.randrange(size) for size in sizes)


def _some_changes(sizes: Sequence[int]) -> Iterator[Changes]:
    """Each line's oldest content alone, then in turn the next content of one line and the oldest contents of two."""
    yield from (((line, 0),) for line in range(len(sizes)))
    ranks = range(1, max(sizes, default=0))
    singles: Iterator[Changes] = (((line, n),) for n in ranks for line, size in enumerate(sizes) if n < size)
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
    """What there is when some of the stores since the last point were executed. It changes with the next instant."""

    left: Sequence[tuple[int, Record]]  # the other stores, with the one that is under way
    content: Mapping[Place, bytes]  # of the lines that were stored to
    weak: Mapping[Place, Line]  # the lines with non-temporal stores that no fence of their core has followed
    ways: int  # how many contents these can have together


class Prefixes:
    """The stores up to an instant survive, the last of them torn. Older points had the earlier instants.

    Non-temporal stores wait in buffers that lose their power: until a fence any of their words can be missing.
    """

    def __init__(self, image: Image) -> None:
        self._base = Base(image)  # as it was at the last point
        self._weak: dict[Place, Line] = {}  # the same
        self._steps: list[tuple[int, Record]] = []  # the stores since then

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
        """What the record of a point makes sure, before any other store."""
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
    """The line while a store is executed, and whether all of it was. A cached store is durable then."""
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
    """The stores that were not executed, and those that are lost all the same."""
    found = {place: set(stores) for place, stores in lost.items()}
    for index, record in left:
        found.setdefault(place_of(record), set()).add(index)
    return {place: tuple(sorted(stores)) for place, stores in found.items()}


class Flushed:
    """A Global Persistent Flush: as if caches kept their power where the energy suffices for all, else as if not."""

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
