# SPDX-License-Identifier: BSD-3-Clause
"""Random programs that write in every way the pass must see, at -O0 to -O3, against a byte-exact oracle."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PROGRAMS_PER_FILE = 60
FILES = 5
LEVELS = ["-O0", "-O1", "-O2", "-O3"]
HARNESS = Path(__file__).with_name("completeness_harness.h")
SCALARS = ["char", "short", "int", "long", "float", "double", "long double", "__int128", "_Bool"]
VECTORS = ["v16 ", "v32 ", "v64 ", "vd4 "]

PRELUDE = """
typedef int v16 __attribute__((vector_size(16), aligned(1)));
typedef int v32 __attribute__((vector_size(32), aligned(1)));
typedef int v64 __attribute__((vector_size(64), aligned(1)));
typedef double vd4 __attribute__((vector_size(32), aligned(1)));
struct __attribute__((packed)) bits { unsigned a : 3, b : 17, c : 29; };
typedef struct wide __attribute__((aligned(1))) wide_u;
"""


def place(rng: random.Random, size: int, align: int = 1) -> str:
    return f"(m + {rng.randrange(0, 16384 - size) // align * align})"


def scalar(rng: random.Random) -> str:
    kind = rng.choice(SCALARS)
    volatile = rng.choice(["", "volatile "])
    return f"*({volatile}{kind} *){place(rng, 16, 16)} = ({kind})(r * {rng.randrange(1, 99)} + 1);"


def unaligned(rng: random.Random) -> str:
    return f"{{ long x = (long)(r ^ {rng.randrange(1 << 30)}); __builtin_memcpy({place(rng, 8)}, &x, 8); }}"


def vector(rng: random.Random) -> str:
    kind = rng.choice(VECTORS)
    return f"*({kind}*){place(rng, 64)} += ({kind}){{1, 2, 3, (int)r}};"


def atomic(rng: random.Random) -> str:
    operation = rng.choice(["fetch_add", "fetch_sub", "fetch_or", "fetch_xor", "exchange_n", "store_n"])
    kind = rng.choice(["unsigned char", "unsigned short", "unsigned", "unsigned long"])
    return f"__atomic_{operation}(({kind} *){place(rng, 8, 8)}, ({kind})(r | 1), __ATOMIC_SEQ_CST);"


def exchange(rng: random.Random) -> str:
    target = place(rng, 8, 8)
    return f"{{ long old = *(long *){target}; __atomic_compare_exchange_n((long *){target}, &old, old + 1, 0, 5, 5); }}"


def block(rng: random.Random) -> str:
    size = rng.choice([1, 3, 8, 15, 16, 31, 64, 100, 333, 1000])
    length = rng.choice([str(size), f"(r % {size} + 1)"])
    target, source = place(rng, 1000), place(rng, 1000)
    return rng.choice(
        [
            f"memset({target}, (int)(r + 1), {length});",
            f"memmove({target}, {source}, {length});",
            f"{{ unsigned char b[1000]; memset(b, (int)r + 3, 1000); memcpy({target}, b, {length}); }}",
        ]
    )


def string(rng: random.Random) -> str:
    text = "".join(rng.choices("abcdefgh", k=rng.randrange(1, 60)))
    target = place(rng, 200)
    return rng.choice(
        [
            f'strcpy((char *){target}, "{text}");',
            f'strncpy((char *){target}, "{text}", {rng.randrange(1, 100)});',
            f'{{ {target}[0] = 0; strcat((char *){target}, "{text}"); strncat((char *){target}, "{text}", 5); }}',
            f'snprintf((char *){target}, {rng.randrange(1, 90)}, "%lu {text}", (unsigned long)r);',
            f'sprintf((char *){target}, "{text}%d", (int)r);',
            f'{{ char *(*volatile f)(char *, const char *) = stpcpy; f((char *){target}, "{text}"); }}',
        ]
    )


def structure(rng: random.Random) -> str:
    target = f"(struct wide *){place(rng, 80, 8)}"
    return rng.choice(
        [
            f"*{target} = make_wide(r);",
            f"{{ struct wide *w = {target}; *w = change_wide(*w, r); }}",
            f"*(wide_u *){place(rng, 80)} = make_wide(r + 2);",
            f"{{ struct bits *b = (struct bits *){place(rng, 8)}; b->b = (unsigned)r; b->c++; }}",
            f"*{target} = (struct wide){{{{1, (long)r}}, {{0}}}};",
        ]
    )


def loop(rng: random.Random) -> str:
    count, kind = rng.randrange(3, 200), rng.choice(["char", "short", "int", "double"])
    target = f"({kind} *){place(rng, 1600, 8)}"
    return rng.choice(
        [
            f"{{ {kind} *p = {target}; for (unsigned i = 0; i < {count}; i++) p[i] = ({kind})(i * r); }}",
            f"{{ {kind} *p = {target}; for (unsigned i = 0; i < r % {count}; i++) if (i & r) p[i] = ({kind})(p[i] + 1);"
            " }",
            f"{{ {kind} *p = {target}; for (unsigned i = 0; i < {count}; i++) p[(i * i) % {count}] = ({kind})r; }}",
            f"{{ {kind} *p = {target}; for (unsigned i = 0; i < {count}; i++) p[i] = 0; }}",
        ]
    )


def library(rng: random.Random) -> str:
    target = place(rng, 400)
    return rng.choice(
        [
            f"if (pread(file, {target}, {rng.randrange(1, 300)}, {rng.randrange(8000)}) < 0) exit(3);",
            f"qsort({target}, {rng.randrange(2, 300)}, 1, compare_bytes);",
            f'__asm__("movl $77, %0" : "=m"(*(int *){target}));',
            f"(r & 1 ? (void)memset({target}, 1, 40) : bzero({target}, 40));",
        ]
    )


WAYS: list[Callable[[random.Random], str]] = [
    scalar, unaligned, vector, atomic, exchange, block, string, structure, loop, library,
]  # fmt: skip


def source(seed: int) -> str:
    rng = random.Random(seed)
    text = ["#define _GNU_SOURCE", f'#include "{HARNESS}"', "#include <strings.h>", PRELUDE]
    for number in range(PROGRAMS_PER_FILE):
        body = "\n    ".join(rng.choice(WAYS)(rng) for _ in range(rng.randrange(1, 7)))
        text.append(f"static __attribute__((noinline)) void p{number}(unsigned char *m, uint64_t r) {{\n    {body}\n}}")
    calls = "\n    ".join(
        f'run_program("seed {seed} program {number}", p{number}, {rng.randrange(1, 1 << 40)}u);'
        for number in range(PROGRAMS_PER_FILE)
    )
    text.append(
        f"int main(int argc, char **argv) {{\n    open_tracked(argv[argc - 1]);\n    {calls}\n    return 0;\n}}"
    )
    return "\n".join(text)


def build_and_run(scratch: Path, seed: int, level: str, compiler: list[str]) -> str:
    """The empty string, or what went wrong."""
    code = scratch / f"{seed}.c"
    program = scratch / f"{seed}{level}"
    command = [*compiler, "-w", level, "-march=x86-64-v3", str(code), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0:
        return built.stderr
    done = subprocess.run([str(program), str(program) + ".data"], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else f"{level}: status {done.returncode}: {done.stdout}{done.stderr}"


def main() -> None:
    scratch = Path(sys.argv[1])
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for seed in range(FILES):
        (scratch / f"{seed}.c").write_text(source(seed) + "\n")
    jobs = [(seed, level) for seed in range(FILES) for level in LEVELS]
    snapcc = [os.environ["SNAPCC"]]
    with ThreadPoolExecutor(2) as pool:
        problems = [p for p in pool.map(lambda job: build_and_run(scratch, job[0], job[1], snapcc), jobs) if p]
    if problems:
        raise SystemExit("\n".join(problems))
    # The oracle itself: without the pass, but with the library, the same programs must be caught.
    plain = ["clang-19", "-x", "none", os.environ["SNAPSHOT_LIBRARY"], "-pthread"]
    if not build_and_run(scratch, 0, "-O1", plain):
        raise SystemExit("the oracle does not notice uninstrumented writes")
    print(f"{len(jobs) * PROGRAMS_PER_FILE} programs, every byte tracked")
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
