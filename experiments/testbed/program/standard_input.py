# SPDX-License-Identifier: BSD-3-Clause
"""The host's standard input, as a file that a job's program reads.

All of the input is read before the guest boots, so that the program depends on the content of the input, not on its
time of arrival. No input is read unless the user asks for it: a shell loop over a list would lose the rest of the list,
and the command would wait for a pipe that nobody closes.
"""

import array
import fcntl
import os
import stat
import termios
from dataclasses import replace
from pathlib import Path

from ..errors import TestbedError
from .job_archive import Job

NAME = ".testbed/stdin"  # in /job
BYTES_MAX = 2**30
NOT_TAKEN = "standard input is not passed to the guest; --stdin does that, </dev/null says that none is meant"


def read(descriptor: int) -> bytes:
    """All of the input, to its end."""
    try:
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise TestbedError("--stdin: standard input cannot be read; give one, as <FILE") from error
    if len(content) > BYTES_MAX:
        raise TestbedError(f"--stdin: standard input has more than {BYTES_MAX >> 30} GiB; put it on the device instead")
    return content


def job(of: Job, content: bytes) -> Job:
    """The same job, with this content as the standard input of its program."""
    body = of.script.partition("\n")[2]
    script = f"#!/bin/bash\nexec </job/{NAME}\n{body}"
    return replace(of, script=script, files={**of.files, NAME: content})


def is_the_file(descriptor: int, path: Path) -> bool:
    """Whether a path, as /dev/stdin, names the file that is open at the descriptor."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def waits(descriptor: int) -> bool:
    """Whether the descriptor is no terminal and has content to read."""
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            return os.lseek(descriptor, 0, os.SEEK_CUR) < status.st_size
        if not (stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            return False
        size = array.array("i", [0])
        fcntl.ioctl(descriptor, termios.FIONREAD, size)
    except OSError:  # closed, or without the number of bytes
        return False
    return size[0] > 0
