/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which configurations the model takes. One rule per line, the field first. */
#include <stddef.h>

#include "flash.h"
#include "link.h"
#include "memsys.h"
#include "policies/policy.h"
#include "serial.h"

#define MAX_LATENCY_PS ((mem_ps)MEM_PS_PER_S)
#define MIN_BANDWIDTH 1000000u
#define MAX_CPU_CACHE_BYTES (UINT64_C(4) << 30)
#define MAX_PAGE_BYTES (2u << 20)
#define MAX_CAPACITY_BYTES (UINT64_C(1) << 50)

#define REQUIRE(rule, sentence)                                                                                        \
    do {                                                                                                               \
        if (!(rule)) {                                                                                                 \
            return sentence;                                                                                           \
        }                                                                                                              \
    } while (0)

static bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

/* A whole number of sets of 1 to 64 ways. */
static bool is_cache_geometry(const MemCacheConfig *c) {
    uint64_t set_bytes = (uint64_t)c->ways * MEMSYS_LINE_BYTES;
    return c->ways >= 1 && c->ways <= 64 && c->size_bytes >= set_bytes && c->size_bytes <= MAX_CPU_CACHE_BYTES &&
           c->size_bytes % set_bytes == 0;
}

#define GEOMETRY "size_bytes must be at most 4 GiB and a whole number of sets of 1 to 64 ways of 64-byte lines"

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
    return NULL;
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

static const char *check_cache(const MemDeviceConfig *d) {
    REQUIRE(d->cache_page_bytes >= MEMSYS_LINE_BYTES && d->cache_page_bytes <= MAX_PAGE_BYTES &&
                is_power_of_two(d->cache_page_bytes),
            "cache_page_bytes must be a power of two from 64 to 2 MiB");
    REQUIRE(d->capacity_bytes > 0 && d->capacity_bytes % d->cache_page_bytes == 0,
            "capacity_bytes must be a positive multiple of cache_page_bytes");
    REQUIRE(d->capacity_bytes <= MAX_CAPACITY_BYTES, "capacity_bytes must not exceed 1 PiB");
    REQUIRE(d->cache_size_bytes > 0 && d->cache_size_bytes % d->cache_page_bytes == 0,
            "cache_size_bytes must be a positive multiple of cache_page_bytes");
    REQUIRE(d->cache_size_bytes <= d->capacity_bytes, "cache_size_bytes must not exceed capacity_bytes");
    uint64_t pages = d->cache_size_bytes / d->cache_page_bytes;
    REQUIRE(pages <= UINT64_C(1) << 30, "cache_size_bytes must not exceed 2^30 pages of cache_page_bytes");
    REQUIRE(d->cache_ways == 0 || pages % d->cache_ways == 0,
            "cache_ways must be 0 (fully associative) or divide the number of pages of the cache");
    REQUIRE(mem_cache_policy(d->cache_policy), "cache_policy must be one of the choices");
    return NULL;
}

const char *memsys_check_device(const MemDeviceConfig *d) {
    const char *fault = mem_link_check(d);
    if (fault) {
        return fault;
    }
    REQUIRE(d->controller_latency_ps <= MAX_LATENCY_PS, "controller_latency_ps must not exceed 1 s");
    REQUIRE(d->cache_latency_ps <= MAX_LATENCY_PS, "cache_latency_ps must not exceed 1 s");
    fault = check_cache(d);
    return fault ? fault : mem_flash_check(d);
}
