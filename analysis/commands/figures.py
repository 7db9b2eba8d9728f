# SPDX-License-Identifier: BSD-3-Clause
"""`testbed figures`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from testbed import console
from testbed.cli import result_commands, tables
from testbed.cli.options import DryRun, Json, Scale, Scheduler, Seeds, Tls, TrustNetwork
from testbed.guest.session import Session, open_session
from testbed.paths import FIGURES, FIGURES_INDEX

if TYPE_CHECKING:
    from ..catalogue.make import Index


def figures(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="all figures if none is named; 'studies' names all studies"),
    ] = None,
    scale: Scale = "quick",
    seeds: Seeds = None,
    scheduler: Scheduler = None,
    tls: Tls = None,  # noqa: ARG001
    trust_network: TrustNetwork = False,  # noqa: ARG001
    json: Json = None,
    dry_run: DryRun = False,
) -> None:
    """Draw figures and tables beside the published values, and studies without published values. Make missing runs.

    The files go to build/figures, with an index of all numbers. Ctrl-C loses no finished run.
    If figures are named, their tables are printed, too. With --seeds N each run is made with N seeds: numbers are
    medians, and charts and tables show ranges. Without it, the figures have the ranges recorded for their scale, if
    there are any.

    Examples:

      testbed figures

      testbed figures kv-ycsb --scale standard

      testbed figures kv-ycsb --seeds 5

      testbed figures studies

      testbed figures --scale standard --dry-run
    """
    from ..catalogue import make

    if dry_run:
        runs = make.needed(names or [], scale, seeds)
        result_commands.show_many_runs(runs, f"runs at scale {scale}", json, bool(scheduler))
        return
    tables.save_json(json, draw_figures(open_session(scheduler=scheduler), names or [], scale, seeds).as_data())


def draw_figures(session: Session, names: Sequence[str], scale: str | None, seeds: int | None = None) -> "Index":
    """Draw the figures from existing or new results, and print how they compare with the published numbers."""
    from ..catalogue import make

    index = make.make(session, names, scale, seeds=seeds)
    for figure in index.figures if names else ():
        for name in figure["files"]:
            if name.endswith(".txt"):
                console.out.print((FIGURES / name).read_text().rstrip(), soft_wrap=True)
    show_index(index)
    console.out.print(f"written: {FIGURES / FIGURES_INDEX}", soft_wrap=True)
    return index


def show_index(index: "Index") -> None:
    """Print one line per figure: its file, and how far its published numbers are from ours."""
    from ..data.drawn import Comparison
    from ..scorecard.score import score

    cells = []
    for figure in index.figures:
        card = score([Comparison(**c) for c in figure["comparisons"]])
        cells.append((figure["name"], figure["svg"] or "-", *card.counts))
    columns = ("figure", "file", "published", "within 10 %", "25 %", "2x", "orders")
    console.show(f"figures at scale {index.scale}", columns, cells)
    console.out.print(index.scorecard.text, soft_wrap=True)
