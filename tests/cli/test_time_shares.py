# SPDX-License-Identifier: BSD-3-Clause
"""Shares of the time: they add up, and every counter has its place."""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from testbed.cli import tables
from testbed.errors import RunFailed
from testbed.paths import REPO
from testbed.results import time_shares
from testbed.results.results import Result

SCHEMA = (REPO / "qemu-patches/overlay/qapi/cxl-ssd.json").read_text()


def roi(length_ps: int, **counters: int) -> dict[str, Any]:
    return region(length_ps, [counters])


def region(length_ps: int, cpus: Sequence[Mapping[str, int]], times_ps: Sequence[int] = ()) -> dict[str, Any]:
    """A region of interest of several CPUs as QEMU reports it; clocks advance by `length_ps` or their `times_ps`."""
    counted = [{name.replace("_", "-"): value for name, value in cpu.items() if name != "idle_ps"} for cpu in cpus]
    names = {name for cpu in counted for name in cpu}
    total = {name: sum(cpu.get(name, 0) for cpu in counted) for name in sorted(names)}
    times = times_ps or [length_ps] * len(cpus)
    vcpus = [
        {"instructions": 7, "time-ps": time_ps, "idle-ps": cpu.get("idle_ps", 0)}
        for cpu, time_ps in zip(cpus, times, strict=True)
    ]
    told = {"begin-ps": 1000, "end-ps": 1000 + length_ps, "counters": total, "vcpus": vcpus}
    return told | ({"cores": counted} if len(cpus) > 1 else {})


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
    assert stalls | {"idle-ps"} == {place.counter for place in time_shares.PLACES[1:]}
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
    """Only the last region used to be shown."""
    rois = [roi(4_000_000, loads=n, link_read_bytes=64) for n in range(1, 9)]
    console = Console(width=160, record=True, file=io.StringIO())
    tables.show_regions(rois, console)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert [line for line in lines if "│ 4 us │" in line] == [f"{n} │ 4 us │ {'i' * 30}" for n in range(1, 9)]
    assert "counters of the last 6 of 8 regions of interest" in lines
    assert "CPU │ loads │ 3 │ 4 │ 5 │ 6 │ 7 │ 8" in lines
    assert "link │ link read │ 64 B │ 64 B │ 64 B │ 64 B │ 64 B │ 64 B" in lines


def test_run_shows_a_line_and_a_bar_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    same: dict[str, Any] = {"identity": {"machine": {"cpu": {}}}}
    results = [
        Result(
            Path("x"),
            same | {"point": {"engine": engine}, "rois": [roi(1_000_000, stall_dram_ps=stall, stall_fence_ps=1)]},
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


def test_stalls_of_eight_cpus_stand_against_the_clocks_of_eight() -> None:
    """Eight threads that add to one word: against one clock, L2 and LLC had 214.5 % and instructions -158.9 %."""
    one = region(1_000_000, [{"stall_cache_ps": 268_000, "stall_dram_ps": 50_000, "idle_ps": 600_000}] * 8)
    found = {share.place.name: share for share in time_shares.shares([one])}
    assert {name: share.percent for name, share in found.items() if share.time_ps} == {
        "instructions": 8.2,
        "idle": 60.0,
        "L2, LLC, other CPUs": 26.8,
        "local DRAM": 5.0,
    }
    assert found["idle"].mean_ps == 600_000


@st.composite
def regions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Regions of interest of one machine of 1, 2 or 8 CPUs with different clocks."""
    names = [place.counter.replace("-", "_") for place in time_shares.PLACES[1:]]
    cpus = draw(st.sampled_from([1, 2, 8]))
    made = []
    for _ in range(draw(st.integers(1, 3))):
        counted = [{name: draw(st.integers(0, 10**12)) for name in names} for _ in range(cpus)]
        times = [sum(cpu.values()) + draw(st.integers(0, 10**12)) for cpu in counted]
        made.append(region(times[0], counted, times))
    return made


@given(regions())
def test_shares_of_any_number_of_cpus_add_up_and_none_is_negative(rois: list[dict[str, Any]]) -> None:
    each = time_shares.by_cpu(rois)
    assert len(each) == len(rois[0]["vcpus"])
    for found in (time_shares.shares(rois), *each):
        assert all(share.time_ps >= 0 for share in found)
        assert sum(share.time_ps for share in found) == found[0].of_ps
        assert not found[0].of_ps or abs(sum(share.percent for share in found) - 100) < 1e-6
    mean = time_shares.shares(rois)
    assert [share.time_ps for share in mean] == [sum(times) for times in zip(*map(_times, each), strict=True)]


def _times(found: Sequence[time_shares.Share]) -> list[int]:
    return [share.time_ps for share in found]


def test_stalls_beyond_the_clock_of_their_cpu_are_a_fault_that_is_told() -> None:
    sound, broken = {"stall_dram_ps": 10}, {"stall_dram_ps": 60, "idle_ps": 41}
    with pytest.raises(RunFailed, match="101 ps of stalls and idle time in 100 ps of its clock"):
        time_shares.shares([region(100, [sound, broken])])


def test_each_cpu_has_its_line_on_request() -> None:
    rois = [region(4_000_000, [{"stall_dram_ps": 1_000_000}, {"idle_ps": 4_000_000}])]
    console = Console(width=120, record=True, file=io.StringIO())
    tables.show_regions(rois, console, by_cpu=True)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    for line in ("1 │ 0 │ 4 us │ 75.0 │ 0.0 │ 25.0", "1 │ 1 │ 4 us │ 0.0 │ 100.0 │ 0.0"):
        assert line in lines
    assert "i instructions, n idle, d local DRAM" in lines


def test_a_mean_over_cpus_says_that_it_is_one() -> None:
    console = Console(width=120, record=True, file=io.StringIO())
    tables.show_regions([region(4_000_000, [{}, {"idle_ps": 4_000_000}])], console)
    lines = [" ".join(line.split()) for line in console.export_text().splitlines()]
    assert " ".join(lines).startswith("where the 4 us of the region of interest went, mean of all CPUs")
    assert f"idle │ 2 us │ 50.0 % │ {'█' * 15}" in lines


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
