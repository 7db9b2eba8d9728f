/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: where log and file of a snapshot are mapped, commits as msync() makes them, and whether a thread is
 * inside. */
#include "core/commit.h"
#include "core/regions.h"
#include "log/thread_log.h"

#include <errno.h>

int snapshot_test_views(const void *address, struct log_view *log, struct log_view *backing);
int snapshot_test_commit(const void *address, bool declared);
int snapshot_test_publish(const void *address);
bool snapshot_test_is_inside(const void *address);
size_t snapshot_test_pages(const void *address, int64_t *pages, size_t room);

int snapshot_test_views(const void *address, struct log_view *log, struct log_view *backing) {
    struct region *region = region_find(address);
    if (!region)
        return -EINVAL;
    *log = region->log;
    *backing = (struct log_view){region->backing, region->bytes};
    return 0;
}

int snapshot_test_commit(const void *address, bool declared) {
    struct region *region = region_find(address);
    return region ? region_commit(region, declared ? COMMIT_DECLARED : COMMIT_DURABLE) : -EINVAL;
}

int snapshot_test_publish(const void *address) { return region_publish(region_find(address)); }

bool snapshot_test_is_inside(const void *address) { return thread_is_inside(region_find(address)); }

/* Pages for which blocks have been asked, or are with the next commit. Their number. */
size_t snapshot_test_pages(const void *address, int64_t *pages, size_t room) {
    struct region *region = region_find(address);
    size_t count = atomic_load(&region->page_count);
    for (size_t i = 0; i < count && i < room; i++)
        pages[i] = (int64_t)atomic_load(&region->pages[i]) - 1;
    return count;
}
