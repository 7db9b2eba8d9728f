# SPDX-License-Identifier: BSD-3-Clause
"""Commands and views that `testbed` loads through the entry points in pyproject.toml.

A command imports the drawing library only when it draws, so that other commands do not wait for the import.
"""
