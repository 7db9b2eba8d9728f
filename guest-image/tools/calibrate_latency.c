// SPDX-License-Identifier: BSD-3-Clause
// The latency tests of `calibrate`, and the state and samples that all tests share.
#include "calibrate.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SETTLE_US = 500000 };

static int by_value(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

struct samples samples_new(uint64_t capacity) {
    return (struct samples){.ns = map_anonymous(capacity * sizeof(uint32_t)), .capacity = capacity};
}

void samples_print(const struct setup *s, struct samples *samples, const char *test, const char *fields) {
    static const unsigned permille[] = {500, 900, 950, 990, 999};
    uint64_t sum_ns = 0;
    qsort(samples->ns, samples->count, sizeof *samples->ns, by_value);
    for (uint64_t i = 0; i < samples->count; i++)
        sum_ns += samples->ns[i];
    fprintf(s->result, "{\"test\":\"%s\",%s,\"samples\":%" PRIu64 ",\"mean_ns\":%.3f", test, fields, samples->count,
            (double)sum_ns / (double)samples->count);
    for (unsigned i = 0; i < sizeof permille / sizeof *permille; i++)
        fprintf(s->result, ",\"p%u_ns\":%" PRIu32, permille[i], samples->ns[(samples->count - 1) * permille[i] / 1000]);
    fprintf(s->result, "}\n");
    fflush(s->result);
    munmap(samples->ns, samples->capacity * sizeof *samples->ns);
}

uint64_t tsc_overhead_ns(void) {
    uint64_t least_ns = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t begin_ns = read_tsc(), took_ns = read_tsc() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return least_ns;
}

void settle(const struct setup *s, uint64_t warm_bytes) {
    flush_range(s->base, s->bytes);
    touch_range(s->base, s->bytes, LINE_BYTES);
    flush_range(s->base, s->bytes);
    touch_range(s->base, warm_bytes, LINE_BYTES);
    flush_range(s->base, warm_bytes);
    usleep(SETTLE_US); // virtual time: the device completes its pending work
}

// Dependent loads over every line of a working set in random order, from 4 KiB to the whole file. CPU and device caches
// hold as much of it as they can, as after many rounds.
void test_chase(struct setup *s) {
    for (uint64_t set_bytes = 4096; set_bytes <= s->bytes; set_bytes *= 2) {
        uint64_t lines = set_bytes / LINE_BYTES, rounds = 256 * s->effort;
        void *at = build_cycle(s->base, set_bytes, LINE_BYTES, set_bytes);
        settle(s, set_bytes);
        at = kernel_chase(at, lines / UNROLL);
        begin_point(s);
        uint64_t begin_ns = now_ns();
        at = kernel_chase(at, rounds);
        uint64_t took_ns = now_ns() - begin_ns;
        testbed_roi_end();
        fprintf(s->result, "{\"test\":\"chase\",\"set_bytes\":%" PRIu64 ",\"mean_ns\":%.3f}\n", set_bytes,
                (double)(took_ns - clock_overhead_ns()) / (double)(rounds * UNROLL));
        fflush(s->result);
    }
}

// A sample is the mean of a row of dependent loads, as published samples may be.
static void *timed_row(void *at, uint64_t loads, struct samples *samples, uint64_t overhead_ns) {
    uint64_t left = loads, begin_ns = read_tsc();
    __asm__ volatile("1: mov (%0), %0\n\tdec %1\n\tjnz 1b" : "+r"(at), "+r"(left) : : "memory", "cc");
    uint64_t took_ns = read_tsc() - begin_ns;
    samples->ns[samples->count++] = (uint32_t)(took_ns > overhead_ns ? (took_ns - overhead_ns) / loads : 0);
    return at;
}

// Selects `cold_permille` of every 1000 pages, evenly spread.
static int is_cold(const struct setup *s, uint64_t page) { return page * s->cold_permille % 1000 < s->cold_permille; }

// Loads the last lines of a row into the CPU's caches, as a prefetcher that was ahead. A draw from `cached_permille`
// determines their number. A row that waits for flash has no such lines.
static void prefetch(const struct setup *s, char *row, uint64_t *state) {
    uint64_t offset = (uint64_t)(row - s->base), draw = next_random(state) % 1000, lines = 0;
    for (uint64_t i = 0, below = 0; i < s->cached_counts && !lines; i++) {
        below += s->cached_permille[i];
        lines = draw < below ? i + 1 : 0;
    }
    if (offset % s->page_bytes || !is_cold(s, offset / s->page_bytes))
        touch_range(row + (s->row_loads - lines) * LINE_BYTES, lines * LINE_BYTES, LINE_BYTES);
}

// Four chases in turn, each line by line through its own quarter of a range that fits the device cache. The first load
// of a page that is not in the cache yet waits for flash.
void test_percentiles(struct setup *s) {
    enum { CHAINS = 4 };
    const uint64_t part_bytes = s->stream_bytes / CHAINS / s->page_bytes * s->page_bytes;
    const uint64_t rows = part_bytes / LINE_BYTES / s->row_loads, wanted = 4096 * s->effort / CHAINS;
    struct samples samples = samples_new(CHAINS * (rows < wanted ? rows : wanted));
    char *at[CHAINS], *end = s->base + s->bytes, fields[96];
    uint64_t state = 1;
    for (char *line = s->base; line < s->base + CHAINS * part_bytes; line += LINE_BYTES)
        *(char **)line = line + LINE_BYTES;
    settle(s, 0);
    touch_range(end - s->bytes / 2, s->bytes / 2, LINE_BYTES); // the other end of the file was read last
    flush_range(end - s->bytes / 2, s->bytes / 2);
    for (uint64_t page = 0; page < CHAINS * part_bytes / s->page_bytes; page++) {
        if (!is_cold(s, page)) {
            touch_range(s->base + page * s->page_bytes, 1, LINE_BYTES);
            flush_range(s->base + page * s->page_bytes, LINE_BYTES);
        }
    }
    for (uint64_t chain = 0; chain < CHAINS; chain++)
        at[chain] = s->base + chain * part_bytes;
    begin_point(s);
    uint64_t overhead_ns = tsc_overhead_ns();
    for (uint64_t row = 0; row < samples.capacity / CHAINS; row++)
        for (uint64_t chain = 0; chain < CHAINS; chain++) {
            prefetch(s, at[chain], &state);
            at[chain] = timed_row(at[chain], s->row_loads, &samples, overhead_ns);
        }
    testbed_roi_end();
    snprintf(fields, sizeof fields,
             "\"pattern\":\"sequential, four chases\",\"loads\":%" PRIu64 ",\"cold_permille\":%" PRIu64, s->row_loads,
             s->cold_permille);
    samples_print(s, &samples, "percentiles", fields);
}

static void random_loads(struct setup *s, unsigned miss_permille, uint64_t set_bytes) {
    struct samples samples = samples_new(4096 * s->effort);
    uint64_t lines = set_bytes / LINE_BYTES, state = 1 + miss_permille;
    char fields[96];
    settle(s, set_bytes);
    for (uint64_t warm = 0; warm < 4 * s->cache_bytes / s->page_bytes; warm++) {
        char *at = s->base + next_random(&state) % lines * LINE_BYTES;
        touch_range(at, 1, LINE_BYTES);
        flush_range(at, LINE_BYTES);
    }
    begin_point(s);
    uint64_t overhead_ns = tsc_overhead_ns();
    while (samples.count < samples.capacity) {
        char *at = s->base + next_random(&state) % lines * LINE_BYTES;
        (void)timed_load(at, &samples, overhead_ns);
        flush_range(at, LINE_BYTES);
    }
    testbed_roi_end();
    snprintf(fields, sizeof fields, "\"roi\":%u,\"miss_permille\":%u,\"set_bytes\":%" PRIu64, s->points, miss_permille,
             set_bytes);
    samples_print(s, &samples, "random", fields);
}

// Loads of random lines of working sets that miss the device cache at given rates, and of the whole file. With uniform
// accesses the share of hits is the share of the set that is in the cache. Each line is flushed from the CPU's caches
// after its load.
void test_random(struct setup *s) {
    static const unsigned miss_permille[] = {163, 500, 918};
    random_loads(s, 0, s->hot_bytes);
    for (unsigned i = 0; s->cache_bytes && i < sizeof miss_permille / sizeof *miss_permille; i++) {
        uint64_t set_bytes = s->cache_bytes * 1000 / (1000 - miss_permille[i]);
        if (set_bytes < s->bytes)
            random_loads(s, miss_permille[i], set_bytes);
    }
    if (s->cache_bytes)
        random_loads(s, (unsigned)(1000 - 1000 * s->cache_bytes / s->bytes), s->bytes);
}

// The latency of a chase beside a stream: 0 to 64 lines of the stream are loaded before each load of the chase.
void test_loaded(struct setup *s) {
    const uint64_t half = s->stream_bytes / 2 / LINE_BYTES * LINE_BYTES;
    char *stream_base = s->base + half;
    for (uint64_t between = 0; between <= 64; between = between ? 2 * between : 1) {
        struct samples samples = samples_new(512 * s->effort);
        void *at = build_cycle(s->base, half, LINE_BYTES, 7);
        uint64_t offset = 0;
        char fields[96];
        settle(s, s->stream_bytes);
        begin_point(s);
        uint64_t overhead_ns = tsc_overhead_ns(), begin_ns = now_ns();
        while (samples.count < samples.capacity) {
            for (uint64_t i = 0; i < between; i++, offset = offset + LINE_BYTES < half ? offset + LINE_BYTES : 0)
                (void)*(volatile char *)(stream_base + offset);
            void *next = timed_load(at, &samples, overhead_ns);
            __asm__ volatile("clflushopt %0" : "+m"(*(char *)at)); // so that no later load hits the CPU's caches
            at = next;
        }
        uint64_t took_ns = now_ns() - begin_ns;
        testbed_roi_end();
        snprintf(fields, sizeof fields, "\"stream_lines\":%" PRIu64 ",\"bandwidth_mb_s\":%.1f", between,
                 (double)(samples.count * (between + 1) * LINE_BYTES) * 1000.0 / (double)took_ns);
        samples_print(s, &samples, "loaded", fields);
    }
}
