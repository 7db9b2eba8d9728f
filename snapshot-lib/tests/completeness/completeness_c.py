# SPDX-License-Identifier: BSD-3-Clause
"""Ways in which a C program writes memory: each function returns one statement that writes somewhere behind `m`."""

from __future__ import annotations

import random
from collections.abc import Callable

MEMORY_BYTES = 16384
SCALARS = ["char", "short", "int", "long", "float", "double", "long double", "__int128", "_Bool"]
VECTORS = ["v16 ", "v32 ", "v64 ", "vd4 "]

PRELUDE = """
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <err.h>
#include <error.h>
#include <fcntl.h>
#include <getopt.h>
#include <iconv.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <regex.h>
#include <search.h>
#include <semaphore.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <syslog.h>
#include <threads.h>
#include <time.h>
#include <wchar.h>
typedef int v16 __attribute__((vector_size(16), aligned(1)));
typedef int v32 __attribute__((vector_size(32), aligned(1)));
typedef int v64 __attribute__((vector_size(64), aligned(1)));
typedef double vd4 __attribute__((vector_size(32), aligned(1)));
struct __attribute__((packed)) bits { unsigned a : 3, b : 17, c : 29; };
typedef struct wide __attribute__((aligned(1))) wide_u;
union either { double d; unsigned char c[24]; struct { short s[5]; int i; } n; };
struct odd { char c[24]; };
static int compare_and_commit(const void *a, const void *b) {
    static unsigned calls;
    if (++calls % 7 == 3)
        commit_here();
    return compare_bytes(a, b);
}
static int compare_with(const void *a, const void *b, void *order) {
    return (*(const unsigned char *)a - *(const unsigned char *)b) * *(int *)order;
}
"""


def place(rng: random.Random, size: int, align: int = 1) -> str:
    return f"(m + {rng.randrange(0, MEMORY_BYTES - size) // align * align})"


def scalar(rng: random.Random) -> str:
    kind = rng.choice(SCALARS)
    volatile = rng.choice(["", "volatile "])
    return f"*({volatile}{kind} *){place(rng, 16, 16)} = ({kind})(r * {rng.randrange(1, 99)} + 1);"


def unaligned(rng: random.Random) -> str:
    return f"{{ long x = (long)(r ^ {rng.randrange(1 << 30)}); __builtin_memcpy({place(rng, 8)}, &x, 8); }}"


def vector(rng: random.Random) -> str:
    kind = rng.choice(VECTORS)
    return rng.choice(
        [
            f"*({kind}*){place(rng, 64)} += ({kind}){{1, 2, 3, (int)r}};",
            f"__builtin_nontemporal_store((long)r + 5, (long *){place(rng, 8, 8)});",
        ]
    )


def neighbours(rng: random.Random) -> str:
    """Stores at constant distances from one pointer, with or without a commit between."""
    base = place(rng, 1200, 8)
    stores = [f"p[{rng.randrange(0, 140)}] = (long)r + {i};" for i in range(rng.randrange(2, 6))]
    if rng.random() < 0.5:
        stores.insert(rng.randrange(1, len(stores)), "commit_here();")
        stores.append(stores[0].replace("r +", "r * 3 +"))
    return f"{{ long *p = (long *){base}; {' '.join(stores)} }}"


def branches(rng: random.Random) -> str:
    base, commit = place(rng, 64, 8), rng.choice(["", "commit_here();"])
    return rng.choice(
        [
            f"{{ int *p = (int *){base}; p[3]++; if (r & 2) {{ p[3] += 5; {commit} p[2] = 1; }} p[3] ^= (int)r; }}",
            f"{{ int *p = (int *){base}; if (r & 4) p[1] = 7; else {{ p[0] = 8; {commit} }} p[1] += 9; p[0] += 2; }}",
            f"{{ int *p = (int *){base}, x[4]; int *q = r & 1 ? p : x; q[1] = (int)r; {commit} q[2] = 3; p[1]++; }}",
            f"switch (r % 3) {{ case 0: *{base} = 1; {commit} case 1: *{base} += 2; break; default: {base}[9] = 3; }}",
        ]
    )


def atomic(rng: random.Random) -> str:
    operation = rng.choice(["fetch_add", "fetch_sub", "fetch_or", "fetch_xor", "exchange_n", "store_n"])
    kind = rng.choice(["unsigned char", "unsigned short", "unsigned", "unsigned long", "unsigned __int128"])
    order = "__ATOMIC_RELEASE" if operation == "store_n" else rng.choice(["__ATOMIC_RELAXED", "__ATOMIC_SEQ_CST"])
    return f"__atomic_{operation}(({kind} *){place(rng, 16, 16)}, ({kind})(r | 1), {order});"


def exchange(rng: random.Random) -> str:
    target, other = place(rng, 24, 16), place(rng, 24, 16)
    return rng.choice(
        [
            f"{{ long old = *(long *){target};"
            f" __atomic_compare_exchange_n((long *){target}, &old, old + 1, 0, 5, 5); }}",
            f"{{ struct odd x = {{{{(char)r}}}}; __atomic_store((struct odd *){target}, &x, __ATOMIC_SEQ_CST); }}",
            "{ struct odd x = {{2, (char)r}};"
            f" __atomic_exchange((struct odd *){target}, &x, (struct odd *){other}, __ATOMIC_SEQ_CST); }}",
            f"__atomic_load((struct odd *){target}, (struct odd *){other}, __ATOMIC_SEQ_CST);",
            f"__sync_lock_test_and_set((int *){target}, (int)r); __sync_fetch_and_nand((int *){other}, (int)r);",
        ]
    )


def block(rng: random.Random) -> str:
    size = rng.choice([1, 3, 8, 15, 16, 31, 64, 100, 333, 1000])
    length = rng.choice([str(size), f"(r % {size} + 1)"])
    target, source = place(rng, 1000), place(rng, 1000)
    return rng.choice(
        [
            f"memset({target}, (int)(r + 1), {length});",
            f"memmove({target}, {source}, {length});",
            f"{{ unsigned char b[1000]; memset(b, (int)r + 3, 1000); memcpy({target}, b, {length}); }}",
            f"{{ unsigned char b[r % 50 + 9]; memset(b, (int)r, sizeof(b)); mempcpy({target}, b, sizeof(b)); }}",
            f"{{ void *(*volatile f)(void *, int, size_t) = memset; f({target}, (int)r + 1, {size}); }}",
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
            f"{{ union either *u = (union either *){place(rng, 24, 8)}; u->n.s[3] = (short)r;"
            " u->c[20] = 1; u->d += 1; }",
            f"{{ struct wide *w = {target}, x = *w; x.words[r % 9]++; *(r & 1 ? w : &x) = make_wide(r); *w = x; }}",
        ]
    )


def loop(rng: random.Random) -> str:
    count, kind = rng.randrange(3, 200), rng.choice(["char", "short", "int", "double"])
    target = f"{{ {kind} *p = ({kind} *){place(rng, 1700, 8)};"
    commit = rng.choice(["", "", "if (i % 7 == 3) commit_here();"])
    value = f"({kind})(i * r + 1)"
    body = rng.choice(
        [
            f"for (unsigned i = 0; i < {count}; i++) {{ p[i] = {value}; {commit} }}",
            f"for (unsigned i = 0; i < r % {count}; i++) if (i & r) p[i] = ({kind})(p[i] + 1);",
            f"for (unsigned i = 0; i < {count}; i++) p[(i * i) % {count}] = ({kind})r;",
            f"for (unsigned i = 0; i < {count}; i++) p[i] = 0;",
            f"for (int i = {count}; i-- > 0;) {{ p[i] += {value}; {commit} }}",
            f"for (unsigned i = 0; i < r % {count}; i++) {{ p[i] += 1; p[0] += 2; {commit} }}",
            f"for (unsigned i = 0; i < {count}; i++) {{ p[i] = {value}; if (p[i] == 9 && i > 20) break; }}",
            f"for (unsigned i = 0; i < {count} / 3; i++) {{ p[3 * i] = {value}; p[3 * i + 1] = 2; {commit} }}",
            f"for (unsigned i = 0; i < {count} / 40 + 1; i++) p[40 * i] = {value};",
            f"for (int i = 0; i < 9; i++) for (int j = 0; j < 20; j++) p[20 * i + j] = ({kind})(i + j + (int)r);",
            f"unsigned i = 0; do {{ *p++ = {value}; {commit} }} while (++i < {count});",
            f"{kind} *e = p + {count}; unsigned i = 0; while (p < e) {{ p[1] = {value}; p[0] = 1; p += 2; i++; }}",
        ]
    )
    return f"{target} {body} }}"


def assembly(rng: random.Random) -> str:
    target, label = f"(*(int *){place(rng, 8)})", f"label{rng.randrange(1 << 40)}"
    return rng.choice(
        [
            f'__asm__("movl $77, %0" : "=m"{target});',
            f'__asm__("lock; incl %0" : "+m"{target});',
            f'__asm__ goto("addl $3, %0; jc %l[{label}]" : "+m"{target} : : "cc" : {label}); {label}:;',
        ]
    )


def control(rng: random.Random) -> str:
    target = place(rng, 200, 16)
    return rng.choice(
        [
            f"if (!setjmp(*(jmp_buf *){target})) {{ {target}[199]++; jump_back({target}); }}",
            f"{{ void *b[5]; (void)b; {target}[5] = 1; if (!__builtin_setjmp((void **){target})) {target}[6]++; }}",
            f"keep_list({target}, 1, 2.0, r);",
            f"{{ pthread_t t; if (pthread_create(&t, NULL, store_in_thread, {target})) exit(3);"
            " pthread_join(t, NULL); }",
            f"({target})[4]++; (void)({target}[5] = 2, {target}[6] += 3);",
        ]
    )


WAYS: list[Callable[[random.Random], str]] = [
    scalar, unaligned, vector, neighbours, neighbours, branches, branches, atomic, exchange, block, structure, loop,
    loop, assembly, control,
]  # fmt: skip
