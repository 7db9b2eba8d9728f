/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "streams.h"

#include <stdlib.h>

#include "mem_alloc.h"

#define PAGE_LINES 64
#define NO_PAGE UINT64_MAX
#define STREAMS_WITHOUT_PREFETCHER 32u /* overlap needs to know streams even if nothing is prefetched */

void mem_streams_init(MemStreams *s, const MemCpuConfig *config) {
    bool wanted = config->prefetch_streams || config->overlap == MEM_OVERLAP_STREAMS;
    uint32_t buckets = 64;

    *s = (MemStreams){
        .count = config->prefetch_streams ? config->prefetch_streams
                 : wanted                 ? STREAMS_WITHOUT_PREFETCHER
                                          : 0,
        .distance = (int)config->prefetch_distance,
        .degree = (int)config->prefetch_degree,
        .prefetches = config->prefetch_streams != 0,
    };
    while (buckets < 2 * s->count) {
        buckets *= 2;
    }
    s->bucket_mask = buckets - 1;
    s->buckets = mem_calloc(buckets, sizeof(*s->buckets));
    for (uint32_t i = 0; i < buckets; i++) {
        s->buckets[i] = MEM_NO_STREAM;
    }
    s->streams = mem_calloc(s->count + 1, sizeof(*s->streams));
    for (uint32_t i = 0; i < s->count; i++) {
        s->streams[i] = (MemStream){
            .page = NO_PAGE,
            .newer = (uint16_t)(i + 1 < s->count ? i + 1 : 0),
            .older = (uint16_t)(i > 0 ? i - 1 : s->count - 1),
        };
    }
    s->newest = (uint16_t)(s->count - 1);
}

void mem_streams_destroy(MemStreams *s) {
    free(s->streams);
    free(s->buckets);
}

static uint16_t *bucket_of(const MemStreams *s, uint64_t page) {
    return &s->buckets[(page ^ page >> 9) & s->bucket_mask];
}

static void use_stream(MemStreams *s, uint16_t index) {
    MemStream *stream = &s->streams[index], *newest = &s->streams[s->newest];

    if (index == s->newest) {
        return;
    }
    s->streams[stream->newer].older = stream->older;
    s->streams[stream->older].newer = stream->newer;
    stream->older = s->newest;
    stream->newer = newest->newer; /* the oldest one: it is a ring */
    s->streams[stream->newer].older = index;
    newest->newer = index;
    s->newest = index;
}

static void set_recognised(MemStreams *s, MemStream *stream, bool recognised) {
    int left = stream->step > 0 ? PAGE_LINES - 1 - stream->last : stream->last;
    bool at_edge = recognised && left < MEM_STREAM_STEP;

    s->edge_count += (uint32_t)at_edge - (uint32_t)stream->at_edge;
    stream->recognised = recognised;
    stream->at_edge = at_edge;
}

/* The stream used longest ago becomes that of the page. */
static MemStream *replace_oldest(MemStreams *s, uint64_t page) {
    uint16_t index = s->streams[s->newest].newer;
    MemStream *stream = &s->streams[index];

    set_recognised(s, stream, false);
    if (stream->page != NO_PAGE) {
        uint16_t *link = bucket_of(s, stream->page);
        while (*link != index) {
            link = &s->streams[*link].next_in_bucket;
        }
        *link = stream->next_in_bucket;
    }
    uint16_t *bucket = bucket_of(s, page);
    stream->page = page;
    stream->next_in_bucket = *bucket;
    *bucket = index;
    s->newest = index; /* the ring turns by one */
    return stream;
}

/* Whether a stream has just run out of its page at the edge that `line` of a new page continues. */
static MemStream *continued_by(MemStreams *s, int line) {
    int step = line < MEM_STREAM_STEP ? 1 : line >= PAGE_LINES - MEM_STREAM_STEP ? -1 : 0;

    for (uint32_t i = 0; s->edge_count && step && i < s->count; i++) {
        MemStream *old = &s->streams[i];
        int left = step > 0 ? PAGE_LINES - 1 - old->last : old->last;
        int gap = left + (step > 0 ? line : PAGE_LINES - 1 - line) + 1;
        if (old->at_edge && old->step == step && gap <= MEM_STREAM_STEP) {
            return old;
        }
    }
    return NULL;
}

static MemStream *begin(MemStreams *s, uint64_t page, int line) {
    MemStream *stream = replace_oldest(s, page);
    MemStream *old = continued_by(s, line);

    stream->last = stream->ahead = (int8_t)line;
    stream->step = old ? old->step : 0;
    if (old) {
        set_recognised(s, old, false); /* it ends here, and only once */
        set_recognised(s, stream, true);
    }
    return stream;
}

/* The miss continues the stream, or does not. */
static void advance(MemStreams *s, MemStream *stream, int line) {
    int way = line - stream->last;
    int step = way > 0 ? 1 : -1;

    if (way == 0) {
        return;
    }
    bool near = way * step <= MEM_STREAM_STEP;
    bool continues = near && step == stream->step;
    stream->last = (int8_t)line;
    stream->step = (int8_t)(near ? step : 0);
    if (!continues || (line - stream->ahead) * step > 0) {
        stream->ahead = (int8_t)line;
    }
    set_recognised(s, stream, continues);
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
    stream->ahead = (int8_t)last;
}

MemStreamStep mem_streams_miss(MemStreams *s, uint64_t line) {
    MemStreamStep result = {.independent = false};
    uint64_t page = line / PAGE_LINES;
    int line_of_page = (int)(line % PAGE_LINES);
    MemStream *stream;

    if (!s->count) {
        return result;
    }
    uint16_t index = *bucket_of(s, page);
    while (index != MEM_NO_STREAM && s->streams[index].page != page) {
        index = s->streams[index].next_in_bucket;
    }
    if (index == MEM_NO_STREAM) {
        stream = begin(s, page, line_of_page);
    } else {
        stream = &s->streams[index];
        advance(s, stream, line_of_page);
        use_stream(s, index);
    }
    result.independent = stream->recognised;
    if (s->prefetches && stream->recognised) {
        look_ahead(s, stream, &result);
    }
    return result;
}
