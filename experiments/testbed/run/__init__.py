# SPDX-License-Identifier: BSD-3-Clause
"""Many runs: on this host or a cluster, with progress and trust."""

from ..callables import make_callable

make_callable(__name__)
