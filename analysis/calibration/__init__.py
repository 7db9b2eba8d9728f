# SPDX-License-Identifier: BSD-3-Clause
"""The figures and tables of `testbed calibrate`."""
