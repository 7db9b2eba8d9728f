/* SPDX-License-Identifier: BSD-3-Clause */
/* Closing descriptors. Closing the last descriptor of a file that is no longer mapped ends its transaction
 * (core/idle.c). */
#define _GNU_SOURCE
#include "posix.h"

#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

/* libc's own names, because close() is a cancellation point. */
int __close(int fd);
int _IO_fclose(FILE *stream);

static int closed(int first, unsigned last, int result) {
    if (result >= 0)
        descriptors_forget(first, last);
    idle_check();
    return result;
}

/* Forgets the descriptors before, too: another thread may get a number before this one can forget it. */
static void closing(int first, unsigned last) {
    descriptors_forget(first, last);
    idle_closing();
}

int INTERPOSED(close)(int fd) {
    closing(fd, (unsigned)fd);
    return closed(fd, (unsigned)fd, __close(fd));
}

int INTERPOSED(dup2)(int fd, int other) {
    closing(other, (unsigned)other);
    return closed(other, (unsigned)other, (int)syscall(SYS_dup2, fd, other));
}

int INTERPOSED(dup3)(int fd, int other, int flags) {
    closing(other, (unsigned)other);
    return closed(other, (unsigned)other, (int)syscall(SYS_dup3, fd, other, flags));
}

int INTERPOSED(close_range)(unsigned first, unsigned last, int flags);
int INTERPOSED(close_range)(unsigned first, unsigned last, int flags) {
    closing((int)first, last);
    return closed((int)first, last, (int)syscall(SYS_close_range, first, last, flags));
}

void INTERPOSED(closefrom)(int first);
void INTERPOSED(closefrom)(int first) {
    if (INTERPOSED(close_range)(first < 0 ? 0 : (unsigned)first, ~0u, 0) == 0)
        return;
    for (long fd = first < 0 ? 0 : first, end = sysconf(_SC_OPEN_MAX); fd < end; fd++) /* before Linux 5.9 */
        INTERPOSED(close)((int)fd);
}

int INTERPOSED(fclose)(FILE *stream) {
    int fd = fileno(stream);
    closing(fd, (unsigned)fd);
    return closed(fd, (unsigned)fd, _IO_fclose(stream));
}
