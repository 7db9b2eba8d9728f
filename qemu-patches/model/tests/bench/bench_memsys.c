/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accesses per second of host CPU time, by the level that they hit. Argument: accesses per row. If the model's counters
 * show that an access of a row did not hit the level of that row, the row is not printed and the exit status is 1.
 */
#define _POSIX_C_SOURCE 200809L
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memsys.h"

#define WINDOW (UINT64_C(1) << 32)

static const MemCpuConfig cpu = {
    .l1d = {32 << 10, 8, 0},
    .l2 = {1 << 20, 16, 5000},
    .llc = {4 << 20, 16, 20000},
    .cores = 1,
    .dram_latency_ps = 80000,
    .dram_bandwidth = UINT64_C(20000000000),
    .wc_buffers = 10,
    .clwb_keeps_line = true,
};

static const MemDeviceConfig device = {
    .capacity_bytes = 1 << 30,
    .link_latency_ps = 100000,
    .link_read_bandwidth = UINT64_C(30000000000),
    .link_write_bandwidth = UINT64_C(30000000000),
    .controller_latency_ps = 50000,
    .cache_size_bytes = 32 << 20,
    .cache_page_bytes = 4096,
    .cache_latency_ps = 50000,
    .cache_power_loss_protected = true,
    .flash_channels = 8,
    .flash_dies = 1,
    .flash_planes = 1,
    .flash_read_ps = 10000000,
    .flash_program_ps = 70000000,
};

static void ignore_drop(void *opaque, uint32_t core, uint32_t slot) {
    (void)opaque;
    (void)core;
    (void)slot;
}

static double host_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not wall-clock time, since other processes may use the machine */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef mem_ps Access(MemSys *, uint32_t, uint64_t, mem_ps, uint32_t *);

/* A repeated walk over `span_bytes` from `base`. */
typedef struct Row {
    const char *name;
    uint64_t base, span_bytes, stride_bytes;
    Access *access;
    size_t all, none; /* offsets of a counter that every access increments, and of one that must stay 0 */
} Row;

#define COUNTER(field) offsetof(MemCounters, field)

/* A device page and a line: a walk with this stride uses each page and line once, and they exceed the caches. */
#define MISSES (4096 + 64)

static const Row rows[] = {
    {"L1 hit", 0, 16 << 10, 64, memsys_load, COUNTER(loads), COUNTER(l1_misses)},
    {"L2 hit", 0, 512 << 10, 64, memsys_load, COUNTER(l1_misses), COUNTER(l2_misses)},
    {"LLC hit", 0, 3 << 20, 64, memsys_load, COUNTER(l2_misses), COUNTER(llc_misses)},
    {"DRAM", 0, 64 << 20, 64, memsys_load, COUNTER(dram_reads), COUNTER(cxl_reads)},
    {"device-cache hit", WINDOW, 24 << 20, 64, memsys_load, COUNTER(cxl_reads), COUNTER(cache_misses)},
    {"device store hit", WINDOW, 24 << 20, 64, memsys_store, COUNTER(cxl_reads), COUNTER(cache_misses)},
    {"device-cache miss", WINDOW, 1 << 30, MISSES, memsys_load, COUNTER(cache_misses), COUNTER(dram_reads)},
    {"device store miss", WINDOW, 1 << 30, MISSES, memsys_store, COUNTER(cache_misses), COUNTER(dram_reads)},
};

static uint64_t count_of(const MemCounters *counters, size_t offset) {
    return *(const uint64_t *)(const void *)((const char *)counters + offset);
}

/* Walk once to warm up, then for `accesses` accesses. Returns whether all of them hit the row's level. */
static bool run(MemSys *m, const Row *row, uint64_t accesses) {
    static mem_ps now_ps;
    uint32_t slot;
    uint64_t at = 0;

    for (uint64_t warm = 0; warm < row->span_bytes; warm += row->stride_bytes) {
        now_ps += row->access(m, 0, row->base + warm, now_ps, &slot);
    }
    memsys_reset_counters(m);
    double start = host_seconds();
    for (uint64_t i = 0; i < accesses; i++) {
        now_ps += 1000 + row->access(m, 0, row->base + at, now_ps, &slot);
        at = at + row->stride_bytes < row->span_bytes ? at + row->stride_bytes : 0;
    }
    double seconds = host_seconds() - start;

    MemCounters counters = memsys_counters(m);
    if (count_of(&counters, row->all) < accesses || count_of(&counters, row->none)) {
        fprintf(stderr, "bench_memsys: not every access of the row '%s' is one\n", row->name);
        return false;
    }
    printf("%-20s %8.1f M accesses/s\n", row->name, (double)accesses / seconds * 1e-6);
    return true;
}

int main(int argc, char **argv) {
    uint64_t accesses = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
    uint8_t *media = calloc(device.capacity_bytes, 1);
    MemCallbacks callbacks = {.l1_slot_dropped = ignore_drop};
    MemMedia where = {.base = media};
    MemWindow window = {.hpa = WINDOW, .size_bytes = device.capacity_bytes, .ways = 1};
    MemSys *m = memsys_new(&cpu, &callbacks);
    bool ok = true;

    memsys_add_device(m, &device, &where);
    memsys_map_window(m, 0, &window, 0);
    memsys_set_timed(m, true);
    for (size_t i = 0; ok && i < sizeof(rows) / sizeof(*rows); i++) {
        ok = run(m, &rows[i], accesses);
    }
    memsys_free(m);
    free(media);
    return ok ? 0 : 1;
}
