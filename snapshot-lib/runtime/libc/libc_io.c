/* SPDX-License-Identifier: BSD-3-Clause */
/* Output of the kernel by calls that do not wait: files, sockets, attributes of files. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <wchar.h>

#include "libc_wrap.h"

static void announce_vectors(const struct iovec *vectors, size_t count) {
    for (size_t i = 0; i < count; i++)
        writes(vectors[i].iov_base, vectors[i].iov_len);
}

WRAPPER(ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at),
        announce_vectors(to, (size_t)count))
WRAPPER(ssize_t, preadv64, (int fd, const struct iovec *to, int count, off_t at), (fd, to, count, at),
        announce_vectors(to, (size_t)count))
WRAPPER(ssize_t, preadv2, (int fd, const struct iovec *to, int count, off_t at, int flags), (fd, to, count, at, flags),
        announce_vectors(to, (size_t)count))

WRAPPER(ssize_t, preadv64v2, (int fd, const struct iovec *to, int count, off_t at, int flags),
        (fd, to, count, at, flags), announce_vectors(to, (size_t)count))

WRAPPER(ssize_t, process_vm_readv,
        (pid_t process, const struct iovec *to, unsigned long count, const struct iovec *from, unsigned long from_count,
         unsigned long flags),
        (process, to, count, from, from_count, flags), announce_vectors(to, count))
/* The process may be this one. */
WRAPPER(ssize_t, process_vm_writev,
        (pid_t process, const struct iovec *from, unsigned long from_count, const struct iovec *to, unsigned long count,
         unsigned long flags),
        (process, from, from_count, to, count, flags), if (process == getpid()) announce_vectors(to, count))

static void announce_address(const void *address, const socklen_t *bytes) {
    if (address && bytes)
        writes(address, *bytes);
    OUT(bytes);
}

WRAPPER(int, getsockname, (int fd, struct sockaddr *from, socklen_t *bytes), (fd, from, bytes),
        announce_address(from, bytes))
WRAPPER(int, getpeername, (int fd, struct sockaddr *from, socklen_t *bytes), (fd, from, bytes),
        announce_address(from, bytes))
WRAPPER(int, getsockopt, (int fd, int level, int name, void *to, socklen_t *bytes), (fd, level, name, to, bytes),
        announce_address(to, bytes))
WRAPPER(const char *, inet_ntop, (int family, const void *from, char *to, socklen_t n), (family, from, to, n),
        writes(to, n))
WRAPPER(int, inet_pton, (int family, const char *from, void *to), (family, from, to),
        writes(to, family == AF_INET ? 4 : 16))
WRAPPER(int, inet_aton, (const char *from, struct in_addr *to), (from, to), OUT(to))

WRAPPER(int, pipe, (int fds[2]), (fds), writes(fds, 2 * sizeof(int)))
WRAPPER(int, pipe2, (int fds[2], int flags), (fds, flags), writes(fds, 2 * sizeof(int)))
WRAPPER(int, socketpair, (int domain, int type, int protocol, int fds[2]), (domain, type, protocol, fds),
        writes(fds, 2 * sizeof(int)))

WRAPPER(int, stat, (const char *path, struct stat *to), (path, to), OUT(to))
WRAPPER(int, lstat, (const char *path, struct stat *to), (path, to), OUT(to))
WRAPPER(int, fstat, (int fd, struct stat *to), (fd, to), OUT(to))
WRAPPER(int, fstatat, (int fd, const char *path, struct stat *to, int flags), (fd, path, to, flags), OUT(to))
WRAPPER(int, stat64, (const char *path, struct stat64 *to), (path, to), OUT(to))
WRAPPER(int, lstat64, (const char *path, struct stat64 *to), (path, to), OUT(to))
WRAPPER(int, fstat64, (int fd, struct stat64 *to), (fd, to), OUT(to))
WRAPPER(int, fstatat64, (int fd, const char *path, struct stat64 *to, int flags), (fd, path, to, flags), OUT(to))
WRAPPER(int, statx, (int fd, const char *path, int flags, unsigned mask, struct statx *to), (fd, path, flags, mask, to),
        OUT(to))
WRAPPER(int, statfs, (const char *path, struct statfs *to), (path, to), OUT(to))
WRAPPER(int, fstatfs, (int fd, struct statfs *to), (fd, to), OUT(to))
WRAPPER(int, statvfs, (const char *path, struct statvfs *to), (path, to), OUT(to))
WRAPPER(int, fstatvfs, (int fd, struct statvfs *to), (fd, to), OUT(to))
WRAPPER(int, uname, (struct utsname * to), (to), OUT(to))
WRAPPER(int, sysinfo, (struct sysinfo * to), (to), OUT(to))
WRAPPER(int, gethostname, (char *to, size_t n), (to, n), writes(to, n))
WRAPPER_CHECKED(int, gethostname, (char *to, size_t n, size_t room), (to, n), n)
WRAPPER(ssize_t, getxattr, (const char *path, const char *name, void *to, size_t n), (path, name, to, n), writes(to, n))
WRAPPER(ssize_t, fgetxattr, (int fd, const char *name, void *to, size_t n), (fd, name, to, n), writes(to, n))

WRAPPER(char *, getcwd, (char *to, size_t n), (to, n), writes(to, n))
WRAPPER_CHECKED(char *, getcwd, (char *to, size_t n, size_t room), (to, n), n)
WRAPPER(char *, realpath, (const char *path, char *to), (path, to), writes(to, PATH_MAX))
WRAPPER_CHECKED(char *, realpath, (const char *path, char *to, size_t room), (path, to), PATH_MAX)
WRAPPER(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n), writes(to, n))
WRAPPER_CHECKED(ssize_t, readlink, (const char *path, char *to, size_t n, size_t room), (path, to, n), n)
WRAPPER(ssize_t, readlinkat, (int fd, const char *path, char *to, size_t n), (fd, path, to, n), writes(to, n))
WRAPPER_CHECKED(ssize_t, readlinkat, (int fd, const char *path, char *to, size_t n, size_t room), (fd, path, to, n), n)
WRAPPER(int, mkstemp, (char *path), (path), if (tracked(path)) writes(path, strlen(path)))
WRAPPER(char *, mkdtemp, (char *path), (path), if (tracked(path)) writes(path, strlen(path)))

ssize_t WRAP_CHECKED(pread64)(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t WRAP_CHECKED(pread64)(int fd, void *to, size_t n, off_t at, size_t room) {
    room_check(n, room);
    writes(to, n);
    return pread(fd, to, n, at);
}
