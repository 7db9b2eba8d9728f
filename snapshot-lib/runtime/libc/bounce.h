/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a call writes that waits for others, or that calls back into the program: a commit may lie anywhere in it.
 * Announcing before the call is too early then, since the commit takes the announcement away, and races with it; and
 * announcing afterwards is too late, since a log of old content would get the new one, from this thread or from another
 * that stores to the same line. So the call writes to memory of ours, and what it wrote is stored when it has returned,
 * announced like any other store.
 */
#ifndef SNAPSHOT_BOUNCE_H
#define SNAPSHOT_BOUNCE_H

#include <stdbool.h>

#include "base/seeded_bug.h"
#include "libc_wrap.h"
#include "log/thread_log.h"

#define BOUNCE_SMALL_BYTES 256u

struct bounce {
    uint8_t *target; /* NULL: it is not tracked, the call writes to it */
    uint8_t *copy;
    size_t bytes;
    size_t written;      /* by the call, from the beginning */
    bool stores_changes; /* nobody says how much it wrote: what differs from how it was */
    _Alignas(16) uint8_t small[2 * BOUNCE_SMALL_BYTES];
};

void *bounce_begin(struct bounce *bounce, void *target, size_t bytes, bool stores_changes);
void bounce_land(struct bounce *bounce);

/* Announces and stores. */
void store_tracked(void *target, const void *from, size_t bytes);

/* Pages that take memory when they are touched; NULL: there is no room for so many. */
void *aside_map(size_t bytes);
void aside_unmap(void *memory, size_t bytes);

static inline void bounce_end(struct bounce *bounce) {
    if (bounce->target)
        bounce_land(bounce);
}

static inline void *bounce_of(struct bounce *bounce, void *target, size_t bytes, bool stores_changes) {
    return tracked(target) ? bounce_begin(bounce, target, bytes, stores_changes) : target;
}

/* Ends with the block, be it by an exception or because the thread is cancelled. */
#define BOUNCE(name)                                                                                                   \
    __attribute__((cleanup(bounce_end))) struct bounce name;                                                           \
    name.target = NULL

/* For WRAPPER: from here on the parameter points to memory of ours; what the call changes is stored when it returns. */
#define ASIDE_BYTES(pointer, bytes)                                                                                    \
    BOUNCE(pointer##_aside);                                                                                           \
    (pointer) = bounce_of(&pointer##_aside, (void *)(pointer), bytes, true)
#define ASIDE(pointer) ASIDE_BYTES(pointer, sizeof(*(pointer)))

/* Of a function that returns how many of up to `most` units it wrote to `to`. */
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

/* Announced for as long as a call runs that writes in place and calls back into the program. */
struct region;
struct kept {
    const void *address;
    size_t bytes;
    const struct region *region; /* NULL: the address is not tracked */
    uint64_t epoch;
};
void keep_begin(struct kept *kept, const void *address, size_t bytes);
/* Before the callback returns into the call: what it wrote so far is in the commit that lies behind, if one does. */
void keep_again(struct kept *kept);

/* A lock. The call waits for other threads, so that the stores before it have been made. */
void lock_announce(const void *lock, size_t bytes);
#define LOCK(pointer) lock_announce((const void *)(pointer), sizeof(*(pointer)))
/* The same of a call that waits until another thread has done something. */
#define WAIT(pointer)                                                                                                  \
    thread_waits();                                                                                                    \
    OUT(pointer)

#endif
