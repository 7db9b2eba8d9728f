# SPDX-License-Identifier: BSD-3-Clause
"""The runner: manifest -> guests -> results.

Each package imports only packages that follow it in this order: cli, studies, run, replay, results, guest, manifest,
program, build; the modules in this folder come last. Reading order: cli/main.py, run/runner.py, guest/executor.py.
"""
