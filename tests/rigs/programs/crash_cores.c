/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two threads, each on a separate CPU, store to the same line and to its neighbour, with no fence between the stores.
 * Only plain stores tell the threads when to go on, and no lock is taken from mark 0 to mark 2.
 *
 *     crash_cores make|run|dump FILE
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { WORDS = 8 };

struct file {
    _Alignas(64) volatile uint64_t x[WORDS]; /* a word for each thread */
    _Alignas(64) volatile uint64_t y[WORDS];
};

static struct file *file;
static volatile int is_ready, may_go, has_stored, may_end;

static void wait_for(volatile int *flag) {
    while (!*flag)
        _mm_pause();
}

/* Long enough to see the stores of another CPU. */
static void a_while(void) {
    for (int i = 0; i < 20; i++)
        _mm_pause();
}

static void store(volatile uint64_t *word, uint64_t value) {
    *word = value;
    a_while();
}

static void pin(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one)) {
        perror("sched_setaffinity");
        exit(2);
    }
}

static void *other(void *unused) {
    pin(1);
    file->x[7] = file->y[7] = 0; /* make its page table entries */
    is_ready = 1;
    wait_for(&may_go);
    store(&file->x[1], 1);
    store(&file->y[1], 1);
    store(&file->x[1], 2);
    _mm_clwb((void *)file->y);
    _mm_sfence();
    has_stored = 1;
    wait_for(&may_end);
    return unused;
}

static void run(void) {
    pthread_t thread;
    pin(0);
    file->x[7] = file->y[7] = 0;
    if (pthread_create(&thread, NULL, other, NULL))
        exit(2);
    wait_for(&is_ready);
    testbed_mark(0);
    may_go = 1;
    store(&file->x[0], 1);
    _mm_clwb((void *)file->x); /* no fence of this CPU follows, and the other CPU's fence does not wait for it */
    store(&file->y[0], 1);
    store(&file->x[0], 2);
    wait_for(&has_stored);
    testbed_mark(1);
    testbed_mark(2);
    may_end = 1;
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "";
    int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0600) : -1;

    if (fd < 0 || ftruncate(fd, sizeof(*file)))
        return 2;
    file = mmap(NULL, sizeof(*file), PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (file == MAP_FAILED)
        return 2;
    if (!strcmp(verb, "make"))
        memset((void *)file, 0, sizeof(*file));
    else if (!strcmp(verb, "run"))
        run();
    else
        fprintf(stderr, "%lu %lu %lu %lu\n", file->x[0], file->x[1], file->y[0], file->y[1]);
    return 0;
}
