/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * A store: a journal, followed by the pages of the data. The journal is a header line, a line with the generation, and
 * two sets. A set is a header line, a list of page numbers, and the pages. Numbers are little-endian.
 */
#ifndef FAMS_FORMAT_H
#define FAMS_FORMAT_H

#include "port.h"

#define FAMS_MAGIC 0x31736d6166736274u /* "tbsfams1" */
enum { FAMS_LINE_BYTES = 64, FAMS_LINE_WORDS = FAMS_LINE_BYTES / 8, FAMS_SETS = 2 };

#ifndef FAMS_PAGE_BYTES /* tests use pages of a few lines, so that crash states can be enumerated */
#define FAMS_PAGE_BYTES 4096u
#endif

struct fams_header {
    uint64_t magic, sum;
    uint64_t bytes; /* of the whole store */
    uint64_t journal_bytes;
    uint64_t page_bytes;
    uint64_t reserved[3];
};

/* Counts openings. It is one word, which a power cut leaves old or new. */
struct fams_generation {
    uint64_t number, reserved[7];
};

/* The sum covers generation, commit, count, numbers and pages: a set is its own commit record. */
struct fams_set {
    uint64_t sum;
    uint64_t commit; /* from 1 in each generation; even or odd selects the set */
    uint64_t count;
    uint64_t reserved[5];
    uint64_t numbers[]; /* whole lines; the pages follow the longest possible list */
};

_Static_assert(sizeof(struct fams_header) == FAMS_LINE_BYTES && sizeof(struct fams_generation) == FAMS_LINE_BYTES &&
                   sizeof(struct fams_set) == FAMS_LINE_BYTES,
               "a line each");

static inline uint64_t fams_list_bytes(uint64_t capacity) {
    return (capacity + FAMS_LINE_WORDS - 1) / FAMS_LINE_WORDS * FAMS_LINE_BYTES;
}

static inline uint64_t fams_set_bytes(uint64_t capacity) {
    return sizeof(struct fams_set) + fams_list_bytes(capacity) + capacity * FAMS_PAGE_BYTES;
}

#endif
