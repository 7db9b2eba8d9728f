# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of experiments: manifests, scales, profiles of CPUs and devices, and the runs that follow."""
