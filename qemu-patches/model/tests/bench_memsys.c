/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Accesses per second of the host CPU's time, by where they hit. Argument: accesses per row. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memsys.h"

#define WINDOW (UINT64_C(1) << 32)

static const MemCpuConfig cpu = {
    .l1d = {32 << 10, 8, 0},
    .l2 = {1 << 20, 16, 5000},
    .llc = {4 << 20, 16, 20000},
    .dram_latency_ps = 80000,
    .dram_bandwidth = UINT64_C(20000000000),
    .wc_buffers = 10,
    .clwb_keeps_line = true,
};

static const MemDeviceConfig device = {
    .capacity_bytes = 256 << 20,
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

static void ignore_drop(void *opaque, uint32_t slot) {
    (void)opaque;
    (void)slot;
}

static double host_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* not the wall's: others may use the machine */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Walk `span_bytes` from `base` in steps of `stride_bytes`, once to warm up. */
static void run(MemSys *m, const char *name, uint64_t base, uint64_t span_bytes, uint64_t stride_bytes, long accesses,
                mem_ps (*access)(MemSys *, uint64_t, mem_ps, uint32_t *)) {
    static mem_ps now_ps;
    uint32_t slot;
    uint64_t at = 0;

    for (uint64_t warm = 0; warm < span_bytes; warm += stride_bytes) {
        now_ps += access(m, base + warm, now_ps, &slot);
    }
    double start = host_seconds();
    for (long i = 0; i < accesses; i++) {
        now_ps += 1000 + access(m, base + at, now_ps, &slot);
        at = at + stride_bytes < span_bytes ? at + stride_bytes : 0;
    }
    double seconds = host_seconds() - start;
    printf("%-20s %8.1f M accesses/s\n", name, (double)accesses / seconds * 1e-6);
}

int main(int argc, char **argv) {
    long accesses = argc > 1 ? strtol(argv[1], NULL, 10) : 10000000;
    uint8_t *media = calloc(device.capacity_bytes, 1);
    MemCallbacks callbacks = {.l1_slot_dropped = ignore_drop};
    MemMedia where = {.base = media};
    MemWindow window = {.hpa = WINDOW, .size_bytes = device.capacity_bytes, .ways = 1};
    MemSys *m = memsys_new(&cpu, &callbacks);

    memsys_add_device(m, &device, &where);
    memsys_map_window(m, 0, &window, 0);
    memsys_set_timed(m, true);
    run(m, "L1 hit", 0, 16 << 10, 64, accesses, memsys_load);
    run(m, "L2 hit", 0, 512 << 10, 64, accesses, memsys_load);
    run(m, "LLC hit", 0, 3 << 20, 64, accesses, memsys_load);
    run(m, "DRAM", 0, 64 << 20, 64, accesses, memsys_load);
    run(m, "device-cache hit", WINDOW, 24 << 20, 64, accesses, memsys_load);
    run(m, "device store hit", WINDOW, 24 << 20, 64, accesses, memsys_store);
    run(m, "device-cache miss", WINDOW, 256 << 20, 4096 + 64, accesses / 4, memsys_load);
    run(m, "device store miss", WINDOW, 256 << 20, 4096 + 64, accesses / 4, memsys_store);
    memsys_free(m);
    free(media);
    return 0;
}
