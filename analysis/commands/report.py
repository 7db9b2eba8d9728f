# SPDX-License-Identifier: BSD-3-Clause
"""`testbed report`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from testbed import console
from testbed.cli import tables
from testbed.cli.options import Json
from testbed.paths import FIGURES, REPO, results_root

if TYPE_CHECKING:
    from ..report.build import Written


def report(
    figures: Annotated[Path, typer.Option(metavar="DIR", help="where testbed figures has drawn")] = FIGURES,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where report.html and report.pdf go")] = REPO
    / "build"
    / "report",
    json: Json = None,
) -> None:
    """Write the figures, the scorecard and the configuration of every run as one HTML page and one PDF.

    Runs nothing and fetches nothing: the command reads the figures that testbed figures has drawn, and their results.
    The page is one file that works without a network; equal figures and results give equal bytes.

    Examples:

      testbed report

      testbed report --out /tmp/report --json summary.json
    """
    from ..report import build

    written = build.write(figures, results_root(), out)
    show_written(written)
    tables.save_json(json, written.as_data())


def show_written(written: "Written") -> None:
    """Print the files of a report, and its scorecard in one line."""
    cells = [(path, f"{path.stat().st_size / 1024:,.0f} KiB") for path in written.files]
    title = f"report of {len(written.index.figures)} figures from {written.runs} runs"
    console.show(title, ("file", "size"), cells)
    console.out.print(written.index.scorecard.text, soft_wrap=True)
