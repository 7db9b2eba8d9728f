# SPDX-License-Identifier: BSD-3-Clause
"""The runner: manifest -> guests -> results.

Each package uses only those below it, from the top: cli, studies, run, replay, results, guest, manifest, program,
build, and the modules beside them. Reading order: cli/main.py, run/runner.py, guest/executor.py, then what they use.
"""
