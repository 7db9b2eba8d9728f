/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes all kinds of accesses to persistent memory in a file on the device, step by step: stores of every kind and
 * width, flushes, fences. A mark comes after each step.
 *
 *     journal_guest FILE timed|untimed STEP    cuts the power after that step; 0: never
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "testbed_roi.h"

enum { SIZE = 1 << 16, LINE = 64, PAGE = 4096 };

static unsigned char *base;

static void clwb(void *line) { __asm__ volatile("clwb (%0)" : : "r"(line) : "memory"); }

static void clflushopt(void *line) { __asm__ volatile("clflushopt (%0)" : : "r"(line) : "memory"); }

static void store8(size_t at, uint64_t value) { *(volatile uint64_t *)(base + at) = value; }

static void first_store(void) { store8(0, UINT64_C(0x0101010101010101)); }

static void flush_and_fence(void) {
    clwb(base);
    _mm_sfence();
}

/* Each store is made twice: the second one finds the line in L1. */
static void every_width(void) {
    for (uint64_t round = 1; round <= 2; round++) {
        unsigned char *p = base + 10 * LINE;
        *(volatile uint8_t *)(p + 3) = (uint8_t)round;
        *(volatile uint16_t *)(p + 6) = (uint16_t)(round * 0x0202); /* across two words */
        *(volatile uint32_t *)(p + LINE + 6) = (uint32_t)(round * 0x03030303);
        *(volatile uint64_t *)(p + 2 * LINE + 4) = round * UINT64_C(0x0404040404040404);
        __asm__ volatile("movd %1, %%xmm1; pshufd $0, %%xmm1, %%xmm1\n\tmovups %%xmm1, 5(%0)\n\tmovaps %%xmm1, 32(%0)"
                         :
                         : "r"(p + 3 * LINE), "r"((uint32_t)(round * 0x05050505))
                         : "xmm1", "memory");
        __asm__ volatile("movbe %1, 8(%0)" : : "r"(p + 4 * LINE), "r"(round * UINT64_C(0x0102030405060708)) : "memory");
        __asm__ volatile("movups %%xmm1, 56(%0)" : : "r"(p + 5 * LINE) : "memory"); /* across two lines */
        store8(PAGE - 4, round * UINT64_C(0x0606060606060606));                     /* across two pages */
        store8(2 * PAGE - 3, round * UINT64_C(0x0707070707070707));
    }
}

static void non_temporal(void) {
    for (int word = 0; word < 8; word++)
        _mm_stream_si64((long long *)(base + 20 * LINE + 8 * word), 0x0808080808080808 + word); /* fills its buffer */
    for (int word = 0; word < 3; word++)
        _mm_stream_si64((long long *)(base + 21 * LINE + 8 * word), 0x0909090909090909);
    _mm_stream_si128((__m128i *)(base + 22 * LINE), _mm_set1_epi8(10));
    store8(23 * LINE, 1);
    _mm_stream_si64((long long *)(base + 23 * LINE + 8), 2); /* its line is dirty in a cache */
}

static void flush_only(void) { clwb(base + 10 * LINE); }

static void fence_only(void) { _mm_sfence(); }

static void read_modify_write(void) {
    uint64_t *p = (uint64_t *)(base + 30 * LINE);
    unsigned char from[3 * LINE];
    memset(from, 11, sizeof(from));
    for (int round = 0; round < 3; round++) {
        __atomic_fetch_add(p, 0x0c, __ATOMIC_SEQ_CST);
        __atomic_exchange_n(p + 1, 0x0d0d + round, __ATOMIC_SEQ_CST);
        p[2]++;
        __asm__ volatile("lock cmpxchg16b %0"
                         : "+m"(*(unsigned __int128 *)(p + 4))
                         : "a"(p[4]), "d"(p[5]), "b"(p[4] + 1), "c"(p[5] + 2)
                         : "memory", "cc");
    }
    void *to = base + 31 * LINE + 5, *source = from;
    size_t count = 2 * LINE + 9;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(count) : : "memory");
    to = base + 35 * LINE;
    count = 20;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(UINT64_C(0x0e0e0e0e0e0e0e0e)) : "memory");
    __asm__ volatile("fxsave64 (%0)" : : "r"(base + 3 * PAGE - 256) : "memory"); /* across two pages */
}

static void other_flushes(void) {
    _mm_clflush(base + 30 * LINE);
    clflushopt(base + 31 * LINE);
    _mm_mfence();
}

static void many_stores_to_a_line(void) {
    for (uint64_t i = 1; i <= 100; i++)
        store8(8, i);
}

/* Stores to local memory that push the file's lines out of the caches. */
static void evictions(void) {
    static unsigned char other[16 << 20];
    for (size_t at = 0; at < sizeof(other); at += LINE)
        other[at]++;
    store8(40 * LINE, 1);
}

static void (*const steps[])(void) = {first_store, flush_and_fence,   every_width,   non_temporal,          flush_only,
                                      fence_only,  read_modify_write, other_flushes, many_stores_to_a_line, evictions};

int main(int argc, char **argv) {
    int fd = argc == 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, SIZE)) {
        perror("journal_guest FILE timed|untimed STEP");
        return 2;
    }
    base = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (base == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    memset(base, 0x77, SIZE); /* so that no page fault comes later */
    for (size_t at = 0; at < SIZE; at += LINE)
        clwb(base + at);
    _mm_sfence();
    if (fsync(fd)) {
        perror("fsync");
        return 1;
    }
    if (!strcmp(argv[2], "timed"))
        testbed_roi_begin(1);
    testbed_mark(100);
    for (int step = 0; step < (int)(sizeof(steps) / sizeof(*steps)); step++) {
        steps[step]();
        testbed_mark((uint32_t)step + 1);
        if (step + 1 == atoi(argv[3]))
            testbed_power_cut();
    }
    testbed_roi_end();
    return 0;
}
