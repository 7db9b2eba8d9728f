// SPDX-License-Identifier: GPL-2.0-or-later
/* The persistence layer with the processor's instructions: CLWB, MOVNTI and SFENCE, as the kernel chooses them. */
#include "persist.h"

#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/uio.h>

#include "glue.h"

void pm_store8(void *target, uint64_t value) { WRITE_ONCE(*(u64 *)target, value); }

void pm_store16(void *target, const void *source) {
    u128 *place = target, old = *place, value;

    memcpy(&value, source, sizeof(value));
    while (!try_cmpxchg128(place, &old, value))
        ;
}

void pm_store64(void *target, const void *source) { movdir64b(target, source); }

bool pm_has_store(unsigned bytes) {
    return bytes == 8 || (bytes == 16 && system_has_cmpxchg128()) ||
           (bytes == 64 && boot_cpu_has(X86_FEATURE_MOVDIR64B));
}

static void copy_bytes(u8 *to, const u8 *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        WRITE_ONCE(to[i], from[i]);
}

void pm_copy(void *target, const void *source, size_t bytes) {
    size_t before = min(bytes, -(uintptr_t)target % sizeof(u64)), words = (bytes - before) / sizeof(u64);
    u64 *to = target + before;
    const u64 *from = source + before;

    copy_bytes(target, source, before);
    for (size_t i = 0; i < words; i++)
        WRITE_ONCE(to[i], from[i]);
    copy_bytes((u8 *)(to + words), (const u8 *)(from + words), bytes - before - words * sizeof(u64));
}

void pm_copy_nt(void *target, const void *source, size_t bytes) { memcpy_flushcache(target, source, bytes); }

void pm_zero_nt(void *target, size_t bytes) {
    while (bytes) {
        size_t part = min_t(size_t, bytes, PAGE_SIZE);

        memcpy_flushcache(target, page_address(ZERO_PAGE(0)), part);
        target += part;
        bytes -= part;
    }
}

void pm_flush(const void *target, size_t bytes) { arch_wb_cache_pmem((void *)target, bytes); }

void pm_fence(void) { wmb(); }
