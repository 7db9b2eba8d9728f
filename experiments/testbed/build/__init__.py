# SPDX-License-Identifier: BSD-3-Clause
"""The components that are built before a guest can boot, and the cache that stores them."""
