# SPDX-License-Identifier: BSD-3-Clause
"""Results of runs: their files, lookup, explanation and comparison, and the shares of a run's time."""

from ..callables import make_callable

make_callable(__name__)
