/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store into a hole of the file takes a block when the commit writes it, and on a full device that write is a SIGBUS.
 * So the commit first asks for the blocks of pages that were touched for the first time, and can still say ENOSPC.
 */
#define _GNU_SOURCE
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* About to be stored to. Each page enters the list once. */
void pages_want(struct region *region, uint64_t offset, uint64_t bytes) {
    for (uint64_t page = offset / SNAPSHOT_PAGE; page <= (offset + bytes - 1) / SNAPSHOT_PAGE; page++)
        if (!atomic_load_explicit(&region->page_wanted[page], memory_order_relaxed) &&
            !atomic_exchange(&region->page_wanted[page], 1))
            region->pages[atomic_fetch_add(&region->page_count, 1)] = (uint32_t)page;
}

/* 0, or -ENOSPC: pages from the first that has no block on are asked for again by the next commit. */
int pages_back(struct region *region) {
    uint64_t count = atomic_load(&region->page_count);
    for (; region->pages_backed < count; region->pages_backed++) {
        uint64_t at = (uint64_t)region->pages[region->pages_backed] * SNAPSHOT_PAGE;
        bool behind = at >= region->mapped_bytes; /* the file was cut since */
        if (!behind && madvise(region->backing + at, SNAPSHOT_PAGE, MADV_POPULATE_WRITE) < 0 && errno == EFAULT)
            return -ENOSPC;
    }
    return 0;
}

/* The list has seen its pages; they may come again, when the file has been cut and grows. */
void pages_forget(struct region *region, uint64_t from_bytes) {
    uint64_t kept = 0, from = (from_bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE;
    uint64_t count = atomic_load(&region->page_count);
    for (uint64_t i = 0; i < count; i++) {
        if (region->pages[i] < from)
            region->pages[kept++] = region->pages[i];
        else
            atomic_store(&region->page_wanted[region->pages[i]], 0);
    }
    atomic_store(&region->page_count, kept);
    if (region->pages_backed > kept)
        region->pages_backed = kept;
}
