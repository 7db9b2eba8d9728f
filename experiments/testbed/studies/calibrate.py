# SPDX-License-Identifier: BSD-3-Clause
"""Calibration: the guest's measurements on each profile beside the published numbers, with the error and its bound.

`experiments/calibration.toml` states the studies (one guest each) and the judged numbers with their inputs. The module
makes the runs, takes the values out of the program's rows and judges them; analysis/calibration/ draws them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from .. import units
from ..errors import RunFailed, TestbedError
from ..guest.top import percentile_ps
from ..manifest import closed_forms
from ..manifest.guest_config import GuestConfig
from ..manifest.parameters import LINE_BYTES
from ..manifest.parse import GuestSection, Manifest, WorkloadSection, with_origin
from ..manifest.render import Run, Runs
from ..manifest.sections import Bytes, ProfileSection
from ..manifest.topology import DeviceSection
from ..paths import EXPERIMENTS
from ..results.results import Result
from ..validation import Strict, check, load_toml

CALIBRATION = EXPERIMENTS / "calibration.toml"
CPU = "xeon-6230-class"
WIDE_CORES = 16
CORES = "calibrate-cores"
Rows = list[dict[str, Any]]
Override = dict[str, str | int | float | bool]


class Study(Strict):
    """One guest: a device and the tests that run on it. The program is `calibrate` or, with several cores, `CORES`."""

    name: str
    device: str
    tests: list[str]
    size: Bytes
    scale: Annotated[int, Field(ge=1)] = 1
    wide: bool = False
    cores: Annotated[int, Field(ge=1)] = 1
    row_loads: Annotated[int, Field(ge=1)] = 1  # of `percentiles`: loads averaged into one sample
    cold_permille: Annotated[int, Field(ge=1, le=1000)] = 1000  # share of its pages outside the device cache at first
    cached_permille: list[Annotated[int, Field(ge=1, le=1000)]] = []  # shares of samples with 1, 2, ... CPU cache hits
    tool_ns: float = 0  # time of a load in the published tool, besides the device
    cpu_override: Override = {}
    device_override: Override = {}

    @model_validator(mode="after")
    def _many_cores_are_real_or_not(self) -> Self:
        if self.wide and self.cores > 1:
            raise ValueError(f"study '{self.name}': one CPU stands for many, or there are many; remove wide or cores")
        return self


class Judged(Strict):
    """One published number, and the value of a study that it judges."""

    study: str
    what: str
    value: str
    reference: float
    unit: str
    source: str
    basis: Literal["independent", "partly", "input"]
    inputs: str
    tolerance_percent: float = 5
    agrees: bool = True
    why: str = ""  # the reason, if it does not agree
    beside: str = ""  # if by real cores: `what` of the same number by one CPU


class Calibration(Strict):
    study: list[Study]
    judged: list[Judged]

    @model_validator(mode="after")
    def _numbers_beside_each_other_are_the_same(self) -> Self:
        published = {judged.what: (judged.reference, judged.unit, judged.source) for judged in self.judged}
        for judged in self.judged:
            if judged.beside and published.get(judged.beside) != published[judged.what]:
                raise ValueError(f"'{judged.what}' is beside '{judged.beside}', which is not the same published number")
        return self


@dataclass(frozen=True)
class Verdict:
    """A judged number and the model's value."""

    judged: Judged
    model: float

    @property
    def error_percent(self) -> float:
        return 100 * (self.model / self.judged.reference - 1)

    @property
    def within(self) -> bool:
        return abs(self.error_percent) <= self.judged.tolerance_percent

    @property
    def broken(self) -> bool:
        """Whether the file says that the number agrees, but it does not."""
        return self.judged.agrees and not self.within

    @property
    def shown(self) -> str:
        """The model's number in four digits or more, without its unit."""
        return f"{self.model:.0f}" if self.model >= 10_000 else f"{self.model:.4g}"

    @property
    def word(self) -> str:
        if self.within:
            return "ok"
        return "OFF" if self.judged.agrees else "disagrees"

    def as_data(self) -> dict[str, Any]:
        stated = self.judged.model_dump()
        return stated | {
            "model": round(self.model, 4),
            "error_percent": round(self.error_percent, 2),
            "verdict": self.word,
        }


def load(path: Path = CALIBRATION) -> Calibration:
    """Load and check the file. TestbedError: a number has an unknown study or value, or disagrees without a reason."""
    calibration = check(Calibration, load_toml(path), path)
    names = [study.name for study in calibration.study]
    for judged in calibration.judged:
        if judged.study not in names:
            raise TestbedError(
                f"{path}: '{judged.what}' names no study: '{judged.study}'; there are: {', '.join(names)}"
            )
        if judged.value not in VALUES:
            raise TestbedError(
                f"{path}: '{judged.what}' names no value: '{judged.value}'; there are: {', '.join(VALUES)}"
            )
        if not judged.agrees and not judged.why:
            raise TestbedError(f"{path}: '{judged.what}' does not agree; say why")
    return calibration


def wide_override() -> Override:
    """Return overrides for one CPU in the place of many: with their combined instructions, buffers and pending loads.

    The CPU has the pending reads of 26 such cores, `l2_requests` each: with the reads of 16 cores it would limit CMM-H,
    which has hosts of a later class.
    """
    return {
        "insn": f"5000/{21 * WIDE_CORES}",
        "overlap": "all",
        "overlap_window": "100us",
        "fill_buffers": 26 * 16,
        "l2_requests": 26 * 16,
        "store_buffer": 56 * WIDE_CORES,
        "wc_buffers": 10 * WIDE_CORES,
        "prefetch_streams": 0,
    }


def manifest_of(study: Study, quick: bool = False) -> Manifest:
    """Return the study as a manifest, so that its runs are cached and resumable like all others."""
    command = "calibrate --file /pmem/calibrate.bin --size {size} --cache {cache_size} --page {cache_page_size}"
    if study.cores > 1:
        command = f"{CORES} --cores {{cpus}} --size {{size}} --cache {{cache_size}} --page {{cache_page_size}}"
    options = []
    if {"percentiles", "percentiles-cores"} & set(study.tests):
        options.append(f"--row {study.row_loads} --cold {study.cold_permille}")
    if study.cached_permille:
        options.append(f"--cached {','.join(map(str, study.cached_permille))}")
    if quick:
        options.append("--quick")
    words = [command, *options, *study.tests]
    manifest = Manifest(
        name=f"calibrate-{study.name}",
        summary=f"Calibration of {study.device}",
        scale=study.scale,
        guest=GuestSection.model_validate({"memory": "1GiB", "cpus": study.cores}),
        cpu=ProfileSection(profile=CPU, override=(wide_override() if study.wide else {}) | study.cpu_override),
        device=[DeviceSection(profile=study.device, override=study.device_override)],
        workload=WorkloadSection(command=" ".join(words), fixed={"size": study.size}),
    )
    return with_origin(manifest, CALIBRATION)


def runs(calibration: Calibration, devices: Sequence[str], quick: bool = False) -> list[tuple[Study, Run]]:
    """Return the studies of these devices, or all studies without any, each with its run."""
    known = list(dict.fromkeys(study.device for study in calibration.study))
    for device in devices:
        if device not in known:
            raise TestbedError(f"no calibration of '{device}'; there are: {', '.join(known)}")
    wanted = [study for study in calibration.study if not devices or study.device in devices]
    return [(study, next(iter(Runs(manifest_of(study, quick))))) for study in wanted]


@dataclass(frozen=True)
class Measured:
    """A study's result, with its run for access to the profile's values."""

    study: Study
    run: Run
    result: Result

    def rows(self, test: str) -> Rows:
        found = [row for row in self.result.rows if row.get("test") == test]
        if not found:
            raise RunFailed(f"{self.result.path}: the guest reported no rows of the test '{test}'")
        return found

    def paced(self) -> Rows:
        """The points of the test `paced`: the link's read bandwidth in each region, and the latencies of its loads."""
        return [_paced_point(self.roi(row)) for row in self.rows("paced")]

    def roi(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the region of interest that a row names."""
        for roi in self.result.data["rois"]:
            if roi["id"] == row["roi"]:
                return dict(roi)
        raise RunFailed(f"{self.result.path}: there is no region of interest {row['roi']}")

    def row(self, test: str, **fields: int | str) -> dict[str, Any]:
        for row in self.rows(test):
            if all(row.get(name) == value for name, value in fields.items()):
                return row
        raise RunFailed(f"{self.result.path}: the test '{test}' has no row with {fields}")


def _paced_point(roi: dict[str, Any]) -> dict[str, Any]:
    histogram = next(h for h in roi["histograms"] if h["cause"] == "cxl-hit")
    bounds = [(bucket["upper-ps"], bucket["count"]) for bucket in histogram["buckets"]]
    span_ps = roi["end-ps"] - roi["begin-ps"]
    return {
        "test": "paced",
        "bandwidth_mb_s": roi["counters"]["link-read-bytes"] * 1e6 / span_ps,
        "mean_ns": histogram["sum-ps"] / histogram["count"] / 1000,
        "p950_ns": percentile_ps(bounds, 950) / 1000,
    }


def _random_ns(measured: Measured, miss_permille: int) -> float:
    return float(measured.row("random", miss_permille=miss_permille)["mean_ns"])


def _random_us(miss_permille: int) -> Callable[[Measured], float]:
    """Read the mean of random loads, corrected to the stated share of misses: a run's share differs a little."""

    def read(measured: Measured) -> float:
        row, hit_ns = measured.row("random", miss_permille=miss_permille), _random_ns(measured, 0)
        counters = measured.roi(row)["counters"]
        missed = float(counters["cache-misses"] / (counters["cache-hits"] + counters["cache-misses"]))
        return (hit_ns + (float(row["mean_ns"]) - hit_ns) * miss_permille / 1000 / missed) / 1000

    return read


def _mix_gb_s(measured: Measured, reads: int, writes: int) -> float:
    return float(measured.row("mix", reads=reads, writes=writes)["bandwidth_mb_s"]) / 1000


def _cores_gb_s(test: str, reads: int, writes: int) -> Callable[[Measured], float]:
    return lambda m: float(m.row(test, reads=reads, writes=writes)["bandwidth_mb_s"]) / 1000


def _core_gb_s(name: str) -> Callable[[Measured], float]:
    return lambda measured: float(measured.row("core", **{"pass": name})["bandwidth_mb_s"]) / 1000


def _percentile_ns(name: str, test: str = "percentiles") -> Callable[[Measured], float]:
    return lambda measured: float(measured.row(test)[name]) + measured.study.tool_ns


def _miss_ns(measured: Measured) -> float:
    """Return the ninth decile of random loads over the whole file: more than a tenth of them miss, so it is a miss."""
    return float(measured.rows("random")[-1]["p900_ns"])


def _array_read_us(measured: Measured) -> float:
    """Return a miss minus a median hit minus the page's transfer over its channel. Nothing else is under way."""
    device = measured.run.guest.device
    flash_ns = _miss_ns(measured) - float(measured.rows("random")[0]["p500_ns"])
    channel = device.flash_channel_bandwidth
    page_ns = float(closed_forms.transfer_ps(channel, device.cache_page_size)) / 1000 if channel else 0.0
    return (flash_ns - page_ns) / 1000


def _persist_ns(method: str, size_bytes: int, interval: int) -> Callable[[Measured], float]:
    def read(measured: Measured) -> float:
        row = measured.row("persist", method=method, bytes=size_bytes, writes_per_fence=interval)
        return float(row["mean_ns"])

    return read


def _nt_wins_percent(measured: Measured) -> float:
    """Return the share of sizes and intervals at which non-temporal stores persist faster than stores with CLWB."""
    times = {(r["method"], r["bytes"], r["writes_per_fence"]): r["mean_ns"] for r in measured.rows("persist")}
    points = [key[1:] for key in times if key[0] == "ntstore"]
    won = sum(bool(times["ntstore", *p] < times["store_clwb", *p]) for p in points)
    return 100 * won / len(points)


# The values that a judged number may name, each read from a study's rows in the unit at the end of its name.
VALUES: dict[str, Callable[[Measured], float]] = {
    "hit_ns": lambda m: _random_ns(m, 0),
    "miss_us": lambda m: _miss_ns(m) / 1000,
    "hit_p500_ns": lambda m: float(m.row("random", miss_permille=0)["p500_ns"]),
    "hit_p999_ns": lambda m: float(m.row("random", miss_permille=0)["p999_ns"]),
    "random_163_us": _random_us(163),
    "random_918_us": _random_us(918),
    "random_all_ns": lambda m: float(m.rows("random")[-1]["mean_ns"]),
    "sequential_ns": _percentile_ns("mean_ns"),
    "p500_ns": _percentile_ns("p500_ns"),
    "p900_ns": _percentile_ns("p900_ns"),
    "p950_ns": _percentile_ns("p950_ns"),
    "p990_ns": _percentile_ns("p990_ns"),
    "p999_ns": _percentile_ns("p999_ns"),
    "cores_p500_ns": _percentile_ns("p500_ns", "percentiles-cores"),
    "cores_p900_ns": _percentile_ns("p900_ns", "percentiles-cores"),
    "cores_p950_ns": _percentile_ns("p950_ns", "percentiles-cores"),
    "cores_p990_ns": _percentile_ns("p990_ns", "percentiles-cores"),
    "cores_p999_ns": _percentile_ns("p999_ns", "percentiles-cores"),
    "cores_read_gb_s": _cores_gb_s("mix-cores", 1, 0),
    "cores_mix_3_1_gb_s": _cores_gb_s("mix-cores", 3, 1),
    "cores_mix_2_1_gb_s": _cores_gb_s("mix-cores", 2, 1),
    "cores_mix_1_1_gb_s": _cores_gb_s("mix-cores", 1, 1),
    "cores_write_gb_s": _cores_gb_s("mix-cores", 0, 1),
    "cores_far_gb_s": _cores_gb_s("far-cores", 1, 0),
    "read_gb_s": lambda m: _mix_gb_s(m, 1, 0),
    "mix_3_1_gb_s": lambda m: _mix_gb_s(m, 3, 1),
    "mix_2_1_gb_s": lambda m: _mix_gb_s(m, 2, 1),
    "mix_1_1_gb_s": lambda m: _mix_gb_s(m, 1, 1),
    "core_load_gb_s": _core_gb_s("load"),
    "core_update_gb_s": _core_gb_s("update"),
    "core_copy_gb_s": _core_gb_s("copy"),
    "core_store_gb_s": _core_gb_s("store"),
    "core_nt_copy_gb_s": _core_gb_s("nt-copy"),
    "core_nt_store_gb_s": _core_gb_s("nt-store"),
    "far_gb_s": lambda m: float(m.row("far")["bandwidth_mb_s"]) / 1000,
    "far_write_gb_s": lambda m: float(m.row("far-write")["bandwidth_mb_s"]) / 1000,
    "array_read_us": _array_read_us,
    "nt_64_1_ns": _persist_ns("ntstore", 64, 1),
    "clwb_64_1_ns": _persist_ns("store_clwb", 64, 1),
    "nt_4096_256_ns": _persist_ns("ntstore", 4096, 256),
    "clwb_4096_256_ns": _persist_ns("store_clwb", 4096, 256),
    "nt_wins_percent": _nt_wins_percent,
}


def verdicts(calibration: Calibration, measured: Sequence[Measured]) -> list[Verdict]:
    """Return the verdicts on the numbers of the studies that were made, in the order of the file."""
    by_name = {m.study.name: m for m in measured}
    return [Verdict(j, VALUES[j.value](by_name[j.study])) for j in calibration.judged if j.study in by_name]


COLUMNS = ("number", "published", "model", "error", "bound", "", "basis")


def cells(verdict: Verdict) -> tuple[str, ...]:
    j = verdict.judged
    return (
        j.what,
        f"{j.reference:g} {j.unit}",
        f"{verdict.shown} {j.unit}",
        f"{verdict.error_percent:+.1f} %",
        f"{j.tolerance_percent:g} %",
        verdict.word,
        j.basis,
    )


def loaded_ns(guest: GuestConfig, streams: int) -> float:
    """Return the time of a load beside so many streams, in closed form: the bytes under way divided by the device's
    bandwidth, but at least an idle system's load. In a device cache below 1 MiB the program's sets never hit."""
    device = guest.device
    far = 0 < device.cache_size < 2**20
    idle_ps = closed_forms.miss_ps(guest) if far else closed_forms.hit_ps(guest)
    hits = closed_forms.mix_bandwidth(device, 1, 0)
    carried = min(hits, closed_forms.page_bandwidth(device, device.flash_read_ps)) if far else hits
    lines = streams * guest.cpu.l2_requests + 1
    return max(float(idle_ps) / 1000, lines * LINE_BYTES * 1e9 / carried)


LOADED_COLUMNS = ("profile", "cores that stream", "all cores", "load, mean", "p95", "closed form", "mean against it")


def loaded_cells(measured: Sequence[Measured]) -> list[tuple[str, ...]]:
    """Return a row for each point: the time of one core's load while other cores stream."""
    found: list[tuple[str, ...]] = []
    for m in measured:
        for row in m.rows("loaded-cores") if "loaded-cores" in m.study.tests else []:
            expected_ns = loaded_ns(m.run.guest, row["streams"])
            found.append(
                (
                    m.study.device,
                    str(row["streams"]),
                    f"{row['bandwidth_mb_s'] / 1000:.1f} GB/s",
                    f"{row['mean_ns']:.0f} ns",
                    f"{row['p950_ns']} ns",
                    f"{expected_ns:.0f} ns",
                    f"{100 * (row['mean_ns'] / expected_ns - 1):+.1f} %",
                )
            )
    return found


def scale_text(measured: Sequence[Measured]) -> str:
    """Return the scaled sizes for below the table: ratios are kept, and all times except the erase time."""
    parts = []
    for m in measured:
        device, cpu = m.run.guest.device, m.run.guest.cpu
        cache = f"device cache {units.show_size(device.cache_size)}, " if device.flash_channels else ""
        cores = f", {m.study.cores} cores" if m.study.cores > 1 else ""
        cores = f", one CPU for {WIDE_CORES}" if m.study.wide else cores
        parts.append(f"{m.study.name}: 1/{m.study.scale}, {cache}LLC {units.show_size(cpu.llc_size)}{cores}")
    return "; ".join(parts)
