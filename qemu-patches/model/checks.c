/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules over several fields of a configuration. One rule per line, the field first. */
#include <assert.h>
#include <stddef.h>

#include "config/params.h"
#include "config/rules.h"
#include "cpu/setassoc.h"
#include "device/cxl_device.h"
#include "memsys.h"

static_assert(MEM_MAX_CPU_WAYS == 16, "config/cpu.h has the same bound");

/* Whether the size is a whole number of sets, as setassoc.h requires. */
static bool is_cache_geometry(const MemCacheConfig *c) {
    uint64_t set_bytes = (uint64_t)c->ways * MEMSYS_LINE_BYTES;
    return c->size_bytes >= set_bytes && c->size_bytes % set_bytes == 0;
}

#define GEOMETRY "size_bytes must be a whole number of sets of its ways, of 64-byte lines"

const char *memsys_check_cpu(const MemCpuConfig *c) {
    const char *fault = mem_params_check(&mem_cpu_params, c);

    if (fault) {
        return fault;
    }
    REQUIRE(is_cache_geometry(&c->l1d), "l1d." GEOMETRY);
    REQUIRE(is_cache_geometry(&c->l2), "l2." GEOMETRY);
    REQUIRE(is_cache_geometry(&c->llc), "llc." GEOMETRY);
    REQUIRE(c->l1d.latency_ps == 0, "l1d.latency_ps must be 0: it is part of the time per instruction");
    REQUIRE(c->l2.latency_ps <= c->llc.latency_ps, "l2.latency_ps must not exceed llc.latency_ps");
    REQUIRE(c->cores == 1 || c->c2c_ps >= c->llc.latency_ps,
            "c2c_ps must not be below llc.latency_ps with several cores");
    REQUIRE(c->cores == 1 || c->upgrade_ps <= c->c2c_ps, "upgrade_ps must not exceed c2c_ps");
    REQUIRE(!c->prefetch_streams || c->prefetch_degree <= c->prefetch_distance,
            "prefetch_degree must not exceed prefetch_distance");
    return NULL;
}

const char *memsys_check_device(const MemDeviceConfig *d) { return mem_device_check(d); }
