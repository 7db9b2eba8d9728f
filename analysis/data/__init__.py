# SPDX-License-Identifier: BSD-3-Clause
"""Records of results, published values, tables, and the plain data that a figure consists of."""
