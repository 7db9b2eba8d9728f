# SPDX-License-Identifier: BSD-3-Clause
"""The parts of the documents that show results and are committed; study_parts.py makes those of the site.

`python -m analysis.documents` regenerates them from the figures in build/figures. The command first writes
experiments/quick.csv and quick-claims.csv, then uses only these files for the marked parts of docs/results/figures.md
and for the pictures. Tests can therefore detect without a run if a document does not match the committed numbers, or if
these numbers do not match the committed digests.

`python -m analysis.documents calibration` inserts the tables that `testbed calibrate` has written.
"""

import sys

from testbed import outputs
from testbed.errors import TestbedError
from testbed.paths import FIGURES, REPO

from ..data import markdown
from ..scorecard import claims
from ..scorecard import figure as scorecard_figure
from . import pictures, quick_numbers, ratio_tables
from .quick_numbers import Numbers

COMMAND = "analysis.documents"
PAGE = REPO / "docs/results/figures.md"
CALIBRATION_COMMAND = f"{COMMAND} calibration"
CALIBRATION = REPO / "docs/results/calibration.md"


def counts(numbers: Numbers) -> str:
    """Return the scorecard's counts, as its figure prints them."""
    lines = scorecard_figure.summary(numbers.comparisons, list(numbers.best.values()))
    return "\n".join(f"    {line}" for line in lines)


def claims_table(numbers: Numbers) -> str:
    """Return the number of claims that hold, and a table of all claims."""
    return f"{claims.summary(numbers.claims)}.\n\n{markdown.table(claims.COLUMNS, numbers.claims)}"


def part(name: str, numbers: Numbers) -> str:
    """Make a part of a document: `counts`, `claims`, or the table of ratios of a figure."""
    made = {"counts": counts, claims.NAME: claims_table}.get(name)
    return made(numbers) if made else ratio_tables.table(numbers, name)


def written(text: str, numbers: Numbers) -> str:
    """Return the document with regenerated parts."""
    return markdown.with_parts(text, COMMAND, lambda name: part(name, numbers))


def update() -> None:
    numbers = quick_numbers.gathered()
    digest = quick_numbers.digest_of_digests()
    outputs.write(quick_numbers.PATH, quick_numbers.text_of(numbers, digest))
    outputs.write(quick_numbers.CLAIMS_PATH, quick_numbers.text_of_claims(numbers, digest))
    numbers = quick_numbers.load()
    outputs.write(PAGE, written(PAGE.read_text(), numbers))
    pictures.draw_all(pictures.FOLDER)


def calibration_table(name: str) -> str:
    """Read a part of the page of calibration, which `testbed calibrate` has written."""
    path = FIGURES / "calibration" / f"{name}.md"
    try:
        return path.read_text().rstrip()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}; testbed calibrate") from error


def update_calibration() -> None:
    page = markdown.with_parts(CALIBRATION.read_text(), CALIBRATION_COMMAND, calibration_table)
    outputs.write(CALIBRATION, page)


def main(words: list[str]) -> int:
    try:
        match words:
            case []:
                update()
            case ["calibration"]:
                update_calibration()
            case _:
                raise TestbedError(f"usage: python -m {COMMAND} [calibration]")
    except TestbedError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 2
    return 0
