/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a file that is not mapped to another place with at least the same space: no thread has an address in it then.
 * Committed and uncommitted content stays. The last munmap collected from the tracker, and no store was possible since.
 */
#define _GNU_SOURCE
#include "regions.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/arena.h"
#include "base/epochs.h"
#include "base/tracker.h"
#include "commit.h"
#include "log/file_record.h"
#include "log/log_file.h"
#include "protocol/held.h"

/* Lengthens a mapping, if it exists; the new part of a table is zero. */
static int table_grow(void *table, uint64_t old_bytes, uint64_t bytes) {
    void *memory;
    memcpy(&memory, table, sizeof(memory));
    if (!memory || bytes == old_bytes)
        return 0;
    memory = kernel_mremap(memory, old_bytes, bytes);
    if (memory == MAP_FAILED)
        return -errno;
    memcpy(table, &memory, sizeof(memory));
    return 0;
}

/* After a failure some tables are longer than necessary. */
static int tables_grow(struct region *region, uint64_t span_bytes) {
    const uint64_t old = region->span_bytes, page = SNAPSHOT_PAGE, item = sizeof(*region->pages);
    int status = table_grow(&region->line_states, old / LINE_BYTES, span_bytes / LINE_BYTES);
    if (status == 0)
        status = table_grow(&region->page_wanted, old / page, span_bytes / page);
    if (status == 0)
        status = table_grow(&region->pages, old / page * item, span_bytes / page * item);
    if (status == 0)
        status = table_grow(&region->shadow, old, span_bytes);
    if (status == 0)
        status = table_grow(&region->announced, old / LINE_BYTES, span_bytes / LINE_BYTES);
    if (status == 0)
        status = table_grow(&region->backing, old, span_bytes);
    return status;
}

/* Pages that are zero are not touched, so that they take no memory. */
static void working_copy(uint8_t *to, const struct region *region) {
    for (uint64_t at = 0; at < region->mapped_bytes; at += SNAPSHOT_PAGE)
        if (memcmp(to + at, region->working + at, SNAPSHOT_PAGE) != 0)
            memcpy(to + at, region->working + at, SNAPSHOT_PAGE);
}

static uint64_t span_for(const struct region *region, uint64_t bytes) {
    uint64_t span = region->span_bytes;
    while (span < 2 * bytes && span < DATA_BYTES_MAX)
        span *= 2;
    return span < DATA_BYTES_MAX ? span : DATA_BYTES_MAX;
}

static int move(struct region *region, const void *hint, bool fixed, uint64_t span_bytes) {
    uint8_t *working = NULL;
    int status = arena_reserve(span_bytes, hint, fixed ? ARENA_FIXED : ARENA_ANYWHERE, &working);
    if (status < 0)
        return status;
    status = arena_populate(working, region->mapped_bytes);
    if (status == 0)
        status = tables_grow(region, span_bytes);
    if (status == 0)
        status = log_file_move(region, span_bytes);
    if (status < 0) {
        arena_release(working, span_bytes);
        return status;
    }
    held_free(region); /* its table has the length of the old span */
    working_copy(working, region);
    arena_release(region->working, region->span_bytes);
    region->working = working;
    __atomic_store_n(&region->span_bytes, span_bytes, __ATOMIC_RELEASE); /* after the address: region_has() */
    struct file_record record = file_record_read(region->log);
    record.address = (uint64_t)working;
    if (record.sequence > 0)
        file_record_write(region->log, record);
    return tracker_watch(region, 0, region->mapped_bytes);
}

/* Another thread may have moved or mapped the file meanwhile. */
static int move_unless_done(struct region *region, const void *hint, bool fixed, uint64_t bytes) {
    if (!fixed && bytes <= region->span_bytes)
        return 0;
    if (region->mapping_count > 0)
        return -EFBIG;
    epochs_pause(region);
    int status = move(region, hint, fixed, span_for(region, bytes));
    epochs_resume(region);
    return status;
}

/*
 * Move the file, to the hint if `fixed`, with space for `bytes`. Returns 0; -EFBIG: the limit of a file's size, or the
 * file is mapped, -EEXIST: the hint is not free, -ENOMEM. After these errors the file is at its old place.
 */
int region_move(struct region *region, const void *hint, bool fixed, uint64_t bytes) {
    if (bytes > DATA_BYTES_MAX)
        return -EFBIG;
    regions_lock();
    int status = move_unless_done(region, hint, fixed, bytes);
    regions_unlock();
    return status;
}
