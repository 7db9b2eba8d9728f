# SPDX-License-Identifier: BSD-3-Clause
"""What is built before a guest can boot, and the cache that keeps it."""
