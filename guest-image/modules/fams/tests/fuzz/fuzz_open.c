/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store with an arbitrary header and sets, with right sums or wrong ones: opening reads and writes nothing outside
 * the store, and a store that opens accepts a commit. Bit 0 of the input's first byte: the sums of the sets are right.
 * Bit 1: the header is damaged, and its sum is right.
 */
#include <stdlib.h>

#include "fams.c" // for its checksums
#include "persist.h"

enum { PAGES = 24, JOURNAL_BYTES = 25 * FAMS_PAGE_BYTES, BYTES = JOURNAL_BYTES + PAGES * FAMS_PAGE_BYTES };

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

void persist_copy(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
void persist_fence(void) {}

static void must(bool holds) {
    if (!holds)
        abort();
}

static void damage_header(struct fams_space space, const uint8_t *input) {
    struct fams_header *header = header_of(space);
    memcpy(&header->bytes, input, 3 * sizeof(uint64_t));
    header->sum = header_sum(header);
}

static void damage_set(const struct fams *fams, uint64_t parity, const uint8_t *input, size_t size, bool is_sealed) {
    struct fams_set *set = set_of(fams, parity);
    size_t bytes = fams_set_bytes(fams->capacity);
    memcpy(set, input, size < bytes ? size : bytes);
    if (is_sealed && set->count <= fams->capacity)
        set->sum = set_sum(fams, set);
}

static void commit_to(struct fams *fams, uint8_t fill) {
    _Alignas(FAMS_LINE_BYTES) uint8_t page[FAMS_PAGE_BYTES];
    memset(page, fill, sizeof(page));
    must(fams_begin(fams, 1) == 0 && fams_append(fams, fams->data_pages - 1, page) == 0);
    must(fams_commit(fams) == 0);
    must(fams_open(fams, fams->space) == 0);
    must(memcmp(fams_page(fams, fams->data_pages - 1), page, sizeof(page)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    struct fams_space space = {aligned_alloc(FAMS_LINE_BYTES, BYTES), BYTES};
    struct fams fams;
    size_t half = size / 2;
    memset(space.base, 0, BYTES);
    must(fams_make(space, JOURNAL_BYTES) == 0 && fams_open(&fams, space) == 0);
    if (half > 3 * sizeof(uint64_t)) {
        damage_set(&fams, 0, input + 1, half - 1, input[0] & 1);
        damage_set(&fams, 1, input + half, half, input[0] & 1);
        if (input[0] & 2)
            damage_header(space, input + 1);
        if (fams_open(&fams, space) == 0)
            commit_to(&fams, input[0]);
        else
            must(input[0] & 2);
    }
    free(space.base);
    return 0;
}
