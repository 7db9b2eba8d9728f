# SPDX-License-Identifier: BSD-3-Clause
"""One module for each figure that is compared with published values."""
