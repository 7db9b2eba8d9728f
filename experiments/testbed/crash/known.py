# SPDX-License-Identifier: BSD-3-Clause
"""The known verdicts of a judge that depends on nothing but the lines that it reads.

Recovery and check are deterministic: the first line that they read is always the same one, and its content decides
which line is read next. Their verdicts therefore form a tree: a branch is a line, an edge its content, a leaf a
verdict. An image with a known path through the tree needs no guest. Contents of a line off the path are not tried,
because the verdict does not depend on them.
"""

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ..errors import RunFailed
from .images import Image, Layer, Lines
from .lines import Open, Place

V = TypeVar("V")

Read = tuple[Place, bytes]  # a line, and the digest of its content
Judge = Callable[[Lines], Awaitable[tuple[V, Sequence[Read]]]]  # the verdict, and the reads in order


@dataclass
class Leaf(Generic[V]):
    verdict: V


@dataclass
class Branch(Generic[V]):
    place: Place
    edges: "dict[bytes, Branch[V] | Leaf[V]]" = field(default_factory=dict)


@dataclass(frozen=True)
class Class(Generic[V]):
    """All images of a point that the judge cannot tell apart. `chosen` numbers the content of each line it reads."""

    leaf: Leaf[V]
    chosen: Mapping[Place, int]

    def images(self, lines: Sequence[Open]) -> int:
        """Return how many combinations of these lines belong to the class."""
        return math.prod(line.count for line in lines if line.place not in self.chosen)


def digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


class Known(Generic[V]):
    """The tree of verdicts, which calls the judge once for each unknown path."""

    def __init__(self, judge: Judge[V], begin: Image) -> None:
        self._judge, self._begin = judge, begin
        self._top: Branch[V] = Branch(Place(-1, 0))  # its only edge leads to the root
        self._asked: dict[tuple[int, bytes], asyncio.Task[None]] = {}

    async def classes(self, base: Lines, lines: Sequence[Open], most: int) -> list[Class[V]]:
        """Return the classes of all images with any content of these lines, oldest contents first; at most `most`."""
        choices = {line.place: line.contents for line in lines}
        oldest = Layer(base, {place: contents[0] for place, contents in choices.items()})
        found: list[Class[V]] = []
        ways: list[tuple[Branch[V], bytes, dict[Place, int]]] = [(self._top, b"", {})]
        while ways and len(found) < most:
            await asyncio.sleep(0)  # a known path awaits nothing: without this no other task could run
            branch, edge, chosen = ways.pop()
            image = Layer(oldest, {place: choices[place][n] for place, n in chosen.items()})
            node = await self._follow(branch, edge, image)
            while isinstance(node, Branch) and (node.place not in choices or node.place in chosen):
                node = await self._follow(node, self._edge(node, image), image)
            if isinstance(node, Leaf):
                found.append(Class(node, chosen))
            else:
                contents = list(enumerate(choices[node.place]))
                ways += [(node, digest(content), {**chosen, node.place: n}) for n, content in reversed(contents)]
        return found

    async def of_image(self, base: Lines, lines: Sequence[Open], numbers: Sequence[int]) -> Class[V]:
        """Return the class of the image with these contents of the lines."""
        await asyncio.sleep(0)
        choice = {line.place: n for line, n in zip(lines, numbers, strict=True)}
        image = Layer(base, {line.place: line.contents[choice[line.place]] for line in lines})
        chosen: dict[Place, int] = {}
        node = await self._follow(self._top, b"", image)
        while isinstance(node, Branch):
            if node.place in choice:
                chosen[node.place] = choice[node.place]
            node = await self._follow(node, self._edge(node, image), image)
        return Class(node, chosen)

    def _edge(self, branch: Branch[V], image: Lines) -> bytes:
        return digest(self._line(branch.place, image))

    def _line(self, place: Place, image: Lines) -> bytes:
        content = image.get(place)
        return self._begin(place) if content is None else content

    async def _follow(self, branch: Branch[V], edge: bytes, image: Lines) -> Branch[V] | Leaf[V]:
        """Follow the edge that the image takes; judge the image if needed. Concurrent callers share one judgement."""
        while edge not in branch.edges:
            where = (id(branch), edge)
            task = self._asked.get(where)
            if task is None:
                task = self._asked[where] = asyncio.ensure_future(self._ask(image))
            await task
            if edge not in branch.edges:
                raise _disorder()
        return branch.edges[edge]

    async def _ask(self, image: Lines) -> None:
        verdict, reads = await self._judge(image)
        self.learn(reads, verdict)

    def learn(self, reads: Sequence[Read], verdict: V) -> None:
        """Add the verdict that the judge returned after these reads. RunFailed: it contradicts the tree."""
        branch, edge = self._top, b""
        for place, content in reads:
            node = branch.edges.setdefault(edge, Branch(place))
            if isinstance(node, Leaf) or node.place != place:
                raise _disorder()
            branch, edge = node, content
        leaf = branch.edges.setdefault(edge, Leaf(verdict))
        if not isinstance(leaf, Leaf) or leaf.verdict != verdict:
            raise _disorder()


def _disorder() -> RunFailed:
    return RunFailed(
        "recovery or check went two ways from the same lines: they depend on more than what the device holds, as on "
        "what it reads by DMA; judge every state by itself with --every"
    )
