# SPDX-License-Identifier: BSD-3-Clause
"""Results of runs: their files, lookup, explanation and comparison, and the shares of a run's time."""
