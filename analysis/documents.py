# SPDX-License-Identifier: BSD-3-Clause
"""What the documents show of results.

`python -m analysis.documents` makes it anew from the figures in build/figures. First experiments/quick.csv and
quick-claims.csv, then from these alone the parts of docs/figures.md between two marks, and the pictures. So tests can
tell without a run when a document is not of the committed numbers, and these not of the committed digests.

`python -m analysis.documents studies` does so with what has no published numbers: what `testbed figures studies` has
printed, and tables of the results of `testbed run NAME`. Their results have no committed digests. So the pages name
those of the figures that were there, and a test asks for a word when others are now.

`python -m analysis.documents calibration` does so with the tables that `testbed calibrate` has written.
"""

import sys

from testbed import outputs
from testbed.errors import TestbedError
from testbed.paths import REPO, results_root

from . import claims, markdown, pictures, quick_numbers, ratio_tables, scorecard_figure, study_tables
from .figures import FOLDER
from .quick_numbers import Numbers

COMMAND = "analysis.documents"
STUDIES_COMMAND = f"{COMMAND} studies"
FIGURES = REPO / "docs" / "figures.md"
CALIBRATION_COMMAND = f"{COMMAND} calibration"
CALIBRATION = REPO / "docs" / "calibration.md"
STUDIES = tuple(REPO / "docs" / f"{name}.md" for name in ("studies", "snapshot", "programs", "epochs", "mtree", "fams"))


def counts(numbers: Numbers) -> str:
    """The scorecard's counts, as its figure prints them."""
    lines = scorecard_figure.summary(numbers.comparisons, list(numbers.best.values()))
    return "\n".join(f"    {line}" for line in lines)


def claims_table(numbers: Numbers) -> str:
    """How many claims hold, and each."""
    return f"{claims.summary(numbers.claims)}.\n\n{markdown.table(claims.COLUMNS, numbers.claims)}"


def part(name: str, numbers: Numbers) -> str:
    """A part of a document: `counts`, `claims`, or the table of ratios of a figure."""
    made = {"counts": counts, claims.NAME: claims_table}.get(name)
    return made(numbers) if made else ratio_tables.table(numbers, name)


def written(text: str, numbers: Numbers) -> str:
    """The document with its parts made anew."""
    return markdown.with_parts(text, COMMAND, lambda name: part(name, numbers))


def update() -> None:
    numbers = quick_numbers.gathered()
    digest = quick_numbers.digest_of_digests()
    outputs.write(quick_numbers.PATH, quick_numbers.text_of(numbers, digest))
    outputs.write(quick_numbers.CLAIMS_PATH, quick_numbers.text_of_claims(numbers, digest))
    numbers = quick_numbers.load()
    outputs.write(FIGURES, written(FIGURES.read_text(), numbers))
    pictures.draw_all(pictures.FOLDER)


def study(name: str) -> str:
    """A part of a page of studies: a table of results, or what a study printed."""
    return study_tables.table(name, results_root()) if name in study_tables.TABLES else study_tables.text(name)


def update_studies() -> None:
    for page in STUDIES:
        outputs.write(page, markdown.with_parts(page.read_text(), STUDIES_COMMAND, study))


def calibration_table(name: str) -> str:
    """A part of the page of calibration."""
    path = FOLDER / "calibration" / f"{name}.md"
    try:
        return path.read_text().rstrip()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}; testbed calibrate") from error


def update_calibration() -> None:
    page = markdown.with_parts(CALIBRATION.read_text(), CALIBRATION_COMMAND, calibration_table)
    outputs.write(CALIBRATION, page)


UPDATES = {"": update, "studies": update_studies, "calibration": update_calibration}


def main(words: list[str]) -> int:
    made = UPDATES.get(" ".join(words))
    if made is None:
        print(f"usage: python -m {COMMAND} [studies|calibration]", file=sys.stderr)
        return 2
    try:
        made()
    except TestbedError as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
