# SPDX-License-Identifier: BSD-3-Clause
from .cli.main import main

main()
