/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writing half of mem_trace.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crc32c.h"
#include "../base/mem_alloc.h"
#include "trace_codec.h"
#include "trace_text.h"

struct MemTraceWriter {
    MemObserver observer; /* records to this writer */
    MemTraceSink sink;
    void *opaque;
    mem_ps done_ps; /* when the last operation or record was done: gaps are measured from here */
    uint8_t *at;    /* end of the block so far */
    uint32_t block_operations;
    mem_ps block_start_ps;
    MemTraceSize size;
    TracePredictor predictor;
    uint8_t block[TRACE_BLOCK_HEADER_BYTES + TRACE_BLOCK_BYTES_MAX];
};

static void give(MemTraceWriter *w, const void *bytes, size_t count) {
    w->sink(w->opaque, bytes, count);
    w->size.bytes += count;
}

static void write_header(MemTraceWriter *w, const MemTraceSetup *setup) {
    uint8_t fixed[TRACE_HEADER_BYTES], *at = fixed;
    TraceText *text = mem_calloc(1, sizeof(*text));

    trace_text_setup(text, setup);
    memcpy(at, TRACE_MAGIC, TRACE_MAGIC_BYTES);
    at = trace_put_fixed(at + TRACE_MAGIC_BYTES, MEM_TRACE_VERSION, 4);
    at = trace_put_fixed(at, mem_crc32c(0, text->bytes, text->count), 4);
    trace_put_fixed(at, text->count, 4);
    give(w, fixed, sizeof(fixed));
    give(w, text->bytes, text->count);
    free(text);
}

/* ---- Blocks ---- */

static void start_block(MemTraceWriter *w) {
    w->at = w->block + TRACE_BLOCK_HEADER_BYTES;
    w->block_operations = 0;
    w->block_start_ps = w->done_ps;
}

static void finish_block(MemTraceWriter *w) {
    uint8_t *payload = w->block + TRACE_BLOCK_HEADER_BYTES;
    size_t total = (size_t)(w->at - w->block);

    trace_put_fixed(w->block, TRACE_BLOCK_MAGIC, 4);
    trace_put_fixed(w->block + 8, (uint64_t)(w->at - payload), 4);
    trace_put_fixed(w->block + 12, w->block_operations, 4);
    trace_put_fixed(w->block + 16, w->block_start_ps, 8);
    trace_put_fixed(w->block + 4, mem_crc32c(0, w->block + 8, total - 8), 4);
    give(w, w->block, total);
    start_block(w);
}

/* Returns the position of the next item, in a new block if the present one is full. */
static uint8_t *room_for_item(MemTraceWriter *w) {
    if (w->at + TRACE_ITEM_BYTES_MAX > w->block + sizeof(w->block)) {
        finish_block(w);
    }
    return w->at;
}

/* ---- As an observer ---- */

static void observe_operation(void *opaque, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps) {
    mem_trace_op(opaque, op, at_ps, stall_ps);
}

static void observe_window(void *opaque, uint32_t index, const MemWindow *window, mem_ps now_ps) {
    mem_trace_window(opaque, index, window, now_ps);
}

static void observe_timed(void *opaque, bool timed, mem_ps now_ps) { mem_trace_timed(opaque, timed, now_ps); }

static void observe_reset_counters(void *opaque) { mem_trace_reset_counters(opaque); }

static void observe_reconfigure(void *opaque, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps) {
    mem_trace_reconfigure(opaque, device, config, now_ps);
}

const MemObserver *mem_trace_observer(const MemTraceWriter *w) { return &w->observer; }

MemTraceWriter *mem_trace_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque) {
    MemTraceWriter *w = mem_calloc(1, sizeof(*w));

    assert(setup->device_count <= MEMSYS_MAX_DEVICES);
    w->observer = (MemObserver){
        .opaque = w,
        .operation = observe_operation,
        .window = observe_window,
        .timed = observe_timed,
        .reset_counters = observe_reset_counters,
        .reconfigure = observe_reconfigure,
    };
    w->sink = sink;
    w->opaque = opaque;
    w->done_ps = setup->start_ps;
    w->predictor.set_shift = trace_set_shift(&setup->cpu.llc);
    write_header(w, setup);
    start_block(w);
    return w;
}

/* ---- Operations ---- */

/* A victim is of the same set as the line that evicted it. If so, the difference of the tags identifies the victim. */
static uint8_t *put_line(const TracePredictor *p, uint8_t *at, const MemOperation *op) {
    uint64_t distance = op->line - p->last_line[op->kind];

    if (op->kind != MEM_OP_EVICT) {
        return trace_put_varint(at, trace_zigzag(distance));
    }
    uint64_t from_cause = op->line - p->leader_line;
    uint64_t sets = (uint64_t)((int64_t)from_cause >> p->set_shift);
    if (sets << p->set_shift == from_cause) {
        return trace_put_varint(at, trace_zigzag(sets) << 1 | 1);
    }
    return trace_put_varint(at, trace_zigzag(distance) << 1);
}

static uint8_t *put_gap(uint8_t *at, uint8_t *tag, mem_ps gap_ps, mem_ps predicted_ps) {
    uint64_t difference = trace_zigzag(gap_ps - predicted_ps);

    if (gap_ps == predicted_ps) {
        *tag |= TRACE_GAP_PREDICTED << TRACE_GAP_SHIFT;
        return at;
    }
    *tag |= (difference < gap_ps ? TRACE_GAP_DIFFERENCE : TRACE_GAP_PLAIN) << TRACE_GAP_SHIFT;
    return trace_put_varint(at, difference < gap_ps ? difference : gap_ps);
}

static void put_op(MemTraceWriter *w, const MemOperation *op, mem_ps gap_ps) {
    TracePredictor *p = &w->predictor;
    TraceFollower *follower = trace_follower(p, op->kind, op->with_previous);
    uint8_t *at = room_for_item(w);

    if (trace_kind_writes(op->kind) && op->byte_mask != UINT64_MAX) {
        *at++ = TRACE_PARTIAL_MASK;
        at = trace_put_fixed(at, op->byte_mask, 8);
    }
    uint8_t *tag = at++;
    bool line_predicted = follower->line == op->line;
    *tag = (uint8_t)(op->kind | (line_predicted ? TRACE_LINE_PREDICTED : 0));
    if (!op->with_previous) {
        at = put_gap(at, tag, gap_ps, line_predicted ? follower->gap_ps : p->last_gap_ps[op->kind]);
    }
    if (!line_predicted && trace_kind_has_line(op->kind)) {
        at = put_line(p, at, op);
    }
    trace_learn(p, follower, op, gap_ps);
    w->at = at;
}

void mem_trace_op(MemTraceWriter *w, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps) {
    at_ps = at_ps > w->done_ps ? at_ps : w->done_ps;
    assert(op->kind < MEM_OP_KINDS && (trace_kind_has_line(op->kind) || op->line == 0));
    put_op(w, op, op->with_previous ? 0 : at_ps - w->done_ps);
    w->block_operations++;
    w->size.operations++;
    if (!op->with_previous) {
        w->done_ps = at_ps + stall_ps;
    }
}

/* ---- Records ---- */

/* Write the fields with which every record begins. */
static uint8_t *start_record(MemTraceWriter *w, MemTraceRecordKind kind, mem_ps now_ps) {
    uint8_t *at = room_for_item(w);

    now_ps = now_ps > w->done_ps ? now_ps : w->done_ps; /* the clock was read before the CPU's last wait */
    *at++ = (uint8_t)(TRACE_FIRST_RECORD + kind);
    at = trace_put_varint(at, now_ps - w->done_ps);
    w->done_ps = now_ps;
    return trace_put_varint(at, now_ps);
}

void mem_trace_window(MemTraceWriter *w, uint32_t index, const MemWindow *window, mem_ps now_ps) {
    uint8_t *at = start_record(w, MEM_TRACE_WINDOW, now_ps);

    at = trace_put_varint(at, index);
    at = trace_put_varint(at, window->hpa);
    at = trace_put_varint(at, window->size_bytes);
    at = trace_put_varint(at, window->dpa);
    at = trace_put_varint(at, window->ways);
    at = trace_put_varint(at, window->granularity_bytes);
    for (uint32_t i = 0; i < MEMSYS_MAX_WAYS; i++) {
        at = trace_put_varint(at, i < window->ways ? window->devices[i] : 0);
    }
    w->at = at;
}

static uint8_t *put_text(uint8_t *at, const TraceText *text) {
    assert(text->count < TRACE_ITEM_BYTES_MAX - 64);
    at = trace_put_varint(at, text->count);
    memcpy(at, text->bytes, text->count);
    return at + text->count;
}

void mem_trace_timed(MemTraceWriter *w, bool timed, mem_ps now_ps) {
    w->at = trace_put_varint(start_record(w, MEM_TRACE_TIMED, now_ps), timed);
}

void mem_trace_reset_counters(MemTraceWriter *w) { w->at = start_record(w, MEM_TRACE_RESET_COUNTERS, w->done_ps); }

void mem_trace_roi_begin(MemTraceWriter *w, uint64_t roi, mem_ps now_ps) {
    uint8_t *at = start_record(w, MEM_TRACE_ROI, now_ps);
    w->at = trace_put_varint(trace_put_varint(at, true), roi);
}

void mem_trace_roi_end(MemTraceWriter *w, uint64_t roi, const MemCounters *counters, mem_ps now_ps) {
    uint8_t *at = start_record(w, MEM_TRACE_ROI, now_ps);
    TraceText *text = mem_calloc(1, sizeof(*text));

    trace_text_counters(text, counters);
    at = trace_put_varint(trace_put_varint(at, false), roi);
    w->at = put_text(at, text);
    free(text);
}

void mem_trace_reconfigure(MemTraceWriter *w, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps) {
    uint8_t *at = start_record(w, MEM_TRACE_RECONFIGURE, now_ps);
    TraceText *text = mem_calloc(1, sizeof(*text));

    trace_text_device(text, config);
    w->at = put_text(trace_put_varint(at, device), text);
    free(text);
}

void mem_trace_writer_end(MemTraceWriter *w, mem_ps now_ps) {
    w->at = start_record(w, MEM_TRACE_END, now_ps);
    finish_block(w);
    free(w);
}

MemTraceSize mem_trace_size(const MemTraceWriter *w) {
    MemTraceSize size = w->size;
    size.bytes += (uint64_t)(w->at - w->block);
    return size;
}
