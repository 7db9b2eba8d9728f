# SPDX-License-Identifier: BSD-3-Clause
"""Lazy choice: random checkers give each class of images the verdict that they give every image in it."""

import asyncio
import itertools
import math
import random
from collections.abc import Sequence

import pytest

from testbed.crash.images import Lines
from testbed.crash.journal import LINE_BYTES
from testbed.crash.known import Class, Known, Read, digest
from testbed.crash.lines import Open, Place
from testbed.errors import RunFailed
from testbed.run.runner import drive

PLACES = [Place(0, n * LINE_BYTES) for n in range(6)]
BEGIN = b"." * LINE_BYTES


class Checker:
    """Reads lines, each chosen by the contents before it, then returns a verdict; the seed decides all choices."""

    def __init__(self, seed: int) -> None:
        self.seed, self.asked = seed, 0

    def walk(self, image: Lines) -> tuple[str, list[Place]]:
        places: list[Place] = []
        held = b""
        while True:
            draw = random.Random(f"{self.seed} {held!r}")
            left = [place for place in PLACES if place not in places]
            if not left or draw.random() < 0.25:
                return draw.choice(["fine", "lost", "torn"]), places
            places.append(draw.choice(left))
            held += image.get(places[-1], BEGIN)[:1]

    async def __call__(self, image: Lines) -> tuple[str, Sequence[Read]]:
        self.asked += 1
        await asyncio.sleep(0)
        verdict, places = self.walk(image)
        return verdict, [(place, digest(image.get(place, BEGIN))) for place in places]


def known(checker: Checker) -> Known[str]:
    return Known(checker, lambda _: BEGIN)


def point(seed: int) -> tuple[Lines, list[Open]]:
    """Durable contents of some lines, and open choices for others."""
    draw = random.Random(seed)
    base = {place: draw.choice([b"a", b"b"]) * LINE_BYTES for place in PLACES if draw.random() < 0.5}
    chosen = sorted(draw.sample(PLACES, draw.randint(1, 5)))
    counts = [draw.randint(2, 3) for _ in chosen]
    contents = [tuple(bytes([65 + n]) * LINE_BYTES for n in range(count)) for count in counts]
    return base, [
        Open(place, of_line, lost=(), newest=1, count=count)
        for place, of_line, count in zip(chosen, contents, counts, strict=True)
    ]


def images(base: Lines, lines: Sequence[Open]) -> list[dict[Place, bytes]]:
    every = itertools.product(*(line.contents for line in lines))
    return [
        {**base, **{line.place: content for line, content in zip(lines, contents, strict=True)}} for contents in every
    ]


def class_of(image: Lines, lines: Sequence[Open], classes: Sequence[Class[str]]) -> Class[str]:
    of = {line.place: line.contents for line in lines}
    found = [c for c in classes if all(image[place] == of[place][n] for place, n in c.chosen.items())]
    assert len(found) == 1, "each image is of one class"
    return found[0]


@pytest.mark.parametrize("seed", range(60))
def test_classes_say_of_each_image_what_the_checker_says(seed: int) -> None:
    """Several points are judged one after the other, and all at once."""
    checker, points = Checker(seed), [point(seed * 100 + n) for n in range(4)]
    tree = known(checker)

    async def all_classes() -> list[list[Class[str]]]:
        return list(await asyncio.gather(*(tree.classes(base, lines, 10**6) for base, lines in points)))

    at_once = drive(all_classes())
    tree = known(checker)
    for (base, lines), there in zip(points, at_once, strict=True):
        classes = drive(tree.classes(base, lines, 10**6))
        assert [(c.leaf.verdict, c.chosen) for c in classes] == [(c.leaf.verdict, c.chosen) for c in there]
        every = images(base, lines)
        assert sum(c.images(lines) for c in classes) == len(every) == math.prod(len(line.contents) for line in lines)
        for image in every:
            found, (verdict, places) = class_of(image, lines, classes), checker.walk(image)
            assert found.leaf.verdict == verdict
            assert set(found.chosen) == set(places) & {line.place for line in lines}


def test_what_is_known_is_not_asked_again() -> None:
    checker = Checker(3)
    tree = known(checker)
    base, lines = point(7)

    async def twice() -> tuple[list[Class[str]], list[Class[str]]]:
        one, two = await asyncio.gather(tree.classes(base, lines, 99), tree.classes(base, lines, 99))
        return one, two

    one, two = drive(twice())
    assert one == two and checker.asked == len(one)
    numbers = [1] * len(lines)
    found = drive(tree.of_image(base, lines, numbers))
    assert found in one and checker.asked == len(one)


def test_no_more_classes_than_asked_for() -> None:
    base, lines = point(7)
    every = drive(known(Checker(3)).classes(base, lines, 10**6))
    assert len(every) > 2
    assert drive(known(Checker(3)).classes(base, lines, 2)) == every[:2]


def test_a_judge_that_depends_on_more_than_it_reads_is_found_out() -> None:
    class Restless(Checker):
        def walk(self, image: Lines) -> tuple[str, list[Place]]:
            return "fine", [PLACES[(self.asked + len(image)) % 2]]

    lines = [Open(place, (BEGIN, b"x" * LINE_BYTES), (), 1, 2) for place in PLACES]
    with pytest.raises(RunFailed, match="went two ways"):
        drive(known(Restless(1)).classes({}, lines, 99))
