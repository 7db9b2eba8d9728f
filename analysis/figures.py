# SPDX-License-Identifier: BSD-3-Clause
"""`testbed figures`: run what is missing, draw the figures whose inputs changed, write the index of them all."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import analysis
from analysis import catalogue, causes, scorecard, scorecard_figure
from analysis.catalogue import Entry
from analysis.drawn import Comparison, Drawn, Gathered
from testbed import canonical, outputs
from testbed.guest.session import Session
from testbed.manifest import bases, manifest, scales
from testbed.manifest.manifest import Run
from testbed.paths import FIGURES, FIGURES_INDEX, results_root
from testbed.replay.grid import configurations
from testbed.results.results import Result
from testbed.run.runner import run_with_bar
from testbed.studies.sweep import run_sweep

FOLDER = FIGURES
INDEX = FIGURES_INDEX


@dataclass(frozen=True)
class Index:
    """What index.json holds. Figures are as the contract of `figure_data` says; paths are relative to its folder."""

    scale: str
    figures: list[dict[str, Any]]
    scorecard: scorecard.Scorecard

    def as_data(self) -> dict[str, Any]:
        return {"scale": self.scale, "figures": self.figures, "scorecard": asdict(self.scorecard)}


def make(session: Session, names: Sequence[str], scale: str | None, folder: Path = FOLDER) -> Index:
    """Draw the named figures, all if none is named. Without a scale the manifests' own hold.

    With all of them come the experiments that test causes, and the scorecard.
    """
    entries = catalogue.pick(names)
    gathered = gather(session, entries, _beside(names), scale)
    before = _drawn_before(folder)
    figures = [draw(entry, gathered, folder, before.get(entry.name)) for entry in entries]
    compared, tests = _explained(figures, gathered)
    if not names:
        figures.append(_scorecard(compared, tests, gathered, folder, before.get(scorecard_figure.NAME)))
    index = Index(scale or "as stated", figures, scorecard.score(compared))
    outputs.write(folder / INDEX, canonical.dumps(index.as_data()))
    return index


def needed(names: Sequence[str], scale: str | None) -> list[Run]:
    """The runs that make() takes, there or not."""
    return runs_of(catalogue.pick(names), scale, _beside(names))


def _beside(names: Sequence[str]) -> Sequence[str]:
    """The manifests of the experiments that test causes, which come with all figures."""
    return () if names else causes.manifests()


def _explained(figures: list[dict[str, Any]], gathered: Gathered) -> tuple[list[Comparison], list[causes.Tested]]:
    """Every comparison with its cause, which goes into the figures too, and every test of one."""
    compared = [_without_cause(Comparison(**c)) for figure in figures for c in figure["comparisons"]]
    numbers = causes.numbers_of(r for name in causes.manifests() for r in gathered.results.get(name, ()))
    tests = causes.tested(compared, numbers, causes.load())
    compared = causes.applied(compared, tests)
    for figure in figures:
        figure["comparisons"] = [c.as_data() for c in compared if c.figure == figure["name"]]
    return compared, tests


def _without_cause(compared: Comparison) -> Comparison:
    """As it was drawn: why two numbers cannot be compared stays said, what was tested is looked up again."""
    return replace(compared, cause="") if compared.comparable else compared


def _scorecard(
    compared: list[Comparison],
    tests: list[causes.Tested],
    gathered: Gathered,
    folder: Path,
    before: dict[str, Any] | None,
) -> dict[str, Any]:
    """The scorecard as a figure of the index, whose sources are the experiments."""
    sources = Gathered({name: gathered.results[name] for name in causes.manifests()})
    inputs = canonical.digest([_analysis_digest(), [c.as_data() for c in compared], causes.rows(tests)])
    if before and _is_drawn(before, inputs, folder):
        return before
    return figure_data(scorecard_figure.drawn(compared, tests, folder), sources, inputs, folder)


def runs_of(entries: Iterable[Entry], scale: str | None, more: Iterable[str] = ()) -> list[Run]:
    """Every run of the manifests that these figures are drawn from, and of `more`, each once."""
    names = dict.fromkeys([*(name for entry in entries for name in entry.manifests), *more])
    return [run for name in names for run in manifest.runs(bases.find(name), scales.divisor(scale, name))]


def gather(session: Session, entries: Sequence[Entry], more: Iterable[str], scale: str | None) -> Gathered:
    """The results and replays that these figures and `more` manifests stand for, made now where they are missing."""
    runs = runs_of(entries, scale, more)
    results: dict[str, list[Result]] = {}
    for result in run_with_bar(runs, session, results_root()) if runs else ():
        results.setdefault(result.data["manifest"], []).append(result)
    replays = {}
    for name in dict.fromkeys(name for entry in entries for name in entry.sweeps):
        path, divisor = bases.find(name), scales.divisor(scale, name)
        replays[name] = run_sweep(path, configurations(path, divisor), None, divisor)
    return Gathered(results, replays)


def draw(entry: Entry, gathered: Gathered, folder: Path, before: dict[str, Any] | None) -> dict[str, Any]:
    """The figure's data for the index; it is drawn unless `before`, that of last time, had the same inputs."""
    mine = Gathered(
        {name: gathered.results[name] for name in entry.manifests},
        {name: gathered.replays[name] for name in entry.sweeps},
    )
    inputs = _inputs(entry, mine)
    if before and _is_drawn(before, inputs, folder):
        return before
    folder.mkdir(parents=True, exist_ok=True)
    return figure_data(entry.draw(mine, folder), mine, inputs, folder)


def _is_drawn(before: dict[str, Any], inputs: str, folder: Path) -> bool:
    return before["inputs"] == inputs and all((folder / name).exists() for name in before["files"])


def figure_data(drawn: Drawn, gathered: Gathered, inputs: str, folder: Path) -> dict[str, Any]:
    """One figure of index.json."""
    files = [str(path.relative_to(folder)) for path in drawn.files]
    return {
        "name": drawn.name,
        "title": drawn.title,
        "caption": drawn.caption,
        "notes": list(drawn.notes),
        "columns": list(drawn.columns),
        "rows": [list(row) for row in drawn.rows],
        "svg": next((name for name in files if name.endswith(".svg")), None),
        "files": files,
        "comparisons": [comparison.as_data() for comparison in drawn.comparisons],
        "results": [_source(result) for results in gathered.results.values() for result in results],
        "inputs": inputs,
    }


def _source(result: Result) -> dict[str, Any]:
    """Which run it was; its file is results/MANIFEST/LABEL-DIGEST.json."""
    label, _, digest = result.path.stem.rpartition("-")
    return {"manifest": result.data["manifest"], "label": label, "digest": digest, "scale": result.data["scale"]}


def _inputs(entry: Entry, gathered: Gathered) -> str:
    """A digest of all that a figure's bytes follow from: the code, the published values, the manifests, the results."""
    manifests = [manifest.load(bases.find(name)).model_dump(mode="json") for name in (*entry.manifests, *entry.sweeps)]
    results = [[r.data["checksum"] for r in results] for results in gathered.results.values()]
    replays = [[[r.point, r.values, r.data] for r in replays] for replays in gathered.replays.values()]
    return canonical.digest([entry.name, _analysis_digest(), manifests, results, replays])


def _analysis_digest() -> str:
    folder = Path(analysis.__file__).parent
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".csv", ".toml")]
    files = [path for path in files if folder / "report" not in path.parents]  # it draws none of them
    return canonical.digest([[path.name, hashlib.sha256(path.read_bytes()).hexdigest()] for path in files])


def _drawn_before(folder: Path) -> dict[str, dict[str, Any]]:
    """The figures of the index of last time, by name; none if it was damaged: they are drawn again."""
    try:
        return {figure["name"]: figure for figure in json.loads((folder / INDEX).read_text())["figures"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
