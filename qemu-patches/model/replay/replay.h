/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One memory against which a trace is replayed. Several memories can share a
 * reader: each operation is decoded once and applied to all of them.
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "../base/histogram.h"
#include "../config/params.h"
#include "../trace/mem_trace.h"

/* A region of interest: its times and counters. */
typedef struct ReplayRegion {
    uint64_t roi;
    mem_ps begin_ps;
    mem_ps end_ps;
    mem_ps captured_begin_ps;
    mem_ps captured_end_ps;
    bool open;            /* the trace ends within the region, so captured_end_ps and captured are unknown */
    MemCounters counters; /* counters that only the CPU's caches update are as captured */
    MemCounters captured;
    mem_ps percentiles_ps[MEM_CAUSE_COUNT][3]; /* at replay_permilles */
} ReplayRegion;

extern const uint32_t replay_permilles[3];

/* A parameter with another value than at capture. */
typedef struct ReplayOverride {
    const MemParam *param;
    uint32_t device; /* REPLAY_CPU: a parameter of the CPU */
    uint64_t value;
} ReplayOverride;

#define REPLAY_CPU UINT32_MAX

typedef struct ReplayConfig {
    ReplayOverride *overrides;
    size_t count;
} ReplayConfig;

typedef struct Replay {
    struct MemMemory *memory;
    struct MemCore *core; /* a trace has one core only */
    mem_ps now_ps;
    const ReplayConfig *config;
    ReplayRegion *regions;
    size_t region_count;
    bool in_region;
    mem_ps end_ps; /* time of the trace's end in the replay */
    mem_ps captured_end_ps;
    bool ended; /* false: the trace is cut short */
} Replay;

/*
 * Apply the overrides to the configurations in `setup`. Returns NULL, or a static
 * sentence that says why the model rejects them.
 */
const char *replay_configure(MemTraceSetup *setup, const ReplayConfig *config);

/* `setup` must have passed replay_configure(). `config` must outlive the replay. */
void replay_init(Replay *r, const MemTraceSetup *setup, const ReplayConfig *config);
void replay_destroy(Replay *r);

/* Replay the rest of the trace on each of `count` memories. Returns the reader's final status; counts `*operations`. */
MemTraceStatus replay_run(MemTraceReader *reader, Replay *replays, size_t count, uint64_t *operations);

#endif
