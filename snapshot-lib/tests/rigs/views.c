/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests: where log and file of a snapshot are mapped, and commits as msync() makes them. */
#include "core/commit.h"
#include "core/regions.h"

#include <errno.h>

int snapshot_test_views(const void *address, struct log_view *log, struct log_view *backing);
int snapshot_test_commit(const void *address, bool declared);
int snapshot_test_publish(const void *address);

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
