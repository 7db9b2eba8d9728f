# SPDX-License-Identifier: BSD-3-Clause
"""States that a power cut can leave: against a machine that tries every course of events, and by hand."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from journal_writer import journal_of

from testbed.crash.journal import CLFLUSH, LINE_BYTES, Kind, Record
from testbed.crash.states import Bounds, Counts, Domain, Place, State, explore, is_ordering, place_of, tracker_of
from testbed.errors import TestbedError

ALL = Bounds(exhaustive=10**9)


def image(_: Place) -> bytes:
    return b"." * LINE_BYTES


# ---- The machine: whatever can happen by itself happens, or not ----

Content = tuple[int, bytes]  # how often the line had been stored to, and what it held then


@dataclass(frozen=True)
class Machine:
    """Of each line what the CPU, the device's cache and its flash hold, and the flushes under way."""

    cpu: tuple[Content, ...]
    cache: tuple[Content, ...]
    flash: tuple[Content, ...]
    flushes: frozenset[tuple[int, int, Content]] = frozenset()  # core, line, what it takes along


def newer(of: tuple[Content, ...], line: int, content: Content) -> tuple[Content, ...]:
    return (*of[:line], max(of[line], content), *of[line + 1 :])


class Reference:
    """Every state that the machine can be in."""

    def __init__(self, lines: int, domain: Domain) -> None:
        start = ((0, image(Place(0, 0))),) * lines
        self.lines, self.domain = range(lines), domain
        self.images: set[tuple[bytes, ...]] = set()  # that a cut can have left since this was emptied
        self.machines = self._closure({Machine(start, start, start)})

    def _survives(self, m: Machine) -> tuple[Content, ...]:
        if not self.domain.cache_protected:
            return m.flash
        return m.cpu if self.domain.name == "eadr" else m.cache

    def _closure(self, machines: set[Machine]) -> set[Machine]:
        found, new = set(machines), list(machines)
        while new:
            for after in self._by_itself(new.pop()):
                if after not in found:
                    found.add(after)
                    new.append(after)
        self.images |= {tuple(content for _, content in self._survives(m)) for m in found}
        return found

    def _by_itself(self, m: Machine) -> Iterator[Machine]:
        for line in self.lines:
            yield replace(m, cache=newer(m.cache, line, m.cpu[line]))
            yield replace(m, flash=newer(m.flash, line, m.cache[line]))
        for flush in m.flushes:
            yield arrive(m, flush)

    def apply(self, record: Record) -> None:
        line = record.dpa // LINE_BYTES
        if record.kind in (Kind.STORE, Kind.NT_STORE):
            self.machines = {done for m in self.machines for done in self._store(m, line, record)}
        self.machines = self._closure({forced(m, record, line, self.lines) for m in self.machines})

    def _store(self, m: Machine, line: int, record: Record) -> set[Machine]:
        """Its pieces in any order, and anything can happen between two."""
        done: set[Machine] = set()
        for order in itertools.permutations(pieces(record)):
            now = {m}
            for at, byte in order:
                now = self._closure({stored(each, line, at, byte) for each in now})
            done |= now
        return done


def pieces(record: Record) -> list[tuple[int, bytes]]:
    """Bytes of one 8-byte word together, by their offset in the line."""
    at = record.dpa % LINE_BYTES
    words: dict[int, tuple[int, bytes]] = {}
    for n, byte in enumerate(record.data):
        first, so_far = words.get((at + n) // 8, (at + n, b""))
        words[(at + n) // 8] = (first, so_far + bytes([byte]))
    return list(words.values())


def stored(m: Machine, line: int, at: int, piece: bytes) -> Machine:
    age, content = m.cpu[line]
    return replace(m, cpu=newer(m.cpu, line, (age + 1, content[:at] + piece + content[at + len(piece) :])))


def arrive(m: Machine, flush: tuple[int, int, Content]) -> Machine:
    _, line, content = flush
    return replace(m, cache=newer(m.cache, line, content), flushes=m.flushes - {flush})


def forced(m: Machine, record: Record, line: int, lines: range) -> Machine:
    """What an instruction starts, or waits for."""
    match record.kind:
        case Kind.FLUSH if record.value == CLFLUSH:
            return replace(m, cache=newer(m.cache, line, m.cpu[line]))
        case Kind.FLUSH | Kind.NT_STORE:
            return replace(m, flushes=m.flushes | {(record.core, line, m.cpu[line])})
        case Kind.FENCE:
            for flush in m.flushes:
                m = arrive(m, flush) if flush[0] == record.core else m
        case Kind.WBINVD:
            for each in lines:
                m = replace(m, cache=newer(m.cache, each, m.cpu[each]))
        case Kind.BARRIER:
            for each in lines:
                m = replace(m, flash=newer(m.flash, each, m.cache[each]))
    return m


def random_records(draw: random.Random, count: int, lines: int, cores: Sequence[int]) -> list[Record]:
    def one(n: int) -> Record:
        kind = draw.choice(
            [Kind.STORE] * 5
            + [Kind.NT_STORE, Kind.FLUSH, Kind.FLUSH, Kind.FENCE, Kind.FENCE, Kind.BARRIER, Kind.WBINVD]
        )
        dpa, core = LINE_BYTES * draw.randrange(lines), draw.choice(cores)
        if kind in (Kind.STORE, Kind.NT_STORE):
            at, size = draw.choice([(0, 8), (0, 8), (8, 8), (4, 4), (0, 16), (12, 8)])
            return Record(kind, core, dpa=dpa + at, data=bytes([draw.choice([46, 65 + n])]) * size)
        value = draw.choice([0, 0, 0, CLFLUSH]) if kind == Kind.FLUSH else 0
        return Record(kind, core, value=value, dpa=dpa if kind == Kind.FLUSH else 0)

    return [one(n) for n in range(count)]


def found_images(records: Sequence[Record], domain: Domain, lines: int) -> list[set[tuple[bytes, ...]]]:
    """At each ordering point, by the library."""
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


TWO_CORES, THREE_CORES = (0, 0, 0, 1), (0, 1, 2)  # of two, one does almost all


def case(domain: Domain, cores: Sequence[int]) -> Any:
    protected = "" if domain.cache_protected else "un"
    return pytest.param(domain, cores, id=f"{domain.name}-{protected}protected-{len(set(cores))}-cores")


@pytest.mark.parametrize(
    ("domain", "cores"), [case(DOMAINS[0], THREE_CORES), *(case(domain, TWO_CORES) for domain in DOMAINS)]
)
def test_the_states_are_those_of_a_machine_that_tries_everything(domain: Domain, cores: Sequence[int]) -> None:
    points = 0
    for seed in range(30):
        draw = random.Random(seed)
        records = [*random_records(draw, 7, 2, cores), Record(Kind.END)]
        reference, expected = Reference(2, domain), []
        for record in records:
            if is_ordering(record):
                expected.append(reference.images)
                reference.images = set()
            reference.apply(record)
        found = found_images(records, domain, 2)
        points += len(found)
        for n, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
            assert ours == theirs, f"seed {seed}, point {n}: {records}"
    assert points > 60


# ---- By hand ----

A, B = 0, LINE_BYTES


def store(dpa: int, data: bytes, **more: int) -> Record:
    return Record(Kind.STORE, dpa=dpa, data=data, **more)  # type: ignore[arg-type]


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
    run = [store(A, b"a" * 8), flush(A), FENCE, mark(1), store(B, b"b" * 8), mark(2), store(B, b"c" * 8)]
    states = list(explore(journal_of(run), image, marked=True))
    assert [s.point.mark for s in states] == [1, 1]
    assert sorted(words(states, A, B)) == [b"a.", b"ab"]
    assert list(explore(journal_of([store(A, b"a" * 8)]), image, marked=True)) == []


def test_many_lines_are_tried_in_part_and_that_is_counted() -> None:
    lines = [n * LINE_BYTES for n in range(40)]
    run = journal_of([store(dpa, b"n" * 8) for dpa in lines])
    bounds, counts = Bounds(exhaustive=100, subsets=1000, samples=50), Counts()
    states = list(explore(run, image, bounds, counts=counts))
    kept = [sum(content != image(at) for at, content in s.lines.items()) for s in states]
    assert [len(states), kept.count(0), kept.count(40)] == [counts.states, 1, 1]
    assert kept.count(1) == kept.count(39) == 40  # one-element subsets, and all but one
    assert kept.count(2) == kept.count(38) == 40 * 39 // 2
    assert (counts.points, counts.points_in_part, counts.combinations) == (1, 1, 2**40)
    assert states == list(explore(run, image, bounds)), "the same states in every run"
    other = list(explore(run, image, replace(bounds, seed=2)))
    assert {s.digest for s in states} != {s.digest for s in other}


def test_lines_that_lose_little_come_first() -> None:
    run = journal_of([store(A, b"a" * 8), store(B, b"b" * 8)])
    assert [len(s.lost) for s in explore(run, image)] == [0, 1, 1, 2]


def test_devices_of_several_domains_are_refused() -> None:
    parameters = dict(journal_of([]).parameters)
    parameters |= {name.replace("device0", "device1"): value for name, value in parameters.items()}
    parameters["device1.persist-domain"] = "none"
    with pytest.raises(TestbedError, match="the devices of the journal differ"):
        next(explore(replace(journal_of([]), parameters=parameters), image))


def test_a_line_is_found_by_any_of_its_bytes() -> None:
    assert place_of(store(B + 17, b"")) == Place(0, B)
