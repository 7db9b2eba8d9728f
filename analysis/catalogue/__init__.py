# SPDX-License-Identifier: BSD-3-Clause
"""Every figure and study by name, and the code that draws changed figures and checks their runs against digests."""
