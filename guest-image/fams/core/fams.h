/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Failure-atomic updates of pages by a redo journal in persistent memory. After a crash the data are those of a commit:
 * the last one that returned, or the one that was being made.
 *
 * A commit writes its pages into one of two sets in turn, with a checksum over them all, and waits once. The data get
 * them later: by fams_apply(), or at the latest by the next commit, whose fence covers that too. So a set is written
 * again only when the data have its own commit's pages for good.
 *
 * Nothing here locks, allocates or sleeps. The caller makes one call at a time.
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
    uint64_t capacity; /* pages of one commit */
    uint64_t data_pages;
    uint64_t generation;
    uint64_t committed; /* the last commit, 0: none in this generation */
    uint64_t applied;   /* the last one that the data have for good */
    struct {
        uint64_t announced, count, sum;
        uint64_t line[FAMS_LINE_WORDS] __attribute__((aligned(FAMS_LINE_BYTES))); /* of the list, until it is full */
    } open;                                                                       /* the commit that is being made */
    const char *broken; /* the invariant that does not hold: nothing is committed or applied any more; else null */
};

/* The most pages that one commit can have with a journal of so many bytes. */
uint64_t fams_capacity_of(uint64_t journal_bytes);

/* Make a new store; what the data hold stays. 0; or nothing was changed: -EINVAL the journal is no multiple of a page;
 * -ENOSPC a set of one page does not fit into it, or no page of data behind it. */
int fams_make(struct fams_space space, uint64_t journal_bytes);

/* Bring the data to the last commit. 0, or nothing was changed: -ENODATA there is no store, or one of another size. */
int fams_open(struct fams *fams, struct fams_space space);

/* Then the data hold all without the journal. */
void fams_close(struct fams *fams);

/* One commit: begin, a call for each page, commit. What is begun anew instead is given up; it was nothing yet. The
 * errors come before anything of it is written. -EUCLEAN: an invariant does not hold, now or at an earlier call. The
 * medium then stays at the last commit, to which a new opening brings the data. */
int fams_begin(struct fams *fams, uint64_t count);                        /* -EFBIG: more than `capacity` */
int fams_append(struct fams *fams, uint64_t number, const void *content); /* -EINVAL: behind the end; -EFBIG */
int fams_commit(struct fams *fams);

/* Bring the last commit's pages into the data, for good. Who has them elsewhere than in the journal can do it himself:
 * fams_apply_page() for each of them, and fams_apply_end(). -EUCLEAN as above. */
int fams_apply(struct fams *fams);
int fams_apply_page(struct fams *fams, uint64_t number, const void *content);
int fams_apply_end(struct fams *fams);

/* A page of the data. It is that of the last commit if that is applied. */
const void *fams_page(const struct fams *fams, uint64_t number);

#endif
