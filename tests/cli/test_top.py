# SPDX-License-Identifier: BSD-3-Clause
"""`testbed top`: the views of two answers, and a mock monitor that answers."""

import asyncio
import io
import os
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from rigs.guest.qmp_rig import monitor
from testbed import console
from testbed.errors import TestbedError
from testbed.guest import top
from testbed.guest.qemu_line import WATCH_SOCKET
from testbed.guest.top import Sample

COUNTERS = ("cache-hits", "cache-misses", "cxl-reads", "dram-reads", "link-read-bytes", "link-write-bytes")
FLASH = ("flash-reads", "flash-programs")


def roi(
    end_ps: int,
    scale: int,
    begin_ps: int = 0,
    histogram: list[tuple[int, int]] | None = None,
    two_devices: bool = False,
) -> dict[str, Any]:
    buckets = [{"upper-ps": upper, "count": count} for upper, count in histogram or []]
    return {
        "id": 1,
        "begin-ps": begin_ps,
        "end-ps": end_ps,
        "instructions": 1000 * scale,
        "counters": dict.fromkeys((*COUNTERS, *FLASH), 0)
        | {"cache-hits": 3 * scale, "cache-misses": scale}
        | {"link-read-bytes": 6400 * scale},
        "devices": [
            {"cache-hits": 3 * scale, "cache-misses": 0, "link-read-bytes": 6400 * scale}
            | {"link-write-bytes": 0, "flash-reads": 0, "flash-programs": 0},
            {"cache-hits": 0, "cache-misses": scale, "link-read-bytes": 0}
            | {"link-write-bytes": 0, "flash-reads": scale, "flash-programs": 7 * scale},
        ][: 2 if two_devices else 1],
        "histograms": [{"cause": "cxl-hit", "count": 0, "sum-ps": 0, "max-ps": 0, "buckets": buckets}],
    }


def sample(host_s: float, region: dict[str, Any] | None) -> Sample:
    count = len(region["devices"]) if region else 1
    devices = [{"path": f"/machine/peripheral/ssd{n}"} for n in range(count)]
    answer = {"time-ps": 5 * 10**9, "rois": [], "devices": devices, **({"running": region} if region else {})}
    return Sample(host_s, answer)


def text(shown: Any) -> str:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(shown)
    return console.export_text()


def test_rates_are_those_of_the_virtual_time_between_two_samples() -> None:
    values = dict(top.summary(sample(1.0, roi(10**9, 10)), sample(3.0, roi(2 * 10**9, 30))))
    assert values["device-cache hits"] == "75.0 %"
    assert values["read from the device"] == "0.13 GB/s"  # 128,000 bytes in 1 ms
    assert values["guest speed"] == "0.0 MIPS"
    assert values["virtual time a host second"] == "500 us"
    assert values["LLC misses to the device"] == "-"


def test_each_of_several_cores_has_its_row() -> None:
    def cores(*loads: int) -> dict[str, Any]:
        counters = [dict.fromkeys(top.CORE_COUNTERS, 0) | {"loads": count} for count in loads]
        return roi(10**9 * loads[0], 1) | {"cores": counters}

    before, after = sample(1.0, cores(1, 20)), sample(2.0, cores(2, 3020))
    head, first, second = top.by_core(before, after)
    assert head[:2] == ("core", "loads")
    assert (first[:2], second[:2]) == (("0", "1"), ("1", "3,000"))
    assert "3,000" in text(top.view(before, after))
    assert top.by_core(sample(1.0, roi(10**9, 10)), sample(2.0, roi(2 * 10**9, 30))) == []


@pytest.mark.parametrize("before", [roi(10**9, 10, begin_ps=7), roi(10**9, 40)])
def test_another_region_and_one_counted_anew_are_not_subtracted(before: dict[str, Any]) -> None:
    values = dict(top.summary(sample(1.0, before), sample(2.0, roi(2 * 10**9, 30))))
    assert values["read from the device"] == "0.10 GB/s"  # 192,000 bytes in 2 ms


@pytest.mark.parametrize(("permille", "expected"), [(1, 10), (500, 10), (501, 20), (990, 20), (991, 30), (999, 30)])
def test_a_percentile_is_tight_around_its_rank(permille: int, expected: int) -> None:
    assert top.percentile_ps([(10, 500), (20, 490), (30, 10)], permille) == expected


def test_latencies_are_those_since_the_last_sample() -> None:
    before = roi(10**9, 10, histogram=[(800_000, 100)])
    after = roi(2 * 10**9, 30, histogram=[(800_000, 101), (28_000_000, 1)])
    assert top.buckets(*top.between(before, after)) == {"cxl-hit": [(800_000, 1), (28_000_000, 1)]}
    shown = text(top.view(sample(1.0, before), sample(2.0, after)))
    assert "cxl-hit" in shown
    assert "28 us" in shown


def test_each_of_several_devices_has_its_row() -> None:
    before, after = roi(10**9, 10, two_devices=True), roi(2 * 10**9, 30, two_devices=True)
    assert top.by_device(sample(1, before), sample(2, after)) == [
        (
            "device",
            "device-cache hits",
            "read from the device",
            "written to the device",
            "flash pages read, programmed",
        ),
        ("ssd0", "100.0 %", "0.13 GB/s", "0.00 GB/s", "0, 0"),
        ("ssd1", "0.0 %", "0.00 GB/s", "0.00 GB/s", "20, 140"),
    ]
    assert "ssd1" in text(top.view(sample(1, before), sample(2, after)))
    assert top.by_device(sample(1, roi(10**9, 10)), sample(2, roi(2 * 10**9, 30))) == []


def test_without_a_terminal_every_view_is_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answers = [sample(0, roi(10**9 * n, 10 * n)).answer for n in (1, 2, 3)]

    async def both() -> None:
        async with monitor(tmp_path / "qmp", answers):
            await top.watch(tmp_path / "qmp", 0.01, top.print_view)

    asyncio.run(both())
    said = capsys.readouterr().out
    assert said.count("region of interest") == 2 and "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_table_off_a_terminal_fits_80_columns_and_has_no_colour(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    console.show("wide", ("path", "value"), [("/a/long/path" * 12, 1), ("b", "c" * 90)])
    said = capsys.readouterr().out
    assert "\x1b" not in said and said.count("c") == 90
    assert max(map(len, said.splitlines())) == 80


def test_before_the_first_region_it_says_so() -> None:
    assert "no region of interest yet, virtual time 5 ms" in text(top.view(sample(1, None), sample(2, None)))


def test_without_a_guest_it_says_how_to_start_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with pytest.raises(TestbedError, match="no guest is running; start one with"):
        top.find_socket(None)
    for name in ("testbed-guest-a", "testbed-guest-b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / WATCH_SOCKET).touch()
    assert top.find_socket(None).parent.name.startswith("testbed-guest-")
    with pytest.raises(TestbedError, match=r"cannot watch .*: no guest listens there"):
        asyncio.run(top.watch(tmp_path / "nothing", 0.01, print))


def test_the_guest_of_another_user_is_not_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All users have their folders in one temporary folder, and a foreign monitor could be anything."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    (tmp_path / "testbed-guest-theirs").mkdir()
    (tmp_path / "testbed-guest-theirs" / WATCH_SOCKET).touch()
    owner = os.geteuid()
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    with pytest.raises(TestbedError, match="no guest is running"):
        top.find_socket(None)


def test_it_watches_a_monitor_until_the_guest_ends(tmp_path: Path) -> None:
    answers = [sample(0, roi(10**9 * n, 10 * n)).answer for n in (1, 2, 3)]

    async def both() -> list[Any]:
        shown: list[Any] = []
        async with monitor(tmp_path / "qmp", answers):
            await top.watch(tmp_path / "qmp", 0.01, shown.append)
        return shown

    views = asyncio.run(both())
    assert len(views) == 2
    assert all("75.0 %" in text(shown) for shown in views)
