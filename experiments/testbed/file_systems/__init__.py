# SPDX-License-Identifier: BSD-3-Clause
"""The file systems that a guest may have: a table, and the options that a manifest may state."""
