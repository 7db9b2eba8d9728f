# SPDX-License-Identifier: BSD-3-Clause
"""Where the time went: shares that add up, of every counter that there is."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from testbed.cli import tables
from testbed.paths import REPO
from testbed.results import time_shares
from testbed.results.results import Result

SCHEMA = (REPO / "qemu-patches/overlay/qapi/cxl-ssd.json").read_text()


def roi(length_ps: int, **counters: int) -> dict[str, Any]:
    names = {name.replace("_", "-"): value for name, value in counters.items()}
    return {"begin-ps": 1000, "end-ps": 1000 + length_ps, "counters": names}


def names_of(structure: str) -> list[str]:
    """The counters of one structure of the schema."""
    body = SCHEMA.split(f"'struct': '{structure}'")[1].split("}")[0]
    return [word for word in body.split("'")[1::2] if word not in ("data", "uint64", "base", "CxlSsdDeviceCounters")]


def test_the_shares_add_up_and_instructions_have_the_rest() -> None:
    found = time_shares.shares([roi(1_000_000, stall_dram_ps=200_000, stall_fence_ps=50_000), roi(1_000_000)])
    assert {share.place.name: share.percent for share in found if share.time_ps} == {
        "instructions": 87.5,
        "local DRAM": 10.0,
        "fences and flushes": 2.5,
    }
    assert sum(share.time_ps for share in found) == 2_000_000
    assert len(found[0].bar) == 26


def test_every_stall_has_a_share_and_every_other_counter_a_group() -> None:
    names = names_of("CxlSsdDeviceCounters") + names_of("CxlSsdCounters")
    assert len(names) == 43
    stalls = {name for name in names if name.startswith("stall-")}
    assert stalls == {place.counter for place in time_shares.PLACES[1:]}
    groups = [[group for group, begins in tables.COUNTERS.items() if name.startswith(begins)] for name in names]
    assert [name for name, of in zip(names, groups, strict=True) if (len(of) == 1) == (name in stalls)] == []


def test_exec_shows_shares_with_bars_and_counters_in_groups() -> None:
    one = roi(4_000_000_000, stall_cxl_miss_ps=3_000_000_000, loads=12345, link_read_bytes=640, log_wait_ps=7000)
    console = Console(width=120, record=True, file=io.StringIO())
    tables.show_regions([one], console)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert f"device-cache misses: flash │ 3 ms │ 75.0 % │ {'█' * 22}" in lines
    assert f"instructions │ 1 ms │ 25.0 % │ {'█' * 8}" in lines
    for line in ("CPU │ loads │ 12,345", "link │ link read │ 640 B", "write log │ log wait │ 7 ns"):
        assert line in lines
    assert "stall" not in " ".join(lines)


def test_exec_shows_every_region() -> None:
    """Only the last one was shown."""
    rois = [roi(4_000_000, loads=n, link_read_bytes=64) for n in range(1, 9)]
    console = Console(width=160, record=True, file=io.StringIO())
    tables.show_regions(rois, console)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert [line for line in lines if "│ 4 us │" in line] == [f"{n} │ 4 us │ {'i' * 30}" for n in range(1, 9)]
    assert "counters of the last 6 of 8 regions of interest" in lines
    assert "CPU │ loads │ 3 │ 4 │ 5 │ 6 │ 7 │ 8" in lines
    assert "link │ link read │ 64 B │ 64 B │ 64 B │ 64 B │ 64 B │ 64 B" in lines


def test_run_shows_a_line_and_a_bar_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        Result(
            Path("x"), {"point": {"engine": engine}, "rois": [roi(1_000_000, stall_dram_ps=stall, stall_fence_ps=1)]}
        )
        for engine, stall in (("pmdk", 0), ("snapshot", 250_000))
    ]
    tables.show_shares_of_results(results)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert [line for line in lines if "engine=" in line] == [
        f"engine=pmdk │ 1 us │ {'i' * 30}",
        f"engine=snapshot │ 1 us │ {'i' * 22}{'d' * 8}",
    ]
    assert lines[-1] == "i instructions, d local DRAM"


@given(st.lists(st.integers(0, 10**9), min_size=len(time_shares.PLACES), max_size=len(time_shares.PLACES)))
def test_a_bar_has_every_cell_in_the_order_of_the_places(times: list[int]) -> None:
    of_ps = sum(times)
    found = [time_shares.Share(place, t, of_ps) for place, t in zip(time_shares.PLACES, times, strict=True)]
    letters = time_shares.bar(found)
    assert len(letters) == (time_shares.BAR_CELLS if of_ps else 0)
    order = "".join(place.letter for place in time_shares.PLACES)
    assert sorted(letters, key=order.index) == list(letters)
    for share in found:
        assert abs(letters.count(share.place.letter) - time_shares.BAR_CELLS * share.percent / 100) <= 1


def test_a_run_without_a_region_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    tables.show_regions([], Console(file=io.StringIO()))
    tables.show_time_shares([])
    tables.show_shares_of_results([Result(Path("x"), json.loads('{"point": {}, "rois": []}'))])
    assert capsys.readouterr().out == ""
