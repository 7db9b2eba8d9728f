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
    ok = ok && memory != MAP_FAILED && ((long *)memory)[2] == 8 && unlink(moved) == 0;
    return !ok;
}

static char *map_at(char *place, int fd, off_t offset) {
    return mmap(place, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED_NOREPLACE, fd, offset);
}

/* Any place that is free will do, as long as nobody has an address in another. */
static int fixed_places(const char *path) {
    char *place = (char *)0x200000000000, *other = (char *)0x300000000000;
    int fd = open(path, O_RDWR);
    int ok = map_at(place, fd, 0) == place && map_at(other, fd, 0) == MAP_FAILED && errno == EEXIST;
    ok = ok && madvise(place, BYTES, MADV_DONTNEED) == 0;
    place[5] = 1;
    ok = ok && munmap(place, BYTES) == 0 && map_at(other, fd, 0) == other && other[5] == 1;
    ok = ok && msync(other, BYTES, MS_SYNC) == 0 && munmap(other, BYTES) == 0;
    ok =
        ok && mmap(NULL, BYTES, PROT_READ, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0) == other && munmap(other, BYTES) == 0;
    ok = ok && mmap(place, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == place;
    return !(ok && map_at(place, fd, 0) == MAP_FAILED && errno == EEXIST);
}

/* Programs that unmap a file to map more of it, which grows in every way a program knows. With `commit` or without. */
static int remaps(const char *path, int commits) {
    int fd = open(path, O_RDWR | O_TRUNC);
    if (fd < 0 || ftruncate(fd, 4096) < 0)
        return 1;
    for (int i = 0; i < 8; i++) {
        size_t bytes = 4096 * (size_t)(i + 1);
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
        if (memory == MAP_FAILED)
            return 1;
        for (int before = 0; before < i; before++)
            if (memory[4096 * before] != 1 + before || (before > 0 && memory[4096 * before + 1] != 'x'))
                return 1;
        memory[4096 * i] = (char)(1 + i);
        if ((commits && msync(memory, bytes, MS_SYNC) < 0) || munmap(memory, bytes) < 0)
            return 1;
        char page[4096];
        memset(page, 'x', sizeof(page));
        FILE *stream = i % 2 && commits ? fopen(path, "a") : NULL;
        if (stream ? fwrite(page, sizeof(page), 1, stream) != 1 || fclose(stream) != 0
                   : pwrite(fd, page, sizeof(page), (off_t)bytes) != sizeof(page))
            return 1;
    }
    return close(fd) < 0;
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
    if (strstr(mode, "remaps"))
        return munmap(memory, BYTES) < 0 || remaps(argv[2], strstr(mode, "commits") != NULL);
    if (strstr(mode, "fixed"))
        return munmap(memory, BYTES) < 0 || fixed_places(argv[2]);
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
