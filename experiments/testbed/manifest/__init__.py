# SPDX-License-Identifier: BSD-3-Clause
"""What an experiment says: manifests, scales, profiles of CPUs and devices, and the runs that follow."""
