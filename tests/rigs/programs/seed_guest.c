/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs with a time that depends on arbitrary choices.
 *
 *   seed_guest misses BYTES   walks that much memory, which nearly fits into the LLC: the number of misses depends
 *                             on the addresses of its page frames
 *   seed_guest threads        two threads contend for a mutex and a word: the first one to get them decides the rest
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "testbed_roi.h"

enum { LINE_BYTES = 64, PAGE_BYTES = 4096, ROUNDS = 10, TURNS = 2000 };

static int misses(size_t bytes) {
    volatile unsigned char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (memory == MAP_FAILED)
        return 1;
    testbed_roi_begin(1);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t line = 0; line < PAGE_BYTES; line += LINE_BYTES)
            for (size_t page = 0; page < bytes; page += PAGE_BYTES)
                (void)memory[page + line];
    testbed_roi_end();
    return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiting, go;
static atomic_uint word;
static uint64_t turns;

static void contend(void) {
    for (int turn = 0; turn < TURNS; turn++) {
        atomic_fetch_add(&word, 1);
        pthread_mutex_lock(&mutex);
        turns++;
        pthread_mutex_unlock(&mutex);
    }
}

static void *other_thread(void *unused) {
    atomic_store(&waiting, 1);
    while (!atomic_load(&go))
        ;
    contend();
    return unused;
}

/* Both threads run when the region begins. */
static int threads(void) {
    pthread_t other;

    if (pthread_create(&other, NULL, other_thread, NULL))
        return 1;
    while (!atomic_load(&waiting))
        ;
    testbed_roi_begin(1);
    atomic_store(&go, 1);
    contend();
    pthread_join(other, NULL);
    testbed_roi_end();
    return turns != 2 * TURNS || atomic_load(&word) != 2 * TURNS;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "misses") == 0)
        return misses(strtoul(argv[2], NULL, 10));
    return argc == 2 && strcmp(argv[1], "threads") == 0 ? threads() : 2;
}
