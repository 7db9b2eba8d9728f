/* SPDX-License-Identifier: BSD-3-Clause */
/* What the wrappers of the libc functions in abi.def have in common: announce what the call may write, then make it. */
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

/* An out-parameter; a null pointer is in no tracked file. */
#define OUT(pointer) writes((const void *)(pointer), sizeof(*(pointer)))

/* The checked variants of _FORTIFY_SOURCE take the room in the target as well; a smaller one is a bug in the caller. */
static inline void room_check(size_t bytes, size_t room) {
    if (bytes > room)
        abort();
}

/* The wrapper of `type name(parameters)`; `announce` is what to do before. */
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
/* A checked variant `type __name_chk(parameters)` that comes down to another wrapper. */
#define WRAPPER_CHECKED(type, name, parameters, arguments, bytes)                                                      \
    type WRAP_CHECKED(name) parameters;                                                                                \
    type WRAP_CHECKED(name) parameters {                                                                               \
        room_check(bytes, room);                                                                                       \
        return WRAP(name) arguments;                                                                                   \
    }

#endif
