# SPDX-License-Identifier: BSD-3-Clause
"""Captured traces on other devices, and what the model says of configurations."""
