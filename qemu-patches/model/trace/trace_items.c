/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The items of a block. The checksum shows that the bytes are as written, not that
 * they make sense: this file checks every condition that a memory takes for granted.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"
#include "../memsys.h"
#include "trace_reader.h"
#include "trace_text.h"

/* ---- Operations ---- */

static uint64_t get_line(const TracePredictor *p, const uint8_t **at, MemOpKind kind) {
    uint64_t coded;

    *at = trace_get_varint(*at, &coded);
    if (kind != MEM_OP_EVICT) {
        return p->last_line[kind] + trace_unzigzag(coded);
    }
    uint64_t distance = trace_unzigzag(coded >> 1);
    return coded & 1 ? p->leader_line + (distance << p->set_shift) : p->last_line[kind] + distance;
}

static mem_ps get_gap(const uint8_t **at, unsigned how, mem_ps predicted_ps) {
    uint64_t coded = 0;

    if (how != TRACE_GAP_PREDICTED) {
        *at = trace_get_varint(*at, &coded);
    }
    return how == TRACE_GAP_PLAIN ? coded : predicted_ps + trace_unzigzag(coded);
}

/* Decode the operation at r->at without checking it. */
static inline void get_op(MemTraceReader *r, MemTraceOp *out) {
    TracePredictor *p = &r->predictor;
    const uint8_t *at = r->at;
    uint8_t tag = *at++;
    MemOpKind kind = tag & TRACE_KIND_MASK;
    unsigned gap = tag >> TRACE_GAP_SHIFT;
    TraceFollower *follower = trace_follower(p, kind, gap == TRACE_GAP_NONE);
    bool line_predicted = tag & TRACE_LINE_PREDICTED;

    *out = (MemTraceOp){.op = {.kind = kind, .with_previous = gap == TRACE_GAP_NONE}};
    if (gap != TRACE_GAP_NONE) {
        out->gap_ps = get_gap(&at, gap, line_predicted ? follower->gap_ps : p->last_gap_ps[kind]);
    }
    if (line_predicted) {
        out->op.line = follower->line;
    } else if (trace_kind_has_line(kind)) {
        out->op.line = get_line(p, &at, kind);
    }
    if (trace_kind_writes(kind)) {
        out->op.byte_mask = r->mask;
        r->mask = UINT64_MAX;
    }
    trace_learn(p, follower, &out->op, out->gap_ps);
    r->at = at;
}

static bool passed(MemTraceReader *r, mem_ps gap_ps) {
    if (gap_ps > COMPUTED_PS_MAX - r->computed_ps) {
        return trace_bad(r, "is damaged: its times are impossible", NULL);
    }
    r->computed_ps += gap_ps;
    return true;
}

static bool within_block(MemTraceReader *r) {
    return r->at <= r->end ? true : trace_bad(r, "is damaged: a block ends within an operation", NULL);
}

/* Check the conditions that a memory takes for granted of an operation. */
static bool sensible(MemTraceReader *r, const MemTraceOp *traced) {
    const MemOperation *op = &traced->op;

    if (op->line >> 58 || (op->with_previous && !trace_kind_posted(op->kind)) ||
        (trace_kind_writes(op->kind) && !op->byte_mask) || (!trace_kind_has_line(op->kind) && op->line)) {
        return trace_bad(r, "is damaged: it holds an impossible operation", NULL);
    }
    if (op->kind == MEM_OP_NT_OPEN && r->open_wc_buffers++ == r->setup.cpu.wc_buffers) {
        return trace_bad(r, "is damaged: it opens too many write-combining buffers", NULL);
    }
    if (op->kind == MEM_OP_NT_SEND && r->open_wc_buffers-- == 0) {
        return trace_bad(r, "is damaged: it sends a write-combining buffer that is not open", NULL);
    }
    return passed(r, traced->gap_ps);
}

bool trace_get_ops(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count) {
    while (r->at < r->end && *count < room && (*r->at & TRACE_KIND_MASK) < MEM_OP_KINDS) {
        get_op(r, &ops[*count]);
        if (!within_block(r) || !sensible(r, &ops[*count])) {
            return false;
        }
        ++*count;
        r->fault.operations++;
    }
    return true;
}

/* ---- Records ---- */

static uint64_t get_number(MemTraceReader *r) {
    uint64_t value;
    r->at = trace_get_varint(r->at, &value);
    return value;
}

/* Check the conditions that memsys_map_window() takes for granted. */
static bool check_window(MemTraceReader *r, uint32_t index, const MemWindow *window) {
    uint32_t ways = window->ways;
    bool good = index < MEMSYS_MAX_WINDOWS && ways >= 1 && ways <= MEMSYS_MAX_WAYS && window->hpa >> 58 == 0 &&
                window->size_bytes >> 58 == 0 && window->dpa >> 58 == 0 &&
                (window->hpa | window->dpa | window->size_bytes) % MEMSYS_LINE_BYTES == 0 &&
                window->size_bytes % ways == 0;

    for (uint32_t i = 0; i < ways && good && window->size_bytes; i++) {
        uint32_t device = window->devices[i];
        good = device < r->setup.device_count &&
               window->dpa + window->size_bytes / ways <= r->setup.devices[device].capacity_bytes;
    }
    if (good && ways > 1 && window->size_bytes) {
        uint32_t piece = window->granularity_bytes;
        good = piece >= MEMSYS_LINE_BYTES && (piece & (piece - 1)) == 0 && window->size_bytes / ways % piece == 0;
    }
    return good ? true : trace_bad(r, "is damaged: it maps an impossible window", NULL);
}

static bool get_window(MemTraceReader *r, MemTraceRecord *record) {
    MemWindow *window = &record->window;

    record->index = (uint32_t)get_number(r);
    window->hpa = get_number(r);
    window->size_bytes = get_number(r);
    window->dpa = get_number(r);
    window->ways = (uint32_t)get_number(r);
    window->granularity_bytes = (uint32_t)get_number(r);
    for (uint32_t i = 0; i < MEMSYS_MAX_WAYS; i++) {
        window->devices[i] = (uint32_t)get_number(r);
    }
    return within_block(r) && check_window(r, record->index, window);
}

/* A copy of the text at r->at, which the caller frees, or NULL with a fault. */
static char *get_text(MemTraceReader *r) {
    uint64_t count = get_number(r);

    if (r->at > r->end || count > (uint64_t)(r->end - r->at) || memchr(r->at, '\0', count)) {
        trace_bad(r, "is damaged: a record holds no text", NULL);
        return NULL;
    }
    char *text = mem_calloc(count + 1, 1);
    memcpy(text, r->at, count);
    r->at += count;
    return text;
}

static bool get_device(MemTraceReader *r, MemTraceRecord *record) {
    TraceTextFault fault = {0};

    record->index = (uint32_t)get_number(r);
    if (record->index >= r->setup.device_count) {
        return trace_bad(r, "is damaged: it changes an impossible device", NULL);
    }
    char *text = get_text(r);
    record->device = r->setup.devices[record->index];
    bool good = text && (trace_parse_device(text, &record->device, &fault) || trace_bad(r, fault.what, fault.subject));
    free(text);
    const char *refusal = good ? memsys_check_device(&record->device) : NULL;
    return refusal ? trace_bad(r, "changes a device in a way that is refused now", refusal) : good;
}

static bool get_roi(MemTraceReader *r, MemTraceRecord *record) {
    record->on = get_number(r) != 0;
    record->roi = get_number(r);
    if (record->on) {
        return true;
    }
    char *text = get_text(r);
    if (text) {
        trace_parse_counters(text, &record->counters);
    }
    free(text);
    return text != NULL;
}

/* Decode the fields of a record that follow its times. */
static bool get_detail(MemTraceReader *r, MemTraceRecord *record) {
    switch (record->kind) {
    case MEM_TRACE_WINDOW:
        return get_window(r, record);
    case MEM_TRACE_RECONFIGURE:
        return get_device(r, record);
    case MEM_TRACE_ROI:
        return get_roi(r, record);
    case MEM_TRACE_TIMED:
        record->on = get_number(r) != 0;
        return true;
    default:
        return true;
    }
}

static bool get_record(MemTraceReader *r, MemTraceRecord *record) {
    unsigned kind = *r->at++ - TRACE_FIRST_RECORD;

    if (kind >= MEM_TRACE_RECORDS) {
        return trace_bad(r, "is damaged: it holds an unknown kind of item", NULL);
    }
    *record = (MemTraceRecord){.kind = kind, .gap_ps = get_number(r)};
    record->captured_ps = get_number(r);
    if (!get_detail(r, record)) {
        return false;
    }
    r->done = kind == MEM_TRACE_END;
    return within_block(r) && passed(r, record->gap_ps);
}

bool trace_get_record(MemTraceReader *r, MemTraceRecord *record, bool *is_record) {
    *is_record = *r->at != TRACE_PARTIAL_MASK;
    if (*is_record) {
        return get_record(r, record);
    }
    r->mask = trace_get_fixed(r->at + 1, 8);
    r->at += 9;
    return within_block(r);
}
