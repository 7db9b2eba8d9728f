# SPDX-License-Identifier: BSD-3-Clause
"""The runner: manifest -> guests -> results. Reading order: cli, runner, executor, then what they use."""
