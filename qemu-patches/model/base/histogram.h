/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log-linear histogram of times: 32 buckets an octave, so that a bucket's bounds
 * are at most 3.2 % apart. The first 32 picoseconds have one bucket each.
 */
#ifndef MODEL_HISTOGRAM_H
#define MODEL_HISTOGRAM_H

#include "units.h"

#define MEM_BUCKET_BITS 5u
#define MEM_BUCKETS                                                                                                    \
    ((50u - MEM_BUCKET_BITS + 1) << MEM_BUCKET_BITS) /* up to 2^50 ps, about 19 minutes; longer: the last bucket */

typedef struct MemHistogram {
    uint64_t count;
    mem_ps sum_ps;
    mem_ps max_ps;
    uint64_t buckets[MEM_BUCKETS];
} MemHistogram;

static inline uint32_t mem_bucket_of(mem_ps span_ps) {
    unsigned octave = span_ps >> MEM_BUCKET_BITS ? 63u - MEM_BUCKET_BITS - (unsigned)__builtin_clzll(span_ps) : 0;
    uint64_t bucket = ((uint64_t)octave << MEM_BUCKET_BITS) + (span_ps >> octave);
    return bucket < MEM_BUCKETS ? (uint32_t)bucket : MEM_BUCKETS - 1;
}

/* The longest time in a bucket. */
static inline mem_ps mem_bucket_upper_ps(uint32_t bucket) {
    unsigned octave = bucket >> MEM_BUCKET_BITS ? (bucket >> MEM_BUCKET_BITS) - 1 : 0;
    return (((uint64_t)bucket - ((uint64_t)octave << MEM_BUCKET_BITS) + 1) << octave) - 1;
}

static inline void mem_histogram_add(MemHistogram *h, mem_ps span_ps) {
    h->count++;
    h->sum_ps += span_ps;
    h->max_ps = span_ps > h->max_ps ? span_ps : h->max_ps;
    h->buckets[mem_bucket_of(span_ps)]++;
}

/*
 * The percentile: the upper bound of the bucket with the smallest time that at least `permille` thousandths of the
 * times do not exceed, but at most the longest time. 0 if the histogram is empty.
 */
mem_ps mem_histogram_percentile_ps(const MemHistogram *h, uint32_t permille);

/*
 * Causes of the latency of demand loads that left the LLC: the whole latency by the
 * place that served the load, then its parts on the device; last, the stalls of
 * fences. X(field, description).
 */
#define MEM_CAUSES(X)                                                                                                  \
    X(dram, "loads from local DRAM")                                                                                   \
    X(cxl_hit, "loads that hit the device cache")                                                                      \
    X(cxl_miss, "loads that missed the device cache")                                                                  \
    X(link, "on the link, of loads from the device")                                                                   \
    X(queue, "waiting for link, controller, device DRAM or an MSHR")                                                   \
    X(device_cache, "in controller and device cache")                                                                  \
    X(flash_read, "reading flash")                                                                                     \
    X(program, "waiting for flash programs and erases of host data")                                                   \
    X(gc, "waiting for garbage collection")                                                                            \
    X(fence, "stalls of fences and CLFLUSH")

typedef enum MemCause {
#define X(field, what) MEM_CAUSE_##field,
    MEM_CAUSES(X)
#undef X
        MEM_CAUSE_COUNT,
} MemCause;

#endif
