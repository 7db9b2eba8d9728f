/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads on one store of /dev/fams:
 *
 *     fams_stress run DEVICE SEED THREADS ROUNDS    fails at the first commit that is torn or lost
 *     fams_stress broken DEVICE                     for a module with a broken invariant: each commit returns EUCLEAN
 *
 * A thread has two pages and stores the same number to the first and then to the second. So in each commit the two
 * numbers are equal, or the first one is one more, whichever thread makes the commit. A rollback shows the last commit.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fams_ioctl.h"

enum { PAGE = 4096, THREADS_MAX = 8, JOURNAL_BYTES = 64 * PAGE };

static int fams, rounds, threads, failures;
static unsigned first_seed;
static uint8_t *data;
static uint64_t acknowledged[THREADS_MAX];

static void expect(int holds, const char *what) {
    if (holds)
        return;
    if (__sync_fetch_and_add(&failures, 1) < 5)
        printf("fams_stress: %s: %s\n", what, strerror(errno));
}

static void attach(const char *device, unsigned flags) {
    struct fams_attach attach = {.device = open(device, O_RDWR), .flags = flags, .journal_bytes = JOURNAL_BYTES};

    fams = open("/dev/fams", O_RDWR);
    if (fams < 0 || ioctl(fams, FAMS_ATTACH, &attach) < 0) {
        printf("fams_stress: %s: %s\n", device, strerror(errno));
        exit(2);
    }
    close(attach.device);
    data = mmap(NULL, 2 * THREADS_MAX * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fams, 0);
    if (data == MAP_FAILED)
        exit(2);
}

static void detach(void) {
    munmap(data, 2 * THREADS_MAX * PAGE);
    close(fams);
}

static volatile uint64_t *word(int thread, int page) {
    return (volatile uint64_t *)(data + (2 * thread + page) * PAGE);
}

/* Check the pages of the last commit; returns the number of the second page. */
static uint64_t check_commit(int thread) {
    uint64_t first = *word(thread, 0), second = *word(thread, 1);

    if ((first != second && first != second + 1) || second < acknowledged[thread]) {
        printf("thread %d: a commit has %lu and %lu after %lu\n", thread, first, second, acknowledged[thread]);
        __sync_fetch_and_add(&failures, 1);
    }
    return second;
}

static void *work(void *context) {
    int thread = (int)(intptr_t)context;
    struct fams_range own = {2u * PAGE * (unsigned)thread, 2 * PAGE}, all = {0, 2 * THREADS_MAX * PAGE};
    unsigned seed = first_seed * 101 + (unsigned)thread;
    uint64_t number = 0;

    for (int i = 0; i < rounds && !failures; i++) {
        *word(thread, 0) = ++number;
        *word(thread, 1) = number;
        switch (rand_r(&seed) % 8) {
        case 0:
            expect(msync(data + own.offset, own.bytes, MS_SYNC) == 0, "msync");
            acknowledged[thread] = number;
            break;
        case 1:
            expect(fsync(fams) == 0, "fsync");
            acknowledged[thread] = number;
            break;
        case 2:
            expect(ioctl(fams, FAMS_DECLARE, &all) == 0, "declare");
            break;
        case 3:
            expect(ioctl(fams, FAMS_DECLARE, &own) == 0, "declare");
            break;
        case 4:
            expect(ioctl(fams, FAMS_ROLLBACK, &own) == 0, "rollback");
            number = check_commit(thread);
            break;
        }
    }
    return NULL;
}

static void run(const char *device) {
    pthread_t workers[THREADS_MAX];

    attach(device, FAMS_NEW);
    memset(data, 0, 2 * THREADS_MAX * PAGE);
    expect(fsync(fams) == 0, "fsync");
    for (int i = 0; i < threads; i++)
        pthread_create(&workers[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    detach();
    attach(device, 0);
    for (int i = 0; i < threads; i++)
        check_commit(i);
    detach();
}

static void run_broken(const char *device) {
    struct fams_range all = {0, 2 * THREADS_MAX * PAGE};

    attach(device, FAMS_NEW);
    *word(0, 0) = 7;
    expect(msync(data, PAGE, MS_SYNC) < 0 && errno == EUCLEAN, "msync is refused");
    expect(fsync(fams) < 0 && errno == EUCLEAN, "fsync is refused");
    expect(ioctl(fams, FAMS_DECLARE, &all) < 0 && errno == EUCLEAN, "a declaration is refused");
    expect(ioctl(fams, FAMS_ROLLBACK, &all) < 0 && errno == EUCLEAN, "a rollback is refused");
    detach();
    attach(device, 0);
    expect(*word(0, 0) != 7, "the device keeps the last commit");
    detach();
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "broken")) {
        run_broken(argv[2]);
        return failures != 0;
    }
    if (argc != 6 || strcmp(argv[1], "run"))
        return 2;
    first_seed = (unsigned)atoi(argv[3]);
    threads = atoi(argv[4]) < THREADS_MAX ? atoi(argv[4]) : THREADS_MAX;
    rounds = atoi(argv[5]);
    run(argv[2]);
    return failures != 0;
}
