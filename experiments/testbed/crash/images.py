# SPDX-License-Identifier: BSD-3-Clause
"""Contents of the devices, stored as the lines that differ from the beginning of the run.

A run can change millions of lines, and its states differ in few of them. States therefore share lines: a *snapshot*
holds the durable content at an ordering point, and a *layer* puts a few lines on top of a snapshot or another layer.
"""

import hashlib
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence

from .lines import Open, Place

Image = Callable[[Place], bytes]  # the content of a line when the run began
Lines = Mapping[Place, bytes]  # the lines of an image that can differ from the beginning

ENCODED = struct.Struct("<QQ64s")  # device, DPA, content


def weight(begin: Image, place: Place, content: bytes) -> int:
    """Return the share of a line in the hash of its image, which is the sum of all weights; 0 if unchanged."""
    if content == begin(place):
        return 0
    name = b"%d %d " % place
    return int.from_bytes(hashlib.blake2b(name + content, digest_size=16).digest(), "little")


def image_digest(lines: Lines, begin: Image) -> bytes:
    """Return a hash that is equal for equal images."""
    return (_total(lines, begin) % 2**128).to_bytes(16, "little")


def encoded(lines: Lines) -> bytes:
    """Encode lines for a copy, in the format of @cxl-ssd-job-run (qemu-patches/overlay/qapi/cxl-ssd.json).

    If a line is there twice, the later content counts. So all states of a point share the encoding of their snapshot.
    """
    if isinstance(lines, Layer):
        return encoded(lines.below) + _packed(lines.own)
    return lines.encoded() if isinstance(lines, Snapshot) else _packed(lines)


def _packed(lines: Lines) -> bytes:
    return b"".join([ENCODED.pack(*place, content) for place, content in lines.items()])


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
        self._encoded: tuple[int, bytes] | None = None  # the newest snapshot that was encoded: its changes, and it

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

    def encoded(self, changes: int) -> bytes:
        """Encode the snapshot after so many changes. One encoding is kept: it is large, and states follow by point."""
        if self._encoded is None or self._encoded[0] != changes:
            self._encoded = changes, _packed(self.at_all(changes))
        return self._encoded[1]

    def at_all(self, changes: int) -> dict[Place, bytes]:
        """Copy all lines as they were after so many changes."""
        found = dict(self.lines)
        for place in self.replaced_since(changes):
            content = self.at(place, changes)
            if content is None:
                del found[place]
            else:
                found[place] = content
        return found

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

    def encoded(self) -> bytes:
        return self._base.encoded(self._changes)

    def flat(self) -> dict[Place, bytes]:
        return self._base.at_all(self._changes)


class Layer(Mapping[Place, bytes]):
    """The image below with other contents of some lines."""

    def __init__(self, below: Lines, own: Mapping[Place, bytes]) -> None:
        self.below, self.own = below, own
        self._total: int | None = None

    def __getitem__(self, place: Place) -> bytes:
        content = self.own.get(place)
        return self.below[place] if content is None else content

    def get(self, place: Place, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
        content = self.own.get(place)
        return self.below.get(place, default) if content is None else content

    def __iter__(self) -> Iterator[Place]:
        return iter(self.flat())

    def __len__(self) -> int:
        return len(self.flat())

    def __contains__(self, place: object) -> bool:
        return place in self.own or place in self.below

    def flat(self) -> dict[Place, bytes]:
        return {**flat(self.below), **self.own}

    def total(self, begin: Image) -> int:
        """Return the sum of the weights of all lines."""
        if self._total is None:
            changes = 0
            for place, content in self.own.items():
                old = self.below.get(place)
                changes += weight(begin, place, content) - (0 if old is None else weight(begin, place, old))
            self._total = _total(self.below, begin) + changes
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
