/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of the model. */
#ifndef MODEL_COUNTERS_H
#define MODEL_COUNTERS_H

#include "units.h"

/*
 * Everything counted since the last memsys_reset_counters(), in the order in which
 * it is reported. The lists are X-macros so that the QAPI adapter, JSON and tests
 * cannot drift apart. Each row: field, description. Each device counts the device
 * counters for itself.
 */
#define MEM_CPU_COUNTERS(X)                                                                                            \
    X(loads, "line loads that reached the model")                                                                      \
    X(stores, "line stores that reached the model")                                                                    \
    X(nt_stores, "non-temporal line stores")                                                                           \
    X(flushes, "CLWB, CLFLUSHOPT and CLFLUSH executed")                                                                \
    X(fences, "SFENCE, MFENCE and locked instructions")                                                                \
    X(stream_loads, "loads taken as independent of those under way")                                                   \
    X(prefetches, "lines that the prefetcher asked memory for")                                                        \
    X(prefetches_used, "of them, those used later")                                                                    \
    X(l1_misses, "accesses that missed L1D")                                                                           \
    X(l2_misses, "accesses that missed L2")                                                                            \
    X(llc_misses, "accesses that missed the LLC")                                                                      \
    X(dram_reads, "lines read from local DRAM")                                                                        \
    X(dram_writes, "lines written to local DRAM")

#define MEM_DEVICE_COUNTERS(X)                                                                                         \
    X(cxl_reads, "lines read from the device")                                                                         \
    X(cxl_writes, "lines written to the device")                                                                       \
    X(cache_hits, "device-cache hits, reads and writes")                                                               \
    X(cache_misses, "device-cache misses, reads and writes")                                                           \
    X(cache_writebacks, "dirty pages evicted from the device cache")                                                   \
    X(cache_merges, "of the hits, those that waited for a page under way")                                             \
    X(cache_unfetched, "of the misses, writes that fetched no page")                                                   \
    X(cache_completions, "pages read from flash to complete pages written in part without a fetch")                    \
    X(cache_through_programs, "pages programmed by write-through")                                                     \
    X(cache_through_joins, "writes that joined a program which had not started")                                       \
    X(cache_prefetches, "pages prefetched")                                                                            \
    X(cache_prefetches_useful, "of them, those used later")                                                            \
    X(cache_prefetches_useless, "of them, those evicted unused")                                                       \
    X(log_writes, "lines appended to the write log")                                                                   \
    X(log_hits, "of the hits, reads that the write log served")                                                        \
    X(log_compactions, "pages programmed by compaction of the write log")                                              \
    X(log_wait_ps, "time that writes waited for room in the write log")                                                \
    X(flash_reads, "pages read from flash")                                                                            \
    X(flash_programs, "pages programmed into flash, by the host and by garbage collection")                            \
    X(flash_gc_moves, "pages that garbage collection moved: read and programmed")                                      \
    X(flash_erases, "flash blocks erased")                                                                             \
    X(link_read_bytes, "payload bytes from device to host")                                                            \
    X(link_write_bytes, "payload bytes from host to device")

#define MEM_STALL_COUNTERS(X)                                                                                          \
    X(stall_cache_ps, "stall on L2 and LLC hits, and on lines that other cores hold")                                  \
    X(stall_dram_ps, "stall on local DRAM")                                                                            \
    X(stall_cxl_hit_ps, "stall on device-cache hits")                                                                  \
    X(stall_cxl_miss_ps, "stall on device-cache misses")                                                               \
    X(stall_overlap_ps, "stall at the end of the window for loads under way, and on prefetched lines")                 \
    X(stall_store_ps, "stall for a place in the store buffer")                                                         \
    X(stall_fence_ps, "stall in fences, CLFLUSH and NT stores for writes under way")

#define MEM_COUNTERS(X)                                                                                                \
    MEM_CPU_COUNTERS(X)                                                                                                \
    MEM_DEVICE_COUNTERS(X)                                                                                             \
    MEM_STALL_COUNTERS(X)

/*
 * Effects of cores on each other; 0 with one core. Not part of MEM_COUNTERS, because its lists are results of one core.
 */
#define MEM_COHERENCE_COUNTERS(X)                                                                                      \
    X(transfers, "lines that another core's caches gave")                                                              \
    X(upgrades, "stores to lines that other cores held, too")                                                          \
    X(invalidations, "lines that this core lost to another one's store, flush or non-temporal store")                  \
    X(joins, "hits of lines still on their way to another core")

/* For devices with flash read errors, else 0. Not part of MEM_COUNTERS either. */
#define MEM_ERROR_COUNTERS(X)                                                                                          \
    X(flash_read_failures, "pages that could not be read from flash, by the host or by garbage collection")            \
    X(lines_lost, "lines that lost their content with these pages")

typedef struct MemCounters {
#define X(field, what) uint64_t field;
    MEM_COUNTERS(X)
    MEM_COHERENCE_COUNTERS(X)
    MEM_ERROR_COUNTERS(X)
#undef X
} MemCounters;

void memsys_add_counters(MemCounters *sum, const MemCounters *more);

#endif
