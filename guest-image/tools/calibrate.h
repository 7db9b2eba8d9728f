// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of `calibrate`: the mapped file, the state of the caches before a point, and the samples of a
// point.
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
    uint64_t cache_bytes;   // of the device cache; 0: no device cache
    uint64_t hot_bytes;     // from `base`: a range that certainly stays in the device cache
    uint64_t stream_bytes;  // the same for streams; half the file if the device cache is smaller than the CPU's caches
    uint64_t page_bytes;    // of the device cache
    uint64_t row_loads;     // of `percentiles`: loads for each sample, which is their mean
    uint64_t cold_permille; // of `percentiles`: pages that are not in the device cache at first
    // Of `percentiles`: the number of rows in 1000 with 1, 2, ... of their lines in the CPU's caches, left by a
    // prefetcher
    uint64_t cached_permille[MAX_ROW_LOADS];
    uint64_t cached_counts; // number of entries that are stated
    uint64_t effort;        // samples of a point, in multiples of a quick run's
    uint32_t points;        // measured so far
};

// Latencies of loads in nanoseconds of the TSC, minus the cost of reading the TSC.
struct samples {
    uint32_t *ns;
    uint64_t count, capacity;
};

struct samples samples_new(uint64_t capacity);
// Sort them, print {"test":..., `fields`, count, mean, percentiles}, and free them.
void samples_print(const struct setup *s, struct samples *samples, const char *test, const char *fields);

// A region of interest for each point, numbered from 1 in the order of the results' lines.
static inline void begin_point(struct setup *s) { testbed_roi_begin(++s->points); }

// The least difference between two readings of the TSC with nothing between them.
uint64_t tsc_overhead_ns(void);

// One load between two readings of the TSC. The next address may depend on the loaded value.
static inline void *timed_load(void *at, struct samples *samples, uint64_t overhead_ns) {
    uint64_t begin_ns = read_tsc();
    void *next;
    __asm__ volatile("mov (%1), %0" : "=r"(next) : "r"(at) : "memory");
    uint64_t took_ns = read_tsc() - begin_ns;
    if (samples->count < samples->capacity)
        samples->ns[samples->count++] = (uint32_t)(took_ns > overhead_ns ? took_ns - overhead_ns : 0);
    return next;
}

// Sets the state of the caches, outside a region of interest, where accesses take no time: no page of the device cache
// is dirty, and no line of the file is in the CPU's caches. Then `warm_bytes` from `base` are read, so that the device
// cache holds as many of them as it can.
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
