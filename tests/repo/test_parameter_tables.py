# SPDX-License-Identifier: BSD-3-Clause
"""The committed files match the ones made from the model's rows of parameters: an edited or forgotten file is stale.

The rows are read from memsys-replay, the compiled model.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from testbed.build import parameter_tables
from testbed.build.parameter_tables import Parameter
from testbed.errors import TestbedError
from testbed.manifest import parameters
from testbed.manifest.parameters import CpuProfile, DeviceProfile
from testbed.paths import REPO

AGAIN = "make it again: .venv/bin/python -m testbed.build.parameter_tables"
PATCHES = REPO / "qemu-patches" / "patches"


@pytest.fixture(scope="module")
def rows() -> list[Parameter]:
    return parameter_tables.stated()


def stale(rows: list[Parameter]) -> list[str]:
    """The files that differ from the ones made from the rows."""
    made = parameter_tables.made(rows)
    return [str(path.relative_to(REPO)) for path, content in made.items() if path.read_text() != content]


def test_nothing_that_is_made_from_the_rows_is_stale(rows: list[Parameter]) -> None:
    assert len(rows) > 75
    assert stale(rows) == [], AGAIN


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (parameter_tables.PYTHON, "fill_buffers: int = 10", "fill_buffers: int = 12"),
        (parameter_tables.SCHEMA, "'*pause-ps': 'uint64'", "'pause-ps': 'uint64'"),
        (parameter_tables.PAGE, "| `pause_ps` | `pause` | ps | 0 |", "| `pause_ps` | `pause` | ps | 1 |"),
        (parameter_tables.WORDS, '"pause-ps"\n', ""),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_a_file_edited_by_hand_is_stale(
    rows: list[Parameter], monkeypatch: pytest.MonkeyPatch, path: Path, old: str, new: str
) -> None:
    read_text = Path.read_text

    def edited(self: Path) -> str:
        text = read_text(self)
        assert self != path or old in text
        return text.replace(old, new) if self == path else text

    monkeypatch.setattr(Path, "read_text", edited)
    assert stale(rows) == [str(path.relative_to(REPO))]


def test_a_new_row_reaches_every_file(rows: list[Parameter]) -> None:
    """An additional row adds a field, a member of the schema, a row of the page and a word."""
    new = replace(
        next(row for row in rows if row.name == "pause-ps"), name="syscall-ps", field="syscall_ps", what="a call"
    )
    made = parameter_tables.made([*rows, new])
    assert "    syscall_ps: int = 0\n" in made[parameter_tables.PYTHON]
    assert '    "syscall_ps": "syscall",\n' in made[parameter_tables.PYTHON]
    assert "'*syscall-ps': 'uint64'" in made[parameter_tables.SCHEMA]
    assert "# @syscall-ps: a call; picoseconds\n" in made[parameter_tables.SCHEMA]
    assert "| `syscall_ps` | `syscall` | ps | 0 | at most 1 s | - | a call |\n" in made[parameter_tables.PAGE]
    assert '"syscall-ps"\n' in made[parameter_tables.WORDS]


def test_a_group_without_a_place_on_the_page_is_refused(rows: list[Parameter]) -> None:
    with pytest.raises(
        TestbedError, match=r"docs/reference/parameters\.md must have each of these once, .*<!-- parameters: power -->"
    ):
        parameter_tables.made([*rows, replace(rows[-1], name="x", group="power")])


def test_a_name_that_cpu_and_device_share_is_refused(rows: list[Parameter]) -> None:
    with pytest.raises(TestbedError, match="has the name of one of a device"):
        parameter_tables.made([*rows, replace(rows[0], owner="device")])


def test_the_unit_of_a_time_and_of_an_energy_ends_both_of_its_names(rows: list[Parameter]) -> None:
    with_unit = [row for row in rows if row.type in ("time", "energy")]
    assert len(with_unit) > 25
    endings = {"time": ("ps",), "energy": ("uj", "nj")}
    wrong = [
        row.name for row in with_unit if not row.name.endswith(endings[row.type]) or row.field[-2:] != row.name[-2:]
    ]
    assert wrong == []
    assert [row.name for row in rows if row not in with_unit and row.unit_suffix] == []


def test_what_a_row_needs_and_starts_with_is_there(rows: list[Parameter]) -> None:
    """A row needs a parameter of the same owner, and its initial value is within the bounds or a value is required."""
    names = {(row.owner, row.name) for row in rows}
    assert [row.name for row in rows if row.needs and (row.owner, row.needs) not in names] == []
    beyond = [row.name for row in rows if not row.least <= row.initial <= row.most and not row.or_zero]
    assert [name for name in beyond if not next(row for row in rows if row.name == name).required] == []


def test_profiles_have_a_field_for_each_parameter(rows: list[Parameter]) -> None:
    for owner, model in (("cpu", CpuProfile), ("device", DeviceProfile)):
        fields = {field.name for field in parameters.parameters(model)}
        assert fields == {row.python_name for row in rows if row.owner == owner}


def test_cpu_timing_takes_the_parameters_and_whether_there_is_a_helper() -> None:
    """Upstream's file states only the properties that are not parameters of the model."""
    patch = next(PATCHES.glob("*-build-the-CXL-memory-semantic-SSD.patch")).read_text()
    assert "+{ 'struct': 'CpuTimingProperties',\n+  'base': 'CpuTimingParameters',\n" in patch
    assert "+  'data': { '*helper-thread': 'bool' } }\n" in patch
    assert "+{ 'include': 'cpu-timing.json' }" in patch
