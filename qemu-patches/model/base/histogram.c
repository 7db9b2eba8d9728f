/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "histogram.h"

mem_ps mem_histogram_percentile_ps(const MemHistogram *h, uint32_t permille) {
    uint64_t wanted = (h->count * permille + 999) / 1000;
    uint64_t below = 0;

    for (uint32_t bucket = 0; wanted && bucket < MEM_BUCKETS; bucket++) {
        below += h->buckets[bucket];
        if (below >= wanted) {
            mem_ps upper_ps = mem_bucket_upper_ps(bucket);
            return upper_ps < h->max_ps ? upper_ps : h->max_ps;
        }
    }
    return 0;
}
