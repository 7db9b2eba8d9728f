/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a reader is made of; for trace_reader.c (header, blocks) and trace_items.c (what is in them). */
#ifndef MODEL_TRACE_READER_H
#define MODEL_TRACE_READER_H

#include "trace_codec.h"

#define SLACK_BYTES 256u                    /* zeros after a block: an item may be read before its end is checked */
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
    uint64_t mask;        /* of the next operation that writes */
    uint32_t open_wc_buffers;
    bool done;
    TracePredictor predictor;
    uint8_t block[TRACE_BLOCK_HEADER_BYTES + TRACE_BLOCK_BYTES_MAX + SLACK_BYTES];
};

/* The trace cannot be read on. The first fault stays. Returns false. */
bool trace_bad(MemTraceReader *r, const char *what, const char *subject);

/* Operations up to a record, the end of the block or of the room. */
bool trace_get_ops(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count);
/* What is at r->at and is no operation: a record, or the mask of the next operation, which is none (`*is_record`). */
bool trace_get_record(MemTraceReader *r, MemTraceRecord *record, bool *is_record);

#endif
