# SPDX-License-Identifier: BSD-3-Clause
"""QEMU's schema lists the counters and causes of latency that the model's tables list.

A counter is added to the model first; the test then names the missing line of the schema. The schema's parameters are
made from the model's rows (test_parameter_tables.py).
"""

import re

from testbed.paths import REPO

MODEL = REPO / "qemu-patches" / "model"
SCHEMA = REPO / "qemu-patches" / "overlay" / "qapi" / "cxl-ssd.json"


def counters(group: str) -> list[str]:
    """A group of fields of counters.h in its order, as QAPI spells them."""
    text = (MODEL / "base/counters.h").read_text()
    body = re.search(rf"#define MEM_{group}_COUNTERS\(X\)(.*?)\n\n", text, re.DOTALL)
    assert body
    return [name.replace("_", "-") for name in re.findall(r"X\((\w+), \"", body[1])]


def struct_members(schema: str, struct: str) -> list[str]:
    body = re.search(rf"'struct': '{struct}',\s*(?:'base': '\w+',\s*)?'data': \{{(.*?)\}} \}}", schema, re.DOTALL)
    assert body
    return re.findall(r"'\*?([\w-]+)':", body[1])


def test_the_counters_are_those_of_the_model() -> None:
    schema = SCHEMA.read_text()
    assert len(counters("DEVICE")) > 20
    assert struct_members(schema, "CxlSsdDeviceCounters") == counters("DEVICE")
    assert struct_members(schema, "CxlSsdCounters") == counters("CPU") + counters("STALL")


def test_the_causes_are_those_of_the_model() -> None:
    text = (MODEL / "base/histogram.h").read_text()
    body = re.search(r"#define MEM_CAUSES\(X\)(.*?)\n\n", text, re.DOTALL)
    listed = re.search(r"'enum': 'CxlSsdCause',\s*'data': \[(.*?)\]", SCHEMA.read_text(), re.DOTALL)
    assert body and listed
    causes = [name.replace("_", "-") for name in re.findall(r"X\((\w+), \"", body[1])]
    assert re.findall(r"'([\w-]+)'", listed[1]) == causes
