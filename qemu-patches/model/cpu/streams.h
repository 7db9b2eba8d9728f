/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of L1 misses, and the prefetcher that follows them, after the L2 streamer
 * of the Intel optimisation manual: one stream a 4 KiB page, up or down, recognised
 * by two steps in one direction of at most MEM_STREAM_STEP lines. The prefetcher
 * requests lines of the page ahead of the stream.
 *
 * A miss that continues a stream is *independent*: software could compute its
 * address without the data of the misses before. So is the first miss of a page at
 * the edge where a stream of another page has just run out: physical pages are not
 * consecutive, but the software's addresses are.
 */
#ifndef MODEL_STREAMS_H
#define MODEL_STREAMS_H

#include "../config/cpu.h"
#include "setassoc.h"

#define MEM_STREAM_STEP 4u
#define MEM_NO_STREAM UINT16_MAX
#define MEM_STREAM_HINT_BITS 6u

typedef struct MemStream {
    uint64_t page;
    uint16_t newer, older; /* streams in order of use: a ring through MemStreams::newest */
    uint8_t mirror;        /* 0 up, 63 down: line numbers ^ mirror count up, also in last and ahead */
    uint8_t last;          /* line of the latest miss */
    uint8_t ahead;         /* the last line requested */
    bool directed;         /* one step was taken in this direction */
    bool recognised;       /* two steps in one direction */
    bool at_edge;          /* recognised and about to leave its page */
} MemStream;

typedef struct MemStreams {
    MemStream *streams;
    MemTag *tags;                               /* low bits of each stream's page, to compare many at once */
    uint16_t hints[1u << MEM_STREAM_HINT_BITS]; /* for each hash of a page, the stream that began last */
    uint32_t count;
    uint16_t newest;
    uint32_t edge_count; /* number of streams at an edge */
    uint32_t distance;
    uint32_t degree;
    bool prefetches;
} MemStreams;

/* The outcome of one miss. */
typedef struct MemStreamStep {
    bool independent;
    uint64_t prefetch_line; /* first line to prefetch */
    int prefetch_step;      /* 1 or -1 */
    uint32_t prefetch_count;
} MemStreamStep;

void mem_streams_init(MemStreams *s, const MemCpuConfig *config);
void mem_streams_destroy(MemStreams *s);
MemStreamStep mem_streams_miss(MemStreams *s, uint64_t line);

#endif
