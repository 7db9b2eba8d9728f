/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The encoding that the writer and the reader of a trace share: the layout of
 * header, block and item, and the predictor, which both update alike and which
 * predicts the next line and gap from previous ones. docs/reference/formats.md describes it.
 */
#ifndef MODEL_TRACE_CODEC_H
#define MODEL_TRACE_CODEC_H

#include <assert.h>

#include "../base/mem_hash.h"
#include "mem_trace.h"

#define TRACE_MAGIC "CXLTRACE"
#define TRACE_MAGIC_BYTES 8u
#define TRACE_HEADER_BYTES 20u /* magic, version, CRC of the rest, length of the text, which follows */

#define TRACE_BLOCK_MAGIC 0x4b4c4254u /* "TBLK" */
#define TRACE_BLOCK_HEADER_BYTES                                                                                       \
    24u /* magic, CRC of the rest, length of the payload, operations, time at its start                                \
         */
#define TRACE_BLOCK_BYTES_MAX (1u << 16) /* of the payload */
#define TRACE_ITEM_BYTES_MAX 4096u

/* An item begins with a tag: its kind in the low five bits. Operations have the number of MemOpKind. */
#define TRACE_KIND_MASK 0x1fu
#define TRACE_FIRST_RECORD 24u /* tag of a record: TRACE_FIRST_RECORD + MemTraceRecordKind */
#define TRACE_PARTIAL_MASK 31u /* eight bytes follow: the byte mask of the next writing operation, if not full */
#define TRACE_LINE_PREDICTED 0x20u
#define TRACE_GAP_SHIFT 6
enum { TRACE_GAP_NONE, TRACE_GAP_PLAIN, TRACE_GAP_PREDICTED, TRACE_GAP_DIFFERENCE };

static_assert(MEM_OP_KINDS <= TRACE_FIRST_RECORD, "operations have the numbers below those of records");
static_assert(TRACE_FIRST_RECORD + MEM_TRACE_RECORDS <= TRACE_PARTIAL_MASK, "five bits");

#define TRACE_FOLLOWER_SHIFT 50 /* 16384 of them: 256 KiB, which fits a second-level cache */

/* The line and the gap that came last after a context. */
typedef struct TraceFollower {
    uint64_t line;
    mem_ps gap_ps;
} TraceFollower;

typedef struct TracePredictor {
    uint64_t previous_line; /* of the operation before */
    uint64_t leader_line;   /* of the last operation that was not `with_previous` */
    uint64_t last_line[MEM_OP_KINDS];
    mem_ps last_gap_ps[MEM_OP_KINDS];
    unsigned set_shift; /* log2 of the LLC's sets: a victim is of the same set as the line that evicted it */
    TraceFollower followers[1u << (64 - TRACE_FOLLOWER_SHIFT)];
} TracePredictor;

static inline bool trace_kind_has_line(MemOpKind kind) {
    const unsigned fences = 1u << MEM_OP_STORE_FENCE | 1u << MEM_OP_LOAD_FENCE | 1u << MEM_OP_FULL_FENCE |
                            1u << MEM_OP_SERIALIZE | 1u << MEM_OP_BARRIER;
    return !(fences >> kind & 1);
}

static inline bool trace_kind_writes(MemOpKind kind) {
    const unsigned writes = 1u << MEM_OP_EVICT | 1u << MEM_OP_WRITE_BACK | 1u << MEM_OP_NT_SEND;
    return writes >> kind & 1;
}

/* Operations that the CPU does not wait for. Only they can be issued together with the operation before. */
static inline bool trace_kind_posted(MemOpKind kind) {
    return trace_kind_writes(kind) || kind == MEM_OP_PREFETCH || kind == MEM_OP_CLEAN_FLUSH;
}

/* The predictor's entry for the next operation. */
static inline TraceFollower *trace_follower(TracePredictor *p, MemOpKind kind, bool with_previous) {
    uint64_t context = with_previous ? p->previous_line : p->leader_line;
    return &p->followers[mem_hash(context << 5 | kind, TRACE_FOLLOWER_SHIFT)];
}

static inline void trace_learn(TracePredictor *p, TraceFollower *follower, const MemOperation *op, mem_ps gap_ps) {
    *follower = (TraceFollower){.line = op->line, .gap_ps = gap_ps};
    if (!op->with_previous) {
        p->last_gap_ps[op->kind] = gap_ps;
    }
    if (trace_kind_has_line(op->kind)) {
        p->last_line[op->kind] = op->line;
        p->previous_line = op->line;
        if (!op->with_previous) {
            p->leader_line = op->line;
        }
    }
}

/* Encodes differences of either sign as small unsigned numbers. */
static inline uint64_t trace_zigzag(uint64_t difference) {
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t trace_unzigzag(uint64_t coded) { return coded >> 1 ^ (0 - (coded & 1)); }

static inline uint8_t *trace_put_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Reads at most ten bytes. */
static inline const uint8_t *trace_get_varint(const uint8_t *at, uint64_t *value) {
    uint64_t result = *at & 0x7f;

    for (unsigned shift = 7; *at++ & 0x80 && shift < 70; shift += 7) {
        result |= (uint64_t)(*at & 0x7f) << shift;
    }
    *value = result;
    return at;
}

static inline uint8_t *trace_put_fixed(uint8_t *at, uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; i++) {
        *at++ = (uint8_t)(value >> 8 * i);
    }
    return at;
}

static inline uint64_t trace_get_fixed(const uint8_t *at, unsigned bytes) {
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++) {
        value |= (uint64_t)at[i] << 8 * i;
    }
    return value;
}

static inline unsigned trace_set_shift(const MemCacheConfig *llc) {
    unsigned shift = 0;
    while ((UINT64_C(2) << shift) * llc->ways * MEMSYS_LINE_BYTES <= llc->size_bytes && shift < 40) {
        shift++;
    }
    return shift;
}

#endif
