# SPDX-License-Identifier: BSD-3-Clause
"""Judges the states of a run: one for each group that recovery cannot tell apart, or each state by itself.

A few points are judged at a time, so that guests do not wait for each other. The findings are in the order of the run,
and do not depend on the number of points judged at a time.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from .images import Image, Layer, Lines, Newest, Snapshot, image_digest
from .journal import Journal
from .known import Class, Known, Read
from .lines import Open, Place
from .report import Detail
from .states import (
    Bounds,
    Choice,
    Counts,
    Point,
    State,
    Tracker,
    asked_records,
    bounded,
    new_states,
    points_among,
    stored_to,
    walking,
)

Judge = Callable[[Lines, int | None], Awaitable[tuple[Detail, Sequence[Read]]]]  # lines and mark; verdict and reads
Progress = Callable[[int, int, int, int], None]  # points done, all points, states judged, violations
Work = Coroutine[Any, Any, list["Finding"]]


@dataclass(frozen=True)
class Finding:
    """A state and its verdict. The state loses least in a group that recovery cannot tell apart."""

    key: Hashable  # of the group
    state: State
    detail: Detail

    def violates(self) -> bool:
        return self.detail.outcome != "ok"


@dataclass
class Judging:
    run: Journal
    begin: Image
    bounds: Bounds
    judge: Judge
    every: bool = False  # judge each state by itself
    jobs: int = 1
    counts: Counts = field(default_factory=Counts)
    # The lines that differ between states; known from the first point on.
    varied: Set[Place] = frozenset()
    found: dict[Hashable, Finding] = field(default_factory=dict)  # at the finished points
    done: int = 0  # finished points
    judged: int = 0  # states, including states of unfinished points
    bad: int = 0  # violations among the judged states

    def __post_init__(self) -> None:
        self._trees: dict[int | None, Known[Detail]] = {}
        self._slots = asyncio.Semaphore(self.jobs)
        self._tell: Callable[[], None] = lambda: None

    def tree(self, mark: int | None) -> Known[Detail]:
        """Return the tree of known verdicts after that mark."""

        async def judge(lines: Lines) -> tuple[Detail, Sequence[Read]]:
            return await self._judge(lines, mark)

        return self._trees.setdefault(mark, Known(judge, self.begin))

    async def findings(self, progress: Progress) -> list[Finding]:
        """Judge all states. Return one finding for each state with its mark, in the order of first occurrence."""
        under_way: deque[asyncio.Task[list[Finding]]] = deque()
        total = points_among(self.run, asked_records(self.run, marked=True)) + 1  # behind the last mark
        self._tell = lambda: progress(self.done, total, self.judged, self.bad)

        async def take() -> None:
            self._keep(await under_way.popleft())
            self.done += 1
            if self.done == total:
                self.bad = sum(finding.violates() for finding in self.found.values())
            self._tell()

        try:
            for work in self._points():
                if work:
                    under_way.append(asyncio.create_task(work))
                if len(under_way) >= self.jobs:
                    await take()
                await asyncio.sleep(0)  # so that Ctrl-C can interrupt
            while under_way:
                await take()
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)
            self.counts.states = len(self.found)
        return list(self.found.values())

    def _keep(self, findings: Sequence[Finding]) -> None:
        for finding in findings:
            known = self.found.get(finding.key)
            if known is None or len(finding.state.lost) < len(known.state.lost):
                self.found[finding.key] = finding

    def _points(self) -> Iterator[Work | None]:
        """Yield the work of each point, in the order of the run; None now and then between points."""
        seen: set[tuple[int | None, bytes]] = set()
        newest = Newest(self.begin)
        for found in walking(self.run, self.begin, marked=True):
            if not found:
                yield None
                continue
            point, tracker = found
            if not self.counts.points:
                self.varied = self._varied(tracker)
            self.counts.points += 1
            lines, base = tracker.open_lines(self.bounds), tracker.base().snapshot()
            if self.every:
                yield self._every(list(new_states(point, tracker, self.bounds, seen, self.counts)))
            elif lines is None:
                choices = list(tracker.choices(self.bounds, f"{self.bounds.seed}/{point.record}"))
                yield self._one_by_one(point, base, choices)
            else:
                yield self._lazily(point, base, newest.at(base, lines), lines)

    def _varied(self, first: Tracker) -> Set[Place]:
        """Return the lines that are stored to after the first mark, or that are not durable at the first point."""
        return stored_to(self.run, asked_records(self.run, marked=True)).union(first.unsure())

    async def _judge(self, lines: Lines, mark: int | None) -> tuple[Detail, Sequence[Read]]:
        async with self._slots:
            detail, read = await self.judge(lines, mark)
        self.judged += 1
        self.bad += detail.outcome != "ok"
        self._tell()
        return detail, read

    async def _every(self, states: Sequence[State]) -> list[Finding]:
        judged = await asyncio.gather(*(self._judge(state.lines, state.point.mark) for state in states))
        return [
            Finding((state.point.mark, state.digest), state, detail)
            for state, (detail, _) in zip(states, judged, strict=True)
        ]

    async def _lazily(self, point: Point, base: Snapshot, all_newest: Snapshot, lines: Sequence[Open]) -> list[Finding]:
        """Judge the classes that recovery can tell apart, up to the bound; beyond it, a selection by bounded()."""
        tree = self.tree(point.mark)
        classes = await tree.classes(base, lines, self.bounds.exhaustive)
        if sum(found.images(lines) for found in classes) < point.combinations:
            newest, sizes = tuple(line.newest for line in lines), [len(line.contents) for line in lines]
            for numbers in bounded(newest, sizes, self.bounds, f"{self.bounds.seed}/{point.record}"):
                found = await tree.of_image(base, lines, numbers)
                if found not in classes:
                    classes.append(found)
        self._count(point, sum(found.images(lines) for found in classes))
        return [
            Finding((point.mark, id(found.leaf)), self._state_of(found, point, all_newest, lines), found.leaf.verdict)
            for found in classes
        ]

    def _state_of(self, found: Class[Detail], point: Point, all_newest: Snapshot, lines: Sequence[Open]) -> State:
        """Return the state of the class that loses least: a line that recovery does not read has its newest bytes."""
        chosen = [(line, found.chosen[line.place]) for line in lines if line.place in found.chosen]
        lost = {line.place: line.lost[n] for line, n in chosen if n != line.newest}
        image = Layer(all_newest, {line.place: line.contents[n] for line, n in chosen if n != line.newest})
        return State(point, image, lost, image_digest(image, self.begin))

    async def _one_by_one(self, point: Point, base: Snapshot, choices: Sequence[Choice]) -> list[Finding]:
        """Judge choices that cover all lines at once. Images that recovery cannot tell apart are still judged once."""
        findings = []
        for choice in choices:
            lines = Layer(base, choice.lines)
            found = await self.tree(point.mark).of_image(lines, [], [])
            state = State(point, lines, choice.lost, image_digest(lines, self.begin))
            findings.append(Finding((point.mark, id(found.leaf)), state, found.leaf.verdict))
        self._count(point, len(choices))
        return findings

    def _count(self, point: Point, tried: int) -> None:
        self.counts.points_in_part += tried < point.combinations
        self.counts.combinations += point.combinations
        self.counts.tried += tried
