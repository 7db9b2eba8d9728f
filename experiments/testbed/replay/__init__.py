# SPDX-License-Identifier: BSD-3-Clause
"""Replay of captured traces on other devices, and the model's verdicts on configurations."""
