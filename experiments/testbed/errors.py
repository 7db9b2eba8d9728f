# SPDX-License-Identifier: BSD-3-Clause
"""Failures a user can act on. The CLI prints them as one sentence and never as a traceback."""


class TestbedError(Exception):
    """Something the user gave is wrong or missing; the message names it and the fix."""

    exit_status = 2
    __test__ = False  # pytest: not a test, whatever the name begins with


class RunFailed(TestbedError):
    """The input was fine, but a build or a guest did not do what was asked."""

    exit_status = 1


class Interrupted(TestbedError):
    """Ctrl-C or SIGTERM."""

    exit_status = 130

    def __init__(self) -> None:
        super().__init__("interrupted; finished results are kept and the next run goes on from them")
