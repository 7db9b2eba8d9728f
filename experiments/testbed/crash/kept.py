# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts of a crash test, each stored as soon as it exists, so that an interrupted test resumes from them.

Each verdict is a line of JSON in a file of the results folder. Like a result, the file is named by the hash of all that
can influence a verdict. A verdict is of an image and a mark and lists the lines that it depends on, so the hash covers
no bounds.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import canonical, outputs
from ..errors import TestbedError
from .known import Known, Read
from .lines import Place
from .report import Detail


@dataclass(frozen=True)
class Verdict:
    """The verdict on an image after a mark, and the lines that it depends on, in the order of first reads."""

    mark: int
    image: str  # the image's hash
    detail: Detail
    reads: list[Read]


def file_for(root: Path, name: str, identity: Mapping[str, Any]) -> Path:
    return outputs.within(root, name, "crash", f"-{canonical.digest(identity)[:16]}.verdicts")


@dataclass
class Kept:
    """The verdicts in a file; without a path, verdicts live in this process only."""

    path: Path | None = None
    verdicts: dict[tuple[int, str], Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        lines: list[bytes] = []
        if self.path:
            with suppress(FileNotFoundError):
                lines = self.path.read_bytes().splitlines(keepends=True)
        for number, line in enumerate(lines):
            verdict = _parse(line)
            if verdict:
                self.verdicts[verdict.mark, verdict.image] = verdict
            elif number + 1 < len(lines):
                raise TestbedError(
                    f"{self.path}: line {number + 1} is damaged; remove the file to judge all states again"
                )
        if self.path and lines and not lines[-1].endswith(b"\n"):
            self._write(b"\n")  # the last line was cut short

    def add(self, verdict: Verdict) -> None:
        self.verdicts[verdict.mark, verdict.image] = verdict
        reads = [[place.device, place.dpa, content.hex()] for place, content in verdict.reads]
        data = {"mark": verdict.mark, "image": verdict.image, **asdict(verdict.detail), "reads": reads}
        text = json.dumps(data | {"checksum": canonical.digest(data)}, sort_keys=True)
        self._write(text.encode() + b"\n")

    def teach(self, tree: Known[Detail], mark: int) -> None:
        """Add all known verdicts of the mark to the tree."""
        for verdict in self.verdicts.values():
            if verdict.mark == mark:
                tree.learn(verdict.reads, verdict.detail)

    def _write(self, line: bytes) -> None:
        if not self.path:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                file.write(line)
        except OSError as error:
            raise TestbedError(f"cannot write {self.path}: {error.strerror}; finished verdicts are kept") from error


def _parse(line: bytes) -> Verdict | None:
    """Parse a line of the file; None if the line is not whole."""
    with suppress(ValueError, KeyError, TypeError):
        data = json.loads(line)
        if canonical.digest({name: value for name, value in data.items() if name != "checksum"}) == data["checksum"]:
            reads = [(Place(device, dpa), bytes.fromhex(content)) for device, dpa, content in data["reads"]]
            return Verdict(data["mark"], data["image"], Detail(data["outcome"], data["said"], data["text"]), reads)
    return None
