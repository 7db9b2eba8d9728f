/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The detector of writes that escaped tracking, for SNAPSHOT_CHECK=1 (report) or =abort (report and abort). Each commit
 * compares two copies of the file in DRAM: the working copy, and a shadow that follows it only where a store was
 * announced. The detector does not read logs, so it is the same for every commit protocol.
 */
#define _GNU_SOURCE
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/uncancelled.h"
#include "commit.h"
#include "log/format.h"
#include "regions.h"

static uint64_t line_count(const struct region *region) { return (region->bytes + LINE_BYTES - 1) / LINE_BYTES; }

bool check_is_wanted(void) {
    const char *value = getenv("SNAPSHOT_CHECK");
    return value && *value && strcmp(value, "0") != 0;
}

void check_announce(struct region *region, uint64_t offset, uint64_t bytes) {
    for (uint64_t line = offset / LINE_BYTES; line <= (offset + bytes - 1) / LINE_BYTES; line++)
        __atomic_store_n(&region->announced[line], 1, __ATOMIC_RELAXED);
}

/* The last line of the file may have less than 64 bytes. */
static bool differs(const struct region *region, uint64_t line, size_t *first) {
    uint64_t at = line * LINE_BYTES, end = at + LINE_BYTES < region->bytes ? at + LINE_BYTES : region->bytes;
    for (*first = at; *first < end; ++*first)
        if (region->working[*first] != region->shadow[*first])
            return true;
    return false;
}

/* Print one report per page: its first differing byte and the number of lines. Copy the page to the shadow. */
static uint64_t page_check(struct region *region, uint64_t page) {
    const uint64_t page_lines = SNAPSHOT_PAGE / LINE_BYTES;
    uint64_t escaped = 0;
    size_t first = 0, at = 0;
    for (uint64_t line = page * page_lines; line < (page + 1) * page_lines && line < line_count(region); line++) {
        if (!region->announced[line] && differs(region, line, &at))
            first = escaped++ == 0 ? at : first;
        memcpy(region->shadow + line * LINE_BYTES, region->working + line * LINE_BYTES, LINE_BYTES);
    }
    if (escaped > 0)
        dprintf(STDERR_FILENO,
                "snapshot: check: %s: page %lu: %lu line(s) were written and not tracked, first line %zu, byte %zu "
                "(address %p): compile what wrote it with snapcc, or announce it with snapshot_log_range()\n",
                region->path, page, escaped, first / LINE_BYTES, first, (void *)(region->working + first));
    return escaped;
}

/* Before a commit: verify that every line that was not announced is unchanged. */
void check_commit(struct region *region) {
    UNCANCELLED; /* messages */
    const uint64_t pages = (region->bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE;
    uint64_t escaped = 0;
    for (uint64_t page = 0; page < pages; page++)
        if (memcmp(region->working + page * SNAPSHOT_PAGE, region->shadow + page * SNAPSHOT_PAGE, SNAPSHOT_PAGE) != 0)
            escaped += page_check(region, page);
    region->stats.lines_untracked += escaped;
    const char *value = getenv("SNAPSHOT_CHECK");
    if (escaped > 0 && value && strcmp(value, "abort") == 0)
        abort();
}

/*
 * Uncommitted stores, tracked or not, are about to be discarded: report them in one line per file. They are the
 * differences between the working copy and the file as of the last commit.
 */
void check_discard(struct region *region, const char *why) {
    uint64_t lines = 0, first = 0;
    if (!region->shadow || region->inherited)
        return;
    UNCANCELLED;
    region_publish(region);
    region_enter(region); /* another thread may cut the file */
    for (uint64_t at = 0; at < region->bytes; at += LINE_BYTES) {
        uint64_t bytes = region->bytes - at < LINE_BYTES ? region->bytes - at : LINE_BYTES;
        if (memcmp(region->working + at, region->backing + at, bytes) != 0)
            first = lines++ == 0 ? at : first;
    }
    region_leave(region);
    if (lines > 0)
        dprintf(
            STDERR_FILENO,
            "snapshot: check: %s: %lu line(s) were stored and not committed, first at byte %lu of page %lu, and are "
            "discarded: %s: call msync() or fsync() first\n",
            region->path, lines, first % SNAPSHOT_PAGE, first / SNAPSHOT_PAGE, why);
}

/* After a commit: the next transaction has announced nothing yet. */
void check_committed(struct region *region) { memset(region->announced, 0, line_count(region)); }
