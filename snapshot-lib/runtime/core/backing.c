/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store into a hole of the file takes a block when the commit writes it, and on a full device that write is a SIGBUS.
 * So the commit first asks for the blocks of pages that were touched for the first time, and can still say ENOSPC.
 */
#define _GNU_SOURCE
#include "backing.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"

/* About to be stored to. Each page enters the list once. */
void pages_want(struct region *region, uint64_t offset, uint64_t bytes) {
    for (uint64_t page = offset / SNAPSHOT_PAGE; page <= (offset + bytes - 1) / SNAPSHOT_PAGE; page++)
        if (!atomic_load_explicit(&region->page_wanted[page], memory_order_relaxed) &&
            !atomic_exchange(&region->page_wanted[page], 1))
            atomic_store_explicit(&region->pages[atomic_fetch_add(&region->page_count, 1)], (uint32_t)page + 1,
                                  memory_order_release);
}

static bool page_back(struct region *region, uint64_t at) {
    bool behind = at >= region->mapped_bytes; /* the file was cut since */
    return behind || madvise(region->backing + at, SNAPSHOT_PAGE, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
}

/*
 * 0, or -ENOSPC: pages from the first that has no block on are asked for again by the next commit, as is one that is
 * entering the list right now. The mutex is held: two commits that count side by side would leave out pages.
 */
int pages_back(struct region *region) {
    uint64_t count = atomic_load(&region->page_count);
    for (; region->pages_backed < count; region->pages_backed++) {
        uint32_t page = atomic_load_explicit(&region->pages[region->pages_backed], memory_order_acquire);
        if (page == 0)
            return 0;
        if (!page_back(region, (page - 1ull) * SNAPSHOT_PAGE))
            return -ENOSPC;
    }
    return 0;
}

/* The list has seen its pages; they may come again, when the file has been cut and grows. The mutex is held. */
void pages_forget(struct region *region, uint64_t from_bytes) {
    uint64_t kept = 0, from = (from_bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE, backed = 0;
    uint64_t count = atomic_load(&region->page_count);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t page = atomic_exchange(&region->pages[i], 0);
        if (page > from)
            atomic_store(&region->page_wanted[page - 1], 0);
        else
            atomic_store(&region->pages[kept++], page);
        backed = i < region->pages_backed ? kept : backed;
    }
    atomic_store(&region->page_count, kept);
    region->pages_backed = backed;
}
