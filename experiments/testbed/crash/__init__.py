# SPDX-License-Identifier: BSD-3-Clause
"""States of the devices after a power cut: the journal of a run, and every state that the journal allows."""

from ..callables import make_callable

make_callable(__name__)
