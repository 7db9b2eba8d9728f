/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which configurations the model takes. One rule per line, the field first. */
#include <stddef.h>

#include "config/rules.h"
#include "cpu/setassoc.h"
#include "device/cxl_device.h"
#include "memsys.h"

#define MAX_CPU_CACHE_BYTES (UINT64_C(4) << 30)

/* A whole number of sets of 1 to 16 ways: what setassoc.h can keep in order. */
static bool is_cache_geometry(const MemCacheConfig *c) {
    uint64_t set_bytes = (uint64_t)c->ways * MEMSYS_LINE_BYTES;
    return c->ways >= 1 && c->ways <= MEM_MAX_CPU_WAYS && c->size_bytes >= set_bytes &&
           c->size_bytes <= MAX_CPU_CACHE_BYTES && c->size_bytes % set_bytes == 0;
}

#define GEOMETRY "size_bytes must be at most 4 GiB and a whole number of sets of 1 to 16 ways of 64-byte lines"

static const char *check_instructions(const MemCpuConfig *c) {
    REQUIRE(c->pause_ps <= MAX_LATENCY_PS, "pause_ps must not exceed 1 s");
    REQUIRE(c->cpuid_ps <= MAX_LATENCY_PS, "cpuid_ps must not exceed 1 s");
    REQUIRE(c->rdmsr_ps <= MAX_LATENCY_PS, "rdmsr_ps must not exceed 1 s");
    REQUIRE(c->wrmsr_ps <= MAX_LATENCY_PS, "wrmsr_ps must not exceed 1 s");
    REQUIRE(c->mov_cr_ps <= MAX_LATENCY_PS, "mov_cr_ps must not exceed 1 s");
    REQUIRE(c->mov_cr3_ps <= MAX_LATENCY_PS, "mov_cr3_ps must not exceed 1 s");
    REQUIRE(c->mov_dr_ps <= MAX_LATENCY_PS, "mov_dr_ps must not exceed 1 s");
    REQUIRE(c->invlpg_ps <= MAX_LATENCY_PS, "invlpg_ps must not exceed 1 s");
    REQUIRE(c->load_table_ps <= MAX_LATENCY_PS, "load_table_ps must not exceed 1 s");
    REQUIRE(c->iret_ps <= MAX_LATENCY_PS, "iret_ps must not exceed 1 s");
    REQUIRE(c->rdtsc_ps <= MAX_LATENCY_PS, "rdtsc_ps must not exceed 1 s");
    REQUIRE(c->wbinvd_ps <= MAX_LATENCY_PS, "wbinvd_ps must not exceed 1 s");
    return NULL;
}

static const char *check_core(const MemCpuConfig *c) {
    REQUIRE(c->wc_buffers >= 1 && c->wc_buffers <= 1024, "wc_buffers must be from 1 to 1024");
    REQUIRE(c->fill_buffers <= 4096, "fill_buffers must not exceed 4096 (0: no limit)");
    REQUIRE(c->store_buffer <= 4096, "store_buffer must not exceed 4096 (0: stores wait)");
    REQUIRE(c->overlap <= MEM_OVERLAP_ALL, "overlap must be none, streams or all");
    REQUIRE(c->overlap_window_ps <= MAX_LATENCY_PS, "overlap_window_ps must not exceed 1 s");
    REQUIRE(c->prefetch_streams <= 1024, "prefetch_streams must not exceed 1024");
    REQUIRE(!c->prefetch_streams || (c->prefetch_distance >= 1 && c->prefetch_distance <= 64),
            "prefetch_distance must be from 1 to 64, the lines of a 4 KiB page");
    REQUIRE(!c->prefetch_streams || (c->prefetch_degree >= 1 && c->prefetch_degree <= c->prefetch_distance),
            "prefetch_degree must be from 1 to prefetch_distance");
    REQUIRE(c->prefetch_buffers <= 4096, "prefetch_buffers must not exceed 4096 (0: no limit)");
    REQUIRE(c->l2_requests <= 4096, "l2_requests must not exceed 4096 (0: no limit)");
    return check_instructions(c);
}

const char *memsys_check_cpu(const MemCpuConfig *c) {
    REQUIRE(is_cache_geometry(&c->l1d), "l1d." GEOMETRY);
    REQUIRE(is_cache_geometry(&c->l2), "l2." GEOMETRY);
    REQUIRE(is_cache_geometry(&c->llc), "llc." GEOMETRY);
    REQUIRE(c->l1d.latency_ps == 0, "l1d.latency_ps must be 0: it is part of the time per instruction");
    REQUIRE(c->llc.latency_ps <= MAX_LATENCY_PS, "llc.latency_ps must not exceed 1 s");
    REQUIRE(c->l2.latency_ps <= c->llc.latency_ps, "l2.latency_ps must not exceed llc.latency_ps");
    REQUIRE(c->dram_latency_ps <= MAX_LATENCY_PS, "dram_latency_ps must not exceed 1 s");
    REQUIRE(c->dram_bandwidth >= MIN_BANDWIDTH, "dram_bandwidth must be at least 1000000 bytes per second");
    return check_core(c);
}

const char *memsys_check_device(const MemDeviceConfig *d) { return mem_device_check(d); }
