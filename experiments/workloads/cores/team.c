// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE
#include "team.h"

#include <emmintrin.h>
#include <sched.h>
#include <stdlib.h>

enum { GATHERING, WORKING, DONE };
enum { TICK_NS = 4000000, QUIET_NS = 1000000 }; // Linux's clock ticks on all CPUs at the multiples of 4 ms

bool team_works(struct team *team) { return atomic_load_explicit(&team->phase, memory_order_relaxed) == WORKING; }

FILE *open_result(void) {
    const char *path = getenv("TESTBED_RESULT");
    FILE *result = path ? fopen(path, "a") : stdout;
    if (!result)
        fail("cannot open %s: %m", path);
    return result;
}

void team_gather(struct team *team, struct setup *setup, unsigned cores) {
    cpu_set_t first_cpu;
    CPU_ZERO(&first_cpu);
    CPU_SET(0, &first_cpu);
    if (sched_setaffinity(0, sizeof first_cpu, &first_cpu))
        fail("cannot stay on CPU 0: %m");
    team->setup = setup;
    team->cores = cores;
    for (unsigned core = 0; core < CORES_MAX; core++)
        team->workers[core].team = team, team->workers[core].core = core;
}

static void wait_for_all(atomic_uint *count, unsigned wanted) {
    while (atomic_load_explicit(count, memory_order_acquire) != wanted)
        _mm_pause();
}

// A quarter of a tick after one: three quarters are left in which the kernel takes no core away.
static void wait_for_quiet(void) {
    while (now_ns() % TICK_NS / QUIET_NS != 0)
        _mm_pause();
    while (now_ns() % TICK_NS / QUIET_NS == 0)
        _mm_pause();
}

static void *follow(void *argument) {
    struct worker *worker = argument;
    struct team *team = worker->team;
    atomic_fetch_add(&team->ready, 1);
    while (atomic_load_explicit(&team->phase, memory_order_acquire) == GATHERING)
        _mm_pause();
    team->work(worker);
    atomic_fetch_add(&team->done, 1);
    return NULL;
}

static void start(struct worker *worker) {
    pthread_attr_t attributes;
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(worker->core, &cpu);
    if (pthread_attr_init(&attributes) || pthread_attr_setaffinity_np(&attributes, sizeof cpu, &cpu) ||
        pthread_create(&worker->thread, &attributes, follow, worker))
        fail("no thread on CPU %u: --cores must be at most the number of CPUs", worker->core);
    pthread_attr_destroy(&attributes);
}

void team_run(struct team *team, unsigned cores, void (*work)(struct worker *)) {
    team->work = work;
    team->phase = GATHERING;
    team->ready = team->done = 0;
    for (unsigned core = 1; core < cores; core++)
        start(&team->workers[core]);
    wait_for_all(&team->ready, cores - 1);
    wait_for_quiet();
    begin_point(team->setup);
    atomic_store_explicit(&team->phase, WORKING, memory_order_release);
    work(&team->workers[0]);
    atomic_store_explicit(&team->phase, DONE, memory_order_release);
    wait_for_all(&team->done, cores - 1);
    testbed_roi_end();
    for (unsigned core = 1; core < cores; core++)
        pthread_join(team->workers[core].thread, NULL);
}

void team_share(struct team *team, unsigned first, unsigned count, char *base, uint64_t bytes) {
    const uint64_t part = bytes / count / (2 * PAGE_BYTES) * (2 * PAGE_BYTES); // halves of whole pages, too
    if (!part)
        fail("%u cores cannot share %llu bytes: --size must be larger", count, (unsigned long long)bytes);
    for (unsigned i = 0; i < count; i++) {
        team->workers[first + i].base = base + i * part;
        team->workers[first + i].bytes = part;
    }
}

double team_mb_s(const struct team *team, unsigned cores) {
    uint64_t lines = 0, longest_ns = 0;
    for (unsigned core = 0; core < cores; core++) {
        const struct worker *worker = &team->workers[core];
        lines += worker->lines;
        longest_ns = worker->took_ns > longest_ns ? worker->took_ns : longest_ns;
    }
    return (double)(lines * LINE_BYTES) * 1000.0 / (double)longest_ns;
}
