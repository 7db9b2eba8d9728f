# SPDX-License-Identifier: BSD-3-Clause
"""The archives of all workloads: a command that names a program gets the archive that has the program."""

import pytest

from testbed.build import components, workloads
from testbed.guest.cpio import listed

FOLDER = workloads.OWN.lstrip("/") + "bin/"

pytestmark = pytest.mark.guest


@pytest.mark.parametrize("name", workloads.known())
def test_each_program_of_an_archive_names_its_workload(name: str) -> None:
    names = (entry.name.removeprefix("./") for entry in listed(components.own_archive(name)))
    programs = {path.removeprefix(FOLDER) for path in names if path.startswith(FOLDER)}
    assert programs
    assert {program: workloads.named_in(program) for program in programs} == dict.fromkeys(programs, (name,))
