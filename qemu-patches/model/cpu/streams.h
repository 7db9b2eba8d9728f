/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Streams of L1 misses, and the prefetcher that follows them, after the L2
 * streamer of the Intel optimisation manual: one stream a 4 KiB page, up or
 * down, recognised by two steps in one direction of at most MEM_STREAM_STEP
 * lines; lines of the page are asked for ahead of it.
 *
 * A miss that continues a stream is *independent*: software could compute its
 * address without the data of the misses before. So is the first miss of a page
 * at the edge where a stream of another page has just run out: physical pages
 * do not follow each other, the software's addresses do.
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
    uint8_t mirror;        /* 0 up, 63 down: a stream counts up in lines of the page ^ mirror, as these two do */
    uint8_t last;          /* line of the latest miss */
    uint8_t ahead;         /* the last line asked for */
    bool directed;         /* one step was taken that way */
    bool recognised;       /* two steps in one direction */
    bool at_edge;          /* recognised and about to leave its page */
} MemStream;

typedef struct MemStreams {
    MemStream *streams;
    MemTag *tags;                               /* the low bits of each stream's page, to be compared many at once */
    uint16_t hints[1u << MEM_STREAM_HINT_BITS]; /* the stream that began last for a page of one hash */
    uint32_t count;
    uint16_t newest;
    uint32_t edge_count; /* streams at an edge */
    uint32_t distance;
    uint32_t degree;
    bool prefetches;
} MemStreams;

/* What follows from one miss. */
typedef struct MemStreamStep {
    bool independent;
    uint64_t prefetch_line; /* the first line to ask for */
    int prefetch_step;      /* 1 or -1 */
    uint32_t prefetch_count;
} MemStreamStep;

void mem_streams_init(MemStreams *s, const MemCpuConfig *config);
void mem_streams_destroy(MemStreams *s);
MemStreamStep mem_streams_miss(MemStreams *s, uint64_t line);

#endif
