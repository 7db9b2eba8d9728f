/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program's mappings of a file. All mappings lie in the file's one working copy, each at its offset, so a page that
 * is mapped twice has one address. The list shows when the last mapping is gone.
 */
#include "regions.h"

#include <errno.h>

int mapping_add(struct region *region, uint64_t begin, uint64_t end) {
    if (region->mapping_count == MAPPINGS_MAX)
        return -ENOMEM;
    region->mappings[region->mapping_count++] = (struct mapping){begin, end};
    return 0;
}

/* Take [begin, end) out of one mapping; zero, one or two parts are left. */
static int cut_one(struct region *region, struct mapping *mapping, uint64_t begin, uint64_t end) {
    struct mapping before = {mapping->begin, begin}, after = {end, mapping->end};
    bool has_before = before.begin < before.end, has_after = after.begin < after.end;
    if (has_before && has_after) {
        *mapping = before;
        return mapping_add(region, after.begin, after.end);
    }
    if (has_before || has_after)
        *mapping = has_before ? before : after;
    else
        *mapping = region->mappings[--region->mapping_count];
    return 0;
}

/* Moves `*at` forward to the first mapped page and returns a mapping that contains it: one that is exactly the rest
 * of the range, if there is one, else the one that ends last. NULL: no page up to `end` is mapped. */
static struct mapping *next(struct region *region, uint64_t *at, uint64_t end) {
    uint64_t first = end;
    for (const struct mapping *m = region->mappings; m < region->mappings + region->mapping_count; m++)
        if (m->end > *at && m->begin < first)
            first = m->begin;
    if (first > *at)
        *at = first;
    struct mapping *found = NULL;
    for (struct mapping *m = region->mappings; *at < end && m < region->mappings + region->mapping_count; m++) {
        if (m->begin == *at && m->end == end)
            return m;
        if (m->begin <= *at && m->end > *at && (!found || m->end > found->end))
            found = m;
    }
    return found;
}

static bool splits(struct region *region, uint64_t at, uint64_t end) {
    for (struct mapping *one = next(region, &at, end); one; one = next(region, &at, end)) {
        if (one->begin < at && end < one->end)
            return true;
        at = one->end;
    }
    return false;
}

/*
 * Unmap [begin, end). All mappings of a page have the same address, so a call cannot name one of them, and need not:
 * each page is mapped once less.
 */
int mapping_cut(struct region *region, uint64_t begin, uint64_t end) {
    if (region->mapping_count == MAPPINGS_MAX && splits(region, begin, end))
        return -ENOMEM;
    for (struct mapping *one = next(region, &begin, end); one; one = next(region, &begin, end)) {
        uint64_t to = one->end < end ? one->end : end;
        (void)cut_one(region, one, begin, to);
        begin = to;
    }
    return 0;
}

/* True if each page up to `end` is mapped, by one mapping or several. */
bool mapping_has(struct region *region, uint64_t begin, uint64_t end) {
    uint64_t at = begin;
    for (struct mapping *one = next(region, &at, end); one && at == begin; one = next(region, &at, end))
        begin = at = one->end;
    return begin >= end;
}

/* mremap: change the length of the mapping at `begin`, in place. */
int mapping_resize(struct region *region, uint64_t begin, uint64_t old_bytes, uint64_t new_bytes) {
    uint64_t end = begin + old_bytes;
    if (new_bytes > region->span_bytes - begin)
        return -ENOMEM;
    if (!mapping_has(region, begin, end))
        return -EFAULT;
    if (new_bytes <= old_bytes)
        return mapping_cut(region, begin + new_bytes, end);
    for (struct mapping *m = region->mappings; m < region->mappings + region->mapping_count; m++)
        if (m->end == end) {
            m->end = begin + new_bytes;
            return 0;
        }
    return -EINVAL; /* the middle of a mapping cannot grow */
}
