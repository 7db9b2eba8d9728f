# SPDX-License-Identifier: BSD-3-Clause
"""`python -m analysis.documents`: see pages.py."""

import sys

from .pages import main

sys.exit(main(sys.argv[1:]))
