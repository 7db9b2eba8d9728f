# SPDX-License-Identifier: BSD-3-Clause
"""What a run left: its file, how it is found, explained and compared, and where its time went."""
