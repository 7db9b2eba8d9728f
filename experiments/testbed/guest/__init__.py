# SPDX-License-Identifier: BSD-3-Clause
"""One guest: QEMU's command line, its boot, its end, and copies of it."""
