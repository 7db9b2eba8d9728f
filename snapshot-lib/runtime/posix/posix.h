/* SPDX-License-Identifier: BSD-3-Clause */
/* Declarations shared by the interposed functions. */
#ifndef SNAPSHOT_POSIX_H
#define SNAPSHOT_POSIX_H

#include <errno.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "core/commit.h"
#include "core/regions.h"

/* Tests call the functions by another name, because sanitizers interpose the same functions. */
#ifdef SNAPSHOT_POSIX_PREFIX
#define INTERPOSED(name) snapshot_posix_##name
#else
#define INTERPOSED(name) name
#endif

/* Report -errno as system calls do: return -1 and set errno. */
static inline int posix_result(int status) {
    if (status >= 0)
        return status;
    errno = -status;
    return -1;
}

/* posix_path.c */
bool path_of(int fd, char path[PATH_MAX]);
bool log_path_of(const char *path, char log_path[PATH_MAX]);
bool has_log(char path[PATH_MAX]);
bool is_listed(const char *path);
int file_open(int fd, const char *path, unsigned flags, const void *hint, uint64_t room_bytes, struct region **out);

/* posix_file.c: a descriptor that was not opened here may refer to a file that needs recovery after a crash. */
void descriptor_look(int fd);
void descriptors_forget(int first, unsigned last);

/* Primitives that other interposed functions use. */
int INTERPOSED(open)(const char *path, int flags, ...);
int INTERPOSED(close)(int fd);
int INTERPOSED(ftruncate)(int fd, off_t bytes);
int tracked_publish(struct region *region); /* posix_io.c */
ssize_t INTERPOSED(read)(int fd, void *to, size_t bytes);
ssize_t INTERPOSED(write)(int fd, const void *from, size_t bytes);
ssize_t INTERPOSED(pread)(int fd, void *to, size_t bytes, off_t at);
ssize_t INTERPOSED(pwrite)(int fd, const void *from, size_t bytes, off_t at);

#endif
