# SPDX-License-Identifier: BSD-3-Clause
"""The commands: what they read, and what they show."""
