# SPDX-License-Identifier: BSD-3-Clause
"""The drawing layer turns typed series into files of one style. Only this package imports matplotlib."""
