# SPDX-License-Identifier: BSD-3-Clause
"""`testbed shell` on a terminal, with packages."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from testbed.guest.session import Session

pytestmark = pytest.mark.guest


def shown_by(terminal: int, until: Callable[[str], bool], timeout_s: float) -> str:
    """Return the terminal's output until the condition holds for it, or until the other side is closed."""
    shown, deadline_s = "", time.monotonic() + timeout_s
    while not until(shown) and time.monotonic() < deadline_s:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                shown += os.read(terminal, 4096).decode(errors="replace")
            except OSError:
                return shown
    assert until(shown), shown[-3000:]
    return shown


def test_a_shell_on_a_terminal_has_the_packages(session: Session) -> None:
    assert session  # the image is built
    ours, theirs = pty.openpty()
    words = [sys.executable, "-m", "testbed", "shell", "--packages", "jq"]
    with subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True) as guest:
        os.close(theirs)
        try:
            shown_by(ours, lambda shown: "# " in shown, 120)
            os.write(ours, b"echo '{\"a\": [20, 22]}' | jq -cM '.a | add'; findmnt -no TARGET /pmem\n")
            shown_by(ours, lambda shown: bool(re.search(r"\n42\r", shown)) and "\n/pmem" in shown, 60)
            os.write(ours, b"exit\n")
            left = shown_by(ours, lambda _: guest.poll() is not None, 60)  # the guest ends only once its output is read
            assert guest.wait(10) == 0, left
        finally:
            if guest.poll() is None:
                os.killpg(guest.pid, signal.SIGKILL)
            os.close(ours)
