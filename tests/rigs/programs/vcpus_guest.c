/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only program of a guest with several CPUs: measures how long threads take, alone and together, and prints the
 * messages of Linux about its clock.
 *
 * Each measurement prints a line: its name, the number of threads, the virtual nanoseconds of the slowest, and a number
 * that must be correct. All measurements but two are in a region of interest, and nothing is printed there. Most are
 * repeated under the same name, because a tick of the kernel's clock falls into some of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "testbed_roi.h"

enum { CPUS_MAX = 32, RESULTS_MAX = 64, REPEATS = 3, PHASES = 24 };

static int steps = 1000000; /* of computing; the kernel passes unknown options, such as steps=N, to this program */

struct result {
    const char *name;
    int threads;
    uint64_t ns, number;
};

static struct result results[RESULTS_MAX];
static int result_count;

static void (*body)(int thread, int threads);
static int threads_now;
static pthread_barrier_t begin;
static atomic_ulong begin_tsc;
static uint64_t took_ns[CPUS_MAX];

static int first_add, next_add; /* steps of computing before the first thread adds, and from each thread to the next */
static atomic_uint turn, counter, lock, there;
static atomic_ulong number;
static uint64_t last_tsc;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pipes[2][2];

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* The work of the threads. */

static __attribute__((noinline)) void compute_for(int count) {
    unsigned x = count;
    for (int i = 0; i < count; i++)
        __asm__ volatile("imul $1664525, %0, %0" : "+r"(x));
}

static void compute(int thread, int threads) { compute_for(steps); }

static void wait_in_pause(int thread, int threads) {
    for (int i = 0; i < 10000; i++)
        _mm_pause();
}

static void ping_pong(int thread, int threads) {
    for (unsigned i = thread; i < 2000; i += threads) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != i)
            _mm_pause();
        atomic_store_explicit(&turn, i + 1, memory_order_release);
    }
    atomic_store(&number, atomic_load(&turn));
}

static void locked_add(int thread, int threads) {
    compute_for(first_add + thread * next_add);
    for (int i = 0; i < 5000; i++)
        atomic_fetch_add(&counter, 1);
    atomic_store(&number, atomic_load(&counter));
}

static void take_mutex(int thread, int threads) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&mutex);
        atomic_store_explicit(&number, atomic_load_explicit(&number, memory_order_relaxed) + 1, memory_order_relaxed);
        pthread_mutex_unlock(&mutex);
    }
}

/* A lock that is granted in the order of the requests. */
static void take_turns(int held_steps, int away_steps) {
    for (int i = 0; i < 100; i++) {
        unsigned mine = atomic_fetch_add(&counter, 1);
        while (atomic_load_explicit(&turn, memory_order_acquire) != mine)
            _mm_pause();
        compute_for(held_steps);
        atomic_store_explicit(&number, atomic_load_explicit(&number, memory_order_relaxed) + 1, memory_order_relaxed);
        atomic_store_explicit(&turn, mine + 1, memory_order_release);
        compute_for(away_steps);
    }
}

/* At any time a thread waits for the lock. */
static void hold_long(int thread, int threads) { take_turns(steps / 50, steps / 50); }

/* All threads wait once, in the beginning. */
static void hold_briefly(int thread, int threads) { take_turns(steps / 1000, steps / 50); }

static void talk_by_pipe(int thread, int threads) {
    char c = 0;
    for (int i = 0; i < 200; i++) {
        if (thread == 0 && write(pipes[0][1], &c, 1) == 1 && read(pipes[1][0], &c, 1) == 1)
            atomic_fetch_add(&number, 1);
        if (thread == 1 && (read(pipes[0][0], &c, 1) != 1 || write(pipes[1][1], &c, 1) != 1))
            return;
    }
}

/* The number counts time stamps that are earlier than the time stamp of the lock's previous owner. */
static void look_for_warps(int thread, int threads) {
    for (int i = 0; i < 2000; i++) {
        while (atomic_exchange(&lock, 1))
            _mm_pause();
        _mm_lfence();
        uint64_t tsc = __rdtsc();
        if (tsc < last_tsc)
            atomic_fetch_add(&number, 1);
        last_tsc = tsc;
        atomic_store_explicit(&lock, 0, memory_order_release);
    }
}

/* The measurement: each thread on a separate CPU, the first one on the main program's. */

static void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set);
}

/* Return at the same time in all threads: a thread that began earlier would have a contended line to itself. */
static void begin_together(int thread) {
    pthread_barrier_wait(&begin);
    atomic_fetch_add(&there, 1); /* a thread may have slept in the barrier */
    while (atomic_load_explicit(&there, memory_order_acquire) < (unsigned)threads_now)
        _mm_pause();
    if (thread == 0)
        atomic_store(&begin_tsc, __rdtsc() + 10000);
    while (!atomic_load_explicit(&begin_tsc, memory_order_acquire))
        _mm_pause();
    now_ns(); /* the first call of a thread misses the caches */
    uint64_t tsc = begin_tsc;
    while (__rdtsc() < tsc) {
    }
}

static void *run(void *arg) {
    int thread = (intptr_t)arg;
    stay_on(thread);
    begin_together(thread);
    uint64_t from_ns = now_ns();
    body(thread, threads_now);
    took_ns[thread] = now_ns() - from_ns;
    return NULL;
}

static void measure(const char *name, void (*what)(int, int), int threads) {
    pthread_t ids[CPUS_MAX];
    struct result *result = &results[result_count++];
    body = what;
    threads_now = threads;
    turn = counter = lock = there = 0;
    number = last_tsc = begin_tsc = 0;
    pthread_barrier_init(&begin, NULL, threads);
    for (intptr_t i = 1; i < threads; i++)
        pthread_create(&ids[i], NULL, run, (void *)i);
    run(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(ids[i], NULL);
    *result = (struct result){name, threads, 0, number};
    for (int i = 0; i < threads; i++)
        result->ns = took_ns[i] > result->ns ? took_ns[i] : result->ns;
}

static void measure_all(int cpus) {
    measure("compute", compute, 1);
    measure("pause", wait_in_pause, 1);
    measure("xadd", locked_add, 1);
    for (int i = 0; i < REPEATS; i++) {
        measure("compute", compute, cpus);
        measure("pause", wait_in_pause, cpus);
        measure("mutex", take_mutex, cpus);
        measure("held-long", hold_long, cpus);
        measure("held-briefly", hold_briefly, cpus);
        measure("warps", look_for_warps, cpus);
        measure("pingpong", ping_pong, 2);
        measure("pipe", talk_by_pipe, 2);
    }
    /* The result must not depend on how far apart threads begin. A transfer of the line takes as long as 55 steps. */
    for (int i = 0; i < PHASES; i++) {
        first_add = 40 * (i / 8 + 1);
        next_add = 4 * (i % 8);
        measure("xadd", locked_add, cpus);
    }
}

/* The messages of Linux. */

static void show(const char *what, const char *path) {
    char text[256] = "";
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
        strcpy(text, "?\n");
    printf("%s %s", what, text);
    close(fd);
}

static void show_complaints(void) {
    static const char *const words[] = {"stall", "lockup", "warp", "unstable", "clocksource watchdog",
                                        "hung",  "WARNING"};
    char line[8192];
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
    ssize_t bytes;
    while ((bytes = read(fd, line, sizeof(line) - 1)) > 0) {
        line[bytes] = 0;
        for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
            if (strstr(line, words[i]) && !strstr(line, "ommand line:"))
                printf("complaint %s", line);
    }
}

static void switch_cpu(int cpu, const char *on) {
    char path[64];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, on, 1) != 1)
        printf("cpu %d does not switch\n", cpu);
    close(fd);
    show("online", "/sys/devices/system/cpu/online");
}

static void prepare(void) {
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    mkdir("/dev", 0755);
    mount("proc", "/proc", "proc", 0, NULL);
    mount("sysfs", "/sys", "sysfs", 0, NULL);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    int console = open("/dev/ttyS0", O_RDWR);
    dup2(console, 1);
    dup2(console, 2);
    if (pipe(pipes[0]) || pipe(pipes[1]))
        abort();
}

int main(void) {
    prepare();
    if (getenv("steps"))
        steps = atoi(getenv("steps"));
    int cpus = sysconf(_SC_NPROCESSORS_ONLN);
    stay_on(0);
    sleep(1);
    measure("compute-outside", compute, 1);
    measure("pause-outside", wait_in_pause, 1);
    testbed_roi_begin(1);
    measure_all(cpus);
    testbed_roi_end();
    for (int i = 0; i < result_count; i++)
        printf("%s %d %llu %llu\n", results[i].name, results[i].threads, (unsigned long long)results[i].ns,
               (unsigned long long)results[i].number);
    switch_cpu(cpus - 1, "0");
    switch_cpu(cpus - 1, "1");
    sleep(3); /* time for watchdogs */
    show("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    show_complaints();
    printf("end %llu\n", (unsigned long long)now_ns());
    fflush(stdout);
    tcdrain(1);
    reboot(RB_POWER_OFF);
    return 0;
}
