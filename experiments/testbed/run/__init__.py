# SPDX-License-Identifier: BSD-3-Clause
"""Many runs: on this host or a cluster, with progress and trust."""
