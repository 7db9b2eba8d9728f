# SPDX-License-Identifier: BSD-3-Clause
"""Images that share lines, compared with dictionaries; memory of an exploration; Ctrl-C while it judges nothing."""

import asyncio
import random
import tracemalloc
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rigs.crash.journal_writer import JournalText
from testbed.crash.images import ENCODED, Base, Layer, Lines, Newest, Snapshot, encoded, flat, image_digest
from testbed.crash.journal import LINE_BYTES, Kind, Record, parse, reading
from testbed.crash.judging import Judging
from testbed.crash.known import Read, digest
from testbed.crash.lines import Open, Place
from testbed.crash.report import Detail
from testbed.crash.states import Bounds, Counts
from testbed.run.interrupt import interruptible

PLACES = [Place(0, LINE_BYTES * n) for n in range(8)]
CONTENTS = [letter * LINE_BYTES for letter in (b".", b"a", b"b", b"c")]


def begin(_: Place) -> bytes:
    return b"." * LINE_BYTES


def put_some(draw: random.Random, base: Base, model: dict[Place, bytes]) -> None:
    for place in draw.choices(PLACES, k=draw.randint(0, 4)):
        model[place] = draw.choice(CONTENTS)
        base.put(place, model[place])


def differing(lines: Lines) -> dict[Place, bytes]:
    return {place: content for place, content in lines.items() if content != begin(place)}


def growing(draw: random.Random) -> Iterator[tuple[list[tuple[Snapshot, dict[Place, bytes]]], dict[Place, bytes]]]:
    """Change a base again and again: yield all its snapshots so far with their lines, and contents for a layer."""
    base, model = Base(begin), dict[Place, bytes]()
    taken: list[tuple[Snapshot, dict[Place, bytes]]] = []
    for _ in range(6):
        put_some(draw, base, model)
        taken.append((base.snapshot(), dict(model)))
        yield taken, {place: draw.choice(CONTENTS) for place in draw.sample(PLACES, 2)}


@pytest.mark.parametrize("seed", range(40))
def test_a_snapshot_keeps_its_lines_while_the_base_goes_on(seed: int) -> None:
    for taken, chosen in growing(random.Random(seed)):
        for snapshot, expected in taken:
            for image, lines in ((snapshot, expected), (Layer(snapshot, chosen), {**expected, **chosen})):
                assert differing(flat(image)) == differing(image) == differing(lines)
                assert len(image) == len(list(image))
                assert [image.get(place, begin(place)) for place in PLACES] == [
                    lines.get(place, begin(place)) for place in PLACES
                ]
                assert image_digest(image, begin) == image_digest(lines, begin) == image_digest(differing(lines), begin)


def decoded(content: bytes) -> dict[Place, bytes]:
    """Lines as a copy sees them: of two contents of a line, the later one."""
    return {Place(device, dpa): line for device, dpa, line in ENCODED.iter_unpack(content)}


@pytest.mark.parametrize("seed", range(40))
def test_a_copy_gets_the_lines_of_its_image(seed: int) -> None:
    draw = random.Random(seed)
    for taken, chosen in growing(draw):
        for snapshot, expected in draw.sample(taken, len(taken)):  # the kept encoding is of one snapshot
            assert decoded(encoded(snapshot)) == flat(snapshot)
            above = Layer(Layer(snapshot, {PLACES[0]: CONTENTS[1]}), chosen)
            assert decoded(encoded(above)) == {**expected, PLACES[0]: CONTENTS[1], **chosen}
            assert decoded(encoded(expected)) == expected


@pytest.mark.parametrize("seed", range(40))
def test_the_newest_image_follows_lines_as_they_become_open_and_durable(seed: int) -> None:
    draw, base, model, newest = random.Random(seed), Base(begin), dict[Place, bytes](), Newest(begin)
    still: list[Open] = []
    for _ in range(6):
        put_some(draw, base, model)
        durable = base.snapshot()
        sure = {place: durable.get(place) or begin(place) for place in PLACES}
        still = [line for line in still if draw.random() < 0.5 and sure[line.place] == line.contents[0]]
        closed = [place for place in PLACES if place not in {line.place for line in still}]
        still += [
            Open(place, (sure[place], draw.choice(CONTENTS)), ((1,), ()), 1, 2)
            for place in draw.sample(closed, min(2, len(closed)))
        ]
        expected = {**model, **{line.place: line.contents[1] for line in still}}
        assert differing(newest.at(durable, still)) == differing(expected)


def stored(lines: int, *, flushed: bool) -> list[Record]:
    """Eight stores to each line; with `flushed` the line is then flushed and fenced, else it stays in the caches."""
    records = []
    for n in range(lines):
        where = {"pc": 2**40 + n, "process": 2**33, "at_ps": 10**12 + n}
        for word in range(8):
            records.append(Record(Kind.STORE, dpa=LINE_BYTES * n + 8 * word, data=bytes([65 + n % 26]) * 8, **where))
        records += [Record(Kind.FLUSH, dpa=LINE_BYTES * n), Record(Kind.FENCE)] if flushed else []
    return records


def appended(points: int) -> list[Record]:
    """A program that makes a word durable at `points` points, between two marks."""
    steps = ((Record(Kind.STORE, data=b"%8d" % n), Record(Kind.FLUSH), Record(Kind.FENCE)) for n in range(points))
    return [Record(Kind.MARK), *(record for step in steps for record in step), Record(Kind.MARK, value=1)]


@pytest.mark.parametrize(("flushed", "most"), [(True, 3), (False, 16)], ids=["durable", "in the caches"])
def test_an_exploration_needs_few_times_the_memory_of_its_journal(flushed: bool, most: int) -> None:
    """The test takes the peak while 20 points are judged, in a run that first stored to a thousand lines."""
    content = JournalText([*stored(1000, flushed=flushed), *appended(20), Record(Kind.END)]).bytes()

    async def judge(lines: Lines, _: int | None) -> tuple[Detail, Sequence[Read]]:
        return Detail("ok", "", ""), [(place, digest(lines.get(place) or begin(place))) for place in PLACES[:2]]

    tracemalloc.start()
    judging = Judging(parse(content), begin, Bounds(16, 4, 2), judge)
    found = asyncio.run(judging.findings(lambda *_: None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) > 20 and judging.counts.points > 20
    assert peak < most * len(content)


async def fine(_: Lines, __: int | None) -> tuple[Detail, Sequence[Read]]:
    return Detail("ok", "", ""), []


def test_an_interrupt_ends_the_reading_of_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    path.write_bytes(JournalText([Record(Kind.END)]).bytes())

    async def interrupted() -> None:
        cancel_this_task()
        with pytest.raises(asyncio.CancelledError):
            await interruptible(reading(path))
        await asyncio.sleep(0)  # ending the guests awaits, too

    asyncio.run(interrupted())


def test_an_interrupt_ends_the_way_to_the_first_point() -> None:
    async def interrupted() -> Counts:
        judging = Judging(parse(content), begin, Bounds(), fine)
        cancel_this_task()
        with pytest.raises(asyncio.CancelledError):
            await judging.findings(lambda *_: None)
        return judging.counts

    content = JournalText([*stored(1000, flushed=True), *appended(1), Record(Kind.END)]).bytes()
    assert asyncio.run(interrupted()).points == 0


def cancel_this_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
