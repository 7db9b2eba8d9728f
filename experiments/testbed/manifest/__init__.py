# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of experiments: manifests, scales, profiles of CPUs and devices, and the runs that follow.

A run follows from four steps, each a module that uses only the steps before it. `parse` gives a Manifest, `resolve` the
machine of one point at FullSize, `scale` its GuestConfig, and `render` its Run. guest/qemu_line.py writes the command
line of a GuestConfig.
"""
