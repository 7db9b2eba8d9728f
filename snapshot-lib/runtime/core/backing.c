/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store into a hole of the file allocates a block when the commit writes it, and on a full device this write is a
 * SIGBUS. So the commit first requests the blocks of pages that were touched for the first time, while it can still
 * return ENOSPC.
 */
#define _GNU_SOURCE
#include "backing.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"

/* Note the pages of a range that is about to be stored to. Each page enters the list once. */
void pages_want(struct region *region, uint64_t offset, uint64_t bytes) {
    for (uint64_t page = offset / SNAPSHOT_PAGE; page <= (offset + bytes - 1) / SNAPSHOT_PAGE; page++)
        if (!atomic_load_explicit(&region->page_wanted[page], memory_order_relaxed) &&
            !atomic_exchange(&region->page_wanted[page], 1))
            atomic_store_explicit(&region->pages[atomic_fetch_add(&region->page_count, 1)], (uint32_t)page + 1,
                                  memory_order_release);
}

static bool page_back(struct region *region, uint64_t at) {
    bool behind = at >= region->mapped_bytes; /* the file has been cut since */
    return behind || madvise(region->backing + at, SNAPSHOT_PAGE, MADV_POPULATE_WRITE) == 0 || errno != EFAULT;
}

/*
 * Allocate blocks for the listed pages. Returns 0, or -ENOSPC: the next commit continues at the first page without a
 * block. It also continues at a page that a thread is entering into the list right now. The mutex is held: two commits
 * that advance `pages_backed` at the same time would leave out pages.
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

/* Remove the pages behind `from_bytes` from the list. The file has been cut, and the pages enter the list again if
 * it grows. The mutex is held. */
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
