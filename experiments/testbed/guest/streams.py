# SPDX-License-Identifier: BSD-3-Clause
"""A path for the program's output that leaves the guest at once and fast, beside the port for results.

The path is a virtio-serial device of upstream QEMU, with a port for each stream and one for files that come back. QEMU
takes the guest's data within the guest's own instruction and appends them to a file, so a slow reader has no effect on
the guest. In the guest each stream is a pipe, so a program that opens the stream again, as /dev/stdout, loses nothing.
A process that is scheduled before all others moves the data from the pipe to the port: with one CPU, the output of the
program has left the guest before the program continues.
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
SLOT = "1e"  # on the PCI bus; the other devices keep their slots

# A kernel without the driver has no such port; in that case init hands over the output at the end.
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
    """The device file of a stream's port in the guest."""
    return f"/dev/vport0p{STREAMS.index(stream) + 1}"


# A shell expression for the port of files that come back: the results port if the kernel lacks the driver.
FILES_PORT = f'"$([[ -c {port(FILES)} ]] && echo {port(FILES)} || echo {RESULTS_PORT})"'


def job(of: Job) -> Job:
    """The same job, with its output sent through the ports of the streams."""
    body = of.script.partition("\n")[2]
    words = {name: port(name) for name in PRINTED}
    script = _AROUND.format(body=body, carrier=f"/job/{_CARRIER}", **words)
    return replace(of, script=script, executables={**of.executables, _CARRIER: carrier.program()})


def make(folder: Path) -> None:
    """Create the empty files that QEMU appends to."""
    for name in STREAMS:
        (folder / name).touch()


def brought(folder: Path) -> bytes:
    """The files that came back through their port, as lines in the format of the results port."""
    return (folder / FILES).read_bytes()


def all_printed(folder: Path, *otherwise: bytes) -> list[bytes]:
    """Append `otherwise`, the output from the results port, to the streams' files, and return the whole content."""
    for name, content in zip(PRINTED, otherwise, strict=True):
        with (folder / name).open("ab") as file:
            file.write(content)
    return [(folder / name).read_bytes() for name in PRINTED]


def options(folder: Path) -> list[str]:
    """QEMU's options for a guest with its stream files in this folder."""
    # ioeventfd=off: otherwise another thread takes the guest's data, at a moment that depends on host time.
    words = ["-device", f"virtio-serial-pci,id=streams,bus=pcie.0,addr={SLOT},ioeventfd=off"]
    for number, name in enumerate(STREAMS, 1):
        words += ["-chardev", f"file,id={name},path={in_option(folder / name)}"]
        words += ["-device", f"virtserialport,bus=streams.0,nr={number},chardev={name}"]
    return words
