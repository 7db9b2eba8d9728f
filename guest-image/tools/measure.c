// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t clock_overhead_ns(void) {
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 64; i++) {
        uint64_t begin = now_ns(), took = now_ns() - begin;
        least = took < least ? took : least;
    }
    return least;
}

uint64_t read_tsc(void) { return __builtin_ia32_rdtsc(); }

uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void *map_anonymous(uint64_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED)
        fail("cannot map %llu bytes of memory: %s: give the guest more memory", (unsigned long long)bytes,
             strerror(errno));
    return p;
}

static void write_zeros(int fd, const char *path, uint64_t bytes) {
    static const char zeros[1 << 20];
    for (uint64_t done = 0; done < bytes;) {
        uint64_t left = bytes - done;
        ssize_t n = write(fd, zeros, left < sizeof zeros ? left : sizeof zeros);
        if (n <= 0)
            fail("cannot write %llu bytes to %s: %s", (unsigned long long)bytes, path, strerror(errno));
        done += (uint64_t)n;
    }
}

void *map_file(const char *path, uint64_t bytes) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        fail("cannot create %s: %s", path, strerror(errno));
    // One extent if the file system can provide it, so that the file spreads evenly over the sets of every cache.
    if (fallocate(fd, 0, 0, (off_t)bytes) != 0)
        fail("no room for %llu bytes in %s: %s", (unsigned long long)bytes, path, strerror(errno));
    write_zeros(fd, path, bytes);
    if (fsync(fd) != 0)
        fail("cannot sync %s: %s", path, strerror(errno));
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (p == MAP_FAILED)
        fail("cannot map %s: %s", path, strerror(errno));
    close(fd);
    return p;
}

void *build_cycle(void *begin, uint64_t bytes, uint64_t step, uint64_t seed) {
    uint64_t n = bytes / step;
    uint32_t *order = map_anonymous(n * sizeof *order);
    for (uint64_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (uint64_t i = n - 1; i > 0; i--) {
        uint64_t j = next_random(&seed) % (i + 1);
        uint32_t swapped = order[i];
        order[i] = order[j], order[j] = swapped;
    }
    for (uint64_t i = 0; i < n; i++) {
        void **node = (void **)((char *)begin + order[i] * step);
        *node = (char *)begin + order[(i + 1) % n] * step;
    }
    void *first = (char *)begin + order[0] * step;
    munmap(order, n * sizeof *order);
    return first;
}

uint64_t parse_bytes(const char *option, const char *text) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    uint64_t unit = *end == 'K' ? 1u << 10 : *end == 'M' ? 1u << 20 : *end == 'G' ? 1u << 30 : 1;
    if (unit > 1)
        end++;
    if (errno || end == text || *end || *text == '-' || value == 0 || value > (UINT64_MAX >> 31))
        fail("%s wants a size such as 32K, 8M or 65536, not '%s'", option, text);
    return value * unit;
}
