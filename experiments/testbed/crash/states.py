# SPDX-License-Identifier: BSD-3-Clause
"""Every state of the devices that a power cut can leave, at each ordering point of a journal.

docs/crash.md has the rules. A line has *versions*: what it held when it was last sure to be durable, and what each
store since then made of it, torn at 8 bytes. Which version a cut leaves is a choice, for each line alone. Where caches
keep their power, it is the same choice for all: how many of the stores had been executed.
"""

import hashlib
import itertools
import math
import mmap
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from ..errors import TestbedError
from .journal import CLFLUSH, LINE_BYTES, Journal, Kind, Record

ATOMIC_BYTES = 8  # what no power cut tears
CHUNKS_MAX = 4  # of a store of more, as a save of registers, the lower ones come first

STORES = (Kind.STORE, Kind.NT_STORE)
ORDERING = (Kind.FENCE, Kind.BARRIER, Kind.WBINVD, Kind.MARK, Kind.POWER_CUT, Kind.END)


class Place(NamedTuple):
    """A line of a device, by its first byte."""

    device: int
    dpa: int


Image = Callable[[Place], bytes]  # what a line held when the run began


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
    lines: Mapping[Place, bytes]  # all that can differ from the image at the begin of the run
    lost: Mapping[Place, tuple[int, ...]]  # lines that have not their newest bytes, and the records of stores lost
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
    lost: dict[Place, tuple[int, ...]]


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
    tracker = tracker_of(Domain.of(journal), image)
    mark: int | None = None
    asked = asked_records(journal, marked)
    for index, record in enumerate(journal.records):
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
    marks = [index for index, record in enumerate(journal.records) if record.kind == Kind.MARK]
    return range(marks[0] + 1, marks[-1] + 1) if marks else range(0)


def is_ordering(record: Record) -> bool:
    """Whether what is durable may change at this record."""
    return record.kind in ORDERING or (record.kind == Kind.FLUSH and record.value == CLFLUSH)


def new_states(
    point: Point, tracker: "Tracker", bounds: Bounds, seen: set[tuple[int | None, bytes]], counts: Counts
) -> Iterator[State]:
    """Those of a point that no one before it had."""
    tried, base = 0, tracker.base()
    for choice in tracker.choices(bounds, f"{bounds.seed}/{point.record}"):
        tried += 1
        digest = base.digest(choice.lines)
        if (point.mark, digest) not in seen:
            seen.add((point.mark, digest))
            counts.states += 1
            yield State(point, base.lines | choice.lines, choice.lost, digest)
    counts.points_in_part += tried < point.combinations
    counts.combinations += point.combinations
    counts.tried += tried


class Base:
    """Lines of an image, with a digest that follows from those that are not as they were at the begin."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.lines: dict[Place, bytes] = {}
        self._sum = 0

    def line(self, place: Place) -> bytes:
        content = self.lines.get(place)
        return self.image(place) if content is None else content

    def put(self, place: Place, content: bytes) -> None:
        self._sum += self._weight(place, content) - self._weight(place, self.line(place))
        self.lines[place] = content

    def copy(self) -> "Base":
        """This image as it is now."""
        copied = Base(self.image)
        copied.lines, copied._sum = dict(self.lines), self._sum
        return copied

    def digest(self, lines: Mapping[Place, bytes]) -> bytes:
        """Of this image with other lines."""
        changes = (self._weight(at, new) - self._weight(at, self.line(at)) for at, new in lines.items())
        return ((self._sum + sum(changes)) % 2**128).to_bytes(16, "little")

    def _weight(self, place: Place, content: bytes) -> int:
        if content == self.image(place):
            return 0
        name = b"%d %d " % place
        return int.from_bytes(hashlib.blake2b(name + content, digest_size=16).digest(), "little")


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

    def open_lines(self) -> "list[Open] | None":
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


def torn(before: bytes, record: Record) -> list[bytes]:
    """What a line can hold while a store gets there, at last all of it: any of its 8-byte parts without the others."""
    parts = _parts(before, record)
    if len(parts) > CHUNKS_MAX:
        sets: Iterator[Sequence[tuple[int, bytes]]] = (parts[:n] for n in range(1, len(parts) + 1))
    else:
        sets = itertools.chain.from_iterable(itertools.combinations(parts, n) for n in range(1, len(parts) + 1))
    return [_with(before, chosen) for chosen in sets]


def _parts(before: bytes, record: Record) -> list[tuple[int, bytes]]:
    """The pieces of a store that change something, none across a multiple of 8 bytes: their offsets and bytes."""
    found = []
    at, end = record.dpa % LINE_BYTES, record.dpa % LINE_BYTES + len(record.data)
    while at < end:
        to = min(end, at // ATOMIC_BYTES * ATOMIC_BYTES + ATOMIC_BYTES)
        piece = record.data[len(record.data) - (end - at) : len(record.data) - (end - to)]
        if piece != before[at:to]:
            found.append((at, piece))
        at = to
    return found


def _with(content: bytes, parts: Sequence[tuple[int, bytes]]) -> bytes:
    line = bytearray(content)
    for at, piece in parts:
        line[at : at + len(piece)] = piece
    return bytes(line)


def place_of(record: Record) -> Place:
    return Place(record.device, record.dpa // LINE_BYTES * LINE_BYTES)


def stored_to(records: Iterable[Record]) -> set[Place]:
    """The lines that any store among these changes."""
    return {place_of(record) for record in records if record.kind in STORES}


# ---- Any choice of lines ----


@dataclass
class _Line:
    """The versions of a line, the first of which is sure; `stores` made them.

    `flushed` is what the next fence of a core makes sure, `accepted` what a barrier does.
    """

    versions: list[bytes]
    stores: list[int] = field(default_factory=lambda: [-1])
    flushed: dict[int, int] = field(default_factory=dict)
    accepted: int = 0


@dataclass(frozen=True)
class Open:
    """A line with several contents to choose from. `lost` are the stores that are not in each."""

    place: Place
    contents: tuple[bytes, ...]
    lost: tuple[tuple[int, ...], ...]
    newest: int


class Subsets:
    """Any line may have been written back at any time: each may have any version since the last that is sure."""

    def __init__(self, domain: Domain, image: Image) -> None:
        self._protected = domain.cache_protected
        self._base = Base(image)
        self._lines: dict[Place, _Line] = {}
        self._awaiting: dict[int, set[Place]] = {}  # of each core, what its next fence makes sure

    def apply(self, index: int, record: Record) -> None:
        match record.kind:
            case Kind.STORE | Kind.NT_STORE:
                self._store(index, record)
                if record.kind == Kind.NT_STORE:
                    self._flush(record.core, place_of(record))
            case Kind.FLUSH if record.value == CLFLUSH:
                self._arrive(place_of(record))
            case Kind.FLUSH:
                self._flush(record.core, place_of(record))
            case Kind.FENCE:
                self._fence(record.core)
            case Kind.WBINVD:
                for place in list(self._lines):
                    self._arrive(place)
            case Kind.BARRIER:
                for place, line in list(self._lines.items()):
                    self._sure(place, line.accepted)

    def passed(self) -> None:
        pass

    def base(self) -> Base:
        return self._base

    def newest(self, place: Place) -> bytes:
        line = self._lines.get(place)
        return line.versions[-1] if line else self._base.line(place)

    def _store(self, index: int, record: Record) -> None:
        place = place_of(record)
        new = torn(self.newest(place), record)
        if new:
            line = self._lines.setdefault(place, _Line([self._base.line(place)]))
            line.versions += new
            line.stores += [index] * len(new)

    def _flush(self, core: int, place: Place) -> None:
        line = self._lines.get(place)
        if line:
            line.flushed[core] = len(line.versions) - 1
            self._awaiting.setdefault(core, set()).add(place)

    def _fence(self, core: int) -> None:
        for place in self._awaiting.pop(core, set()):
            line = self._lines.get(place)
            if line and core in line.flushed:
                self._reach(place, line, line.flushed.pop(core))

    def _arrive(self, place: Place) -> None:
        line = self._lines.get(place)
        if line:
            self._reach(place, line, len(line.versions) - 1)

    def _reach(self, place: Place, line: _Line, version: int) -> None:
        """The device has accepted this version."""
        if self._protected:
            self._sure(place, version)
        else:
            line.accepted = max(line.accepted, version)

    def _sure(self, place: Place, version: int) -> None:
        """No power cut brings back what was before this version."""
        if version == 0:
            return
        line = self._lines[place]
        self._base.put(place, line.versions[version])
        del line.versions[:version], line.stores[:version]
        line.flushed = {core: at - version for core, at in line.flushed.items() if at > version}
        line.accepted = max(0, line.accepted - version)
        if len(line.versions) == 1:
            del self._lines[place]

    def unsure(self) -> list[Place]:
        """Every line whose newest bytes may be lost."""
        return list(self._lines)

    def open_lines(self) -> list[Open]:
        return [found for place in sorted(self._lines) if (found := _open(place, self._lines[place]))]

    def combinations(self) -> int:
        return math.prod(len(line.contents) for line in self.open_lines())

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        lines = self.open_lines()
        for numbers in combinations(
            [line.newest for line in lines], [len(line.contents) for line in lines], bounds, seed
        ):
            picked = [(line, n) for line, n in zip(lines, numbers, strict=True)]
            lost = {line.place: line.lost[n] for line, n in picked if n != line.newest}
            yield Choice({line.place: line.contents[n] for line, n in picked}, lost)


def _open(place: Place, line: _Line) -> Open | None:
    last = {content: n for n, content in enumerate(line.versions)}  # of equal ones, that which loses least
    if len(last) == 1:
        return None
    contents = tuple(dict.fromkeys(line.versions))
    lost = tuple(tuple(dict.fromkeys(line.stores[last[content] + 1 :])) for content in contents)
    return Open(place, contents, lost, contents.index(line.versions[-1]))


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
    singles = (((line, n),) for line, size in enumerate(sizes) for n in range(size))
    pairs = (((a, 0), (b, 0)) for a, b in itertools.combinations(range(len(sizes)), 2))
    for changes in itertools.islice(itertools.chain(singles, pairs), bounds.subsets):
        yield _changed(newest, changes)
        kept = changes if len(changes) == 1 else tuple((line, newest[line]) for line, _ in changes)
        yield _changed(oldest, kept)
    draw = random.Random(seed)
    for _ in range(bounds.samples):
        yield tuple(draw.randrange(size) for size in sizes)


def _changed(numbers: tuple[int, ...], changes: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    found = list(numbers)
    for line, n in changes:
        found[line] = n
    return tuple(found)


# ---- Caches that keep their power ----


class Prefixes:
    """What was executed survives: the stores up to an instant, the last of them torn. Older points had the others."""

    def __init__(self, image: Image) -> None:
        self._base = Base(image)  # as it was at the last point
        self._now: dict[Place, bytes] = {}  # lines stored to since then
        self._steps: list[tuple[int, Place, bytes]] = []

    def apply(self, index: int, record: Record) -> None:
        if record.kind in STORES:
            place = place_of(record)
            new = torn(self._now.get(place, self._base.line(place)), record)
            self._steps += [(index, place, content) for content in new]
            if new:
                self._now[place] = new[-1]

    def passed(self) -> None:
        for place, content in self._now.items():
            self._base.put(place, content)
        self._now, self._steps = {}, []

    def base(self) -> Base:
        return self._base

    def unsure(self) -> list[Place]:
        return []

    def combinations(self) -> int:
        return len(self._steps) + 1

    def open_lines(self) -> None:
        return None

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        wanted = range(len(self._steps) + 1)
        if len(wanted) > bounds.exhaustive:
            some = random.Random(seed).sample(wanted, bounds.exhaustive)
            wanted = sorted({wanted[0], wanted[-1], *some})  # type: ignore[assignment]
        for count in wanted:
            lines = {place: content for _, place, content in self._steps[:count]}
            lost: dict[Place, tuple[int, ...]] = {}
            for index, place, _ in self._steps[count:]:
                if index not in lost.get(place, ()):
                    lost[place] = (*lost.get(place, ()), index)
            yield Choice(lines, lost)


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

    def open_lines(self) -> list[Open] | None:
        return self._now().open_lines()

    def choices(self, bounds: Bounds, seed: str) -> Iterator[Choice]:
        return self._now().choices(bounds, seed)
