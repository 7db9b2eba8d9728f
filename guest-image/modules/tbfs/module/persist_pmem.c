// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The persistence layer with the processor's instructions: CLWB, MOVNTI and SFENCE, as the kernel selects them.
 * pm_wbarrier and write windows are used if a mount requests them.
 */
#include "persist.h"

#include <linux/libnvdimm.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "glue.h"

/* ---- pm_wbarrier: the testbed's doorbell (docs/reference/qemu.md) ---- */

enum { DOORBELL_LEAF = 0x4358534c, DOORBELL_QUERY = 0, DOORBELL_WBARRIER = 6, DOORBELL_REPLY = 0x2d4c5843 };

static DEFINE_STATIC_KEY_FALSE(has_barriers);

static u32 ring(u32 operation) {
    u32 a = DOORBELL_LEAF, b = 0, c = operation, d = 0;

    asm volatile("cpuid" : "+a"(a), "+b"(b), "+c"(c), "+d"(d) : : "memory");
    return b;
}

bool pm_has_barrier(void) { return ring(DOORBELL_QUERY) == DOORBELL_REPLY; }

/* ---- Write windows ---- */

DEFINE_STATIC_KEY_FALSE(pm_has_windows);
static void *stray_target; /* the medium of the newest mount with windows */

void *pm_protect(void *base, long pages) {
    struct page **list = kvmalloc_array(pages, sizeof(*list), GFP_KERNEL);
    void *protected;

    if (!list)
        return NULL;
    for (long i = 0; i < pages; i++)
        list[i] = virt_to_page(base + (i << PAGE_SHIFT));
    protected = vmap(list, pages, VM_MAP, PAGE_KERNEL_RO);
    kvfree(list);
    WRITE_ONCE(stray_target, protected);
    return protected;
}

void pm_begin(const struct pm_rules *rules) {
    if (rules->barrier)
        static_branch_inc(&has_barriers);
    if (rules->wprotect)
        static_branch_inc(&pm_has_windows);
}

void pm_end(const struct pm_rules *rules, void *protected) {
    if (rules->barrier)
        static_branch_dec(&has_barriers);
    if (rules->wprotect)
        static_branch_dec(&pm_has_windows);
    if (protected && READ_ONCE(stray_target) == protected)
        WRITE_ONCE(stray_target, NULL);
    vunmap(protected);
}

/* For tests: stores the present value of a byte again, to a medium that is mapped read-only. */
static int store_astray(const char *value, const struct kernel_param *parameter) {
    u8 *target = READ_ONCE(stray_target);
    unsigned long window = 0;

    if (!target)
        return -ENODEV;
    if (sysfs_streq(value, "inside"))
        window = pm_window_open(target);
    else if (!sysfs_streq(value, "outside"))
        return -EINVAL;
    WRITE_ONCE(*target, READ_ONCE(*target));
    pm_window_close(window);
    return 0;
}

static const struct kernel_param_ops stray_operations = {.set = store_astray};
module_param_cb(stray_store, &stray_operations, NULL, 0200);
MODULE_PARM_DESC(stray_store, "store to a medium that is mounted with wprotect=on: inside a window, or outside");

/* ---- Stores ---- */

void pm_store8(void *target, uint64_t value) {
    unsigned long window = pm_window_open(target);

    WRITE_ONCE(*(u64 *)target, value);
    pm_window_close(window);
}

void pm_store16(void *target, const void *source) {
    u128 *place = target, old = *place, value;
    unsigned long window;

    memcpy(&value, source, sizeof(value));
    window = pm_window_open(target);
    while (!try_cmpxchg128(place, &old, value))
        ;
    pm_window_close(window);
}

void pm_store64(void *target, const void *source) {
    unsigned long window = pm_window_open(target);

    movdir64b(target, source);
    pm_window_close(window);
}

bool pm_has_store(unsigned bytes) {
    return bytes <= 8 || (bytes == 16 && system_has_cmpxchg128()) ||
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
    unsigned long window = pm_window_open(target);

    copy_bytes(target, source, before);
    for (size_t i = 0; i < words; i++)
        WRITE_ONCE(to[i], from[i]);
    copy_bytes((u8 *)(to + words), (const u8 *)(from + words), bytes - before - words * sizeof(u64));
    pm_window_close(window);
}

void pm_copy_nt(void *target, const void *source, size_t bytes) {
    unsigned long window = pm_window_open(target);

    memcpy_flushcache(target, source, bytes);
    pm_window_close(window);
}

void pm_zero_nt(void *target, size_t bytes) {
    while (bytes) {
        size_t part = min_t(size_t, bytes, PAGE_SIZE);

        pm_copy_nt(target, page_address(ZERO_PAGE(0)), part);
        target += part;
        bytes -= part;
    }
}

void pm_flush(const void *target, size_t bytes) { arch_wb_cache_pmem((void *)target, bytes); }

/* Data that the fence has sent to the device are durable when the barrier has completed. */
void pm_fence(void) {
    wmb();
    if (static_branch_unlikely(&has_barriers))
        ring(DOORBELL_WBARRIER);
}
