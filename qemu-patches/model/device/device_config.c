/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The valid configurations of controller and cache, and the valid changes at run time. */
#include <stdio.h>

#include "../config/params.h"
#include "../config/rules.h"
#include "device_internal.h"

#define MAX_CAPACITY_BYTES (UINT64_C(1) << 50)
#define LOG_UNIT_BYTES (2 * MEMSYS_LINE_BYTES)

static bool is_power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

static const char *check_geometry(const MemDeviceConfig *d) {
    REQUIRE(is_power_of_two(d->cache_page_bytes), "cache_page_bytes must be a power of two");
    REQUIRE(d->capacity_bytes % d->cache_page_bytes == 0,
            "capacity_bytes must be a positive multiple of cache_page_bytes");
    REQUIRE(d->cache_size_bytes > 0 && d->cache_size_bytes % d->cache_page_bytes == 0,
            "cache_size_bytes must be a positive multiple of cache_page_bytes");
    REQUIRE(d->cache_size_bytes <= d->capacity_bytes, "cache_size_bytes must not exceed capacity_bytes");
    uint64_t pages = d->cache_size_bytes / d->cache_page_bytes;
    REQUIRE(pages <= UINT64_C(1) << 30, "cache_size_bytes must not exceed 2^30 pages of cache_page_bytes");
    REQUIRE(d->cache_ways == 0 || pages % d->cache_ways == 0,
            "cache_ways must be 0 (fully associative) or divide the number of pages of the cache");
    return NULL;
}

static const char *check_write_log(const MemDeviceConfig *d) {
    REQUIRE(d->write_log_bytes % LOG_UNIT_BYTES == 0, "write_log_bytes must be a multiple of 128");
    REQUIRE(d->cache_write_miss != MEM_WRITE_LOG || d->write_log_bytes > 0,
            "write_log_bytes must not be 0 if cache_write_miss is log");
    REQUIRE(d->cache_write_miss != MEM_WRITE_LOG || d->cache_write == MEM_WRITE_BACK,
            "cache_write must be back if cache_write_miss is log");
    return NULL;
}

static const char *check_controller(const MemDeviceConfig *d) {
    REQUIRE(d->capacity_bytes > 0 && d->capacity_bytes % MEMSYS_LINE_BYTES == 0,
            "capacity_bytes must be a positive multiple of 64");
    REQUIRE(d->capacity_bytes <= MAX_CAPACITY_BYTES, "capacity_bytes must not exceed 1 PiB");
    REQUIRE(d->volatile_bytes <= d->capacity_bytes, "volatile_bytes must not exceed capacity_bytes");
    REQUIRE(d->write_queue == 0 || d->cache_power_loss_protected || d->flash_channels == 0,
            "write_queue must be 0 if cache_power_loss_protected is off: accepted stores are durable");
    REQUIRE(d->cache_refresh_ps == 0 || d->cache_refresh_ps < d->cache_refresh_interval_ps,
            "cache_refresh_ps must be below cache_refresh_interval_ps");
    if (d->flash_channels == 0) {
        return NULL;
    }
    const char *fault = check_geometry(d);
    return fault ? fault : check_write_log(d);
}

const char *mem_device_check(const MemDeviceConfig *d) {
    const char *fault = mem_params_check(&mem_device_params, d);

    fault = fault ? fault : mem_link_check(d);
    fault = fault ? fault : check_controller(d);
    return fault || d->flash_channels == 0 ? fault : mem_flash_check(d);
}

/* ---- Run time ---- */

/* The message for a parameter that would change and may not, or NULL. */
static const char *find_fixed(MemDevice *d, const MemDeviceConfig *config) {
    const char *name = config->capacity_bytes != d->config.capacity_bytes ? "capacity" : NULL;

    for (size_t i = 0; i < mem_device_params.count && !name; i++) {
        const MemParam *p = &mem_device_params.params[i];
        if (p->change != MEM_PARAM_LIVE && mem_param_get(p, config) != mem_param_get(p, &d->config)) {
            name = p->name;
        }
    }
    if (!name) {
        return NULL;
    }
    snprintf(d->fault, sizeof(d->fault), "%s cannot change while the device runs", name);
    return d->fault;
}

/* Change the number of MSHRs. If it shrinks, the taken MSHRs that become free last remain. */
static void resize_mshrs(MemSlots *s, uint32_t count) {
    MemSlots old = *s;

    mem_slots_init(s, count);
    while (old.count) {
        if (old.count <= count) {
            mem_slots_take(s, old.until_ps[0]);
        }
        mem_slots_remove(&old);
    }
    mem_slots_destroy(&old);
}

static void reconfigure_cache(MemDevice *d, const MemDeviceConfig *config) {
    if (config->cache_policy != d->config.cache_policy) {
        mem_device_cache_set_policy(&d->cache, config->cache_policy);
    }
    if (config->cache_mshrs != d->config.cache_mshrs) {
        resize_mshrs(&d->mshrs, config->cache_mshrs);
    }
    mem_flash_reconfigure(&d->flash, config, d->timed);
}

const char *mem_device_reconfigure(MemDevice *d, const MemDeviceConfig *config) {
    const char *fault = mem_device_check(config);

    fault = fault ? fault : find_fixed(d, config);
    if (fault) {
        return fault;
    }
    if (d->has_flash) {
        reconfigure_cache(d, config);
    }
    mem_link_reconfigure(&d->link, config, d->timed);
    mem_persist_reconfigure(&d->persist, config);
    d->config = *config;
    d->active = d->timed ? mem_device_timing(config) : (MemDeviceTiming){0};
    d->in_dram_from_ps = d->in_dram_until_ps;
    return NULL;
}
