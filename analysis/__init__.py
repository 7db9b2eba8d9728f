# SPDX-License-Identifier: BSD-3-Clause
"""Figures and tables, one module each, and what runs, draws and verifies them."""
