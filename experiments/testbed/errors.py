# SPDX-License-Identifier: BSD-3-Clause
"""Failures that a user can act on. The CLI prints each as one sentence, never as a traceback."""


class TestbedError(Exception):
    """An input of the user is wrong or missing; the message names the input and the fix."""

    exit_status = 2
    __test__ = False  # pytest must not collect it as a test because of its name


class RunFailed(TestbedError):
    """The input was valid, but a build or a guest failed."""

    exit_status = 1


class Interrupted(TestbedError):
    """Ctrl-C or SIGTERM."""

    exit_status = 130

    def __init__(self) -> None:
        super().__init__("interrupted; finished results are kept and the next run goes on from them")
