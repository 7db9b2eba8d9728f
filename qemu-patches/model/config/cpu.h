/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of the host, as a CPU profile states it. field.h explains how to read and to add a row. */
#ifndef MODEL_CONFIG_CPU_H
#define MODEL_CONFIG_CPU_H

#include "field.h"

/* Which loads may be under way while the CPU goes on; streams.h defines a stream. */
#define MEM_OVERLAP_CHOICES(X)                                                                                         \
    X(MEM_OVERLAP_NONE, "none")       /* none: every miss blocks the CPU */                                            \
    X(MEM_OVERLAP_STREAMS, "streams") /* loads that continue a stream: no address depends on missing data */           \
    X(MEM_OVERLAP_ALL, "all")         /* all: every load; the opposite bound of the true time */

typedef enum MemOverlap { MEM_OVERLAP_CHOICES(MEM_CHOICE_ID) } MemOverlap;

#define MEMSYS_MAX_CORES 32u

/* clang-format off */
/* Parameters of the three caches, which are separate fields below. */
#define MEM_CPU_CACHE_PARAMS(X)                                                                                        \
    X(SIZE, l1d.size_bytes, "l1d-size", FIXED, REQUIRED,                                                               \
      UP_TO_4_GIB, "L1D, FIFO: a whole number of sets of l1d_ways lines")                                              \
    X(COUNT, l1d.ways, "l1d-ways", FIXED, REQUIRED,                                                                    \
      FROM(1, 16), "L1D associativity")                                                                                \
    X(SIZE, l2.size_bytes, "l2-size", FIXED, REQUIRED,                                                                 \
      UP_TO_4_GIB, "L2, LRU: a whole number of sets of l2_ways lines")                                                 \
    X(COUNT, l2.ways, "l2-ways", FIXED, REQUIRED,                                                                      \
      FROM(1, 16), "L2 associativity")                                                                                 \
    X(TIME, l2.latency_ps, "l2-latency-ps", FIXED, REQUIRED,                                                           \
      UP_TO_1_S, "stall of an L2 hit: load-to-use beyond L1; not above llc_latency")                                   \
    X(SIZE, llc.size_bytes, "llc-size", FIXED, REQUIRED,                                                               \
      UP_TO_4_GIB, "last-level cache, LRU: a whole number of sets of llc_ways lines")                                  \
    X(COUNT, llc.ways, "llc-ways", FIXED, REQUIRED,                                                                    \
      FROM(1, 16), "last-level cache associativity")                                                                   \
    X(TIME, llc.latency_ps, "llc-latency-ps", FIXED, REQUIRED,                                                         \
      UP_TO_1_S, "stall of a last-level cache hit: load-to-use beyond L1")

#define MEM_CPU_CORE_PARAMS(X)                                                                                         \
    X(COUNT, cores, "cores", FIXED, DEFAULT(1),                                                                        \
      FROM(1, 32), "cores, each with an L1D, an L2 and buffers of its own; the rest they share")                       \
    X(TIME, dram_latency_ps, "dram-latency-ps", REPLAY, REQUIRED,                                                      \
      UP_TO_1_S, "local DRAM, from the last-level cache's miss to the first byte")                                     \
    X(BANDWIDTH, dram_bandwidth, "dram-bandwidth", REPLAY, REQUIRED,                                                   \
      A_BANDWIDTH, "local DRAM: one channel, shared by reads and writes")                                              \
    X(COUNT, wc_buffers, "wc-buffers", FIXED, REQUIRED,                                                                \
      FROM(1, 1024), "write-combining buffers for non-temporal stores, of one line each")                              \
    X(COUNT, fill_buffers, "fill-buffers", REPLAY, DEFAULT(10),                                                        \
      UP_TO(4096), "L1D misses under way at once, each until its line is in L1; 0: no limit")                          \
    X(COUNT, store_buffer, "store-buffer", FIXED, DEFAULT(56),                                                         \
      UP_TO(4096), "stores that wait for their line; 0: a store waits itself")                                         \
    X(CHOICE, overlap, "overlap", FIXED, DEFAULT(MEM_OVERLAP_NONE),                                                    \
      ONE_OF(overlap), "which loads may be under way while the CPU goes on")                                           \
    X(TIME, overlap_window_ps, "overlap-window-ps", REPLAY, DEFAULT(0),                                                \
      UP_TO_1_S, "how far the CPU computes beyond the oldest load under way: its reorder buffer in time")              \
    X(COUNT, prefetch_streams, "prefetch-streams", FIXED, DEFAULT(0),                                                  \
      UP_TO(1024), "streams that the prefetcher follows; 0: no prefetcher")                                            \
    X(COUNT, prefetch_distance, "prefetch-distance", FIXED, DEFAULT(20),                                               \
      IF("prefetch-streams", FROM(1, 64)), "lines that the prefetcher runs ahead at most, within a 4 KiB page")        \
    X(COUNT, prefetch_degree, "prefetch-degree", FIXED, DEFAULT(2),                                                    \
      IF("prefetch-streams", FROM(1, 64)), "lines that it asks for at a time; not above prefetch_distance")            \
    X(COUNT, prefetch_buffers, "prefetch-buffers", REPLAY, DEFAULT(16),                                                \
      UP_TO(4096), "requests of the prefetcher under way at once; 0: no limit")                                        \
    X(COUNT, l2_requests, "l2-requests", REPLAY, DEFAULT(16),                                                          \
      UP_TO(4096), "lines under way to L2 at once, demanded or prefetched (Intel's superqueue); 0: no limit")          \
    X(BOOL, clwb_keeps_line, "clwb-keeps-line", FIXED, DEFAULT(true),                                                  \
      ON_OR_OFF, "off: CLWB drops the line, as CLFLUSHOPT does (Skylake and Cascade Lake servers)")                    \
    X(TIME, c2c_ps, "c2c-ps", FIXED, DEFAULT(0),                                                                       \
      UP_TO_1_S, "stall of a load that another core's cache serves; with several cores not below llc_latency")         \
    X(TIME, upgrade_ps, "upgrade-ps", FIXED, DEFAULT(0),                                                               \
      UP_TO_1_S, "until other cores have given up a line that a store hits; not above c2c")                            \
    X(TIME, ipi_ps, "ipi-ps", FIXED, DEFAULT(0),                                                                       \
      UP_TO_1_S, "from a core's write of its interrupt command register to the interrupt of another core")             \
    X(TIME, lock_ps, "lock-ps", FIXED, DEFAULT(0),                                                                     \
      UP_TO_1_S, "extra time of a locked instruction, beside its time as an instruction and its waits for memory")     \
    X(TIME, pause_ps, "pause-ps", FIXED, DEFAULT(0),                                                                   \
      UP_TO_1_S, "extra time of PAUSE, beside its time as an instruction, inside and outside a region of interest")    \
    X(TIME, cpuid_ps, "cpuid-ps", FIXED, DEFAULT(0),                                                                   \
      UP_TO_1_S, "extra time of CPUID, beside its time as an instruction, in a region of interest")                    \
    X(TIME, rdmsr_ps, "rdmsr-ps", FIXED, DEFAULT(0),                                                                   \
      UP_TO_1_S, "extra time of RDMSR, likewise")                                                                      \
    X(TIME, wrmsr_ps, "wrmsr-ps", FIXED, DEFAULT(0),                                                                   \
      UP_TO_1_S, "extra time of WRMSR, likewise")                                                                      \
    X(TIME, mov_cr_ps, "mov-cr-ps", FIXED, DEFAULT(0),                                                                 \
      UP_TO_1_S, "extra time of a write of CR0 or CR4, also by CLTS and LMSW")                                         \
    X(TIME, mov_cr3_ps, "mov-cr3-ps", FIXED, DEFAULT(0),                                                               \
      UP_TO_1_S, "extra time of a write of CR3")                                                                       \
    X(TIME, mov_dr_ps, "mov-dr-ps", FIXED, DEFAULT(0),                                                                 \
      UP_TO_1_S, "extra time of a write of a debug register")                                                          \
    X(TIME, invlpg_ps, "invlpg-ps", FIXED, DEFAULT(0),                                                                 \
      UP_TO_1_S, "extra time of INVLPG and INVLPGA")                                                                   \
    X(TIME, load_table_ps, "load-table-ps", FIXED, DEFAULT(0),                                                         \
      UP_TO_1_S, "extra time of LGDT, LIDT, LLDT and LTR")                                                             \
    X(TIME, iret_ps, "iret-ps", FIXED, DEFAULT(0),                                                                     \
      UP_TO_1_S, "extra time of IRET and RSM")                                                                         \
    X(TIME, rdtsc_ps, "rdtsc-ps", FIXED, DEFAULT(0),                                                                   \
      UP_TO_1_S, "extra time of RDTSC and RDTSCP")                                                                     \
    X(TIME, wbinvd_ps, "wbinvd-ps", FIXED, DEFAULT(0),                                                                 \
      UP_TO_1_S, "WBINVD and INVD with nothing to write back: the walk of the LLC, which a 1/N study divides alike")   \
    X(NUMBER, seed, "seed", FIXED, DEFAULT(0),                                                                         \
      UP_TO(4294967295), "selects one of the arbitrary choices: frames as L2 and LLC see them, timer, order of cores")
/* clang-format on */

/* One set-associative cache level. A hit here adds `latency_ps`, which must be 0 for l1d. */
typedef struct MemCacheConfig {
    uint64_t size_bytes;
    uint32_t ways;
    mem_ps latency_ps;
} MemCacheConfig;

typedef struct MemCpuConfig {
    MemCacheConfig l1d, l2, llc;
    MEM_CPU_CORE_PARAMS(MEM_FIELD)
} MemCpuConfig;

#endif
