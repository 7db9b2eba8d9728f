// SPDX-License-Identifier: BSD-3-Clause
// What the tests of `calibrate` share: the mapped file, the state of the caches before a point, and its samples.
#ifndef CALIBRATE_H
#define CALIBRATE_H

#include "kernels.h"
#include "measure.h"
#include "testbed_roi.h"

#include <stdint.h>
#include <stdio.h>

enum { MAX_ROW_LOADS = 1024 };

struct setup {
    const char *file;
    FILE *result;
    char *base;             // the file on the device
    uint64_t bytes;         // its size, a power of two and at least twice the device cache
    uint64_t cache_bytes;   // the device cache; 0: none
    uint64_t hot_bytes;     // from `base`: what certainly stays in the device cache
    uint64_t stream_bytes;  // the same for tests with streams: of a buffer smaller than the CPU's caches, half the file
    uint64_t page_bytes;    // of the device cache
    uint64_t row_loads;     // of `percentiles`: loads whose mean is a sample
    uint64_t cold_permille; // of `percentiles`: pages not in the device cache at first
    // Of `percentiles`: of 1000 rows how many have 1, 2, ... of their lines in the CPU's caches, left by a prefetcher
    uint64_t cached_permille[MAX_ROW_LOADS];
    uint64_t cached_counts; // how many of these are stated
    uint64_t effort;        // samples of a point, in units of what a quick look needs
    uint32_t points;        // measured so far
};

// Latencies of loads, in nanoseconds of the TSC, less what reading it costs.
struct samples {
    uint32_t *ns;
    uint64_t count, capacity;
};

struct samples samples_new(uint64_t capacity);
// Sort them, print {"test":..., `fields`, count, mean, percentiles}, and free them.
void samples_print(const struct setup *s, struct samples *samples, const char *test, const char *fields);

// A region of interest for each point, numbered from 1 in the order of the results' lines.
static inline void begin_point(struct setup *s) { testbed_roi_begin(++s->points); }

// What two readings of the TSC around nothing differ by.
uint64_t tsc_overhead_ns(void);

// One load between two readings of the TSC. The next address may depend on what it returns.
static inline void *timed_load(void *at, struct samples *samples, uint64_t overhead_ns) {
    uint64_t begin_ns = read_tsc();
    void *next;
    __asm__ volatile("mov (%1), %0" : "=r"(next) : "r"(at) : "memory");
    uint64_t took_ns = read_tsc() - begin_ns;
    if (samples->count < samples->capacity)
        samples->ns[samples->count++] = (uint32_t)(took_ns > overhead_ns ? took_ns - overhead_ns : 0);
    return next;
}

// Outside a region of interest, where nothing takes time: no page of the device cache is dirty and no line of the file
// is in the CPU's caches; then the `warm_bytes` from `base` are read, so that the device cache holds what it can of
// them.
void settle(const struct setup *s, uint64_t warm_bytes);

void test_chase(struct setup *s);
void test_percentiles(struct setup *s);
void test_random(struct setup *s);
void test_loaded(struct setup *s);
void test_mix(struct setup *s);
void test_core(struct setup *s);
void test_paced(struct setup *s);
void test_far(struct setup *s);
void test_far_write(struct setup *s);
void test_persist(struct setup *s);

#endif
