# SPDX-License-Identifier: BSD-3-Clause
"""`testbed figures`: make missing runs, draw the figures with changed inputs, and write the index of all figures."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import analysis
from testbed import canonical, outputs
from testbed.guest.session import Session
from testbed.manifest import bases, parse, render, scales
from testbed.manifest.render import Run, with_seeds
from testbed.paths import FIGURES, FIGURES_INDEX, results_root
from testbed.replay.grid import configurations
from testbed.results import spread
from testbed.results.results import Result
from testbed.run.runner import run_with_bar
from testbed.studies.sweep import run_sweep

from ..charts import files as chart_files
from ..data import over_seeds, state, tables
from ..data.drawn import Comparison, Drawn, Gathered
from ..scorecard import causes
from ..scorecard import figure as scorecard_figure
from ..scorecard import score as scorecard
from . import entries, spreads
from .entries import Entry

NOT_DRAWING = ("commands", "documents", "report")  # folders: no byte of a figure depends on their code


@dataclass(frozen=True)
class Index:
    """The content of index.json. written() defines the data of a figure; paths are relative to its folder."""

    scale: str
    figures: list[dict[str, Any]]
    scorecard: scorecard.Scorecard

    def as_data(self) -> dict[str, Any]:
        return {"scale": self.scale, "figures": self.figures, "scorecard": asdict(self.scorecard)}


def make(
    session: Session, names: Sequence[str], scale: str | None, folder: Path = FIGURES, seeds: int | None = None
) -> Index:
    """Draw the named figures, or all figures if `names` is empty. Without a scale, each manifest's own scale applies.

    With `seeds`, each run is made with so many seeds, and the figures show medians and ranges. With one seed, a figure
    has the ranges that are recorded for its scale, if there are any.
    Drawing all figures also makes the experiments that test causes, and the scorecard.
    """
    picked = entries.pick(names)
    gathered = gather(session, picked, _beside(names), scale, seeds or 1)
    recorded = spreads.of_scale(scale) if not seeds else {}
    before = _drawn_before(folder)
    figures = [draw(entry, gathered, folder, before.get(entry.name), recorded) for entry in picked]
    compared, tests = _explained(figures, gathered)
    if not names:
        figures.append(_scorecard(compared, tests, gathered, folder, before.get(scorecard_figure.NAME)))
    index = Index(scale or "as stated", figures, scorecard.score(compared))
    outputs.write(folder / FIGURES_INDEX, canonical.dumps(index.as_data()))
    return index


def needed(names: Sequence[str], scale: str | None, seeds: int | None = None) -> list[Run]:
    """Return the runs that make() needs, whether or not their results exist."""
    return with_seeds(runs_of(entries.pick(names), scale, _beside(names)), seeds or 1)


def _beside(names: Sequence[str]) -> Sequence[str]:
    """Return the manifests of the experiments that test causes; empty if figures are named."""
    return () if names else causes.manifests()


def _explained(figures: list[dict[str, Any]], gathered: Gathered) -> tuple[list[Comparison], list[causes.Tested]]:
    """Return every comparison with its cause, and every test of a cause. The causes are also set in `figures`."""
    compared = [_without_cause(Comparison(**c)) for figure in figures for c in figure["comparisons"]]
    medians = [r for name in causes.manifests() for r in spread.medians(gathered.results.get(name, ()))]
    numbers = causes.numbers_of(medians)
    tests = causes.tested(compared, numbers, causes.load())
    compared = causes.applied(compared, tests)
    for figure in figures:
        figure["comparisons"] = [c.as_data() for c in compared if c.figure == figure["name"]]
    return compared, tests


def _without_cause(compared: Comparison) -> Comparison:
    """Clear a tested cause, which is looked up again, but keep the reason for which two numbers are not comparable."""
    return replace(compared, cause="") if compared.comparable else compared


def _scorecard(
    compared: list[Comparison],
    tests: list[causes.Tested],
    gathered: Gathered,
    folder: Path,
    before: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return the scorecard as a figure of the index, with the experiments as its sources."""
    sources = Gathered({name: gathered.results[name] for name in causes.manifests()})
    inputs = canonical.digest([_analysis_digest(), [c.as_data() for c in compared], causes.rows(tests)])
    if before and _is_drawn(before, inputs, folder):
        return before
    return written(scorecard_figure.drawn(compared, tests), sources, inputs, folder)


def runs_of(entries: Iterable[Entry], scale: str | None, more: Iterable[str] = ()) -> list[Run]:
    """Return every run of these figures' manifests and of the manifests in `more`, each once."""
    names = dict.fromkeys([*(name for entry in entries for name in entry.manifests), *more])
    return [run for name in names for run in render.runs(bases.find(name), scales.divisor(scale, name))]


def gather(session: Session, entries: Sequence[Entry], more: Iterable[str], scale: str | None, seeds: int) -> Gathered:
    """Return the results and replays of these figures, and the results of `more` manifests. Make the missing ones.

    Each run has a result for each seed. A replay has none of its own: it has the seed of its capture, 0.
    """
    runs = with_seeds(runs_of(entries, scale, more), seeds)
    results: dict[str, list[Result]] = {}
    for result in run_with_bar(runs, session, results_root()) if runs else ():
        results.setdefault(result.data["manifest"], []).append(result)
    replays = {}
    for name in dict.fromkeys(name for entry in entries for name in entry.sweeps):
        stated = parse.load(bases.find(name), scales.divisor(scale, name))
        replays[name] = run_sweep(stated, configurations(stated), None)
    return Gathered(results, replays)


def draw(
    entry: Entry, gathered: Gathered, folder: Path, before: dict[str, Any] | None, recorded: spreads.Ranges
) -> dict[str, Any]:
    """Return the figure's data for the index. Reuse `before`, the previous data, if its inputs are equal and its files
    exist; else draw the figure, with the `recorded` ranges if its runs have one seed only."""
    mine = gathered.of(entry.manifests, entry.sweeps)
    inputs = _inputs(entry, mine, recorded)
    if before and _is_drawn(before, inputs, folder):
        return before
    return written(_drawn(entry, mine, recorded), mine, inputs, folder)


def _drawn(entry: Entry, gathered: Gathered, recorded: spreads.Ranges) -> Drawn:
    if entry.over_seeds:
        return entry.draw(gathered)
    of_seeds = [entry.draw(one) for one in gathered.by_seed()]
    return over_seeds.merged(of_seeds) if len(of_seeds) > 1 else spreads.shown_by(of_seeds[0], recorded)


def _is_drawn(before: dict[str, Any], inputs: str, folder: Path) -> bool:
    return before["inputs"] == inputs and all((folder / name).exists() for name in before["files"])


def written(drawn: Drawn, gathered: Gathered, inputs: str, folder: Path) -> dict[str, Any]:
    """Write the files of one figure into `folder`, and return the figure's data in index.json."""
    folder.mkdir(parents=True, exist_ok=True)
    results = [result for results in gathered.results.values() for result in results]
    files = [path.name for path in chart_files.write(drawn, folder, state.text(results))]
    return {
        "name": drawn.name,
        "title": drawn.title,
        "caption": drawn.caption,
        "notes": list(drawn.notes),
        "columns": list(drawn.columns),
        "rows": tables.rounded(drawn.rows),
        "svg": next((name for name in files if name.endswith(".svg")), None),
        "plot": next((name for name in files if name.endswith(chart_files.PLOT_SUFFIX)), None),
        "files": files,
        "comparisons": [comparison.as_data() for comparison in drawn.comparisons],
        "results": [_source(result) for result in results],
        "inputs": inputs,
    }


def _source(result: Result) -> dict[str, Any]:
    """Identify the run of a result; its file is results/MANIFEST/LABEL-DIGEST.json."""
    label, _, digest = result.path.stem.rpartition("-")
    return {"manifest": result.data["manifest"], "label": label, "digest": digest, "scale": result.data["scale"]}


def _inputs(entry: Entry, gathered: Gathered, recorded: spreads.Ranges) -> str:
    """Hash everything that determines a figure's bytes: code, published values, manifests, results, replays, ranges."""
    manifests = [parse.load(bases.find(name)).model_dump(mode="json") for name in (*entry.manifests, *entry.sweeps)]
    results = [[r.data["checksum"] for r in results] for results in gathered.results.values()]
    replays = [[[r.point, r.values, r.data] for r in replays] for replays in gathered.replays.values()]
    ranges = {name: asdict(one) for name, one in recorded.get(spreads.FIGURE + entry.name, {}).items()}
    return canonical.digest([entry.name, _analysis_digest(), manifests, results, replays, ranges])


def _analysis_digest() -> str:
    folder = Path(analysis.__file__).parent
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".csv", ".toml")]
    drawing = {str(name): path for path in files if (name := path.relative_to(folder)).parts[0] not in NOT_DRAWING}
    return canonical.digest([[n, hashlib.sha256(path.read_bytes()).hexdigest()] for n, path in drawing.items()])


def _drawn_before(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the figures of the previous index by name; empty if it is missing or damaged, so that all are redrawn."""
    try:
        return {figure["name"]: figure for figure in json.loads((folder / FIGURES_INDEX).read_text())["figures"]}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
