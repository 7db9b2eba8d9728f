/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the program has mapped of a file. All mappings of a file lie in its one working copy, each at its offset, so
 * that mapping a page twice gives one address; the list tells when the last mapping is gone.
 */
#include "internal.h"

#include <errno.h>

int mapping_add(struct region *region, uint64_t begin, uint64_t end) {
    if (region->mapping_count == MAPPINGS_MAX)
        return -ENOMEM;
    region->mappings[region->mapping_count++] = (struct mapping){begin, end};
    return 0;
}

/* Take [begin, end) out of one mapping; what is left are none, one or two. */
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

/* The mapping to cut: just this range if there is one, else one that holds all of it. */
static struct mapping *holder(struct region *region, uint64_t begin, uint64_t end) {
    struct mapping *found = NULL;
    for (struct mapping *m = region->mappings; m < region->mappings + region->mapping_count; m++) {
        if (m->begin == begin && m->end == end)
            return m;
        if (m->begin <= begin && end <= m->end)
            found = m;
    }
    return found;
}

/* Unmap [begin, end): once, of pages that are mapped twice; where no mapping has all of it, from all that have some. */
int mapping_cut(struct region *region, uint64_t begin, uint64_t end) {
    struct mapping *one = holder(region, begin, end);
    if (one)
        return region->mapping_count == MAPPINGS_MAX && one->begin < begin && end < one->end
                   ? -ENOMEM
                   : cut_one(region, one, begin, end);
    for (size_t i = region->mapping_count; i-- > 0;) {
        struct mapping *m = &region->mappings[i];
        uint64_t from = m->begin > begin ? m->begin : begin, to = m->end < end ? m->end : end;
        if (from < to)
            (void)cut_one(region, m, from, to); /* never splits: one end of it lies outside the mapping */
    }
    return 0;
}

/* mremap: the mapping at `begin` gets another length, at its place. */
int mapping_resize(struct region *region, uint64_t begin, uint64_t old_bytes, uint64_t new_bytes) {
    if (new_bytes > region->span_bytes - begin)
        return -ENOMEM;
    struct mapping *one = holder(region, begin, begin + old_bytes);
    if (!one)
        return -EFAULT;
    if (new_bytes < old_bytes)
        return mapping_cut(region, begin + new_bytes, begin + old_bytes);
    if (one->end == begin + old_bytes)
        one->end = begin + new_bytes;
    else if (new_bytes > old_bytes)
        return -EINVAL; /* the middle of a mapping cannot grow */
    return 0;
}
