/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_UNCANCELLED_H
#define SNAPSHOT_UNCANCELLED_H

#include <pthread.h>

static inline int cancellation_disable(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void cancellation_restore(const int *before) { pthread_setcancelstate(*before, NULL); }

/*
 * Declares that the calling thread is not cancelled until the end of the block. The library needs it where it calls a
 * cancellation point of libc with a mutex held, and where a store may wait: a cancelled thread would keep the mutex for
 * good. System calls by syscall() are no cancellation points and need no such block.
 */
#define UNCANCELLED                                                                                                    \
    __attribute__((cleanup(cancellation_restore))) const int cancellation_before = cancellation_disable()

#endif
