# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that write in every way the pass must see, at -O0 to -O3, against a byte-exact oracle.

completeness_test.py SCRATCH [FACTOR]: FACTOR times as many programs (default 1: 2000), each at four levels. Then, for
a sample, the switches of the pass, link-time optimisation, code for shared libraries and for AVX-512 (run where the CPU
has it), and the oracle itself: it has to notice each error that can be put into the pass.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import completeness_c
import completeness_cpp
import completeness_libc

PROGRAMS_PER_FILE = 100
C_FILES, CPP_FILES = 16, 4
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
SWITCHES = ["-snapshot-no-coalesce", "-snapshot-no-hoist", "-snapshot-no-elide-repeated", "-snapshot-no-elide"]
BUGS = [
    "elide-arguments", "coalesce-across-calls", "repeated-across-calls", "hoist-across-calls", "hoist-short",
    "first-piece-only", "eight-bytes", "no-libc",
]  # fmt: skip
SEED = "-snapshot-seed-bug="  # a switch of the copy of the pass with seeded bugs
OPTIONS = [("-flto=full", "-fuse-ld=lld"), ("-flto=thin", "-fuse-ld=lld"), ("-fPIC",), ("-march=x86-64-v4",)]
HAS_AVX512 = "avx512vl" in Path("/proc/cpuinfo").read_text()
WRAPPERS = {"SNAPCC": "clang-19", "SNAPCXX": "clang++-19"}
HARNESS = Path(__file__).with_name("completeness_harness.h")


@dataclass(frozen=True)
class Job:
    source: Path
    level: str
    flags: tuple[str, ...] = field(default=())  # of the pass
    options: tuple[str, ...] = field(default=())  # of the compiler


def body(rng: random.Random, is_cpp: bool) -> str:
    ways = completeness_c.WAYS + completeness_libc.WAYS
    if is_cpp:
        ways = completeness_cpp.WAYS
    return "\n    ".join(rng.choice(ways)(rng) for _ in range(rng.randrange(1, 7)))


def source(seed: int, is_cpp: bool) -> str:
    rng = random.Random(seed)
    text = [completeness_c.PRELUDE.split("#include <arpa")[0], f'#include "{HARNESS.name}"']
    text.append(completeness_cpp.PRELUDE if is_cpp else completeness_c.PRELUDE.replace("#define _GNU_SOURCE 1", ""))
    for number in range(PROGRAMS_PER_FILE):
        start = "arena_next = memory + BYTES / 2;" if is_cpp else ""
        text.append(
            f"static __attribute__((noinline)) void p{number}(unsigned char *m, uint64_t r) {{\n"
            f"    {start}\n    {body(rng, is_cpp)}\n}}"
        )
    calls = "\n    ".join(
        f'run_program("seed {seed} program {number}", p{number}, {rng.randrange(1, 1 << 40)}u);'
        for number in range(PROGRAMS_PER_FILE)
    )
    text.append(
        f"int main(int argc, char **argv) {{\n    open_tracked(argv[argc - 1]);\n    {calls}\n    return 0;\n}}"
    )
    return "\n".join(text)


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def launched(scratch: Path) -> None:
    """The wrappers' compilers, run as the build runs its own: earlier compilations come from ccache.

    Of the pass it looks at the content, for each clone has a file of its own.
    """
    launcher = os.environ["COMPILER_LAUNCHER"]
    for wrapper, compiler in WRAPPERS.items():
        script = scratch / compiler
        script.write_text(f'#!/bin/sh\nCCACHE_COMPILERCHECK=content exec {launcher} {compiler} "$@"\n')
        script.chmod(0o755)
        os.environ[f"{wrapper}_COMPILER"] = str(script)


def build(job: Job, program: Path, plain: bool) -> subprocess.CompletedProcess[str]:
    is_cpp = job.source.suffix == ".cpp"
    wrapper = "SNAPCXX" if is_cpp else "SNAPCC"
    compiler = os.environ[f"{wrapper}_COMPILER"]
    settings = [f"SNAPSHOT_COMPILER={compiler}"]
    if any(flag.startswith(SEED) for flag in job.flags):
        settings.append(f"SNAPSHOT_PLUGIN={os.environ['PLUGIN_WITH_BUGS']}")
    driver = [compiler] if plain else ["env", *settings, os.environ[wrapper]]
    # Strings are extern templates up to C++17 and implicit ones after it: half of the files each.
    standard = ["-std=gnu++17" if int(job.source.stem) % 2 else "-std=gnu++20"]
    flags = ["-w", job.level, "-march=x86-64-v3", *job.options]
    switches = [word for flag in job.flags for word in ("-mllvm", flag)]
    source = [*(standard if is_cpp else []), *switches, "-I", str(HARNESS.parent), "-c", str(job.source)]
    built = run([*driver, *flags, *source, "-o", f"{program}.o"])
    if built.returncode != 0:
        return built
    library = [os.environ["SNAPSHOT_LIBRARY"], "-pthread"] if plain else []
    return run([*driver, *flags, f"{program}.o", "-o", str(program), *library, "-latomic", "-lm"])


def build_and_run(job: Job, plain: bool = False) -> str:
    """The empty string, or the error. `plain`: without the pass, but with the library."""
    program = job.source.with_name(job.source.stem + job.level + "".join(job.flags + job.options).replace("=", "-"))
    built = build(job, program, plain)
    if built.returncode != 0:
        return f"{program}: {built.stderr}"
    if "-march=x86-64-v4" in job.options and not HAS_AVX512:
        return ""
    done = run([str(program), str(program) + ".data"])
    return "" if done.returncode == 0 else f"{program}: status {done.returncode}: {done.stdout}{done.stderr}"


def is_caught(bug: str, sources: list[Path]) -> bool:
    """Some program shows the error when it runs; that the level can matter is why there are two."""
    jobs = (Job(path, level, (f"{SEED}{bug}",)) for path in sources for level in ("-O2", "-O0"))
    return any(": status " in build_and_run(job) for job in jobs)


def main() -> None:
    scratch = Path(sys.argv[1])
    factor = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    launched(scratch)
    sources = []
    for seed in range(factor * (C_FILES + CPP_FILES)):
        is_cpp = seed % (C_FILES + CPP_FILES) >= C_FILES
        sources.append(scratch / f"{seed}{'.cpp' if is_cpp else '.c'}")
        sources[-1].write_text(source(seed, is_cpp) + "\n")
    jobs = [Job(path, level) for path in sources for level in LEVELS]
    jobs += [Job(path, "-O2", (switch,)) for path in sources[:2] for switch in SWITCHES]
    jobs += [Job(sources[0], "-O2", tuple(SWITCHES)), Job(sources[0], "-Os")]
    jobs += [Job(path, "-O2", (), options) for path in (sources[1], sources[-1]) for options in OPTIONS]
    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(build_and_run, jobs) if problem]
        if problems:
            raise SystemExit("\n".join(problems))
        caught = list(pool.map(lambda bug: is_caught(bug, sources[:4]), BUGS))
        missed = [bug for bug, was_caught in zip(BUGS, caught, strict=True) if not was_caught]
    if "differs after" not in build_and_run(Job(sources[0], "-O1"), plain=True):
        missed.append("no pass at all")
    if missed:
        raise SystemExit(f"the oracle does not notice: {', '.join(missed)}")
    programs = len(sources) * PROGRAMS_PER_FILE
    print(f"{programs} programs at {len(LEVELS)} levels, every byte tracked; {len(BUGS)} seeded errors caught")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
