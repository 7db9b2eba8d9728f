# SPDX-License-Identifier: BSD-3-Clause
"""The commands of `testbed`: they read input and show output."""
