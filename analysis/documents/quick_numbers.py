# SPDX-License-Identifier: BSD-3-Clause
"""The numbers of all figures at quick scale, committed as experiments/quick.csv. The documents are made from this file.

The file experiments/quick-claims.csv has the claims without a number, and whether each holds here.

A row is a published number, ours, and the tested cause that explains most of the difference. The rows are from the
results that the figures in build/figures were drawn from. Each result must match its digest in
experiments/quick.sha256, and both files state the SHA-256 of quick.sha256. So if measurements and their digests
change, the files are known to be outdated.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.paths import EXPERIMENTS, FIGURES, FIGURES_INDEX, results_root
from testbed.results import results
from testbed.results.results import Result

from ..catalogue import verify
from ..data import tables
from ..data.drawn import Comparison
from ..scorecard import causes, claims
from ..scorecard import figure as scorecard_figure
from ..scorecard.causes import Cause, Tested

SCALE = "quick"
PATH = EXPERIMENTS / f"{SCALE}.csv"
CLAIMS_PATH = EXPERIMENTS / f"{SCALE}-claims.csv"
OF = "# Of the results that experiments/quick.sha256 knows, itself of SHA-256 "
COLUMNS = ("figure", "group", "number", "unit", "ours", "published", "comparable", "cause", "run", "then")
REMEDY = "make figures, then .venv/bin/python -m analysis.documents"


@dataclass(frozen=True)
class Numbers:
    """The comparisons of the figures, the test that explains most of each number, and the rows of `claims`."""

    comparisons: Sequence[Comparison]
    best: Mapping[tuple[str, str, str], Tested]
    claims: Sequence[Sequence[str]] = ()

    def of(self, figure: str) -> list[Comparison]:
        return [c for c in self.comparisons if c.figure == figure]


def digest_of_digests() -> str:
    return hashlib.sha256(verify.file_of(SCALE).read_bytes()).hexdigest()


# ---- From results ----


def gathered(folder: Path = FIGURES) -> Numbers:
    """Gather the numbers from the figures in `folder` and the results that they name."""
    index = _index(folder / FIGURES_INDEX)
    sources = {figure["name"]: list(_sources(figure["results"])) for figure in index["figures"]}
    check_digests([r for found in sources.values() for r in found], verify.load(verify.file_of(SCALE)))
    compared = [Comparison(**c | {"cause": ""}) for figure in index["figures"] for c in figure["comparisons"]]
    numbers = causes.numbers_of(sources[scorecard_figure.NAME])
    judged = next(figure["rows"] for figure in index["figures"] if figure["name"] == claims.NAME)
    return Numbers(compared, causes.best(causes.tested(compared, numbers, causes.load())), judged)


def _index(path: Path) -> dict[str, Any]:
    try:
        index: dict[str, Any] = json.loads(path.read_text())
        names = {figure["name"] for figure in index["figures"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TestbedError(f"{path} has no figures ({type(error).__name__}): {REMEDY}") from error
    if index["scale"] != SCALE or not {scorecard_figure.NAME, claims.NAME} <= names:
        raise TestbedError(f"{path} has not all figures at scale {SCALE}: {REMEDY}")
    return index


def _sources(named: Iterable[dict[str, str]]) -> Iterable[Result]:
    for source in named:
        yield results.load(results_root() / source["manifest"] / f"{source['label']}-{source['digest']}.json")


def check_digests(found: Iterable[Result], committed: Mapping[str, str]) -> None:
    """Raise a TestbedError if a result does not match its committed digest."""
    for result in found:
        name = f"{result.data['manifest']}/{result.path.stem.rpartition('-')[0]}"
        if committed.get(name) != verify.digest(result):
            raise TestbedError(
                f"{result.path} differs from the digest in {verify.file_of(SCALE)} of {name}: testbed verify lists "
                "moved results, testbed verify --update accepts them"
            )


# ---- As a file ----


def text_of(numbers: Numbers, digest: str) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for c in numbers.comparisons:
        test = numbers.best.get((c.figure, c.group, c.what))
        explained = (test.cause.text, test.run, f"{test.then:.6g}") if test else ("", "", "")
        values = (f"{c.ours:.6g}", f"{c.published:.6g}", "yes" if c.comparable else "no")
        writer.writerow((c.figure, c.group, c.what, c.unit, *values, *explained))
    return f"{verify.LICENSE}{OF}{digest}.\n{out.getvalue()}"


def text_of_claims(numbers: Numbers, digest: str) -> str:
    return f"{verify.LICENSE}{OF}{digest}.\n{tables.csv_text(claims.COLUMNS, numbers.claims)}"


def load(path: Path = PATH, claims_path: Path = CLAIMS_PATH) -> Numbers:
    rows = list(csv.DictReader(_table(path)))
    try:
        made = [(_comparison(row), row) for row in rows]
        tests = [_tested(comparison, row) for comparison, row in made if row["run"]]
    except (KeyError, TypeError, ValueError) as error:
        raise TestbedError(f"{path} is damaged ({error}): {REMEDY}") from error
    return Numbers([comparison for comparison, _ in made], causes.best(tests), _claims(claims_path))


def _claims(path: Path) -> list[list[str]]:
    head, *rows = list(csv.reader(_table(path))) or [[]]
    if head != list(claims.COLUMNS) or any(len(row) != len(head) for row in rows):
        raise TestbedError(f"{path} is damaged (its columns are not {', '.join(claims.COLUMNS)}): {REMEDY}")
    return rows


def _table(path: Path) -> list[str]:
    return [line for line in _lines(path) if not line.startswith("#")]


def stated_digest(path: Path = PATH) -> str:
    """Return the SHA-256 of experiments/quick.sha256 that the file states; empty without one."""
    found = [line.removeprefix(OF).rstrip(".") for line in _lines(path) if line.startswith(OF)]
    return found[0] if found else ""


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}; {REMEDY}") from error


def _comparison(row: dict[str, str]) -> Comparison:
    numbers = (float(row["ours"]), float(row["published"]))
    return Comparison(row["figure"], row["group"], row["number"], row["unit"], *numbers, row["comparable"] == "yes")


def _tested(comparison: Comparison, row: dict[str, str]) -> Tested:
    cause = Cause(figure=row["figure"], text=row["cause"], run=row["run"])
    return Tested(comparison, cause, row["run"], float(row["then"]))
