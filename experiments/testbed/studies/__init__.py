# SPDX-License-Identifier: BSD-3-Clause
"""Experiments that are more than runs of a manifest: calibration, latency, sweeps, benchmarks."""
