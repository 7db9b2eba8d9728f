/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay.h"
#include "../memsys.h"

#include <stdlib.h>

#include "../memory/memory.h"

#define OPS_AT_A_TIME 4096u /* 128 KiB: they stay in a second-level cache while every memory runs them */

const uint32_t replay_permilles[3] = {500, 900, 990};

/* Counters that only the CPU's caches update. A replay has no such caches. */
#define FRONT_COUNTERS(X)                                                                                              \
    X(loads)                                                                                                           \
    X(stores)                                                                                                          \
    X(nt_stores)                                                                                                       \
    X(flushes)                                                                                                         \
    X(fences)                                                                                                          \
    X(stream_loads)                                                                                                    \
    X(l1_misses)                                                                                                       \
    X(l2_misses)                                                                                                       \
    X(llc_misses)                                                                                                      \
    X(stall_cache_ps)

/* Apply the overrides for device `number`, or REPLAY_CPU, to its configuration. options.c has checked the values. */
static void override(void *owner, uint32_t number, const ReplayConfig *config) {
    for (size_t i = 0; i < config->count; i++) {
        const ReplayOverride *o = &config->overrides[i];
        if (o->device == number) {
            const char *fault = mem_param_set(o->param, owner, o->value);
            assert(!fault);
            (void)fault;
        }
    }
}

const char *replay_configure(MemTraceSetup *setup, const ReplayConfig *config) {
    override(&setup->cpu, REPLAY_CPU, config);
    const char *fault = memsys_check_cpu(&setup->cpu);
    for (uint32_t i = 0; i < setup->device_count && !fault; i++) {
        override(&setup->devices[i], i, config);
        fault = memsys_check_device(&setup->devices[i]);
    }
    return fault;
}

static void ignore_state(void *opaque, uint32_t device, uint64_t dpa, MemLineState from, MemLineState to,
                         mem_ps at_ps) {
    (void)opaque, (void)device, (void)dpa, (void)from, (void)to, (void)at_ps;
}

void replay_init(Replay *r, const MemTraceSetup *setup, const ReplayConfig *config) {
    static const MemCallbacks callbacks = {.line_state = ignore_state};

    *r = (Replay){.memory = mem_aligned_alloc(alignof(MemMemory), sizeof(*r->memory)),
                  .core = mem_calloc(1, sizeof(*r->core)),
                  .now_ps = setup->start_ps,
                  .config = config};
    mem_memory_init(r->memory, &setup->cpu);
    mem_memory_add_core(r->memory, r->core, &setup->cpu);
    for (uint32_t i = 0; i < setup->device_count; i++) {
        mem_memory_add_device(r->memory, &setup->devices[i], NULL, &callbacks);
    }
}

void replay_destroy(Replay *r) {
    mem_memory_destroy(r->memory);
    free(r->memory);
    free(r->core);
    free(r->regions);
}

/* ---- Records ---- */

static void begin_region(Replay *r, const MemTraceRecord *record) {
    r->regions = mem_regrow(r->regions, r->region_count + 1, sizeof(*r->regions));
    r->regions[r->region_count++] = (ReplayRegion){
        .roi = record->roi,
        .begin_ps = r->now_ps,
        .captured_begin_ps = record->captured_ps,
    };
    r->in_region = true;
}

/* The counters of a region are read before the switch out of timed mode. */
static void sample_region(Replay *r) {
    if (!r->in_region || !r->memory->timed) {
        return;
    }
    ReplayRegion *region = &r->regions[r->region_count - 1];
    region->counters = mem_memory_counters(r->memory);
    for (unsigned cause = 0; cause < MEM_CAUSE_COUNT; cause++) {
        for (unsigned i = 0; i < 3; i++) {
            region->percentiles_ps[cause][i] =
                mem_histogram_percentile_ps(&r->memory->histograms[cause], replay_permilles[i]);
        }
    }
}

static void end_region(Replay *r, const MemTraceRecord *record) {
    if (!r->in_region) {
        return;
    }
    sample_region(r);
    ReplayRegion *region = &r->regions[r->region_count - 1];
    r->in_region = false;
    region->end_ps = r->now_ps;
    region->captured_end_ps = record->captured_ps;
    region->captured = record->counters;
#define X(field) region->counters.field = record->counters.field;
    FRONT_COUNTERS(X)
#undef X
}

/* A change at run time. Overrides take precedence over it; a change that this device rejects has no effect. */
static void reconfigure(Replay *r, const MemTraceRecord *record) {
    MemDeviceConfig device = record->device;

    override(&device, record->index, r->config);
    mem_device_reconfigure(r->memory->devices[record->index], &device);
}

/* The trace ends within a region: report the part that was replayed. */
static void leave_region(Replay *r) {
    if (r->in_region) {
        sample_region(r);
        r->regions[r->region_count - 1].end_ps = r->now_ps;
        r->regions[r->region_count - 1].open = true;
        r->in_region = false;
    }
}

static void play_record(Replay *r, const MemTraceRecord *record) {
    r->now_ps += record->gap_ps;
    switch (record->kind) {
    case MEM_TRACE_WINDOW:
        mem_memory_map_window(r->memory, record->index, &record->window);
        break;
    case MEM_TRACE_TIMED:
        sample_region(r);
        mem_memory_set_timed(r->memory, record->on, r->now_ps);
        break;
    case MEM_TRACE_RESET_COUNTERS:
        mem_memory_reset_counters(r->memory);
        break;
    case MEM_TRACE_ROI:
        (record->on ? begin_region : end_region)(r, record);
        break;
    case MEM_TRACE_RECONFIGURE:
        reconfigure(r, record);
        break;
    default:
        assert(record->kind == MEM_TRACE_END);
        r->ended = true;
        r->end_ps = r->now_ps;
        r->captured_end_ps = record->captured_ps;
    }
}

/* ---- Operations ---- */

static void play_ops(Replay *r, const MemTraceOp *ops, size_t count) {
    mem_ps now_ps = r->now_ps;

    for (size_t i = 0; i < count; i++) {
        now_ps += ops[i].gap_ps;
        now_ps += mem_memory_op(r->memory, r->core, &ops[i].op, now_ps);
    }
    r->now_ps = now_ps;
}

MemTraceStatus replay_run(MemTraceReader *reader, Replay *replays, size_t count, uint64_t *operations) {
    MemTraceOp *ops = mem_calloc(OPS_AT_A_TIME, sizeof(*ops));
    MemTraceStatus status;

    *operations = 0;
    do {
        MemTraceRecord record;
        size_t op_count;
        status = mem_trace_read(reader, ops, OPS_AT_A_TIME, &op_count, &record);
        *operations += op_count;
        for (size_t i = 0; i < count; i++) {
            play_ops(&replays[i], ops, op_count);
            if (status == MEM_TRACE_GOT_RECORD || status == MEM_TRACE_DONE) {
                play_record(&replays[i], &record);
            }
        }
    } while (status == MEM_TRACE_GOT_OPS || status == MEM_TRACE_GOT_RECORD);
    for (size_t i = 0; i < count; i++) {
        leave_region(&replays[i]);
    }
    free(ops);
    return status;
}
