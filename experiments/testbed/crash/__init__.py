# SPDX-License-Identifier: BSD-3-Clause
"""What a power cut can leave: the journal of a run, and every state that follows from it."""
