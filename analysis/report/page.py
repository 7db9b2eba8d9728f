# SPDX-License-Identifier: BSD-3-Clause
"""The report as one HTML page. Its bytes depend only on the figures, the results and the shipped profiles."""

import base64
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from testbed.errors import TestbedError
from testbed.manifest.parameters import key_of
from testbed.results.results import Result

from ..charts.palette import ON_DARK
from ..data.drawn import Cell, Comparison
from ..scorecard import score as scorecard
from ..scorecard.figure import NAME as SCORECARD
from . import libraries, machines
from . import runs as run_module
from .index import BANDS, BEYOND, UNCOMPARED, Figure, Index, RunName, band, ratio
from .machines import Machines

NUMBER = re.compile(r"[<~]?\s*([+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)(?=$|[\s%x*(])", re.IGNORECASE)
NOTHING = "\N{EN DASH}"
ORDERS = {True: "as published", False: "differs", None: ""}
WORDS_LETTERS = 30
BEYOND_TESTED = "Beyond a factor of 2, with what an experiment says of the cause"
BEYOND_UNTESTED = "Beyond a factor of 2, no cause tested"
NOT_THE_SAME = "Not comparable: the two do not measure the same"
BAND_NAMES = (*BANDS.values(), BEYOND, UNCOMPARED)


@dataclass(frozen=True)
class Shown:
    """A cell of a table: its text, and the number that it is sorted by, if any."""

    text: str
    number: float | None
    link: str = ""  # the address within the page to which the cell leads


def shown(value: Cell) -> Shown:
    """Format a value for people. Text that begins with a number is sorted by that number."""
    if value is None or value == "":
        return Shown(NOTHING, None)
    if isinstance(value, bool):
        return Shown("yes" if value else "no", None)
    if isinstance(value, int):
        return Shown(f"{value:,}", value)
    if isinstance(value, float):
        return Shown(f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}", value)
    match = NUMBER.match(value)
    return Shown(value, float(match[1].replace(",", "")) if match else None)


@dataclass(frozen=True)
class Table:
    """A table in the form that the template reads."""

    caption: str
    columns: Sequence[str]
    rows: list[list[Shown]]
    ids: Sequence[str] = ()  # the name of each row within the page

    @property
    def kinds(self) -> list[str]:
        """The layout of each column: `number` if all values are numbers, `words` if all are short, else `text`.

        The columns `cause`, `hash` and `command` have their names as layouts.
        """
        return [self._kind(name, [row[i] for row in self.rows]) for i, name in enumerate(self.columns)]

    def _kind(self, name: str, cells: Sequence[Shown]) -> str:
        if name in ("cause", "hash", "command"):
            return name
        full = [cell for cell in cells if cell.text != NOTHING]
        if full and all(cell.number is not None for cell in full):
            return "number"
        return "words" if all(len(cell.text) <= WORDS_LETTERS for cell in full) else "text"


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    return Table(caption, columns, [[shown(cell) for cell in row] for row in rows])


def comparison_table(caption: str, comparisons: Sequence[Comparison]) -> Table:
    """Tabulate ours beside the published numbers, with ratio, verdict, order of the group, and cause."""
    orders = scorecard.orderings(comparisons)
    columns = ("group", "what", "unit", "ours", "published", "ratio", "verdict", "order", "cause")
    rows = [[*_numbers(c), ORDERS[orders.get((c.figure, c.group))], c.cause] for c in comparisons]
    return table(caption, columns, rows)


def group_table(caption: str, comparisons: Sequence[Comparison]) -> Table:
    """Tabulate numbers of many figures that share a verdict, with a column of causes if any number has one."""
    columns = ("figure", "group", "what", "unit", "ours", "published", "ratio", "cause")
    shown_columns = len(columns) if any(c.cause for c in comparisons) else len(columns) - 1
    rows = [[c.figure, *_numbers(c)[:-1], c.cause][:shown_columns] for c in comparisons]
    return table(caption, columns[:shown_columns], rows)


def _numbers(c: Comparison) -> list[Cell]:
    return [c.group, c.what, c.unit, c.ours, c.published, _times(ratio(c)), band(c)]


def _times(value: float | None) -> str | None:
    return None if value is None else f"{value:.3g}x"


def disagreements(comparisons: Sequence[Comparison]) -> dict[str, list[Comparison]]:
    """Group the numbers that are beyond 2x or not comparable: heading -> numbers, without empty groups."""
    groups: dict[str, list[Comparison]] = {words: [] for words in (BEYOND_TESTED, BEYOND_UNTESTED, NOT_THE_SAME)}
    for comparison in comparisons:
        if band(comparison) == BEYOND:
            groups[BEYOND_TESTED if comparison.cause else BEYOND_UNTESTED].append(comparison)
        elif band(comparison) == UNCOMPARED:
            groups[NOT_THE_SAME].append(comparison)
    return {words: members for words, members in groups.items() if members}


def disorders(comparisons: Sequence[Comparison]) -> Table:
    """Tabulate each group that is not in the published order, with both orders from the smallest to the largest."""
    rows = []
    for (figure, group), agrees in scorecard.orderings(comparisons).items():
        members = [c for c in comparisons if (c.figure, c.group, c.comparable) == (figure, group, True)]
        ours = [f"{c.what} {c.ours:.4g}" for c in sorted(members, key=lambda c: c.ours)]
        published = [f"{c.what} {c.published:.4g}" for c in sorted(members, key=lambda c: c.published)]
        if not agrees:
            rows.append([figure, group, members[0].unit, ", ".join(ours), ", ".join(published)])
    return table("Orderings that differ, from small to large", ("figure", "group", "unit", "ours", "published"), rows)


def counts(comparisons: Sequence[Comparison]) -> dict[str, int]:
    """Count the numbers of each verdict."""
    bands = [band(c) for c in comparisons]
    return {word: bands.count(word) for word in BAND_NAMES}


def profile_table(kind: str, name: str, scales: Sequence[int]) -> Table:
    """Tabulate every value of a profile, at full size and at each of these scales."""
    scaled = [scale for scale in scales if scale != 1]
    columns = [machines.profile_at(kind, name, scale) or {} for scale in (1, *scaled)]
    headings = ["parameter", "full size", *(f"at 1/{scale}" for scale in scaled)]
    rows = [[key_of(key), *(machines.show(key, c.get(key)) for c in columns)] for key in columns[0] if key != "name"]
    return table(f"{'CPU' if kind == 'cpu' else 'Device'} profile {name}", headings, rows)


def machine_table(of: Machines) -> Table:
    columns = [
        "machine",
        "cpu",
        "device",
        "scale",
        "memory",
        "file system",
        "boot",
        "software",
        "differs from the profiles in",
    ]
    rows = [
        (
            m.name,
            m.cpu["name"],
            m.device["name"],
            f"1/{m.scale}",
            m.memory,
            m.file_system,
            m.boot,
            m.components,
            m.changes,
        )
        for m in of.machines.values()
    ]
    return table("Machines", columns, rows)


def run_tables(index: Index, loaded: Mapping[RunName, Result], of: Machines) -> dict[str, Table]:
    """Map each manifest to a table of the runs that figures were drawn from. The name of a run leads to its details."""
    runs: dict[str, list[RunName]] = {}
    for run in loaded:
        runs.setdefault(run.manifest, []).append(run)
    columns = ("run", "seed", "machine", "outcome", "command", "hash", "figures")
    return {
        name: Table(
            f"Runs of {name}",
            columns,
            [_run_row(index, run, loaded[run], of) for run in members],
            [run_module.key_of(run) for run in members],
        )
        for name, members in runs.items()
    }


def _run_row(index: Index, run: RunName, result: Result, of: Machines) -> list[Shown]:
    figures = ", ".join(figure.name for figure in index.figures if run in figure.results)
    command = shlex.join(result.data["identity"]["argv"])
    cells: list[Cell] = [result.seed, of.of(result).name, result.outcome, command, run.digest[:16], figures]
    return [Shown(run.label, None, f"#{quote(run_module.key_of(run))}"), *map(shown, cells)]


def stills(index: Index, folder: Path) -> dict[str, str]:
    """Map each figure to its SVG as an address. The PDF, a printer and a browser without scripts show this picture."""
    return {f.name: _still(folder / f.svg) for f in index.figures if f.svg}


def _still(path: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(_read(path)).decode()


def plots(index: Index, folder: Path) -> dict[str, Markup]:
    """Map each figure to its data for Plotly."""
    found = {}
    for figure in index.figures:
        if figure.plot:
            try:
                found[figure.name] = embedded(json.loads(_read(folder / figure.plot)))
            except ValueError as error:
                problem = f"figure {folder / figure.plot} is damaged ({error})"
                raise TestbedError(f"{problem}; remove it and run make figures") from error
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TestbedError(f"cannot read figure {path} ({error.strerror}); run make figures again") from error


def embedded(data: Any) -> Markup:
    """Return JSON for a script element. Without `<` the text cannot end the element, so that the markup is safe."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
    return Markup(text.replace("<", "\\u003c"))


def provenance(figure: Figure) -> dict[str, list[RunName]]:
    """Map each manifest to the runs that the figure was drawn from."""
    runs: dict[str, list[RunName]] = {}
    for run in figure.results:
        runs.setdefault(run.manifest, []).append(run)
    return runs


def scale_words(scale: str) -> str:
    """Return the scale as a phrase for the title."""
    if scale == "as stated":
        return "at each manifest's own scale"
    return f"at scale 1/{scale}" if scale.isdecimal() else f"at scale {scale}"


def render(index: Index, loaded: Mapping[RunName, Result], folder: Path, paper: bool = False) -> str:
    """Render the page for the figures in `folder`. For paper the page has no scripts and no data for them."""
    environment = Environment(
        loader=PackageLoader("analysis.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    used = Machines(list(loaded.values()))
    runs = run_tables(index, loaded, used)
    context: dict[str, Any] = {
        "index": index,
        "scale": scale_words(index.scale),
        "stills": stills(index, folder),
        "counts": counts,
        "card": next((figure for figure in index.figures if figure.name == SCORECARD), None),
        "drawn": [figure for figure in index.figures if figure.name != SCORECARD],
        "scorecard": table("Every published number beside ours", index.scorecard.columns, index.scorecard.rows),
        "disagreements": disagreements(index.comparisons),
        "disorders": disorders(index.comparisons),
        "profiles": [profile_table(*profile) for profile in used.profiles()],
        "machines": machine_table(used),
        "components": used.components,
        "runs": runs,
        "manifests": run_module.manifest_texts(list(runs)),
        "run_count": len(loaded),
        "table": table,
        "comparison_table": comparison_table,
        "group_table": group_table,
        "provenance": provenance,
        **_interactive(environment, index, loaded, used, folder, paper),
    }
    return environment.get_template("report.html").render(context)


def _interactive(
    environment: Environment,
    index: Index,
    loaded: Mapping[RunName, Result],
    used: Machines,
    folder: Path,
    paper: bool,
) -> dict[str, Any]:
    """Return the scripts of the page and their data; for paper, nothing."""
    if paper:
        return {"scripts": None, "plots": {}, "times": {}, "details": None, "dark": None}
    times = run_module.times(loaded)
    return {
        "scripts": libraries.load(environment.get_template("page.js").render()),
        "plots": plots(index, folder),
        "times": {name: {"figure": embedded(of["figure"]), "runs": embedded(of["runs"])} for name, of in times.items()},
        "details": embedded(run_module.details(index, loaded, used)),
        "dark": embedded(ON_DARK),
    }
