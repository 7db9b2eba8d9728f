/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One memory that a trace is played against. Several can share a reader: each
 * operation is decoded once and given to all.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "../base/histogram.h"
#include "../config/params.h"
#include "../trace/mem_trace.h"

/* A region of interest: when it was, and what was counted. */
typedef struct ReplayRegion {
    uint64_t roi;
    mem_ps begin_ps;
    mem_ps end_ps;
    mem_ps captured_begin_ps;
    mem_ps captured_end_ps;
    bool open;            /* the trace ends within it: nothing is known of its captured end */
    MemCounters counters; /* those that only the CPU's caches see are as captured */
    MemCounters captured;
    mem_ps percentiles_ps[MEM_CAUSE_COUNT][3]; /* of REPLAY_PERMILLES */
} ReplayRegion;

extern const uint32_t replay_permilles[3];

/* A parameter that is to have another value than at capture. */
typedef struct ReplayOverride {
    const MemParam *param;
    uint32_t device; /* REPLAY_CPU: not of a device */
    uint64_t value;
} ReplayOverride;

#define REPLAY_CPU UINT32_MAX

typedef struct ReplayConfig {
    ReplayOverride *overrides;
    size_t count;
} ReplayConfig;

typedef struct Replay {
    struct MemMemory *memory;
    struct MemCore *core; /* a trace is of one */
    mem_ps now_ps;
    const ReplayConfig *config;
    ReplayRegion *regions;
    size_t region_count;
    bool in_region;
    mem_ps end_ps; /* when the trace ended */
    mem_ps captured_end_ps;
    bool ended; /* false: the trace was cut short */
} Replay;

/*
 * The configurations of `setup` with the overrides. Returns NULL, or a static
 * sentence saying why the model refuses them.
 */
const char *replay_configure(MemTraceSetup *setup, const ReplayConfig *config);

/* `setup` has passed replay_configure(). `config` stays there as long as the replay. */
void replay_init(Replay *r, const MemTraceSetup *setup, const ReplayConfig *config);
void replay_destroy(Replay *r);

/* Play all that `reader` has left to each of `count` memories; how that ended. `*operations` is how many there were. */
MemTraceStatus replay_run(MemTraceReader *reader, Replay *replays, size_t count, uint64_t *operations);

#endif
