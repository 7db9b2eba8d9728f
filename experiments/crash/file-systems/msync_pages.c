/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A number in each page of a mapped file, all of one generation after an msync(). Is that msync() atomic?
 *
 *     msync_pages run FILE PAGES      the first generation and its msync(), mark 0; the second, mark 1
 *     msync_pages check FILE PAGES    whether all pages are of one generation
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE_BYTES = 4096 };

static volatile uint64_t *number_of(volatile uint8_t *file, size_t page) {
    return (volatile uint64_t *)(file + page * PAGE_BYTES);
}

static void store(volatile uint8_t *file, size_t pages, uint64_t generation) {
    for (size_t page = 0; page < pages; page++)
        *number_of(file, page) = generation;
    msync((void *)file, pages * PAGE_BYTES, MS_SYNC);
}

static int check(volatile uint8_t *file, size_t pages) {
    size_t of[3] = {0};
    for (size_t page = 0; page < pages; page++) {
        uint64_t generation = *number_of(file, page);
        of[generation <= 2 ? generation : 0]++;
    }
    if (of[1] == pages || of[2] == pages)
        return 0;
    fprintf(stderr, "%zu pages of the first generation, %zu of the second, %zu of none\n", of[1], of[2], of[0]);
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 4 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "check") != 0)) {
        fputs("usage: msync_pages run|check FILE PAGES\n", stderr);
        return 2;
    }
    size_t pages = strtoul(argv[3], NULL, 10);
    int fd = open(argv[2], O_RDWR);
    volatile uint8_t *file = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED) {
        perror(argv[2]);
        return 2;
    }
    if (strcmp(argv[1], "check") == 0)
        return check(file, pages);
    store(file, pages, 1);
    testbed_mark(0);
    store(file, pages, 2);
    testbed_mark(1);
    return 0;
}
