# SPDX-License-Identifier: BSD-3-Clause
"""Manifests and profiles: the runs and values of good ones, and one clear sentence for each bad one."""

import time
import weakref
from fractions import Fraction
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import MANIFEST
from testbed import canonical, units
from testbed.errors import TestbedError
from testbed.manifest import bases, parse, profiles, render, resolve
from testbed.manifest.scale import guest_config, scale_cpu, scaled_cache
from testbed.paths import PROFILES
from testbed.patterns import Cells
from testbed.replay import grid, verdicts
from testbed.results import results, status

ORIGIN = Path("m.toml")
ENGINES = ("snapshot", "pmdk", "volatile")


def test_the_matrix_is_every_combination_in_order(small_manifest: Path) -> None:
    runs = render.runs(small_manifest)
    assert [run.label for run in runs] == ["snapshot", "pmdk", "volatile"]
    assert runs[0].argv == ("kv", "--engine", "snapshot", "--records", "100")


def test_scale_divides_what_holds_data_and_nothing_that_takes_time(small_manifest: Path) -> None:
    guest = render.runs(small_manifest)[0].guest
    full = profiles.load_device("snapshot-paper-mss", {}, ORIGIN)
    assert full.cache_size == 128 << 20
    assert guest.device.cache_size == 2 << 20
    assert guest.device.flash_read_ps == full.flash_read_ps == 13_870_000
    assert guest.cpu.l1d_size == 32 << 10
    assert guest.cpu.llc_size < guest.device.cache_size


def test_a_point_may_have_a_file_system_of_its_own(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST + '[guest.file_system_of]\npmdk = "xfs-dax"\n')
    assert [run.guest.file_system for run in render.runs(small_manifest)] == ["ext4-dax", "xfs-dax", "ext4-dax"]


def test_a_point_has_as_many_cores_as_it_asks_for(small_manifest: Path) -> None:
    text = MANIFEST.replace("[cpu]", '[guest]\ncpus = "{threads}"\n[cpu]').replace("--records", "-t {cpus} --records")
    small_manifest.write_text(text + "threads = [1, 20]\n")
    one, twenty = render.runs(small_manifest)[:2]
    assert (one.guest.cpu.cores, twenty.guest.cpu.cores) == (1, 20)
    assert one.argv[3:5] == ("-t", "1") and twenty.argv[3:5] == ("-t", "20")
    assert one.guest == guest_config(parse.load(small_manifest))
    with pytest.raises(TestbedError, match=r"key 'guest.cpus': a trace is of one CPU, and snapshot-20 has 20"):
        grid.capture_runs(parse.load(small_manifest))


def test_workloads_are_in_the_identity_of_those_who_run_them(small_manifest: Path) -> None:
    assert list(results.identity(render.runs(small_manifest)[0], {})["workloads"]) == ["kv"]
    small_manifest.write_text(MANIFEST.replace("[cpu]", '[guest]\nworkloads = ["mtree"]\n[cpu]'))
    assert list(results.identity(render.runs(small_manifest)[0], {})["workloads"]) == ["kv", "mtree"]
    small_manifest.write_text(MANIFEST.replace("kv --engine", "sleep --engine"))
    assert "workloads" not in results.identity(render.runs(small_manifest)[0], {})
    small_manifest.write_text(MANIFEST.replace("[cpu]", '[guest]\nworkloads = ["more"]\n[cpu]'))
    with pytest.raises(TestbedError, match=r"key 'guest.workloads': there is no workload 'more'; there are: .*kv"):
        render.runs(small_manifest)


def test_an_override_states_the_full_size(small_manifest: Path) -> None:
    text = MANIFEST + '[device.override]\ncache_size = "256MiB"\nflash_read = "3us"\n[cpu.override]\ninsn = "250ps"\n'
    small_manifest.write_text(text)
    guest = render.runs(small_manifest)[0].guest
    assert (guest.device.cache_size, guest.device.flash_read_ps) == (4 << 20, 3_000_000)
    assert guest.cpu.insn_ps == Fraction(250)


def test_the_matrix_may_vary_the_device(small_manifest: Path) -> None:
    text = MANIFEST.replace('"snapshot-paper-mss"', '"{device}"\noverride = { cache_size = "{cache}" }')
    small_manifest.write_text(text + 'device = ["snapshot-paper-mss", "optane-dcpmm"]\ncache = ["64MiB", "256MiB"]\n')
    runs = render.runs(small_manifest)
    seen = {(run.guest.device.name, run.guest.device.cache_size, run.point["cache"]) for run in runs}
    names = ("snapshot-paper-mss", "optane-dcpmm")
    assert seen == {(name, size << 20, f"{64 * size}MiB") for name in names for size in (1, 4)}
    assert guest_config(parse.load(small_manifest)) == runs[0].guest


def test_a_sweep_captures_once_where_the_matrix_varies_only_the_device(small_manifest: Path) -> None:
    text = MANIFEST.replace('-mss"', '-mss"\noverride = { cache_size = "{cache}" }')
    small_manifest.write_text(text + 'cache = ["64MiB", "256MiB"]\n')
    assert [run.label for run in grid.capture_runs(parse.load(small_manifest))] == [f"{e}-64MiB" for e in ENGINES]
    assert [c.values for c in grid.configurations(parse.load(small_manifest))] == [
        {"cache_size": s} for s in ("64MiB", "256MiB")
    ]
    small_manifest.write_text(text + 'cache = ["64MiB", "256MiB"]\n[replay.grid]\nflash_read = ["3us"]\n')
    assert len(grid.capture_runs(parse.load(small_manifest))) == 2 * len(ENGINES)
    assert [c.values for c in grid.configurations(parse.load(small_manifest))] == [{"flash_read": "3us"}]


# ---- Many points ----


def many_points(path: Path, axes: int, values: int, more: str = "") -> Path:
    """A manifest of values**axes points."""
    names = [f"axis{n}" for n in range(axes)]
    text = MANIFEST.partition("[matrix]")[0].replace("{engine}", " ".join(f"{{{name}}}" for name in names))
    path.write_text(f"{text}{more}[matrix]\n" + "".join(f"{name} = {list(range(values))}\n" for name in names))
    return path


def test_the_runs_of_a_large_matrix_share_their_machine_and_are_made_one_by_one(small_manifest: Path) -> None:
    """The test counts the work: machines made, identities serialized, and runs kept alive."""
    every = render.Runs(parse.load(many_points(small_manifest, axes=2, values=32)))
    places, alive = results.Places(Path(), {}), list[weakref.ref[render.Run]]()
    assert len(every) == 1024
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolve, "full_size", None)  # no further machine may be made
        patch.setattr(results, "machine_identity", once := Mock(return_value={}))
        for run in every:
            alive = [*(one for one in alive if one()), weakref.ref(run)]
            assert len(alive) <= 2
            places.of(run)
    assert once.call_count == 1
    assert run.point == {"axis0": 31, "axis1": 31} and run.argv[2:4] == ("31", "31")


def test_a_hundred_thousand_points_are_looked_at_quickly_and_in_flat_memory(small_manifest: Path) -> None:
    """The points used to take 160 s, and memory each. The test measures CPU time, which a busy host still prolongs."""
    every = render.Runs(parse.load(many_points(small_manifest, axes=5, values=10)))
    process, begun_s = psutil.Process(), time.process_time()
    before_bytes, states = process.memory_info().rss, 0
    refused = verdicts.of_runs(every, Mock(judge=lambda guests: [""] * len(guests)))
    for state in status.states(every, {"qemu": "x"}, small_manifest.parent, refused):
        states += state.word == "missing"
    assert states == 10**5
    assert process.memory_info().rss - before_bytes < 24 * 2**20
    assert time.process_time() - begun_s < 25


def test_a_place_is_the_hash_of_the_identity(small_manifest: Path) -> None:
    """Parts of the identity are serialized only once, which must not change the hash."""
    (small_manifest.parent / "in.txt").write_text("in")
    for more in ("", '[program]\nfiles = ["in.txt"]\nsetup = "echo {engine}\\n"\n'):
        small_manifest.write_text(MANIFEST + more)
        for run in render.runs(small_manifest):
            digest = canonical.digest(results.identity(run, {"qemu": "x"}))[:16]
            assert results.path_for(Path(), run, {"qemu": "x"}).stem == f"{run.label}-{digest}"


def test_a_matrix_that_varies_the_machine_makes_each_machine_once(small_manifest: Path) -> None:
    varied = '[device.override]\nflash_read = "1{axis1}us"\n'
    runs = render.runs(many_points(small_manifest, axes=2, values=4, more=varied))
    assert len({id(run.guest) for run in runs}) == 4
    assert [run.guest.device.flash_read_ps for run in runs] == [10_000_000, 11_000_000, 12_000_000, 13_000_000] * 4


def test_more_points_than_anybody_waits_for_are_refused_at_once(small_manifest: Path) -> None:
    with pytest.raises(TestbedError, match=r"key 'matrix': it has 1,000,000,000,000 points, and there may be 1,000,00"):
        render.Runs(parse.load(many_points(small_manifest, axes=4, values=1000)))


def test_what_is_wrong_with_one_value_is_found_before_the_first_run(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST.replace('"volatile"', '"\\u0000"'))
    with pytest.raises(TestbedError, match=r"key 'workload\.command' has a NUL in it"):
        render.Runs(parse.load(small_manifest))


@pytest.mark.parametrize("braces", ["{engine!r:>999999999}", "{engine:>9}", "{engine!r}", "{engine.x}", "{engine[0]}"])
def test_a_name_alone_stands_in_braces(small_manifest: Path, braces: str) -> None:
    """A format width in braces used to take all memory, and an hour."""
    small_manifest.write_text(MANIFEST.replace("{engine}", braces))
    with pytest.raises(TestbedError, match=r"'workload\.command': {engine.* is no name alone; write {{ for a brace"):
        render.runs(small_manifest)
    small_manifest.write_text(MANIFEST.replace("{engine}", "{{" + braces[1:-1] + "}}"))
    assert render.runs(small_manifest)[0].argv[2] == braces


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '-mss"',
            '-mss"\noverride = { cache_size = "{cash}" }',
            r"'device\.override\.cache_size' uses \{cash\}, which is no ax",
        ),
        ("scale = 64", "scal = 64", r"small\.toml: unknown key 'scal'; did you mean 'scale'\?"),
        ("[cpu]", "[cpu]\nprofil = 1", r"unknown key 'cpu\.profil'; did you mean 'profile'\?"),
        ("scale = 64", "scale = 0", r"key 'scale': Input should be greater than or equal to 1"),
        (
            "[cpu]",
            '[guest]\nfile_system = "ntfs"\n[cpu]',
            r"'guest\.file_system': 'ntfs' is no file system; write ext4-d",
        ),
        ("[cpu]", '[guest.file_system_of]\nbtrfs = "xfs-dax"\n[cpu]', r"'guest\.file_system_of': 'btrfs' is no value"),
        (
            "[matrix]",
            '[device.override]\nflash_read = "-3us"\n[matrix]',
            r"'device\.override\.flash_read'.* is negative",
        ),
        ("[matrix]", '[device.override]\ncache_sise = "1MiB"\n[matrix]', r"did you mean 'cache_size'\?"),
        (
            "[matrix]",
            '[device.override]\ncache_size = "1 parsec"\n[matrix]',
            r"'1 parsec' is not a number and one of B,",
        ),
        ("[matrix]", '[cpu.override]\nllc_size = "1MB"\n[matrix]', r"key 'cpu\.override\.llc_size'"),
        ("xeon-6230-class", "xeon", r"no profile 'xeon' in .*; there are: xeon-6230-class"),
        ("kv --engine {engine} --records {records}", " ", r"key 'workload\.command': it is empty; write a program"),
        ("kv --engine", "'' --engine", r"key 'workload\.command': it is empty; write a program"),
        ("{records}", "{record}", r"'workload\.command' uses \{record\}, which is neither"),
        ('summary = "a manifest for tests"', "", r"key 'summary' is missing; add it"),
        ("name =", "name = =", r"is not valid TOML"),
        ('"pmdk"', '"snapshot"', r"axis 'engine' must list at least one value and none twice"),
        ("scale = 64", 'scale = 64\n[guest]\nmemory = "-1GiB"', r"'guest\.memory': '-1GiB' is negative"),
    ],
)
def test_bad_input_names_file_key_and_fix(small_manifest: Path, old: str, new: str, message: str) -> None:
    assert old in MANIFEST
    small_manifest.write_text(MANIFEST.replace(old, new, 1))
    with pytest.raises(TestbedError, match=message) as caught:
        render.runs(small_manifest)
    assert caught.value.exit_status == 2
    assert str(small_manifest) in str(caught.value)


def test_an_unknown_manifest_name_lists_those_that_ship() -> None:
    with pytest.raises(TestbedError, match=r"no manifest 'kv'; .*kv-ycsb, kv-ycsb-quick, .*latency"):
        bases.find("kv")


@pytest.mark.parametrize("path", bases.shipped(), ids=lambda p: p.stem)
def test_every_manifest_that_ships_is_valid(path: Path) -> None:
    assert parse.load(path).name == path.stem
    assert render.runs(path)


@pytest.mark.parametrize("path", sorted(PROFILES.glob("*/*.toml")), ids=lambda p: p.stem)
def test_every_profile_value_has_a_source(path: Path) -> None:
    stated = profiles.sources(path.parent.name, path.stem)
    assert all(len(value.source) >= 10 for value in stated.values())
    load = profiles.load_cpu if path.parent.name == "cpus" else profiles.load_device
    load(path.stem, {}, ORIGIN)


def test_the_published_latencies_follow_from_the_profiles() -> None:
    """Load-to-use sums of the profiles against the figures that they are derived from."""
    cpu = profiles.load_cpu("xeon-6230-class", {}, ORIGIN)
    device = profiles.load_device("snapshot-paper-mss", {}, ORIGIN)
    hit = cpu.llc_latency_ps + 2 * device.link_latency_ps + device.cache_latency_ps + 64e12 / device.link_read_bandwidth
    assert abs(hit - 139_300) < 10
    assert abs(cpu.llc_latency_ps + cpu.dram_latency_ps + 64e12 / cpu.dram_bandwidth - 95_000) < 10
    assert abs(0.163 * (hit + device.flash_read_ps) + 0.837 * hit - 2_400_000) < 10_000


@given(st.integers(0, 10**9), st.sampled_from(sorted(units.TIME_PS)))
def test_times_parse_to_whole_picoseconds(value: int, unit: str) -> None:
    assert units.parse(f"{value} {unit}", units.TIME_PS) == value * units.TIME_PS[unit]


@given(st.integers(1, 1 << 36), st.sampled_from([1, 2, 8, 11, 12, 16, 20]), st.integers(1, 4096))
def test_a_scaled_cache_is_one_the_model_accepts(size: int, ways: int, scale: int) -> None:
    scaled = scaled_cache(size, ways, scale, floor_bytes=0)
    assert scaled % (64 * ways) == 0
    assert 0 < scaled <= max(size // scale, 64 * ways)
    assert scaled > size // scale - 64 * ways


def test_an_eleven_way_cache_keeps_its_size() -> None:
    cpu = profiles.load_cpu("xeon-6230-class", {}, ORIGIN)
    assert scale_cpu(cpu, 1).llc_size == cpu.llc_size == 27 * 2**20 + 2**19


# ---- Axes in commands ----


def test_a_value_is_one_word_whatever_is_in_it(small_manifest: Path) -> None:
    small_manifest.write_text(MANIFEST.replace('"pmdk"', '"select * from t", "-", "-3", "--text=one two"'))
    words = [run.argv[2] for run in render.runs(small_manifest)]
    assert words == ["snapshot", "select * from t", "-", "-3", "--text=one two", "volatile"]


@pytest.mark.parametrize("value", ["-n 4", "--records 10", "--a=1 --b=2", "-v -q"])
def test_several_options_in_one_value_are_refused_before_a_boot(small_manifest: Path, value: str) -> None:
    """The options used to become one word of the command, and the program failed only after a boot."""
    small_manifest.write_text(MANIFEST.replace('"pmdk"', f'"{value}"'))
    with pytest.raises(TestbedError, match=rf"key 'matrix\.engine': '{value}' would be one word of the command; make"):
        render.runs(small_manifest)
    text = MANIFEST.replace('"pmdk"', f'"{value}"').replace("kv --engine {engine}", "bash -c 'kv {engine}'")
    small_manifest.write_text(text)
    assert render.runs(small_manifest)[1].argv[2] == f"kv {value}"


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ('[program]\nkernel = "x"\n', "known keys: files, finish, host, packages, roi, setup"),
        ('[plot]\nx = "engine"\ny = ["time"]\nz = 1\n', "known keys: series, x, y"),
    ],
)
def test_an_unknown_key_of_a_table_that_need_not_be_there_names_those_that_are(
    small_manifest: Path, more: str, known: str
) -> None:
    """The message used to say "known keys:" without any key."""
    small_manifest.write_text(MANIFEST + more)
    with pytest.raises(TestbedError, match=known):
        parse.load(small_manifest)


# ---- Patterns ----


def test_a_pattern_that_never_ended_takes_no_time() -> None:
    """A backtracking matcher takes 2^40 steps for this pattern."""
    assert Cells(r"(?P<all>(a+)+)$").find("a" * 40 + "!") == []
    assert Cells(r"(?P<all>(a+)+)$").find("b\n" + "a" * 40) == [{"all": "a" * 40}]


def test_cells_are_in_the_order_of_the_pattern() -> None:
    found = Cells(r"^(?P<z>\w+)(?:=(?P<a>\d+))?$").find("x=1\ny\n!\n")
    assert [list(row.items()) for row in found] == [[("z", "x"), ("a", "1")], [("z", "y"), ("a", "")]]


@pytest.mark.parametrize("pattern", ["(", "(?P<x>a)(?=b)", r"(?P<x>a)\1"])
def test_what_is_no_pattern_is_one_sentence(small_manifest: Path, pattern: str) -> None:
    small_manifest.write_text(MANIFEST + f"[results]\npattern = '{pattern}'\n")
    with pytest.raises(TestbedError, match=r"key 'results\.pattern': is no regular expression: .*RE2"):
        parse.load(small_manifest)
