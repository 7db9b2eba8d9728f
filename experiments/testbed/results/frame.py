# SPDX-License-Identifier: BSD-3-Clause
"""Results as a pandas table, for notebooks. The name of a column ends in the unit of its values, if they have one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import RunFailed
from .lookup import hash_of
from .results import Result, roi_counters

if TYPE_CHECKING:
    import pandas

REMEDY = "pandas is not installed; install it with pip install 'cxl-ssd-testbed[dataframe]'"


def of_results(results: Sequence[Result]) -> "pandas.DataFrame":
    """One row per result, or per row that the program of the result reported. RunFailed: pandas is not installed.

    The columns are manifest, hash, scale (the divisor), machine_seed, the axes of the matrix, outcome, the values that
    the program reported under its own names, and the counters of the last region of interest, `time_ps` first.
    """
    try:
        import pandas
    except ImportError as error:
        raise RunFailed(REMEDY) from error
    return pandas.DataFrame([row for result in results for row in rows_of(result)])


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows of one result; a counter or an axis hides a value of the program that has the same name."""
    common = {
        "manifest": result.data["manifest"],
        "hash": hash_of(result.path),
        "scale": result.data["scale"],
        "machine_seed": result.seed,
        **result.point,
        "outcome": result.outcome,
    }
    counters = roi_counters(result.rois[-1]) if result.rois else {}
    named = {name.replace("-", "_"): value for name, value in counters.items()}
    told = [{key: value for key, value in row.items() if isinstance(value, str | int | float)} for row in result.rows]
    return [common | row | common | named for row in told or [{}]]
