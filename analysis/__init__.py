# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables, one module each, and the code that runs, draws and verifies them."""
