/* SPDX-License-Identifier: BSD-3-Clause */
/* Common parts of the wrappers of the libc functions in abi.def: announce the range the call may write, then call. */
#ifndef SNAPSHOT_LIBC_WRAP_H
#define SNAPSHOT_LIBC_WRAP_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "snapshot/snapshot.h"

#define WRAP(name) __snapshot_libc_##name
#define WRAP_CHECKED(name) __snapshot_libc___##name##_chk

static inline int tracked(const void *address) { return (uint64_t)address - __snapshot_base < __snapshot_size; }

static inline void writes(const void *address, size_t bytes) {
    if (tracked(address))
        snapshot_log_range(address, bytes);
}

/* Announce an out-parameter; a null pointer is in no tracked file. */
#define OUT(pointer) writes((const void *)(pointer), sizeof(*(pointer)))

/* The checked variants of _FORTIFY_SOURCE also receive the size of the target; a smaller one is a bug in the caller. */
static inline void room_check(size_t bytes, size_t room) {
    if (bytes > room)
        abort();
}

/* Defines the wrapper of `type name(parameters)`; `announce` runs before the call. */
#define WRAPPER(type, name, parameters, arguments, announce)                                                           \
    type WRAP(name) parameters;                                                                                        \
    type WRAP(name) parameters {                                                                                       \
        announce;                                                                                                      \
        return name arguments;                                                                                         \
    }
#define WRAPPER_VOID(name, parameters, arguments, announce)                                                            \
    void WRAP(name) parameters;                                                                                        \
    void WRAP(name) parameters {                                                                                       \
        announce;                                                                                                      \
        name arguments;                                                                                                \
    }
/* Defines the wrapper of a checked variant `type __name_chk(parameters)` by means of another wrapper. */
#define WRAPPER_CHECKED(type, name, parameters, arguments, bytes)                                                      \
    type WRAP_CHECKED(name) parameters;                                                                                \
    type WRAP_CHECKED(name) parameters {                                                                               \
        room_check(bytes, room);                                                                                       \
        return WRAP(name) arguments;                                                                                   \
    }

#endif
