/* SPDX-License-Identifier: BSD-3-Clause */
/* What the interposed functions share. */
#ifndef SNAPSHOT_POSIX_H
#define SNAPSHOT_POSIX_H

#include <errno.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "internal.h"

/* Tests call them by another name, because sanitizers interpose the same functions. */
#ifdef SNAPSHOT_POSIX_PREFIX
#define INTERPOSED(name) snapshot_posix_##name
#else
#define INTERPOSED(name) name
#endif

/* As the system calls report it. */
static inline int posix_result(int status) {
    if (status >= 0)
        return status;
    errno = -status;
    return -1;
}

/* posix_path.c */
bool path_of(int fd, char path[PATH_MAX]);
bool log_path_of(const char *path, char log_path[PATH_MAX]);
bool is_listed(const char *path);
int file_open(int fd, const char *path, unsigned flags, const void *hint, uint64_t room_bytes, struct region **out);

#endif
