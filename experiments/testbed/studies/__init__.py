# SPDX-License-Identifier: BSD-3-Clause
"""Experiments beyond plain runs of a manifest: calibration, latency, sweeps, benchmarks."""
