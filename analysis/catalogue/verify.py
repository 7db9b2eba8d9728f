# SPDX-License-Identifier: BSD-3-Clause
"""`testbed verify`: make the runs of the figures again, and compare them with the committed digests, bit for bit.

With another guest or QEMU than the digests were recorded with, a run that differs is judged by its numbers: each must
be within its range over seeds (spreads.py).

A line of experiments/SCALE.sha256 contains the digest of one run's measurements, and the run's name, MANIFEST/LABEL.
The digest covers the outcome, the exit status, the rows and, for each region of interest, everything except when it
began. Keys of builds and paths are left out, so a line changes only if a measurement changes. Measurements may change
with the builds of QEMU and the guest. experiments/SCALE.builds lists the packages and the hashes of the sources that
the digests were recorded with.
"""

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed import canonical, outputs, scratch
from testbed.build import components
from testbed.errors import TestbedError
from testbed.guest.session import Session
from testbed.manifest.render import Run, with_seeds
from testbed.paths import EXPERIMENTS, results_root
from testbed.results.results import Result
from testbed.run.runner import run_with_bar

from ..data.drawn import Gathered
from ..scorecard import causes
from . import entries, make, spreads

LICENSE = "# SPDX-License-Identifier: BSD-3-Clause\n"
SEVERAL_CPUS = ("thread-commits-quick",)  # verified besides the figures: a small study on two CPUs


SAME, WITHIN = "same", "within its seeds"


@dataclass(frozen=True)
class Verdict:
    """One run: its digest in the file, and the digest of the run that was made now.

    `left` has the numbers that left their range over seeds; None if ranges do not judge this run.
    """

    name: str
    committed: str | None
    measured: str
    left: Sequence[spreads.Left] | None = None

    @property
    def word(self) -> str:
        if self.committed is None:
            return "not in the file"
        if self.committed == self.measured:
            return SAME
        if self.left is None:
            return "DIFFERS"
        return f"{len(self.left)} numbers left their seeds" if self.left else WITHIN

    @property
    def holds(self) -> bool:
        return self.word in (SAME, WITHIN)

    def as_data(self) -> dict[str, Any]:
        left = [number.as_data() for number in self.left or ()]
        return {"name": self.name, "committed": self.committed, "measured": self.measured, "verdict": self.word} | (
            {"left": left} if self.left is not None else {}
        )


def file_of(scale: str) -> Path:
    return EXPERIMENTS / f"{scale}.sha256"


def builds_of(path: Path) -> Path:
    """Return the path of the builds beside a file of digests."""
    return path.with_suffix(".builds")


def other_builds(path: Path) -> list[str]:
    """List the packages and sources of the guest that changed since `path` was recorded; "none" is an absent one."""
    try:
        lines = builds_of(path).read_text().splitlines()
    except OSError as error:
        raise TestbedError(f"cannot read {builds_of(path)}: {error.strerror}; restore that file") from error
    then = {name: version for name, _, version in (line.partition(" ") for line in lines if not line.startswith("#"))}
    now = components.guest_builds()
    names = sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))
    return [f"{name} {_short(then.get(name))} -> {_short(now.get(name))}" for name in names]


def _short(version: str | None) -> str:
    """Shorten a version for a table: a hash to its first 12 digits."""
    return version[:12] if version and len(version) == 64 else version or "none"


def digest(result: Result) -> str:
    """Hash the measurements of a result."""
    data = result.data
    regions = [_region(roi) for roi in data["rois"]]
    return canonical.digest([data["outcome"], data["exit_status"], data["rows"], regions])


def _region(roi: dict[str, Any]) -> dict[str, Any]:
    """Replace begin and end of a region of interest by its length, because the begin depends on the boot time."""
    times = ("begin-ps", "end-ps")
    return {k: v for k, v in roi.items() if k not in times} | {"span-ps": roi["end-ps"] - roi["begin-ps"]}


def name_of(run: Run) -> str:
    return f"{run.manifest}/{run.label}"


def load(path: Path) -> dict[str, str]:
    """Load a file of digests: name -> digest."""
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
    """Return runs of the named figures and runs with a MANIFEST/LABEL that fits a pattern; all if `names` is empty."""
    known = {entry.name for entry in entries.FIGURES}
    runs = make.runs_of(entries.FIGURES, scale, (*causes.manifests(), *SEVERAL_CPUS))
    picked: dict[str, Run] = {}
    for name in names:
        of_figure = make.runs_of(entries.pick([name]), scale) if name in known else []
        fitting = of_figure or [run for run in runs if fnmatch.fnmatch(name_of(run), name)]
        if not fitting:
            raise TestbedError(f"no figure and no run '{name}'; figures: {', '.join(sorted(known))}; runs: kv-ycsb/A-*")
        picked |= {name_of(run): run for run in fitting}
    return list(picked.values()) if names else runs


def update(session: Session, runs: Sequence[Run], path: Path, seeds: int | None = None) -> int:
    """Write the digests of these runs' results, make missing results, and return the number of lines.

    Lines of other runs stay if pick() still knows them. The builds of QEMU and the guest go into the file beside it.
    With `seeds`, each run is made with so many seeds. The ranges of its numbers are written, too, and the ranges of
    the figures whose runs are all among `runs`.
    """
    made = with_seeds(runs, seeds) if seeds else list(runs)
    results = run_with_bar(made, session, results_root())
    known = {name_of(run) for run in pick([], path.stem)}
    of_runs: dict[str, list[Result]] = {}
    for run, result in zip(made, results, strict=True):
        of_runs.setdefault(name_of(run), []).append(result)
    lines = {name: line for name, line in load(path).items() if name in known} if path.exists() else {}
    lines |= {name: digest(found[0]) for name, found in of_runs.items()}
    # Everything is computed before a file is written, so that the files are always of the same runs.
    ranges = spreads.load(spreads.path_of(path)) if seeds else {}
    if seeds:
        known |= {spreads.FIGURE + entry.name for entry in entries.FIGURES}
        new = {name: spreads.of_results(found) for name, found in of_runs.items()} | _of_figures(of_runs, path.stem)
        ranges = {name: found for name, found in ranges.items() if name in known} | new
    builds = "".join(f"{name} {version}\n" for name, version in sorted(components.guest_builds().items()))
    outputs.write(path, text_of(lines))
    if seeds:
        spreads.save(spreads.path_of(path), ranges)
    outputs.write(builds_of(path), f"{LICENSE}# The guest's packages and the hashes of the sources.\n{builds}")
    return len(lines)


def _of_figures(of_runs: Mapping[str, Sequence[Result]], scale: str) -> dict[str, dict[str, spreads.Range]]:
    """Return the ranges of the charts of every figure whose runs are all in `of_runs`."""
    found = {}
    for entry in entries.FIGURES:
        names = {
            manifest: [name_of(run) for run in make.runs_of([], scale, [manifest])] for manifest in entry.manifests
        }
        if all(name in of_runs for of_manifest in names.values() for name in of_manifest):
            gathered = Gathered({m: [r for name in of_m for r in of_runs[name]] for m, of_m in names.items()})
            charts = [entry.draw(one).chart for one in gathered.by_seed()]
            found[spreads.FIGURE + entry.name] = spreads.of_charts(charts)
    return found


def text_of(lines: dict[str, str]) -> str:
    head = f"{LICENSE}# What each run of the figures measured (testbed verify).\n"
    return head + "".join(f"{digest}  {name}\n" for name, digest in sorted(lines.items()))


def compare(
    session: Session, runs: Sequence[Run], committed: dict[str, str], ranges: spreads.Ranges | None = None
) -> list[Verdict]:
    """Make every run again in a temporary folder, and compare it with its committed digest.

    With `ranges`, of the builds that the digests are not of, they judge the runs that they have.
    """
    with scratch.folder("verify") as folder:
        results = run_with_bar(list(runs), session, folder)
        return list(_verdicts(runs, results, committed, ranges or {}))


def _verdicts(
    runs: Sequence[Run], results: Sequence[Result], committed: dict[str, str], ranges: spreads.Ranges
) -> Iterable[Verdict]:
    for run, result in zip(runs, results, strict=True):
        name = name_of(run)
        left = spreads.left(name, result, ranges[name]) if name in ranges else None
        yield Verdict(name, committed.get(name), digest(result), left)
