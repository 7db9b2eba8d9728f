# SPDX-License-Identifier: BSD-3-Clause
"""Files generated from the model's tables of parameters: `python -m testbed.build.parameter_tables` writes them again.

qemu-patches/model/config/cpu.h and device.h define the tables, one row for each parameter. memsys-replay, which is the
model compiled, prints them. The generated files are the runner's dataclasses, the QAPI schema, the tables of
docs/reference/parameters.md and the words of a fuzzer. All are committed, so that reading a manifest needs no build;
tests/repo/test_parameter_tables.py fails if one of them differs from the model's rows.
"""

import json
import re
import subprocess
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .. import outputs, units
from ..errors import TestbedError
from ..paths import REPO
from .components import build

COMMAND = "python -m testbed.build.parameter_tables"
PYTHON = REPO / "experiments/testbed/manifest/model_parameters.py"
SCHEMA = REPO / "qemu-patches/overlay/qapi/cpu-timing.json"
PAGE = REPO / "docs/reference/parameters.md"
WORDS = REPO / "qemu-patches/model/tests/fuzz/params.dict"

NO_BOUND = 2**64 - 1
UNIT_SUFFIXES = ("_ps", "_uj", "_nj")
UNIT_NAMES = {"_ps": "picoseconds", "_uj": "microjoules", "_nj": "nanojoules"}
UNITS = {"size": "bytes", "time": "ps", "bandwidth": "bytes/s"}
CLASSES = {"cpu": ("CpuParameters", "-object cpu-timing"), "device": ("DeviceParameters", "-device cxl-ssd")}
# Further words for the fuzzer of parameters: owners, values, units of values.
OTHER_WORDS = (
    *("device.", "device0.", "device1.", "cpu.", "=", "on", "off", "true"),
    *("KiB", "MiB", "GiB", "TiB", "ns", "us", "ms", "ps", "GB/s", "MB/s"),
)
# Other types are uint32 or uint64, by the bits of the parameter; QEMU's parser rejects a count beyond 32 bits.
QAPI_TYPES = {"size": "size", "bool": "bool", "choice": "str"}
QAPI_COLUMNS = 70


@dataclass(frozen=True)
class Parameter:
    """One row, as `memsys-replay --parameters` prints it; params.h explains the fields."""

    owner: str
    name: str
    field: str
    group: str
    type: str
    bits: int
    change: str
    required: bool
    initial: int
    choices: tuple[str, ...]
    least: int
    most: int
    or_zero: bool
    needs: str
    what: str

    @property
    def python_name(self) -> str:
        return self.name.replace("-", "_")

    @property
    def unit_suffix(self) -> str:
        return next((suffix for suffix in UNIT_SUFFIXES if self.python_name.endswith(suffix)), "")

    @property
    def default(self) -> bool | int | str:
        """The initial value as a value of Python."""
        if self.type == "choice":
            return self.choices[self.initial]
        return bool(self.initial) if self.type == "bool" else self.initial


def stated() -> list[Parameter]:
    """The model's rows, CPU first."""
    program = build(("replay",))["replay"].path / "memsys-replay"
    printed = subprocess.run([str(program), "--parameters"], capture_output=True, text=True, check=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    return [Parameter(**{**row, "choices": tuple(row["choices"])}) for row in rows]


def of(owner: str, rows: Iterable[Parameter]) -> list[Parameter]:
    return [row for row in rows if row.owner == owner]


def keys(rows: Iterable[Parameter]) -> dict[str, str]:
    """Field -> its key in profiles: without the unit that its value carries, unless another parameter has that name."""
    fields = [row.python_name for row in rows]
    return {
        row.python_name: short if (short := row.python_name.removesuffix(row.unit_suffix)) not in fields
        else row.python_name
        for row in rows
    }  # fmt: skip


# ---- The runner's side ----


def python(rows: list[Parameter]) -> str:
    """The module with the dataclasses of parameters, required ones first, and their types, keys and choices."""
    fields = [row.python_name for row in rows]
    if len(set(fields)) != len(fields):
        raise TestbedError("a parameter of the CPU has the name of one of a device; give one of them another")
    shorter = {field: key for field, key in keys(rows).items() if field != key}
    renamed = {row.field: row.python_name for row in rows if row.field != row.python_name}
    parts = [
        "# SPDX-License-Identifier: BSD-3-Clause",
        f'"""Made by `{COMMAND}` from the model\'s rows: change those, not this."""',
        "",
        "from dataclasses import dataclass",
        *(line for owner in CLASSES for line in _python_class(owner, of(owner, rows))),
        *_python_dictionary("TYPES", {row.python_name: _quoted(row.type) for row in rows}),
        *_python_dictionary("KEYS", {field: _quoted(key) for field, key in shorter.items()}),
        *_python_dictionary("FIELDS", {field: _quoted(name) for field, name in renamed.items()}),
        *_python_dictionary("CHOICES", {row.python_name: _tuple(row.choices) for row in rows if row.choices}),
        *_python_dictionary("CHANGES", {row.python_name: _quoted(row.change) for row in rows}),
    ]
    return "\n".join(parts) + "\n"


def _python_class(owner: str, rows: list[Parameter]) -> list[str]:
    name, option = CLASSES[owner]
    types = {"choice": "str", "bool": "bool"}
    lines = [
        "",
        "",
        "@dataclass(frozen=True)",
        f"class {name}:",
        f'    """The parameters that `{option}` accepts."""',
        "",
    ]
    for row in sorted(rows, key=lambda row: not row.required):
        default = row.default if row.type != "choice" else _quoted(str(row.default))
        given = "" if row.required else f" = {default}"
        lines.append(f"    {row.python_name}: {types.get(row.type, 'int')}{given}")
    return lines


def _python_dictionary(name: str, values: Mapping[str, str]) -> list[str]:
    kind = "tuple[str, ...]" if name == "CHOICES" else "str"
    gap = [""] if name != "TYPES" else ["", ""]
    entries = [f"    {_quoted(key)}: {value}," for key, value in values.items()]
    return [*gap, f"{name}: dict[str, {kind}] = {{", *entries, "}"]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _tuple(words: Iterable[str]) -> str:
    return f"({', '.join(map(_quoted, words))})"


# ---- QEMU's schema ----


def schema(rows: list[Parameter]) -> str:
    """The schema of `object-add` for a cpu-timing; a device's class makes its properties, which need no schema."""
    cpu = of("cpu", rows)
    members = ",\n            ".join(f"'{'' if row.required else '*'}{row.name}': '{_qapi_type(row)}'" for row in cpu)
    return "\n".join(
        [
            "# -*- Mode: Python -*-",
            "# vim: filetype=python",
            "#",
            "# SPDX-License-Identifier: GPL-2.0-or-later",
            "#",
            f"# Made by `{COMMAND}`",
            "# from the model's rows: change those, not this.",
            "",
            "##",
            "# = Timing of the CPU",
            "##",
            "",
            "##",
            "# @CpuTimingParameters:",
            "#",
            "# The host's side of the memory timing model.",
            "#",
            *(line for row in cpu for line in (*_qapi_member(row), "#")),
            "# Since: 10.0",
            "##",
            "{ 'struct': 'CpuTimingParameters',",
            f"  'data': {{ {members} }} }}",
            "",
        ]
    )


def _qapi_type(row: Parameter) -> str:
    return QAPI_TYPES.get(row.type, f"uint{row.bits}")


def _qapi_member(row: Parameter) -> list[str]:
    unit = {"size": "bytes", "bandwidth": "bytes per second"}.get(row.type, UNIT_NAMES.get(row.unit_suffix, ""))
    said = [f"@{row.name}: {row.what}", *([unit] if unit else []), *([", ".join(row.choices)] if row.choices else [])]
    return textwrap.wrap("; ".join(said), QAPI_COLUMNS, initial_indent="# ", subsequent_indent="#     ")


# ---- The page ----

MARKED = re.compile(r"(<!-- parameters: (\w+) -->\n).*?(<!-- end of parameters -->)", re.DOTALL)
HEAD = "| parameter | key | unit | default | allowed | changes | meaning |\n|---|---|---|---|---|---|---|\n"


def page(text: str, rows: list[Parameter]) -> str:
    """The page with its tables written again, each between the two comments that name its group."""
    groups = {row.group for row in rows}
    marked = [match[2] for match in MARKED.finditer(text)]
    if sorted(marked) != sorted(groups):
        wanted = ", ".join(f"<!-- parameters: {group} -->" for group in sorted(groups))
        raise TestbedError(f"{PAGE} must have each of these once, before <!-- end of parameters -->: {wanted}")
    return MARKED.sub(lambda match: match[1] + page_table(match[2], rows) + match[3], text)


def page_table(group: str, rows: list[Parameter]) -> str:
    named = keys(rows)
    return HEAD + "".join(
        f"| `{row.field}` | `{named[row.python_name]}` | {_unit(row)} | {_default(row)} | {_allowed(row)} "
        f"| {'-' if row.change == 'fixed' else row.change} | {row.what} |\n"
        for row in rows
        if row.group == group
    )


def _unit(row: Parameter) -> str:
    if row.type == "energy":
        return row.unit_suffix.removeprefix("_").replace("j", "J")
    return UNITS.get(row.type, "-")


def _default(row: Parameter) -> str:
    if row.required:
        return "-"
    return ("off", "on")[row.initial] if row.type == "bool" else str(row.default)


def _allowed(row: Parameter) -> str:
    if row.choices or row.type == "bool":
        return ", ".join(row.choices or ("on", "off"))
    least, most = _bound(row, row.least), _bound(row, row.most)
    if row.most == NO_BOUND:
        said = f"{'0 or ' if row.or_zero else ''}at least {least}" if row.least else "-"
    else:
        said = f"{least} to {most}" if row.least else f"at most {most}"
    # The page states only once that the parameters of cache and flash apply only with flash.
    return f"{said} with `{row.needs.replace('-', '_')}`" if row.needs not in ("", "flash-channels") else said


def _bound(row: Parameter, value: int) -> str:
    if row.type == "time":
        return units.show_time(value)
    if row.type == "bandwidth":
        return f"{value // units.BANDWIDTH['MB/s']} MB/s"
    return units.show_size(value) if row.type == "size" else str(value)


# ---- The fuzzer ----


def words(rows: list[Parameter]) -> str:
    """A dictionary for libFuzzer."""
    choices = dict.fromkeys(choice for row in rows for choice in row.choices)
    lines = [_quoted(word) for word in (*OTHER_WORDS, *choices, *sorted(row.name for row in rows))]
    head = ["# SPDX-License-Identifier: GPL-2.0-or-later", f"# Words for fuzz_params, made by `{COMMAND}`."]
    return "\n".join([*head, *lines]) + "\n"


# ---- All generated files ----


def made(rows: list[Parameter]) -> dict[Path, str]:
    """The path of each generated file -> the content that it must have."""
    return {
        PYTHON: python(rows),
        SCHEMA: schema(rows),
        PAGE: page(PAGE.read_text(), rows),
        WORDS: words(rows),
    }


if __name__ == "__main__":
    for path, content in made(stated()).items():
        outputs.write(path, content)
