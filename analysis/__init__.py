# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables, one module each; they read results through testbed.results and run nothing."""
