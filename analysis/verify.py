# SPDX-License-Identifier: BSD-3-Clause
"""`testbed verify`: the runs of the figures are made again, and must give what the committed digests say, bit for bit.

A line of experiments/SCALE.sha256 is the digest of what one run measured, and its name, MANIFEST/LABEL. What is
digested are the outcome, the rows and, of each region of interest, all but when it began: no keys of builds and no
paths. So a line changes only if a measurement does. Measurements may change with the builds of QEMU and the guest:
experiments/SCALE.builds has the packages and the hashes of the sources that the digests were recorded with.
"""

import fnmatch
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import catalogue, causes
from testbed import canonical, outputs, scratch
from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest.session import Session
from testbed.manifest.manifest import Run
from testbed.paths import EXPERIMENTS, results_root
from testbed.results.results import Result
from testbed.run.runner import run_with_bar

from . import figures

LICENSE = "# SPDX-License-Identifier: BSD-3-Clause\n"
SEVERAL_CPUS = ("thread-commits-quick",)  # no figure has runs of more than one


@dataclass(frozen=True)
class Verdict:
    """One run: its digest in the file, and the one of the run that was made now."""

    name: str
    committed: str | None
    measured: str

    @property
    def word(self) -> str:
        if self.committed is None:
            return "not in the file"
        return "same" if self.committed == self.measured else "DIFFERS"

    def as_data(self) -> dict[str, Any]:
        return {**vars(self), "verdict": self.word}


def file_of(scale: str) -> Path:
    return EXPERIMENTS / f"{scale}.sha256"


def builds_of(path: Path) -> Path:
    """The file of the builds beside a file of digests."""
    return path.with_suffix(".builds")


def other_builds(path: Path) -> list[str]:
    """The packages and sources of the guest that changed since the digests of `path` were recorded; "none": absent."""
    try:
        lines = builds_of(path).read_text().splitlines()
    except OSError as error:
        raise TestbedError(f"cannot read {builds_of(path)}: {error.strerror}; restore that file") from error
    then = {name: version for name, _, version in (line.partition(" ") for line in lines if not line.startswith("#"))}
    now = components.guest_builds()
    names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    return [f"{name} {_short(then.get(name))} -> {_short(now.get(name))}" for name in names]


def _short(version: str | None) -> str:
    """A version as a table shows it: of a hash the first 12 digits."""
    return version[:12] if version and len(version) == 64 else version or "none"


def digest(result: Result) -> str:
    """Of what was measured."""
    data = result.data
    regions = [_region(roi) for roi in data["rois"]]
    return canonical.digest([data["outcome"], data["exit_status"], data["rows"], regions])


def _region(roi: dict[str, Any]) -> dict[str, Any]:
    """A region of interest by its length: when it began depends on how long the guest took to boot."""
    times = ("begin-ps", "end-ps")
    return {k: v for k, v in roi.items() if k not in times} | {"span-ps": roi["end-ps"] - roi["begin-ps"]}


def name_of(run: Run) -> str:
    return f"{run.manifest}/{run.label}"


def load(path: Path) -> dict[str, str]:
    """Name -> digest, as the file has them."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}; testbed verify --update writes it") from error
    pairs = [line.split("  ", 1) for line in lines if not line.startswith("#")]
    bad = next((pair for pair in pairs if len(pair) != 2 or len(pair[0]) != 64), None)
    if bad:
        raise TestbedError(f"{path}: '{'  '.join(bad)}' is not a digest, two spaces and a name; restore that line")
    return {name: digest for digest, name in pairs}


def pick(names: Sequence[str], scale: str) -> list[Run]:
    """The runs of figures named so, or whose name MANIFEST/LABEL a pattern fits; all there are if none is named."""
    known = {entry.name for entry in catalogue.FIGURES}
    runs = figures.runs_of(catalogue.FIGURES, scale, (*causes.manifests(), *SEVERAL_CPUS))
    picked: dict[str, Run] = {}
    for name in names:
        of_figure = figures.runs_of(catalogue.pick([name]), scale) if name in known else []
        fitting = of_figure or [run for run in runs if fnmatch.fnmatch(name_of(run), name)]
        if not fitting:
            raise TestbedError(f"no figure and no run '{name}'; figures: {', '.join(sorted(known))}; runs: kv-ycsb/A-*")
        picked |= {name_of(run): run for run in fitting}
    return list(picked.values()) if names else runs


def update(session: Session, runs: Sequence[Run], path: Path) -> int:
    """Write the digests of these runs' results, made now where they are missing; returns the number of lines.

    Lines of other runs stay if a figure still has them. The builds of QEMU and the guest go into the file beside it.
    """
    results = run_with_bar(list(runs), session, results_root())
    known = {name_of(run) for run in pick([], path.stem)}
    lines = {name: line for name, line in load(path).items() if name in known} if path.exists() else {}
    lines |= {name_of(run): digest(result) for run, result in zip(runs, results, strict=True)}
    outputs.write(path, text_of(lines))
    builds = "".join(f"{name} {version}\n" for name, version in sorted(components.guest_builds().items()))
    outputs.write(builds_of(path), f"{LICENSE}# The guest's packages and the hashes of the sources.\n{builds}")
    return len(lines)


def text_of(lines: dict[str, str]) -> str:
    head = f"{LICENSE}# What each run of the figures measured (testbed verify).\n"
    return head + "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items()))


def compare(session: Session, runs: Sequence[Run], committed: dict[str, str]) -> list[Verdict]:
    """Every run made again, in a folder of its own, beside its committed digest."""
    with scratch.folder("verify") as folder:
        results = run_with_bar(list(runs), session, folder)
        return list(_verdicts(runs, results, committed))


def _verdicts(runs: Sequence[Run], results: Sequence[Result], committed: dict[str, str]) -> Iterable[Verdict]:
    for run, result in zip(runs, results, strict=True):
        yield Verdict(name_of(run), committed.get(name_of(run)), digest(result))
