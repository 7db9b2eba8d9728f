/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that store to one mapped file, each to pages of its own, and keep each store by a call of their own:
 *
 *     mapped_beside make FOLDER          the file, without blocks
 *     mapped_beside run FOLDER           mark 0, then one mark for each store that its thread's call has kept
 *     mapped_beside check FOLDER MARK    no store that was kept before the mark is lost
 *
 * A mark has one byte for each thread: how many of its stores are kept. Two calls at once may write the same pages
 * back, and each must return only when its caller's store is durable, whichever of the two wrote it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE = 4096, THREADS = 4, PAGES = 2, ROUNDS = 8, BITS = 8 };
static uint8_t *map;
static int fd;
static uint32_t kept;

static void expect(int holds, const char *call) {
    if (holds)
        return;
    fprintf(stderr, "mapped_beside: %s: %s\n", call, strerror(errno));
    exit(2);
}

static size_t place_of(int thread, int round) { return (size_t)(thread * PAGES + round % PAGES) * PAGE; }

/* The threads take the calls in different orders, so that each call meets each other one. */
static void keep(int turn, void *page) {
    switch (turn % 4) {
    case 0:
        expect(!fsync(fd), "fsync");
        break;
    case 1:
        expect(!msync(page, PAGE, MS_SYNC), "msync");
        break;
    case 2:
        expect(!syncfs(fd), "syncfs");
        break;
    default:
        expect(!fdatasync(fd), "fdatasync");
    }
}

static void *store_and_keep(void *number) {
    int thread = (int)(intptr_t)number;

    for (int round = 1; round <= ROUNDS; round++) {
        uint8_t *page = map + place_of(thread, round);

        __atomic_store_n((uint64_t *)page, round, __ATOMIC_RELAXED);
        keep(round + thread, page);
        testbed_mark(__atomic_add_fetch(&kept, 1U << BITS * thread, __ATOMIC_RELAXED));
    }
    return NULL;
}

static void run(void) {
    pthread_t threads[THREADS];

    map = mmap(NULL, THREADS * PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    expect(map != MAP_FAILED, "mmap");
    testbed_mark(0);
    for (int i = 0; i < THREADS; i++)
        expect(!pthread_create(&threads[i], NULL, store_and_keep, (void *)(intptr_t)i), "pthread_create");
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static int check(uint32_t mark) {
    for (int thread = 0; thread < THREADS; thread++) {
        int count = (int)(mark >> BITS * thread) & ((1 << BITS) - 1);

        for (int round = count; round > 0 && round > count - PAGES; round--) {
            uint64_t word = 0;

            expect(pread(fd, &word, sizeof(word), (off_t)place_of(thread, round)) == sizeof(word), "pread");
            if (word >= (uint64_t)round)
                continue;
            fprintf(stderr, "thread %d kept store %d, and %lu is there\n", thread, round, word);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "";
    char path[300];
    int makes = !strcmp(verb, "make");

    snprintf(path, sizeof(path), "%s/beside", argc > 2 ? argv[2] : "");
    fd = open(path, makes ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0644);
    expect(fd >= 0, path);
    if (makes)
        expect(!ftruncate(fd, THREADS * PAGES * PAGE) && !fsync(fd), "make");
    else if (!strcmp(verb, "run"))
        run();
    else if (!strcmp(verb, "check") && argc > 3)
        return check((uint32_t)strtoul(argv[3], NULL, 10));
    else
        return 2;
    return 0;
}
