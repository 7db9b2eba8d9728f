/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the reader: trace_reader.c reads the header and blocks and calls trace_items.c for the items of a block;
 * both record faults in trace_fault.c.
 */
#ifndef MODEL_TRACE_READER_H
#define MODEL_TRACE_READER_H

#include "trace_codec.h"

#define SLACK_BYTES 256u                    /* zeros after a block: an item is decoded before its end is checked */
#define COMPUTED_PS_MAX (UINT64_C(1) << 62) /* 53 days: sums of times cannot overflow */
#define SUBJECT_BYTES 64

typedef struct Memory {
    const uint8_t *at;
    size_t left;
} Memory;

struct MemTraceReader {
    MemTraceSource source;
    void *opaque;
    Memory memory;
    MemTraceSetup setup;
    MemTraceFault fault;
    char subject[SUBJECT_BYTES];
    uint64_t read_bytes;
    uint64_t computed_ps; /* sum of all gaps */
    const uint8_t *at;    /* the next item */
    const uint8_t *end;   /* of the block */
    uint64_t mask;        /* byte mask of the next operation that writes */
    uint32_t open_wc_buffers;
    bool done;
    TracePredictor predictor;
    uint8_t block[TRACE_BLOCK_HEADER_BYTES + TRACE_BLOCK_BYTES_MAX + SLACK_BYTES];
};

/* trace_fault.c: record a fault, after which the trace cannot be read on. Keeps the first fault. Returns false. */
bool trace_bad(MemTraceReader *r, const char *what, const char *subject);

/* trace_items.c: decode operations up to a record, the end of the block or the limit `room`. */
bool trace_get_ops(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count);
/* Decode the item at r->at, which is not an operation: a record, or the byte mask of the next one (`!*is_record`). */
bool trace_get_record(MemTraceReader *r, MemTraceRecord *record, bool *is_record);

#endif
