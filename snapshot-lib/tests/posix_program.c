/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows only POSIX; compiled with snapcc. Each mode is one case of posix_test.py. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "snapshot/snapshot.h"

#define BYTES 8192u

static long *map(const char *path, int flags) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, BYTES) < 0)
        return MAP_FAILED;
    long *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    close(fd);
    return memory;
}

static int fails_with(int result, int error) { return result == -1 && errno == error; }

/* The library is in between: these are its errors, not the kernel's. posix_tests.cpp has all of them. */
static int errors(char *memory) {
    return !(fails_with(msync(memory, BYTES, MS_SYNC | MS_ASYNC), EINVAL) &&
             fails_with(msync(memory, BYTES + 1, MS_SYNC), ENOMEM) && fails_with(munmap(memory + 1, BYTES), EINVAL) &&
             mremap(memory, BYTES, 2 * BYTES, MREMAP_MAYMOVE) == memory && munmap(memory, 2 * BYTES) == 0);
}

/* A file that grows under its mapping, is written by descriptor, and has another name in the end. */
static int file_calls(char *memory, const char *path) {
    char moved[4096];
    long value = 7, seen = 0;
    int fd = open(path, O_RDWR);
    snprintf(moved, sizeof(moved), "%s.moved", path);
    int ok = ftruncate(fd, 4 * BYTES) == 0 && mremap(memory, BYTES, 4 * BYTES, MREMAP_MAYMOVE) == memory;
    memory[3 * BYTES] = 1;
    ok = ok && pwrite(fd, &value, sizeof(value), 16) == sizeof(value) && ((long *)memory)[2] == 7 && fsync(fd) == 0;
    ((long *)memory)[2] = 8;
    ok = ok && pread(fd, &seen, sizeof(seen), 16) == sizeof(seen) && seen == 8;
    ok = ok && rename(path, moved) == 0 && munmap(memory, 4 * BYTES) == 0 && ftruncate(fd, BYTES) == 0;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    ok = ok && memory != MAP_FAILED && ((long *)memory)[2] == 7 && unlink(moved) == 0;
    return !ok;
}

void write_escaping(char *to); /* posix_untracked.c: compiled without the pass */

/* A full device: every page of a sparse file is stored to. With `ballast`, deleting that file makes room. */
static int fill(const char *path, const char *ballast) {
    const size_t bytes = 8u << 20;
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
        return 1;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (memory == MAP_FAILED)
        return 1;
    memory[0] = 'a';
    if (msync(memory, bytes, MS_SYNC) < 0)
        return 1;
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 'b';
    for (int i = 0; i < 2; i++)
        if (!fails_with(msync(memory, bytes, MS_SYNC), ENOSPC))
            return 1;
    return ballast && (unlink(ballast) < 0 || msync(memory, bytes, MS_SYNC) < 0);
}

int main(int argc, char **argv) {
    const char *mode = argv[1];
    int flags = strstr(mode, "plain") ? MAP_SHARED : MAP_SHARED_VALIDATE | MAP_SYNC;
    if (strcmp(mode, "fill") == 0)
        return fill(argv[2], argc == 4 ? argv[3] : NULL);
    long *memory = argc == 3 ? map(argv[2], flags) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        perror("map");
        return 1;
    }
    if (strstr(mode, "read"))
        return printf("%ld %ld\n", memory[0], memory[1000]) < 0;
    if (strstr(mode, "errors"))
        return errors((char *)memory);
    if (strstr(mode, "file-calls"))
        return file_calls((char *)memory, argv[2]);
    if (strstr(mode, "announced"))
        snapshot_log_range((char *)memory + 5000, 1);
    if (strstr(mode, "escaping"))
        write_escaping((char *)memory + 5000);
    memory[0]++;
    memory[1000] += 10;
    if (strstr(mode, "commit") && msync(memory, BYTES, MS_SYNC) < 0)
        return 1;
    if (strstr(mode, "part") && msync(memory, 4096, MS_ASYNC) < 0) /* commits the whole file */
        return 1;
    memory[0] += 100;
    if (strstr(mode, "invalidate")) {
        if (msync(memory, BYTES, MS_INVALIDATE) < 0)
            return 1;
        return printf("%ld %ld\n", memory[0], memory[1000]) < 0;
    }
    return 0;
}
