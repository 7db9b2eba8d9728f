# SPDX-License-Identifier: BSD-3-Clause
"""A way out of the guest for what its program prints, at once and fast, beside the port for results.

The way is a virtio-serial device of upstream's, with a port for each stream and one for files that come back. QEMU
takes what the guest sends within the guest's own instruction, and appends it to a file: no reader, however slow, is
seen in the guest. In the guest each stream is a pipe, so that who opens it once more, as /dev/stdout, loses nothing. A
process before all others carries it on: with one CPU what the program has written is outside before that goes on.
"""

from dataclasses import replace
from pathlib import Path

from ..program.files_back import RESULTS_PORT
from ..program.job_archive import Job
from . import carrier
from .qemu_line import in_option

PRINTED = ("stdout", "stderr")
FILES = "files"
STREAMS = (*PRINTED, FILES)  # in the order of their ports; each is a file of this name in the guest's folder
_CARRIER = ".testbed/carry"  # in /job
SLOT = "1e"  # of the PCI bus: others keep theirs

# A kernel without the driver has no such port; then init hands the output over at the end.
_AROUND = """#!/bin/bash
program() (
{body}
)
carry() {{ # STREAM PORT
    mkfifo "/run/testbed/$1.pipe"
    chrt --fifo 1 {carrier} <"/run/testbed/$1.pipe" >"$2" &
    carriers+=($!)
}}
# Who has left something in the background still has the pipe, so its end may never come.
carried() {{ # PID
    local state tries
    for ((tries = 0; tries < 100; tries++)); do
        read -r _ _ state _ 2>/dev/null <"/proc/$1/stat" || return
        [[ $state == [RD] ]] || return
        sleep 0.01
    done
}}
carriers=()
if [[ -c {stdout} && -c {stderr} ]]; then
    carry stdout {stdout}
    carry stderr {stderr}
    program >/run/testbed/stdout.pipe 2>/run/testbed/stderr.pipe
else
    program
fi
status=$?
for carrier in "${{carriers[@]}}"; do carried "$carrier"; done
exit $status
"""


def port(stream: str) -> str:
    """The device in the guest."""
    return f"/dev/vport0p{STREAMS.index(stream) + 1}"


# Where files go that come back, in the words of a shell.
FILES_PORT = f'"$([[ -c {port(FILES)} ]] && echo {port(FILES)} || echo {RESULTS_PORT})"'


def job(of: Job) -> Job:
    """The same job, whose output takes this way."""
    body = of.script.partition("\n")[2]
    words = {name: port(name) for name in PRINTED}
    script = _AROUND.format(body=body, carrier=f"/job/{_CARRIER}", **words)
    return replace(of, script=script, executables={**of.executables, _CARRIER: carrier.program()})


def make(folder: Path) -> None:
    """The files, before anything is in them."""
    for name in STREAMS:
        (folder / name).touch()


def brought(folder: Path) -> bytes:
    """What came this way of files, as lines of the results port."""
    return (folder / FILES).read_bytes()


def all_printed(folder: Path, *otherwise: bytes) -> list[bytes]:
    """All of each stream, once what came `otherwise`, by the results port, is behind what came this way."""
    for name, content in zip(PRINTED, otherwise, strict=True):
        with (folder / name).open("ab") as file:
            file.write(content)
    return [(folder / name).read_bytes() for name in PRINTED]


def options(folder: Path) -> list[str]:
    """QEMU's, for a guest with files in this folder."""
    # ioeventfd=off: else another thread takes what the guest sends, at a time of the host's.
    words = ["-device", f"virtio-serial-pci,id=streams,bus=pcie.0,addr={SLOT},ioeventfd=off"]
    for number, name in enumerate(STREAMS, 1):
        words += ["-chardev", f"file,id={name},path={in_option(folder / name)}"]
        words += ["-device", f"virtserialport,bus=streams.0,nr={number},chardev={name}"]
    return words
