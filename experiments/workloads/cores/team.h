// SPDX-License-Identifier: BSD-3-Clause
// Threads that work at once, each on a CPU of its own, in one region of interest.
#ifndef TEAM_H
#define TEAM_H

#include "calibrate.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CORES_MAX = 32, PAGE_BYTES = 4096 };

struct team;

// One core of the team: its part of the file, and its results. The others stop when the first has done its work.
struct worker {
    _Alignas(2 * LINE_BYTES) struct team *team;
    pthread_t thread;
    unsigned core;
    char *base; // its part of the file
    uint64_t bytes;
    void *first; // of its chase
    uint64_t lines, took_ns;
    struct samples samples;
};

struct team {
    struct setup *setup;
    unsigned cores; // how many there are; a point may have fewer at work
    void (*work)(struct worker *);
    unsigned reads, writes; // of `stream`
    struct worker workers[CORES_MAX];
    _Alignas(LINE_BYTES) atomic_int phase;
    _Alignas(LINE_BYTES) atomic_uint ready, done;
};

// Where a program's rows go.
FILE *open_result(void);

// So many, of which the caller is the first from now on.
void team_gather(struct team *team, struct setup *setup, unsigned cores);

// Do `work` on the first `cores` of them, as a point of its own.
void team_run(struct team *team, unsigned cores, void (*work)(struct worker *));

// Whether the leader is still at work.
bool team_works(struct team *team);

// Give each of `count` workers from `first` on an equal part, of whole pages, of the `bytes` from `base`.
void team_share(struct team *team, unsigned first, unsigned count, char *base, uint64_t bytes);

// All that the first `cores` moved, over the time of the slowest.
double team_mb_s(const struct team *team, unsigned cores);

// The tests. Each prints its points.
void cores_percentiles(struct team *team);
void cores_loaded(struct team *team);
void cores_mix(struct team *team);
void cores_far(struct team *team);

// Lines of the worker's part in order, over and over: `reads` loads and then `writes` full-line non-temporal stores.
// With stores among them each kind has a half. A leader ends with its share of the point, the others with the leader.
void stream(struct worker *worker);

#endif
