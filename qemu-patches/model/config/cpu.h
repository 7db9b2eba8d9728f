/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of the host. */
#ifndef MODEL_CONFIG_CPU_H
#define MODEL_CONFIG_CPU_H

#include "../base/units.h"

/* One set-associative cache level. `latency_ps` is added by a hit here. */
typedef struct MemCacheConfig {
    uint64_t size_bytes;
    uint32_t ways;
    mem_ps latency_ps;
} MemCacheConfig;

/* Which loads may be under way while the CPU goes on; see streams.h for what a stream is. */
typedef enum MemOverlap {
    MEM_OVERLAP_NONE,    /* none: every miss blocks the CPU */
    MEM_OVERLAP_STREAMS, /* those that continue a stream: their addresses cannot depend on the missing data */
    MEM_OVERLAP_ALL,     /* all: the bound from the other side */
} MemOverlap;

/* The host: what a CPU profile states. */
typedef struct MemCpuConfig {
    MemCacheConfig l1d; /* FIFO replacement, latency_ps must be 0: part of the time per instruction */
    MemCacheConfig l2;  /* LRU */
    MemCacheConfig llc; /* LRU */
    mem_ps dram_latency_ps;
    uint64_t dram_bandwidth;    /* bytes per second, one shared channel */
    uint32_t wc_buffers;        /* write-combining buffers for non-temporal stores, each one line */
    uint32_t fill_buffers;      /* L1D misses under way at once */
    uint32_t store_buffer;      /* stores waiting for their line */
    uint32_t overlap;           /* MemOverlap */
    mem_ps overlap_window_ps;   /* how far the CPU runs ahead of the oldest load under way */
    uint32_t prefetch_streams;  /* streams the prefetcher follows; 0: no prefetcher */
    uint32_t prefetch_distance; /* lines it runs ahead at most */
    uint32_t prefetch_degree;   /* lines it asks for at a time */
    uint32_t prefetch_buffers;  /* its requests under way at once */
    uint32_t l2_requests;       /* lines under way to L2 at once, demanded or prefetched */
    bool clwb_keeps_line;       /* false: CLWB drops the line, as CLFLUSHOPT does */
    mem_ps pause_ps;            /* what PAUSE takes beside an instruction's time */
    /* What a MemInsn takes, likewise. */
    mem_ps cpuid_ps;
    mem_ps rdmsr_ps;
    mem_ps wrmsr_ps;
    mem_ps mov_cr_ps;
    mem_ps mov_cr3_ps;
    mem_ps mov_dr_ps;
    mem_ps invlpg_ps;
    mem_ps load_table_ps;
    mem_ps iret_ps;
    mem_ps rdtsc_ps;
    mem_ps wbinvd_ps;
} MemCpuConfig;

#endif
