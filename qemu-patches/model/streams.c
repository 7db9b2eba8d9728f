/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "streams.h"

#include <stdlib.h>

#include "mem_alloc.h"

#define PAGE_LINES 64
#define NO_PAGE UINT64_MAX
#define STREAMS_WITHOUT_PREFETCHER 32u /* overlap needs to know streams even if nothing is prefetched */

void mem_streams_init(MemStreams *s, const MemCpuConfig *config) {
    bool wanted = config->prefetch_streams || config->overlap == MEM_OVERLAP_STREAMS;

    *s = (MemStreams){
        .count = config->prefetch_streams ? config->prefetch_streams
                 : wanted                 ? STREAMS_WITHOUT_PREFETCHER
                                          : 0,
        .distance = (int)config->prefetch_distance,
        .degree = (int)config->prefetch_degree,
        .prefetches = config->prefetch_streams != 0,
    };
    s->streams = mem_calloc(s->count + 1, sizeof(*s->streams));
    for (uint32_t i = 0; i < s->count; i++) {
        s->streams[i].page = NO_PAGE;
    }
}

void mem_streams_destroy(MemStreams *s) { free(s->streams); }

/* Make `index` the first of the recent ones, in the place of the one at `rank`. */
static MemStream *use_stream(MemStreams *s, uint32_t rank, uint32_t index) {
    for (; rank > 0; rank--) {
        s->recent[rank] = s->recent[rank - 1];
    }
    s->recent[0] = index;
    return &s->streams[index];
}

/* The stream of a page, or the one used longest ago, made empty. */
static MemStream *stream_of(MemStreams *s, uint64_t page) {
    uint32_t oldest = 0;

    for (uint32_t rank = 0; rank < MEM_RECENT_STREAMS; rank++) {
        if (s->streams[s->recent[rank]].page == page) {
            return use_stream(s, rank, s->recent[rank]);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->streams[i].page == page) {
            return use_stream(s, MEM_RECENT_STREAMS - 1, i);
        }
        oldest = s->streams[i].used < s->streams[oldest].used ? i : oldest;
    }
    s->streams[oldest].page = NO_PAGE;
    return use_stream(s, MEM_RECENT_STREAMS - 1, oldest);
}

/* Whether a stream has just run out of its page at the edge that `line` of a new page continues. */
static MemStream *continued_by(MemStreams *s, int line) {
    int step = line < MEM_STREAM_STEP ? 1 : line >= PAGE_LINES - MEM_STREAM_STEP ? -1 : 0;

    for (uint32_t i = 0; step && i < s->count; i++) {
        MemStream *old = &s->streams[i];
        int edge = step > 0 ? PAGE_LINES - 1 - old->last : old->last;
        int gap = edge + (step > 0 ? line : PAGE_LINES - 1 - line) + 1;
        if (old->page != NO_PAGE && old->recognised && old->step == step && gap <= MEM_STREAM_STEP) {
            return old;
        }
    }
    return NULL;
}

static void begin(MemStreams *s, MemStream *stream, uint64_t page, int line) {
    MemStream *old = continued_by(s, line);
    int step = old ? old->step : 0;

    if (old) {
        old->recognised = false; /* it ends here, and only once */
    }
    *stream = (MemStream){
        .page = page, .last = (int16_t)line, .ahead = (int16_t)line, .step = (int8_t)step, .recognised = old != NULL};
}

/* Returns whether the miss continues the stream. */
static bool advance(MemStream *stream, int line) {
    int way = line - stream->last;
    int step = way > 0 ? 1 : -1;

    if (way == 0) {
        return stream->recognised;
    }
    if (step == stream->step && way * step <= MEM_STREAM_STEP) {
        stream->recognised = true;
    } else {
        stream->recognised = false;
        stream->step = (int8_t)(way * step <= MEM_STREAM_STEP ? step : 0);
    }
    if (!stream->recognised || (line - stream->ahead) * step > 0) {
        stream->ahead = (int16_t)line;
    }
    stream->last = (int16_t)line;
    return stream->recognised;
}

/* The next lines of the page, up to `degree`, none further ahead than `distance`. */
static void look_ahead(const MemStreams *s, MemStream *stream, MemStreamStep *result) {
    int limit = stream->last + stream->step * s->distance;
    int last = stream->ahead + stream->step * s->degree;

    limit = limit < 0 ? 0 : limit >= PAGE_LINES ? PAGE_LINES - 1 : limit;
    if ((last - limit) * stream->step > 0) {
        last = limit;
    }
    result->prefetch_count = (last - stream->ahead) * stream->step;
    if (result->prefetch_count <= 0) {
        result->prefetch_count = 0;
        return;
    }
    result->prefetch_line = stream->page * PAGE_LINES + (uint64_t)(stream->ahead + stream->step);
    result->prefetch_step = stream->step;
    stream->ahead = (int16_t)last;
}

MemStreamStep mem_streams_miss(MemStreams *s, uint64_t line) {
    MemStreamStep result = {.independent = false};
    uint64_t page = line / PAGE_LINES;
    int line_of_page = (int)(line % PAGE_LINES);

    if (!s->count) {
        return result;
    }
    MemStream *stream = stream_of(s, page);
    if (stream->page == page) {
        result.independent = advance(stream, line_of_page);
    } else {
        begin(s, stream, page, line_of_page);
        result.independent = stream->recognised;
    }
    stream->used = ++s->misses;
    if (s->prefetches && stream->recognised) {
        look_ahead(s, stream, &result);
    }
    return result;
}
