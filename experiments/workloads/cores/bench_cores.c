// SPDX-License-Identifier: BSD-3-Clause
// bench-cores FILE: fixed work, split among threads that share nothing of it, one on each CPU, for the host to time.
//
// How much there is in all does not depend on how many CPUs there are, so that an instruction does the same on one and
// on many. A row and a region of interest for each time. When its work begins, and when all have done theirs, the guest
// asks for a job: there the host can stop it and look at its clock.
#define _GNU_SOURCE
#include "team.h"

#include <sched.h>
#include <unistd.h>

enum { TIMES = 2 };
enum { COMPUTE_ROUNDS = 1 << 26 };
enum { MAP_KEYS = 1 << 15, MAP_KEY_BITS = 15, MAP_UPDATES = 1 << 21 };
// More than the CPU's caches have together: a line of a cycle is in none of them any more when its turn comes.
enum { CHASE_BYTES = 128 << 20, DEVICE_BYTES = 64 << 20 };

struct entry {
    uint64_t key, count;
    struct entry *next;
};

// A megabyte, as an L2 has: maps of several CPUs find as much room in the caches as that of one.
struct map {
    struct entry *buckets[MAP_KEYS], entries[MAP_KEYS];
};

static struct entry **bucket_of(struct map *map, uint64_t key) {
    return &map->buckets[key * 0x9e3779b97f4a7c15 >> (64 - MAP_KEY_BITS)];
}

static void *fill_map(struct map *map, uint64_t seed) {
    for (struct entry *entry = map->entries; entry < map->entries + MAP_KEYS; entry++) {
        entry->key = next_random(&seed);
        struct entry **bucket = bucket_of(map, entry->key);
        entry->next = *bucket;
        *bucket = entry;
    }
    return map;
}

// In registers alone.
static void compute(struct worker *worker) {
    uint64_t x = 1 + worker->core;
    for (uint64_t left = COMPUTE_ROUNDS / worker->team->cores; left; left--) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        __asm__ volatile("" : "+r"(x));
    }
}

static void update_map(struct worker *worker) {
    struct map *map = worker->first;
    uint64_t state = 1 + worker->core;
    for (uint64_t left = MAP_UPDATES / worker->team->cores; left; left--) {
        const uint64_t key = map->entries[next_random(&state) % MAP_KEYS].key;
        struct entry *entry = *bucket_of(map, key);
        while (entry->key != key)
            entry = entry->next;
        entry->count++;
    }
}

static void chase(struct worker *worker) {
    worker->first = kernel_chase(worker->first, worker->bytes / LINE_BYTES / UNROLL);
}

static void share_nothing(struct team *team) { (void)team; }

static void share_maps(struct team *team) {
    for (unsigned core = 0; core < team->cores; core++)
        team->workers[core].first = fill_map(map_anonymous(sizeof(struct map)), 1 + core);
}

static void share_cycles(struct team *team, char *base, uint64_t bytes) {
    team_share(team, 0, team->cores, base, bytes);
    for (unsigned core = 0; core < team->cores; core++) {
        struct worker *worker = &team->workers[core];
        worker->first = build_cycle(worker->base, worker->bytes, LINE_BYTES, 1 + core);
    }
}

static void share_memory(struct team *team) { share_cycles(team, map_anonymous(CHASE_BYTES), CHASE_BYTES); }

static void share_file(struct team *team) {
    share_cycles(team, map_file(team->setup->file, DEVICE_BYTES), DEVICE_BYTES);
    unlink(team->setup->file);
}

static const struct work {
    const char *name;
    void (*prepare)(struct team *);
    void (*run)(struct worker *);
} works[] = {
    {"compute", share_nothing, compute},
    {"hash map", share_maps, update_map},
    {"chase, DRAM", share_memory, chase},
    {"chase, device", share_file, chase},
};
static const struct work *work;

// The host looks at its clock.
static void stop_here(void) { testbed_ring(TESTBED_OP_AWAIT_JOB, 0); }

static void run_part(struct worker *worker) {
    if (!worker->core)
        stop_here();
    work->run(worker);
}

static unsigned count_cpus(void) {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) || CPU_COUNT(&cpus) > CORES_MAX)
        fail("it is for at most %d CPUs: give it fewer with taskset", CORES_MAX);
    return (unsigned)CPU_COUNT(&cpus);
}

int main(int argc, char **argv) {
    static struct team team;
    static struct setup setup;
    if (argc != 2)
        fail("usage: bench-cores FILE, where FILE is one to be made, on the device");
    setup.file = argv[1];
    setup.result = open_result();
    team_gather(&team, &setup, count_cpus());
    for (work = works; work < works + sizeof works / sizeof *works; work++) {
        work->prepare(&team);
        for (unsigned time = 0; time < TIMES; time++) {
            team_run(&team, team.cores, run_part);
            stop_here();
            fprintf(setup.result, "{\"work\":\"%s\",\"cores\":%u}\n", work->name, team.cores);
            fflush(setup.result);
        }
    }
    return 0;
}
