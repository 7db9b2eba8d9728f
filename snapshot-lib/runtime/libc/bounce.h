/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output of calls that wait for other threads, or call back into the program: a commit may take place at any moment of
 * such a call. An announcement before the call is too early: the commit takes it away, and races with the writes of the
 * call. An announcement after the call is too late: a log of old content would record the new content, for this thread
 * or for another that stores to the same line. So the call writes to private memory. After its return the library
 * stores its output to the target, announced like any other store.
 */
#ifndef SNAPSHOT_BOUNCE_H
#define SNAPSHOT_BOUNCE_H

#include <stdbool.h>

#include "libc_wrap.h"
#include "log/thread_log.h"

#define BOUNCE_SMALL_BYTES 256u

struct bounce {
    uint8_t *target; /* NULL: the target is not tracked, the call writes to it */
    uint8_t *copy;
    size_t bytes;
    size_t written;      /* by the call, from the beginning */
    size_t item_bytes;   /* of an array of which the call writes a part of each item; else all bytes */
    bool stores_changes; /* the written length is unknown: compare with the content before the call */
    _Alignas(16) uint8_t small[2 * BOUNCE_SMALL_BYTES];
};

void *bounce_begin(struct bounce *bounce, void *target, size_t bytes, bool stores_changes);
void bounce_land(struct bounce *bounce);

/* Announces the target and stores. */
void store_tracked(void *target, const void *from, size_t bytes);

/* Returns pages that take memory at the first access; NULL: there is no space for so many. */
void *aside_map(size_t bytes);
void aside_unmap(void *memory, size_t bytes);

static inline void bounce_end(struct bounce *bounce) {
    if (bounce->target)
        bounce_land(bounce);
}

static inline void *bounce_of(struct bounce *bounce, void *target, size_t bytes, bool stores_changes) {
    return tracked(target) ? bounce_begin(bounce, target, bytes, stores_changes) : target;
}

/* Declares a bounce that ends with the block, also by an exception or the cancellation of the thread. */
#define BOUNCE(name)                                                                                                   \
    __attribute__((cleanup(bounce_end))) struct bounce name;                                                           \
    name.target = NULL

/* For WRAPPER: from here on the parameter points to private memory. The changes of the call are stored at its end. */
#define ASIDE_BYTES(pointer, bytes)                                                                                    \
    BOUNCE(pointer##_aside);                                                                                           \
    (pointer) = bounce_of(&pointer##_aside, (void *)(pointer), bytes, true)
#define ASIDE(pointer) ASIDE_BYTES(pointer, sizeof(*(pointer)))
/* For an array: of each item only the part that the call has changed is stored. Other threads may store to the rest. */
#define ASIDE_ITEMS(pointer, count)                                                                                    \
    ASIDE_BYTES(pointer, (count) * sizeof(*(pointer)));                                                                \
    pointer##_aside.item_bytes = sizeof(*(pointer))

/* Wraps a function that returns how many of up to `most` units it wrote to `to`. */
#define WRAPPER_READS(type, name, parameters, arguments, most, unit_bytes)                                             \
    type WRAP(name) parameters;                                                                                        \
    type WRAP(name) parameters {                                                                                       \
        thread_waits();                                                                                                \
        BOUNCE(aside);                                                                                                 \
        to = bounce_of(&aside, to, (most) * (unit_bytes), false);                                                      \
        type returned = name arguments;                                                                                \
        aside.written = returned > 0 ? (size_t)returned * (unit_bytes) : 0;                                            \
        return returned;                                                                                               \
    }

/* A range that stays announced while a call runs that writes in place and calls back into the program. */
struct region;
struct kept {
    const void *address;
    size_t bytes;
    const struct region *region; /* NULL: the address is not tracked */
    uint64_t epoch;
};
void keep_begin(struct kept *kept, const void *address, size_t bytes);
/* Called before the callback returns into the call. If a commit took place meanwhile, it includes the writes of the
 * call so far, and the range is announced again. */
void keep_again(struct kept *kept);

/* Announces a lock. The calls of a lock order the threads' stores, so the stores before them have been made. */
void lock_announce(const void *lock, size_t bytes);
#define LOCK(pointer) lock_announce((const void *)(pointer), sizeof(*(pointer)))
/* Like LOCK, for a call that waits until another thread has done something. */
#define WAIT(pointer)                                                                                                  \
    thread_waits();                                                                                                    \
    OUT(pointer)

#endif
