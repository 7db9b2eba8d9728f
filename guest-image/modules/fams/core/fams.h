/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Failure-atomic updates of pages by a redo journal in persistent memory. After a crash the data are the state of one
 * commit: the last one that returned, or the one in progress.
 *
 * A commit writes its pages into one of two sets in turn, with a checksum over all of them, and waits once. The pages
 * reach the data later: by fams_apply(), or at the latest by the next commit, before its own fence. So a set is written
 * again only when the pages of its commit are durable in the data.
 *
 * The core never locks, allocates or sleeps. The caller makes one call at a time.
 */
#ifndef FAMS_H
#define FAMS_H

#include "format.h"

struct fams_space {
    void *base; /* aligned to a line */
    uint64_t bytes;
};

struct fams {
    struct fams_space space;
    uint64_t capacity; /* the most pages of one commit */
    uint64_t data_pages;
    uint64_t generation;
    uint64_t committed; /* the last commit, 0: none in this generation */
    uint64_t applied;   /* the last commit that is durable in the data */
    struct {
        uint64_t announced, count, sum;
        uint64_t line[FAMS_LINE_WORDS] __attribute__((aligned(FAMS_LINE_BYTES))); /* of the list, until it is full */
    } open;                                                                       /* the commit in progress */
    const char *broken; /* the broken invariant, after which nothing is committed or applied; else null */
};

/* The most pages of one commit, with a journal of this size. */
uint64_t fams_capacity_of(uint64_t journal_bytes);

/* Make a new store; the content of the data stays. Errors, with nothing changed: -EINVAL: the journal is not a multiple
 * of a page. -ENOSPC: the journal has no space for sets of one page, or leaves none for a page of data. */
int fams_make(struct fams_space space, uint64_t journal_bytes);

/* Bring the data to the last commit. -ENODATA, with nothing changed: the space holds no store, or one of another
 * size. */
int fams_open(struct fams *fams, struct fams_space space);

/* Apply the last commit, so that the data are complete without the journal. */
void fams_close(struct fams *fams);

/* One commit: begin, a call for each page, commit. A new fams_begin() abandons an unfinished commit, which has no
 * effect then. A failed call has written nothing. -EUCLEAN: an invariant is broken, by this call or an earlier one. The
 * medium then stays at the last commit, to which a new opening brings the data. */
int fams_begin(struct fams *fams, uint64_t count);                        /* -EFBIG: more than `capacity` */
int fams_append(struct fams *fams, uint64_t number, const void *content); /* -EINVAL: behind the data; -EFBIG */
int fams_commit(struct fams *fams);

/* Bring the last commit's pages into the data, durably. A caller that has them elsewhere than in the journal can do so
 * itself: fams_apply_page() for each page, then fams_apply_end(). -EUCLEAN as above. */
int fams_apply(struct fams *fams);
int fams_apply_page(struct fams *fams, uint64_t number, const void *content);
int fams_apply_end(struct fams *fams);

/* A page of the data: the last commit's version, if that commit is applied. */
const void *fams_page(const struct fams *fams, uint64_t number);

#endif
