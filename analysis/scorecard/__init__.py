# SPDX-License-Identifier: BSD-3-Clause
"""Published numbers against ours, tested causes of differences, and claims without a number."""
