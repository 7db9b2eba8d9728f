/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The background work and the concurrent calls of fams, on a new store of DEVICE, a block device:
 *
 *     fams_steps DEVICE
 *
 * Each step compares the content of the device with the mapping.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fams_ioctl.h"

enum { PAGE = 4096, JOURNAL_BYTES = 16 * PAGE, PAGES = 32, TRIES = 30 };

static const char *device, *under_way = "start";
static int failures;

static void fail(const char *what) {
    if (++failures <= 5)
        printf("%s: %s (%s)\n", under_way, what, strerror(errno));
}

static void expect(int holds, const char *what) {
    if (!holds)
        fail(what);
}

/* ---- A store ---- */

static int fams;
static uint8_t *data;

static void attach(unsigned flags) {
    struct fams_attach attach = {.device = open(device, O_RDWR), .flags = flags, .journal_bytes = JOURNAL_BYTES};

    expect(ioctl(fams, FAMS_ATTACH, &attach) == 0, "attach");
    close(attach.device);
}

static void map(void) {
    data = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fams, 0);
    if (data == MAP_FAILED) {
        perror("fams_steps: mmap");
        exit(1);
    }
}

static void open_store(unsigned flags) {
    fams = open("/dev/fams", O_RDWR);
    attach(flags);
    map();
}

static void close_store(void) {
    munmap(data, PAGES * PAGE);
    close(fams);
}

static void apply_after_ms(unsigned ms) {
    int fd = open("/sys/module/fams/parameters/apply_ms", O_WRONLY);

    expect(fd >= 0 && dprintf(fd, "%u", ms) > 0, "apply_ms");
    close(fd);
}

static void declare(unsigned first, unsigned count) {
    struct fams_range range = {(uint64_t)first * PAGE, (uint64_t)count * PAGE};

    expect(ioctl(fams, FAMS_DECLARE, &range) == 0, "declare");
}

/* A byte of the data on the device itself, not of the working copy. */
static int on_device(unsigned page) {
    static uint8_t bytes[PAGE] __attribute__((aligned(PAGE)));
    int fd = open(device, O_RDONLY | O_DIRECT);

    expect(pread(fd, bytes, PAGE, JOURNAL_BYTES + (off_t)page * PAGE) == PAGE, "read of the device");
    close(fd);
    return bytes[0];
}

/* ---- Steps ---- */

static void commit(void) {
    open_store(0);
    data[0] = 'a';
    expect(msync(data, PAGE, MS_SYNC) == 0, "msync");
    expect(on_device(0) == 'a', "the device has a commit");
    close_store();
}

static void apply_later(void) {
    apply_after_ms(20);
    open_store(0);
    data[0] = 'b';
    expect(msync(data, PAGE, MS_SYNC) == 0, "msync");
    usleep(200000);
    expect(on_device(0) == 'b', "the data have a commit later");
    close_store();
    apply_after_ms(0);
}

static void commit_declared_later(void) {
    open_store(0);
    data[0] = 'c';
    declare(0, 1);
    usleep(200000);
    expect(on_device(0) == 'c', "a declared commit is made later");
    close_store();
}

/* Keep this CPU for the thread: no work of the kernel runs there meanwhile. */
static void occupy(int cpu) {
    struct sched_param first = {.sched_priority = 1};
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    expect(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
    expect(sched_setscheduler(0, SCHED_FIFO, &first) == 0, "sched_setscheduler");
}

static volatile int occupied, is_over;

struct alone {
    void (*run)(void);
};

static void *spin(void *cpu) {
    occupy((int)(intptr_t)cpu);
    __sync_fetch_and_add(&occupied, 1);
    while (!is_over)
        ;
    return NULL;
}

/* Run a step while no work of the kernel runs on any CPU. */
static void *run_alone(void *work) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    pthread_t others[8];

    occupied = is_over = 0;
    for (long cpu = 1; cpu < cpus; cpu++)
        pthread_create(&others[cpu], NULL, spin, (void *)(intptr_t)cpu);
    while (occupied < cpus - 1)
        ;
    occupy(0);
    ((struct alone *)work)->run();
    is_over = 1;
    for (long cpu = 1; cpu < cpus; cpu++)
        pthread_join(others[cpu], NULL);
    return NULL;
}

static void alone(void (*run)(void)) {
    struct alone work = {run};
    pthread_t thread;

    open_store(0);
    pthread_create(&thread, NULL, run_alone, &work);
    pthread_join(thread, NULL);
}

static void declare_and_close(void) {
    data[PAGE] = 'e';
    declare(1, 1);
    close_store();
}

static void close_after_declaration(void) {
    alone(declare_and_close);
    expect(on_device(1) == 'e', "a declared commit is made when the store is closed");
}

/* A rollback restores the last commit, so the declared commit must be made before it. */
static void declare_and_roll_back(void) {
    struct fams_range range = {2 * PAGE, PAGE};

    data[2 * PAGE] = 'f';
    declare(2, 1);
    expect(ioctl(fams, FAMS_ROLLBACK, &range) == 0, "rollback");
    expect(data[2 * PAGE] == 'f' && on_device(2) == 'f', "a declared commit is made before a rollback");
    close_store();
}

static void roll_back_after_declaration(void) { alone(declare_and_roll_back); }

/* The work of a closed store must not run in memory that belongs to another store by then. */
static void close_before_work(void) {
    int others[TRIES];

    apply_after_ms(20);
    open_store(0);
    data[0] = 'd';
    expect(msync(data, PAGE, MS_SYNC) == 0, "msync");
    close_store();
    for (int i = 0; i < TRIES; i++)
        others[i] = open("/dev/fams", O_RDWR);
    usleep(200000);
    for (int i = 0; i < TRIES; i++)
        close(others[i]);
    apply_after_ms(0);
}

/* Each declaration has as many pages as a commit can have, so they make two commits. */
static void declare_twice(void) {
    unsigned most = 7;

    open_store(0);
    for (uint8_t i = 0; i < TRIES; i++) {
        for (unsigned page = 0; page < 2 * most; page++)
            data[page * PAGE] = i;
        declare(0, most);
        declare(most, most);
    }
    expect(fsync(fams) == 0, "fsync");
    expect(on_device(0) == TRIES - 1 && on_device(2 * most - 1) == TRIES - 1, "both commits are made");
    close_store();
}

static volatile int is_attached;

/* mmap() fails with ENODEV until the store is attached. */
static void *map_early(void *context) {
    void *mapped;

    do
        mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fams, 0);
    while (mapped == MAP_FAILED && errno == ENODEV && !is_attached);
    if (mapped != MAP_FAILED)
        munmap(mapped, PAGE);
    else if (errno != ENODEV)
        fail("a map while the store is being attached");
    return context;
}

static void map_beside_attach(void) {
    for (int i = 0; i < TRIES; i++) {
        pthread_t thread;

        fams = open("/dev/fams", O_RDWR);
        is_attached = 0;
        pthread_create(&thread, NULL, map_early, NULL);
        usleep(1000);
        attach(FAMS_NEW);
        is_attached = 1;
        pthread_join(thread, NULL);
        close(fams);
    }
}

/* ---- All steps ---- */

static const struct step {
    const char *name;
    void (*run)(void);
} steps[] = {
    {"commit", commit},
    {"apply later", apply_later},
    {"declared commit", commit_declared_later},
    {"close after a declaration", close_after_declaration},
    {"rollback after a declaration", roll_back_after_declaration},
    {"close before work", close_before_work},
    {"two declarations", declare_twice},
    {"map beside attach", map_beside_attach},
};

int main(int argc, char **argv) {

    if (argc != 2)
        return fputs("usage: fams_steps DEVICE\n", stderr), 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    device = argv[1];
    open_store(FAMS_NEW);
    memset(data, 0, PAGE);
    close_store();
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps) && !failures; i++) {
        under_way = steps[i].name;
        steps[i].run();
    }
    return failures != 0;
}
