# SPDX-License-Identifier: BSD-3-Clause
"""Contents of the devices, stored as the lines that differ from the beginning of the run.

A run can change millions of lines, and its states differ in few of them. States therefore share lines: a *snapshot*
holds the durable content at an ordering point, and a *layer* puts a few lines on top of a snapshot or another layer.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from .lines import Open, Place

Image = Callable[[Place], bytes]  # the content of a line when the run began
Lines = Mapping[Place, bytes]  # the lines of an image that can differ from the beginning


def weight(begin: Image, place: Place, content: bytes) -> int:
    """Return the share of a line in the hash of its image, which is the sum of all weights; 0 if unchanged."""
    if content == begin(place):
        return 0
    name = b"%d %d " % place
    return int.from_bytes(hashlib.blake2b(name + content, digest_size=16).digest(), "little")


def image_digest(lines: Lines, begin: Image) -> bytes:
    """Return a hash that is equal for equal images."""
    return (_total(lines, begin) % 2**128).to_bytes(16, "little")


def flat(lines: Lines) -> dict[Place, bytes]:
    """Copy all lines into one new dictionary."""
    return lines.flat() if isinstance(lines, Snapshot | Layer) else dict(lines)


def _total(lines: Lines, begin: Image) -> int:
    if isinstance(lines, Snapshot):
        return lines.total
    if isinstance(lines, Layer):
        return lines.total(begin)
    return sum(weight(begin, place, content) for place, content in lines.items())


class Base:
    """The durable lines, updated as the journal is read.

    A snapshot must not change later. From the first snapshot on, `_replaced` therefore keeps the older contents of each
    changed line, each with the number of the last change that still had it; None if the line was as at the beginning.
    """

    def __init__(self, image: Image) -> None:
        self.image = image
        self.lines: dict[Place, bytes] = {}
        self._replaced: dict[Place, list[tuple[int, bytes | None]]] = {}
        self._changes = 0
        self._total: int | None = None  # sum of the weights; None until the first call of total()

    def line(self, place: Place) -> bytes:
        content = self.lines.get(place)
        return self.image(place) if content is None else content

    def put(self, place: Place, content: bytes) -> None:
        if self._total is not None:
            old = self.lines.get(place)
            if old == content:
                return
            self._replaced.setdefault(place, []).append((self._changes, old))
            self._changes += 1
            self._total += weight(self.image, place, content) - weight(self.image, place, self.line(place))
        self.lines[place] = content

    def snapshot(self) -> "Snapshot":
        """Return this image as it is now."""
        return Snapshot(self, self._changes, len(self.lines), self.total())

    def total(self) -> int:
        if self._total is None:
            self._total = sum(weight(self.image, place, content) for place, content in self.lines.items())
        return self._total

    def at(self, place: Place, changes: int) -> bytes | None:
        """Return the content after so many changes; None if the line was as at the beginning."""
        for last, content in self._replaced.get(place, ()):
            if changes <= last:
                return content
        return self.lines.get(place)

    def replaced_since(self, changes: int) -> Iterator[Place]:
        return (place for place, contents in self._replaced.items() if contents[-1][0] >= changes)


class Snapshot(Mapping[Place, bytes]):
    """The image of a base after so many changes."""

    def __init__(self, base: Base, changes: int, count: int, total: int) -> None:
        self._base, self._changes, self._count, self.total = base, changes, count, total

    def __getitem__(self, place: Place) -> bytes:
        content = self._base.at(place, self._changes)
        if content is None:
            raise KeyError(place)
        return content

    def get(self, place: Place, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        content = self._base.at(place, self._changes)
        return default if content is None else content

    def __iter__(self) -> Iterator[Place]:
        return (place for place in self._base.lines if self._base.at(place, self._changes) is not None)

    def __len__(self) -> int:
        return self._count

    def changed_since(self, earlier: "Snapshot") -> Iterator[Place]:
        """Yield the lines changed since an earlier snapshot of the same base. `self` must be the newest snapshot."""
        return self._base.replaced_since(earlier._changes)

    def flat(self) -> dict[Place, bytes]:
        found = dict(self._base.lines)
        for place in self._base.replaced_since(self._changes):
            content = self._base.at(place, self._changes)
            if content is None:
                del found[place]
            else:
                found[place] = content
        return found


class Layer(Mapping[Place, bytes]):
    """The image below with other contents of some lines."""

    def __init__(self, below: Lines, lines: Mapping[Place, bytes]) -> None:
        self._below, self._lines = below, lines
        self._total: int | None = None

    def __getitem__(self, place: Place) -> bytes:
        content = self._lines.get(place)
        return self._below[place] if content is None else content

    def get(self, place: Place, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        content = self._lines.get(place)
        return self._below.get(place, default) if content is None else content

    def __iter__(self) -> Iterator[Place]:
        return iter(self.flat())

    def __len__(self) -> int:
        return len(self.flat())

    def __contains__(self, place: object) -> bool:
        return place in self._lines or place in self._below

    def flat(self) -> dict[Place, bytes]:
        return {**flat(self._below), **self._lines}

    def total(self, begin: Image) -> int:
        """Return the sum of the weights of all lines."""
        if self._total is None:
            changes = 0
            for place, content in self._lines.items():
                old = self._below.get(place)
                changes += weight(begin, place, content) - (0 if old is None else weight(begin, place, old))
            self._total = _total(self._below, begin) + changes
        return self._total


class Newest:
    """The image in which every line has its newest content, updated as the journal is read.

    All states of a point are layers on this image. A separate base holds it, so that points share the lines that no
    store between them has changed.
    """

    def __init__(self, begin: Image) -> None:
        self._base = Base(begin)
        self._durable: Snapshot | None = None  # at the previous point
        self._open: dict[Place, Open] = {}  # at the previous point

    def at(self, durable: Snapshot, lines: Sequence[Open]) -> Snapshot:
        """Return the image at a point with these open lines. Calls must follow the order of the run."""
        now = {line.place: line for line in lines}
        changed = set(durable if self._durable is None else durable.changed_since(self._durable))
        for place in changed.union(self._open) - now.keys():
            self._base.put(place, durable.get(place) or self._base.image(place))
        for place, line in now.items():
            if self._open.get(place) is not line:
                self._base.put(place, line.contents[line.newest])
        self._durable, self._open = durable, now
        return self._base.snapshot()
