/* SPDX-License-Identifier: BSD-3-Clause */
/* The libc functions of abi.def: announce the range that the call may write, then call. The pass redirects calls to
 * these. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "libc_wrap.h"

static inline void writes_string(const char *target, const char *source) {
    if (tracked(target))
        snapshot_log_range(target, strlen(source) + 1);
}

/* Defines a wrapper and its checked variant. */
#define WRITER(type, name, parameters, arguments, checked_parameters, bytes, announce)                                 \
    type WRAP(name) parameters;                                                                                        \
    type WRAP(name) parameters {                                                                                       \
        announce;                                                                                                      \
        return name arguments;                                                                                         \
    }                                                                                                                  \
    type WRAP_CHECKED(name) checked_parameters;                                                                        \
    type WRAP_CHECKED(name) checked_parameters {                                                                       \
        room_check(bytes, room);                                                                                       \
        return WRAP(name) arguments;                                                                                   \
    }

WRITER(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n),
       (void *to, const void *from, size_t n, size_t room), n, writes(to, n))
WRITER(void *, memmove, (void *to, const void *from, size_t n), (to, from, n),
       (void *to, const void *from, size_t n, size_t room), n, writes(to, n))
WRITER(void *, mempcpy, (void *to, const void *from, size_t n), (to, from, n),
       (void *to, const void *from, size_t n, size_t room), n, writes(to, n))
WRITER(void *, memset, (void *to, int c, size_t n), (to, c, n), (void *to, int c, size_t n, size_t room), n,
       writes(to, n))
WRITER(char *, strcpy, (char *to, const char *from), (to, from), (char *to, const char *from, size_t room),
       strlen(from) + 1, writes_string(to, from))
WRITER(char *, stpcpy, (char *to, const char *from), (to, from), (char *to, const char *from, size_t room),
       strlen(from) + 1, writes_string(to, from))
WRITER(char *, strncpy, (char *to, const char *from, size_t n), (to, from, n),
       (char *to, const char *from, size_t n, size_t room), n, writes(to, n))
WRITER(char *, stpncpy, (char *to, const char *from, size_t n), (to, from, n),
       (char *to, const char *from, size_t n, size_t room), n, writes(to, n))
WRITER(char *, strcat, (char *to, const char *from), (to, from), (char *to, const char *from, size_t room),
       strlen(to) + strlen(from) + 1, if (tracked(to)) writes_string(to + strlen(to), from))
WRITER(char *, strncat, (char *to, const char *from, size_t n), (to, from, n),
       (char *to, const char *from, size_t n, size_t room), strlen(to) + strnlen(from, n) + 1,
       if (tracked(to)) writes(to + strlen(to), strnlen(from, n) + 1))
WRITER(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at),
       (int fd, void *to, size_t n, off_t at, size_t room), n, writes(to, n))

void *WRAP(memccpy)(void *to, const void *from, int c, size_t n);
void *WRAP(memccpy)(void *to, const void *from, int c, size_t n) {
    writes(to, n);
    return memccpy(to, from, c, n);
}

void WRAP(bcopy)(const void *from, void *to, size_t n);
void WRAP(bcopy)(const void *from, void *to, size_t n) {
    writes(to, n);
    memmove(to, from, n);
}

void WRAP(bzero)(void *to, size_t n);
void WRAP(bzero)(void *to, size_t n) {
    writes(to, n);
    memset(to, 0, n);
}

void WRAP(explicit_bzero)(void *to, size_t n);
void WRAP(explicit_bzero)(void *to, size_t n) {
    writes(to, n);
    explicit_bzero(to, n);
}

ssize_t WRAP(pread64)(int fd, void *to, size_t n, off_t at);
ssize_t WRAP(pread64)(int fd, void *to, size_t n, off_t at) { return WRAP(pread)(fd, to, n, at); }

void WRAP_CHECKED(explicit_bzero)(void *to, size_t n, size_t room);
void WRAP_CHECKED(explicit_bzero)(void *to, size_t n, size_t room) {
    room_check(n, room);
    WRAP(explicit_bzero)(to, n);
}

/* A function of glibc 2.38. This library is also built with older versions. */
size_t WRAP(strlcpy)(char *to, const char *from, size_t n);
size_t WRAP(strlcpy)(char *to, const char *from, size_t n) {
    size_t length = strlen(from), part = length < n ? length : n - (n > 0);
    if (n > 0) {
        writes(to, part + 1);
        memcpy(to, from, part);
        to[part] = '\0';
    }
    return length;
}

size_t WRAP(strlcat)(char *to, const char *from, size_t n);
size_t WRAP(strlcat)(char *to, const char *from, size_t n) {
    size_t begin = strnlen(to, n);
    return begin + WRAP(strlcpy)(to + begin, from, n - begin);
}
