# SPDX-License-Identifier: BSD-3-Clause
"""One module for each study beyond the published figures."""
