# SPDX-License-Identifier: BSD-3-Clause
"""The possible contents of one line after a power cut, updated by stores, flushes and fences.

A line has eight words, and a power cut never tears a word. A store has a *part* in each word that it changes. The order
in which parts become durable (docs/explanation/crash.md):

- Parts of one word: in the order of execution, so the number of parts in each word determines a content of the line.
- Cached stores: in the order of execution, each torn into its parts.
- Non-temporal stores: in any order relative to the parts of other words.
"""

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from .journal import LINE_BYTES, Kind, Record

WORD_BYTES = 8  # the unit that a power cut does not tear
WORDS = LINE_BYTES // WORD_BYTES
PARTS_MAX = 4  # a cached store with more parts, such as a save of registers, becomes durable from its lowest word on
CONTENTS_MAX = 32  # contents tried of each line where a point has too many combinations
COUNTED_MAX = 256  # up to so many contents of a line are compared to count the distinct ones

Heights = tuple[int, ...]  # for each word, the number of its durable parts
NOTHING: Heights = (0,) * WORDS
NO_CORE = -1  # a core without non-temporal stores
T = TypeVar("T")


class Place(NamedTuple):
    """A line of a device, by the address of its first byte."""

    device: int
    dpa: int


class Part(NamedTuple):
    """The effect of a store on one word."""

    store: int  # the number of the store's record
    core: int
    is_cached: bool
    word: bytes  # the content after the store


class Range(NamedTuple):
    """The least and the largest number of durable parts of each word, for one set of durable cached stores."""

    least: Heights
    most: Heights


@dataclass(frozen=True)
class Open:
    """A line with several possible contents, the oldest first. `lost` lists the stores that each content lacks."""

    place: Place
    contents: tuple[bytes, ...]
    lost: tuple[tuple[int, ...], ...]
    newest: int
    count: int  # of all possible contents; `contents` may be a part of them


def pieces(record: Record) -> Iterable[tuple[int, int, bytes]]:
    """Split a store by word: the word's number, the offset of the piece in the word, and its bytes."""
    if len(record.data) == WORD_BYTES and record.dpa % WORD_BYTES == 0:
        return ((record.dpa % LINE_BYTES // WORD_BYTES, 0, record.data),)
    return _pieces(record)


def _pieces(record: Record) -> Iterator[tuple[int, int, bytes]]:
    at, end = record.dpa % LINE_BYTES, record.dpa % LINE_BYTES + len(record.data)
    begin = at
    while at < end:
        to = min(end, at // WORD_BYTES * WORD_BYTES + WORD_BYTES)
        yield at // WORD_BYTES, at % WORD_BYTES, record.data[at - begin : to - begin]
        at = to


def changes(line: "Line", record: Record) -> list[tuple[int, bytes]]:
    """Return the pieces of a store that can change the line's contents: their offsets in the line, and their bytes."""
    return [
        (WORD_BYTES * number + at, piece)
        for number, at, piece in pieces(record)
        if line.changes(number, line.newest_with(number, at, piece))
    ]


def tears(parts: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield the sets of parts of a cached store that can be durable without the others; the whole set comes last."""
    if len(parts) > PARTS_MAX:
        return (parts[:n] for n in range(1, len(parts) + 1))
    return itertools.chain.from_iterable(itertools.combinations(parts, n) for n in range(1, len(parts) + 1))


def most_of(a: Heights, b: Heights) -> Heights:
    return tuple(map(max, a, b))


class Line:
    """The parts of a line that may not be durable.

    `flushed` holds the parts that the next fence of each core waits for, `accepted` the parts that the device has
    accepted. There can be millions of lines, so an object is small.
    """

    __slots__ = ("_count", "_has_cached", "_open", "accepted", "flushed", "sure", "words")

    def __init__(self, sure: bytes) -> None:
        self.sure = sure
        self.words: list[list[Part]] = [[] for _ in range(WORDS)]
        self.flushed: dict[int, Heights] = {}
        self.accepted = NOTHING
        self._has_cached = False  # whether any part is of a cached store
        self._count = 0  # the result of count(); 0 if unknown
        self._open: tuple[int, Open | None] = (0, None)  # the result of open(), with its limit on contents

    def content(self, heights: Heights) -> bytes:
        return b"".join(itertools.starmap(self._word, enumerate(heights)))

    def _word(self, number: int, height: int) -> bytes:
        if height:
            return self.words[number][height - 1].word
        return self.sure[WORD_BYTES * number : WORD_BYTES * (number + 1)]

    def all_parts(self) -> Heights:
        return tuple(map(len, self.words))

    def newest(self) -> bytes:
        return self.content(self.all_parts())

    def copy(self) -> "Line":
        copied = Line(self.sure)
        copied.words = [list(parts) for parts in self.words]
        copied.flushed, copied.accepted, copied._has_cached = dict(self.flushed), self.accepted, self._has_cached
        return copied

    def is_sure(self) -> bool:
        return not any(self.words)

    # ---- Stores, flushes and fences ----

    def store(self, index: int, record: Record) -> None:
        is_cached = record.kind == Kind.STORE
        touched = []
        for number, at, piece in pieces(record):
            word = piece if len(piece) == WORD_BYTES else self.newest_with(number, at, piece)
            if not is_cached or self.changes(number, word):
                self.words[number].append(Part(index, record.core, is_cached, word))
                self._has_cached |= is_cached
            touched.append(number)
        self._changed()
        if not is_cached:
            self._await_words(record.core, touched)

    def _await_words(self, core: int, words: Sequence[int]) -> None:
        """Make the core's next fence wait for the newest parts of these words. Each of the words has a part."""
        heights = list(self.flushed.get(core, NOTHING))
        for number in words:
            heights[number] = len(self.words[number])
        self.flushed[core] = self.with_earlier(tuple(heights)) if self._has_cached else tuple(heights)

    def newest_with(self, number: int, at: int, piece: bytes) -> bytes:
        """Return the newest content of a word, with `piece` written at offset `at`."""
        old = self.newest_word(number)
        return old[:at] + piece + old[at + len(piece) :]

    def newest_word(self, number: int) -> bytes:
        return self._word(number, len(self.words[number]))

    def changes(self, number: int, word: bytes) -> bool:
        """Whether a cached store of this word matters: after a non-temporal store, even one of equal bytes does."""
        return word != self.newest_word(number) or any(not part.is_cached for part in self.words[number])

    def accept(self, heights: Heights) -> None:
        self.accepted = most_of(self.accepted, heights)

    def flush(self, core: int) -> Heights:
        """Return the parts that a flush by this core writes back. Other cores buffer their own non-temporal stores."""
        return self.with_earlier(
            tuple(last(part.is_cached or part.core == core for part in parts) for parts in self.words)
        )

    def flush_until_fence(self, core: int) -> None:
        self._await(core, self.flush(core))

    def _await(self, core: int, heights: Heights) -> None:
        if any(heights):
            self.flushed[core] = most_of(self.flushed.get(core, NOTHING), heights)

    def with_earlier(self, heights: Heights) -> Heights:
        """Add all parts that become durable before one of these parts."""
        there = [parts[:height] for parts, height in zip(self.words, heights, strict=True)]
        newest = max((part.store for parts in there for part in parts if part.is_cached), default=-1)
        earlier = tuple(last(part.is_cached and part.store < newest for part in parts) for parts in self.words)
        return self._with_lower_parts(most_of(heights, earlier), newest)

    def _with_lower_parts(self, heights: Heights, store: int) -> Heights:
        """Add the lower parts of the cached store if it has more than PARTS_MAX parts."""
        at = {
            n: position + 1
            for n, parts in enumerate(self.words)
            for position, part in enumerate(parts)
            if part.store == store
        }
        if len(at) <= PARTS_MAX:
            return heights
        highest = max(n for n, height in at.items() if heights[n] >= height)
        return tuple(max(height, at[n]) if n in at and n < highest else height for n, height in enumerate(heights))

    def be_sure(self, heights: Heights) -> None:
        """Make these parts durable: no power cut brings back the contents without them."""
        if not any(heights):
            return
        self.sure = self.content(heights)
        for parts, height in zip(self.words, heights, strict=True):
            del parts[:height]
        self._has_cached = any(part.is_cached for parts in self.words for part in parts)
        rest = {core: without(flushed, heights) for core, flushed in self.flushed.items()}
        self.flushed = {core: flushed for core, flushed in rest.items() if any(flushed)}
        self.accepted = without(self.accepted, heights)
        self._changed()

    def _changed(self) -> None:
        self._count, self._open = 0, (0, None)

    # ---- Possible contents ----

    def count(self) -> int:
        """Count the distinct contents, or the ways to produce contents if there are more than COUNTED_MAX ways."""
        if not self._count:
            self._count = self._count_them()
        return self._count

    def _count_them(self) -> int:
        if not self._has_cached:
            sure = [self.sure[n : n + WORD_BYTES] for n in range(0, LINE_BYTES, WORD_BYTES)]
            return math.prod(
                len({word, *(part.word for part in parts)}) for word, parts in zip(sure, self.words, strict=True)
            )
        ways = sum(math.prod(map(len, self._choices(found))) for found in self.ranges()) if self._is_weak() else 0
        return ways if ways > COUNTED_MAX else len(self._every())

    def open(self, place: Place, most: int, seed: str) -> Open | None:
        """Return the contents if there are several; of more than `most` a selection that only the seed determines."""
        if self.count() == 1:
            return None
        if self._open[0] != most:
            some = self._is_weak() and self.count() > most
            found = self._some(most, f"{seed}/{place.device}/{place.dpa}") if some else self._every()
            contents, lost = tuple(found), tuple(map(self._lost, found.values()))
            self._open = (most, Open(place, contents, lost, contents.index(self.newest()), self.count()))
        return self._open[1]

    def ranges(self) -> Iterator[Range]:
        """Yield a range for each way in which a power cut can end the sequence of cached stores, oldest first."""
        positions = [[n for n, part in enumerate(parts) if part.is_cached] for parts in self.words]
        stores: dict[int, list[int]] = {}
        for number, parts in enumerate(self.words):
            for part in parts:
                if part.is_cached:
                    stores.setdefault(part.store, []).append(number)
        done = [0] * WORDS  # for each word, the number of durable cached parts

        def found() -> Range:
            least = tuple(at[n - 1] + 1 if n else 0 for at, n in zip(positions, done, strict=True))
            ends = zip(positions, done, self.words, strict=True)
            return Range(least, tuple(at[n] if n < len(at) else len(parts) for at, n, parts in ends))

        yield found()
        for store in sorted(stores):
            before = list(done)
            for torn in tears(stores[store]):
                done[:] = before
                for number in torn:
                    done[number] += 1
                yield found()

    def _is_weak(self) -> bool:
        """Whether the line has non-temporal stores. Without any, cached stores alone determine its contents."""
        return any(not part.is_cached for parts in self.words for part in parts)

    def _every(self) -> dict[bytes, Heights]:
        return self._by_content(
            heights for found in self.ranges() for heights in itertools.product(*self._choices(found))
        )

    def _choices(self, found: Range) -> list[list[int]]:
        """Return for each word heights with distinct contents: a program may store equal bytes many times."""
        return [
            list({self._word(n, height): height for height in range(least, most + 1)}.values())
            for n, (least, most) in enumerate(zip(found.least, found.most, strict=True))
        ]

    def _some(self, most: int, seed: str) -> dict[bytes, Heights]:
        """Select contents: parts in order of execution, one word alone or missing, then random ones up to `most`."""
        found = self._by_content([*self._in_order(), *self._but_one_word()])
        ranges, draw = list(self.ranges()), random.Random(seed)
        for _ in range(2 * most):
            if len(found) >= most:
                break
            chosen = draw.choice(ranges)
            heights = tuple(draw.randint(a, b) for a, b in zip(chosen.least, chosen.most, strict=True))
            found.setdefault(self.content(heights), heights)
        return found

    def _in_order(self) -> Iterator[Heights]:
        """Yield heights as if stores became durable in order of execution, each torn as a cached one is."""
        done, by_store = list(NOTHING), dict[int, list[int]]()
        for number, parts in enumerate(self.words):
            for part in parts:
                by_store.setdefault(part.store, []).append(number)
        yield NOTHING
        for store in sorted(by_store):
            before = list(done)
            for torn in tears(by_store[store]):
                done[:] = before
                for number in torn:
                    done[number] += 1
                yield tuple(done)

    def _but_one_word(self) -> Iterator[Heights]:
        """Yield for each word: everything but its last non-temporal stores, and its first non-temporal stores alone."""
        ranges = list(self.ranges())
        for number in range(WORDS):
            yield with_one(ranges[-1].most, number, ranges[-1].least[number])
            yield with_one(ranges[0].least, number, ranges[0].most[number])

    def _by_content(self, all_heights: Iterable[Heights]) -> dict[bytes, Heights]:
        """Map each content to the heights that produce it with the fewest lost parts."""
        found: dict[bytes, Heights] = {}
        for heights in all_heights:
            content = self.content(heights)
            if content not in found or sum(found[content]) <= sum(heights):
                found[content] = heights
        return found

    def _lost(self, heights: Heights) -> tuple[int, ...]:
        stores = {part.store for parts, n in zip(self.words, heights, strict=True) for part in parts[n:]}
        return tuple(sorted(stores))


def last(flags: Iterable[bool]) -> int:
    """Return the position of the last flag that is set, counted from 1; 0 if no flag is set."""
    return max((n for n, flag in enumerate(flags, 1) if flag), default=0)


def with_one(heights: Heights, word: int, height: int) -> Heights:
    return (*heights[:word], height, *heights[word + 1 :])


def without(heights: Heights, gone: Heights) -> Heights:
    return tuple(max(0, height - n) for height, n in zip(heights, gone, strict=True))
