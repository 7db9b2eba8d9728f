# SPDX-License-Identifier: BSD-3-Clause
"""States that a power cut can leave, compared with a machine that tries every course of events, and by hand."""

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from rigs.crash.journal_writer import journal_of
from testbed.crash.journal import CLFLUSH, LINE_BYTES, Kind, Record
from testbed.crash.lines import Place
from testbed.crash.states import Bounds, Counts, Domain, State, explore, is_ordering, place_of, tracker_of
from testbed.errors import TestbedError

ALL = Bounds(exhaustive=10**9)


def image(_: Place) -> bytes:
    return b"." * LINE_BYTES


# ---- The machine: every spontaneous event happens, or not ----


@dataclass(frozen=True, order=True)
class Piece:
    """The part of a store in one 8-byte word."""

    number: int  # in the order of execution
    store: int
    core: int
    is_cached: bool
    word: tuple[int, int]  # line, and index in the line
    at: int  # offset of its first byte in the line
    data: bytes


Pieces = frozenset[Piece]


@dataclass(frozen=True)
class Course:
    """Stores on their way: in store and write-combining buffers, in CPU caches, in the device cache and in flash."""

    waiting: Pieces = frozenset()
    cpu: Pieces = frozenset()
    cache: Pieces = frozenset()
    flash: Pieces = frozenset()


class Reference:
    """Every course that the machine can have taken, restricted to the given lines."""

    def __init__(self, lines: Sequence[int], domain: Domain) -> None:
        self.lines, self.domain = lines, domain
        self.keeps_caches = domain.name == "eadr" and domain.cache_protected
        self.images: set[tuple[bytes, ...]] = set()  # left by a cut at any time since the set was last emptied
        self.executed: set[Piece] = set()
        self.awaited: dict[int, set[Piece]] = {}  # pieces that each core's next fence waits for
        self.courses = self._closure({Course()})

    def _survives(self, course: Course) -> Pieces:
        if self.keeps_caches:
            return course.cpu
        return course.cache if self.domain.cache_protected else course.flash

    def _image(self, course: Course) -> tuple[bytes, ...]:
        lines = {line: bytearray(image(Place(0, 0))) for line in self.lines}
        for piece in sorted(self._survives(course)):
            lines[piece.word[0]][piece.at : piece.at + len(piece.data)] = piece.data
        return tuple(map(bytes, lines.values()))

    def _closure(self, courses: set[Course]) -> set[Course]:
        found, new = set(courses), list(courses)
        while new:
            for after in self._by_itself(new.pop()):
                if after not in found:
                    found.add(after)
                    new.append(after)
        self.images |= {self._image(course) for course in found}
        return found

    def _by_itself(self, course: Course) -> Iterator[Course]:
        for piece in course.waiting:
            if not any(comes_first(other, piece) for other in course.waiting):
                yield replace(course, waiting=course.waiting - {piece}, cpu=course.cpu | {piece})
        accepted = course.cache - course.flash  # the device, too, keeps only the order of comes_first()
        for piece in accepted:
            if not any(comes_first(other, piece) for other in accepted):
                yield replace(course, flash=course.flash | {piece})
        for line in self.lines:
            yield replace(course, cache=course.cache | of_line(course.cpu, line))

    def apply(self, index: int, record: Record) -> None:
        line = record.dpa // LINE_BYTES
        if record.kind in (Kind.STORE, Kind.NT_STORE, Kind.FLUSH) and line not in self.lines:
            self._closure(self.courses)
            return
        match record.kind:
            case Kind.STORE | Kind.NT_STORE:
                self._store(pieces(index, 8 * index, record), record)
            case Kind.FLUSH if record.value == CLFLUSH:
                self._wait_for(self._written_back(record.core, [line]))
            case Kind.FLUSH:
                self.awaited.setdefault(record.core, set()).update(self._written_back(record.core, [line]))
                self._closure(self.courses)
            case Kind.FENCE:
                self._wait_for(self.awaited.pop(record.core, set()))
            case Kind.WBINVD:
                self._wait_for(self._written_back(record.core, self.lines))
            case Kind.BARRIER:
                self.courses = self._closure({replace(course, flash=course.cache) for course in self.courses})

    def _matters(self, piece: Piece) -> bool:
        """A cached store of equal bytes orders nothing, unless an earlier non-temporal store there can be lost."""
        before = [other for other in sorted(self.executed) if other.word == piece.word]
        word = bytearray(image(Place(0, 0)))
        for other in before:
            word[other.at : other.at + len(other.data)] = other.data
        sure = frozenset.intersection(*map(self._survives, self.courses))
        weak = any(not other.is_cached and other not in sure for other in before)
        return not piece.is_cached or weak or word[piece.at : piece.at + len(piece.data)] != piece.data

    def _store(self, stored: set[Piece], record: Record) -> None:
        new = set(filter(self._matters, stored))
        self.executed |= new
        self.courses = self._closure({replace(course, waiting=course.waiting | new) for course in self.courses})
        if record.kind == Kind.NT_STORE:
            self.awaited.setdefault(record.core, set()).update(new)
        elif self.keeps_caches:
            self._wait_for(new)

    def _written_back(self, core: int, lines: Sequence[int]) -> set[Piece]:
        """The pieces that a flush by `core` writes back; non-temporal stores of other cores stay in their buffers."""
        return {piece for piece in self.executed if piece.word[0] in lines and (piece.is_cached or piece.core == core)}

    def _wait_for(self, wanted: set[Piece]) -> None:
        """Drop the courses in which these pieces have not arrived: there the wait is not over."""
        self.courses = self._closure(
            {course for course in self.courses if wanted <= (course.cpu if self.keeps_caches else course.cache)}
        )


def comes_first(one: Piece, other: Piece) -> bool:
    """Whether `one` must reach memory before `other`."""
    if one.word == other.word:
        return one.number < other.number
    return one.word[0] == other.word[0] and one.is_cached and other.is_cached and one.store < other.store


def of_line(of: Pieces, line: int) -> Pieces:
    return frozenset(piece for piece in of if piece.word[0] == line)


def pieces(index: int, first: int, record: Record) -> set[Piece]:
    line, at = divmod(record.dpa, LINE_BYTES)
    words: dict[int, tuple[int, bytes]] = {}
    for n, byte in enumerate(record.data):
        begin, so_far = words.get((at + n) // 8, (at + n, b""))
        words[(at + n) // 8] = (begin, so_far + bytes([byte]))
    return {
        Piece(first + n, index, record.core, record.kind == Kind.STORE, (line, word), begin, data)
        for n, (word, (begin, data)) in enumerate(words.items())
    }


def random_records(draw: random.Random, count: int, lines: int, cores: Sequence[int]) -> list[Record]:
    def one(n: int) -> Record:
        kind = draw.choice(
            [Kind.STORE] * 3
            + [Kind.NT_STORE] * 3
            + [Kind.FLUSH, Kind.FLUSH, Kind.FENCE, Kind.FENCE, Kind.BARRIER, Kind.WBINVD]
        )
        dpa, core = LINE_BYTES * draw.randrange(lines), draw.choice(cores)
        if kind in (Kind.STORE, Kind.NT_STORE):
            at, size = draw.choice([(0, 8), (0, 8), (8, 8), (4, 4), (0, 16), (12, 8)])
            return Record(kind, core, dpa=dpa + at, data=bytes([draw.choice([46, 65 + n])]) * size)
        value = draw.choice([0, 0, 0, CLFLUSH]) if kind == Kind.FLUSH else 0
        return Record(kind, core, value=value, dpa=dpa if kind == Kind.FLUSH else 0)

    return [one(n) for n in range(count)]


def found_images(records: Sequence[Record], domain: Domain, lines: int) -> list[set[tuple[bytes, ...]]]:
    """The images at each ordering point, as the library finds them."""
    tracker, found = tracker_of(domain, image), []
    places = [Place(0, LINE_BYTES * n) for n in range(lines)]
    for index, record in enumerate(records):
        if is_ordering(record):
            choices = [tracker.base().lines | choice.lines for choice in tracker.choices(ALL, "")]
            found.append({tuple(lines.get(at, image(at)) for at in places) for lines in choices})
            tracker.passed()
        tracker.apply(index, record)
    return found


DOMAINS = [Domain("adr", True), Domain("none", False), Domain("eadr", True), Domain("eadr", False)]


TWO_CORES, THREE_CORES = (0, 0, 0, 1), (0, 1, 2)  # with two cores, core 0 does most


def case(domain: Domain, cores: Sequence[int]) -> Any:
    protected = "" if domain.cache_protected else "un"
    return pytest.param(domain, cores, id=f"{domain.name}-{protected}protected-{len(set(cores))}-cores")


@pytest.mark.parametrize(
    ("domain", "cores"), [case(DOMAINS[0], THREE_CORES), *(case(domain, TWO_CORES) for domain in DOMAINS)]
)
def test_the_states_are_those_of_a_machine_that_tries_everything(domain: Domain, cores: Sequence[int]) -> None:
    points = 0
    for seed in range(60):
        draw = random.Random(seed)
        records = [*random_records(draw, 7, 2, cores), Record(Kind.END)]
        found, expected = found_images(records, domain, 2), expected_images(records, domain)
        points += len(found)
        for n, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert ours == theirs, f"seed {seed}, point {n}: {records}"
    assert points > 120


@pytest.mark.parametrize("cores", [TWO_CORES, THREE_CORES], ids=["2 cores", "3 cores"])
def test_the_states_of_one_line_are_those_of_that_machine(cores: Sequence[int]) -> None:
    """Each core flushes and fences often, which also affects stores of the other cores."""
    domain = Domain("adr", True)
    for seed in range(600):
        records = [*random_records(random.Random(seed), 9, 1, cores), Record(Kind.END)]
        for ours, theirs in zip(found_images(records, domain, 1), expected_images(records, domain), strict=True):
            assert {images[0] for images in ours} == {images[0] for images in theirs}, f"seed {seed}: {records}"


def expected_images(records: Sequence[Record], domain: Domain) -> list[set[tuple[bytes, ...]]]:
    """The images at each ordering point, by the machine. Lines are independent if CPU caches can lose power."""
    together = domain.name == "eadr" and domain.cache_protected
    machines = [Reference(lines, domain) for lines in ([[0, 1]] if together else [[0], [1]])]
    expected = []
    for index, record in enumerate(records):
        if is_ordering(record):
            parts = itertools.product(*(machine.images for machine in machines))
            expected.append({tuple(itertools.chain(*part)) for part in parts})
            for machine in machines:
                machine.images = set()
        for machine in machines:
            machine.apply(index, record)
    return expected


# ---- By hand ----

A, B = 0, LINE_BYTES


def store(dpa: int, data: bytes, **more: int) -> Record:
    return Record(Kind.STORE, dpa=dpa, data=data, **more)


def flush(dpa: int) -> Record:
    return Record(Kind.FLUSH, dpa=dpa)


FENCE = Record(Kind.FENCE)


def mark(number: int) -> Record:
    return Record(Kind.MARK, value=number)


def words(states: Sequence[State], *dpas: int) -> list[bytes]:
    """The first byte of each of these lines, state by state."""
    return [b"".join(state.lines.get(Place(0, dpa), image(Place(0, dpa)))[:1] for dpa in dpas) for state in states]


def test_a_missing_flush_is_lost_after_its_mark() -> None:
    sound = [store(A, b"a" * 8), flush(A), FENCE, mark(1)]
    broken = [store(A, b"a" * 8), FENCE, mark(1)]
    at_end = [[s for s in explore(journal_of(run), image) if s.point.mark == 1] for run in (sound, broken)]
    assert words(at_end[0], A) == [b"a"]
    assert sorted(words(at_end[1], A)) == [b".", b"a"]
    lost = next(s for s in at_end[1] if s.lost)
    assert lost.lost == {Place(0, A): (0,)}


def test_a_missing_fence_lets_the_later_line_survive_alone() -> None:
    broken = [store(A, b"a" * 8), flush(A), store(B, b"b" * 8), flush(B), FENCE]
    sound = [store(A, b"a" * 8), flush(A), FENCE, store(B, b"b" * 8), flush(B), FENCE]
    assert b".b" in words(list(explore(journal_of(broken), image)), A, B)
    assert b".b" not in words(list(explore(journal_of(sound), image)), A, B)


def test_a_flush_is_not_for_what_is_stored_after_it() -> None:
    late = [store(A, b"a" * 8), flush(A), store(A, b"b" * 8), FENCE, mark(1)]
    assert sorted(words([s for s in explore(journal_of(late), image) if s.point.mark == 1], A)) == [b"a", b"b"]


def test_a_fence_is_for_the_flushes_of_its_core() -> None:
    other = [store(A, b"a" * 8), flush(A), Record(Kind.FENCE, core=1), mark(1)]
    assert sorted(words([s for s in explore(journal_of(other), image) if s.point.mark == 1], A)) == [b".", b"a"]


def test_a_fence_makes_cached_stores_sure_that_an_earlier_fence_left_behind() -> None:
    """One of the stores precedes a non-temporal store to its word, and the second fence waits for that store."""

    def past_the_caches(dpa: int, data: bytes) -> Record:
        return Record(Kind.NT_STORE, dpa=dpa, data=data)

    cached = [store(A, b"a" * 8), store(A + 8, b"b" * 8)]
    run = [*cached, past_the_caches(A + 16, b"c" * 8), FENCE, past_the_caches(A + 8, b"d" * 8), FENCE, mark(1)]
    states = [s.lines[Place(0, A)][:24:8] for s in explore(journal_of(run), image) if s.point.mark == 1]
    assert states == [b"adc"]


def test_stores_of_two_cores_to_a_line_survive_in_the_order_in_which_they_were_executed() -> None:
    run = [store(A, b"a" * 8), store(A + 8, b"b" * 8, core=1), store(A, b"c" * 8), store(B, b"d" * 8, core=1)]
    states = list(explore(journal_of(run), image))
    found = {(s.lines[Place(0, A)][:1] + s.lines[Place(0, A)][8:9], s.lines[Place(0, B)][:1]) for s in states}
    assert found == {(x, y) for x in (b"..", b"a.", b"ab", b"cb") for y in (b".", b"d")}


def test_a_store_of_16_bytes_is_torn_either_way() -> None:
    states = explore(journal_of([store(A, b"x" * 16)]), image)
    assert {s.lines[Place(0, A)][:16] for s in states} == {
        b"." * 16,
        b"x" * 16,
        b"x" * 8 + b"." * 8,
        b"." * 8 + b"x" * 8,
    }


def test_a_barrier_makes_sure_of_what_an_unprotected_cache_has() -> None:
    run = [store(A, b"a" * 8), flush(A), FENCE, mark(1), Record(Kind.BARRIER), mark(2)]
    states = list(explore(journal_of(run, cache_power_loss_protected="off"), image))
    assert sorted(words([s for s in states if s.point.mark == 1], A)) == [b".", b"a"]
    assert words([s for s in states if s.point.mark == 2], A) == [b"a"]


def test_caches_that_keep_their_power_lose_the_end_of_the_run_only() -> None:
    run = [store(A, b"a" * 8), store(B, b"b" * 8), store(A, b"c" * 8)]
    states = list(explore(journal_of(run, persist_domain="eadr"), image))
    assert words(states, A, B) == [b"..", b"a.", b"ab", b"cb"]


@pytest.mark.parametrize(("energy", "expected"), [(2, [b"..", b"a.", b"ab"]), (1, [b"..", b".b", b"a.", b"ab"])])
def test_a_global_persistent_flush_is_as_good_as_its_energy(energy: int, expected: list[bytes]) -> None:
    run = [store(A, b"a" * 8), store(B, b"b" * 8)]
    gpf = journal_of(run, persist_domain="gpf", gpf_energy_uj=str(energy), gpf_line_nj="1000")
    assert sorted(words(list(explore(gpf, image)), A, B)) == expected


def test_equal_images_are_found_once_but_for_another_mark() -> None:
    run = [store(A, b"a" * 8), store(A, b"." * 8), FENCE, FENCE, mark(1), FENCE]
    states = list(explore(journal_of(run), image))
    assert [(s.point.mark, s.lines[Place(0, A)][:1]) for s in states] == [
        (None, b"."),
        (None, b"a"),
        (1, b"."),
        (1, b"a"),
    ]
    assert states[0].digest == states[2].digest != states[1].digest


def test_what_comes_before_the_first_mark_and_after_the_last_is_left_out_if_asked() -> None:
    run = [store(A, b"a" * 8), flush(A), FENCE, mark(1), store(B, b"b" * 8), FENCE, mark(2), store(B, b"c" * 8), FENCE]
    states = list(explore(journal_of(run), image, marked=True))
    assert [s.point.mark for s in states] == [1, 1, 2, 2]
    assert sorted(words(states[:2], A, B)) == sorted(words(states[2:], A, B)) == [b"a.", b"ab"]
    assert list(explore(journal_of([store(A, b"a" * 8)]), image, marked=True)) == []


def test_the_power_is_also_cut_behind_the_last_mark() -> None:
    """So the durability of the last operation is judged, with what the workload does next and without."""
    run = [mark(0), store(A, b"a" * 8), FENCE, mark(1)]
    for after in ([], [store(B, b"b" * 8)], [flush(A), FENCE], [mark(1)]):
        states = list(explore(journal_of([*run, *after]), image, marked=True))
        assert sorted(words([s for s in states if s.point.mark == 1], A)) == [b".", b"a"], after


def test_many_lines_are_tried_in_part_and_that_is_counted() -> None:
    lines = [n * LINE_BYTES for n in range(40)]
    run = journal_of([store(dpa, b"n" * 8) for dpa in lines])
    bounds, counts = Bounds(exhaustive=100, subsets=1000, samples=50), Counts()
    states = list(explore(run, image, bounds, counts=counts))
    kept = [sum(content != image(at) for at, content in s.lines.items()) for s in states]
    assert [len(states), kept.count(0), kept.count(40)] == [counts.states, 1, 1]
    assert kept.count(1) == kept.count(39) == 40  # subsets of one line, and of all lines but one
    assert kept.count(2) == kept.count(38) == 40 * 39 // 2
    assert (counts.points, counts.points_in_part, counts.combinations) == (1, 1, 2**40)
    assert states == list(explore(run, image, bounds)), "the same states in every run"
    other = list(explore(run, image, replace(bounds, seed=2)))
    assert {s.digest for s in states} != {s.digest for s in other}


def test_each_line_is_lost_alone_and_kept_alone_first() -> None:
    lines = [n * LINE_BYTES for n in range(40)]
    run = journal_of([store(dpa, b"n" * 8) for dpa in lines])
    states = list(explore(run, image, Bounds(exhaustive=100, subsets=40, samples=0)))
    kept = [sum(content != image(at) for at, content in s.lines.items()) for s in states]
    assert Counter(kept) == {40: 1, 39: 40, 1: 40, 0: 1}


def test_two_lines_at_their_oldest_wait_for_no_other_contents_of_one() -> None:
    """Each line has 256 possible contents."""
    lines = [n * LINE_BYTES for n in range(4)]
    run = journal_of([Record(Kind.NT_STORE, dpa=dpa, data=b"n" * LINE_BYTES) for dpa in lines])
    states = list(explore(run, image, Bounds(exhaustive=4, subsets=16, samples=0)))
    old = [sum(content == image(at) for at, content in state.lines.items()) for state in states]
    assert old.count(2) == 6, "each of the six pairs"


def test_a_line_that_is_stored_to_often_has_few_contents() -> None:
    """Forty stores of two values to each of eight words: equal contents of a word count once."""
    run = [Record(Kind.NT_STORE, dpa=A, data=bytes([97 + n % 2]) * LINE_BYTES) for n in range(40)]
    counts = Counts()
    states = list(explore(journal_of(run), image, Bounds(exhaustive=10), counts=counts))
    assert counts.combinations == 3**8 and 32 < len(states) <= 60
    few = [Record(Kind.NT_STORE, dpa=A, data=b"." * LINE_BYTES)] * 40 + [Record(Kind.NT_STORE, dpa=A, data=b"x" * 8)]
    assert sorted(words(list(explore(journal_of(few), image)), A)) == [b".", b"x"]


def test_lines_that_lose_little_come_first() -> None:
    run = journal_of([store(A, b"a" * 8), store(B, b"b" * 8)])
    assert [len(s.lost) for s in explore(run, image)] == [0, 1, 1, 2]


def test_devices_of_several_domains_are_refused() -> None:
    parameters = dict(journal_of([]).parameters)
    parameters |= {name.replace("device0", "device1"): value for name, value in parameters.items()}
    parameters["device1.persist-domain"] = "none"
    with pytest.raises(TestbedError, match="the devices of the journal have different persistence domains"):
        next(explore(replace(journal_of([]), parameters=parameters), image))


def test_a_line_is_found_by_any_of_its_bytes() -> None:
    assert place_of(store(B + 17, b"")) == Place(0, B)
