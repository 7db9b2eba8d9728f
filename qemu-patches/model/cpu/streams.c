/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "streams.h"

#include <stdlib.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"

#define PAGE_LINES 64u
#define NO_PAGE UINT64_MAX
#define STREAMS_WITHOUT_PREFETCHER 32u /* overlap needs streams even if nothing is prefetched */
#define TAGS_AT_ONCE 32u
#define HINT_SHIFT (64u - MEM_STREAM_HINT_BITS)

void mem_streams_init(MemStreams *s, const MemCpuConfig *config) {
    bool wanted = config->prefetch_streams || config->overlap == MEM_OVERLAP_STREAMS;

    *s = (MemStreams){
        .count = config->prefetch_streams ? config->prefetch_streams
                 : wanted                 ? STREAMS_WITHOUT_PREFETCHER
                                          : 0,
        .distance = config->prefetch_distance,
        .degree = config->prefetch_degree,
        .prefetches = config->prefetch_streams != 0,
    };
    s->tags = mem_calloc(s->count + TAGS_AT_ONCE, sizeof(*s->tags));
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
    free(s->tags);
}

/* Branches that depend on the data cost the host more than comparing all tags, so the only index is a hint. */
static uint32_t search(const MemStreams *s, uint64_t page) {
    for (uint32_t first = 0; first < s->count; first += TAGS_AT_ONCE) {
        uint32_t equal = mem_equal_tags(s->tags + first, 16, (MemTag)page) |
                         mem_equal_tags(s->tags + first + 16, 16, (MemTag)page) << 16;
        for (; equal; equal &= equal - 1) {
            uint32_t index = first + (uint32_t)__builtin_ctz(equal);
            if (index < s->count && s->streams[index].page == page) {
                return index;
            }
        }
    }
    return MEM_NO_STREAM;
}

/* The stream of a page, or MEM_NO_STREAM. */
static uint32_t find_stream(const MemStreams *s, uint64_t page) {
    uint32_t hint = s->hints[mem_hash(page, HINT_SHIFT)];
    return s->streams[hint].page == page ? hint : search(s, page);
}

static void use_stream(MemStreams *s, uint16_t index) {
    MemStream *stream = &s->streams[index], *newest = &s->streams[s->newest];

    if (index == s->newest) {
        return;
    }
    s->streams[stream->newer].older = stream->older;
    s->streams[stream->older].newer = stream->newer;
    stream->older = s->newest;
    stream->newer = newest->newer; /* the oldest stream: the list is a ring */
    s->streams[stream->newer].older = index;
    newest->newer = index;
    s->newest = index;
}

static void set_recognised(MemStreams *s, MemStream *stream, bool recognised) {
    bool at_edge = recognised && stream->last >= PAGE_LINES - MEM_STREAM_STEP;

    stream->recognised = recognised;
    if (at_edge != stream->at_edge) {
        s->edge_count += at_edge ? 1 : UINT32_MAX;
        stream->at_edge = at_edge;
    }
}

/* Give the stream used longest ago to the page. */
static MemStream *replace_oldest(MemStreams *s, uint64_t page) {
    uint16_t index = s->streams[s->newest].newer;
    MemStream *stream = &s->streams[index];

    set_recognised(s, stream, false);
    stream->page = page;
    s->tags[index] = (MemTag)page;
    s->hints[mem_hash(page, HINT_SHIFT)] = index;
    s->newest = index; /* the ring turns by one */
    return stream;
}

/* The stream that has just run out of its page at the edge that `line` of a new page continues, or NULL. */
static MemStream *continued_by(MemStreams *s, unsigned line) {
    for (uint32_t i = 0; s->edge_count && i < s->count; i++) {
        MemStream *old = &s->streams[i];
        if (old->at_edge && (line ^ old->mirror) + PAGE_LINES - old->last <= MEM_STREAM_STEP) {
            return old;
        }
    }
    return NULL;
}

static void turn(MemStream *stream, unsigned line, uint8_t mirror, bool directed) {
    stream->mirror = mirror;
    stream->last = stream->ahead = (uint8_t)(line ^ mirror);
    stream->directed = directed;
}

static MemStream *begin(MemStreams *s, uint64_t page, unsigned line) {
    MemStream *stream = replace_oldest(s, page);
    MemStream *old = continued_by(s, line);

    turn(stream, line, old ? old->mirror : 0, old != NULL);
    if (old) {
        set_recognised(s, old, false); /* the old stream ends here and is continued only once */
        set_recognised(s, stream, true);
    }
    return stream;
}

/* Update a stream with a miss, which may or may not continue it. */
static void advance(MemStreams *s, MemStream *stream, unsigned line) {
    unsigned at = line ^ stream->mirror;
    unsigned step = at - stream->last; /* huge if the stream goes back */

    if (step == 0) {
        return;
    }
    if (stream->directed && step <= MEM_STREAM_STEP) {
        stream->last = (uint8_t)at;
        stream->ahead = at > stream->ahead ? (uint8_t)at : stream->ahead;
        set_recognised(s, stream, true);
        return;
    }
    bool back = at < stream->last;
    bool near = step <= MEM_STREAM_STEP || -step <= MEM_STREAM_STEP;
    set_recognised(s, stream, false);
    turn(stream, line, back ? stream->mirror ^ (PAGE_LINES - 1) : stream->mirror, near);
}

/* Request the next lines of the page, at most `degree`, none further ahead than `distance`. */
static void look_ahead(const MemStreams *s, MemStream *stream, MemStreamStep *result) {
    unsigned limit = stream->last + s->distance;
    unsigned end = stream->ahead + s->degree;

    limit = limit < PAGE_LINES ? limit : PAGE_LINES - 1;
    end = end < limit ? end : limit;
    if (end > stream->ahead) {
        result->prefetch_count = end - stream->ahead;
        result->prefetch_line = stream->page * PAGE_LINES + ((stream->ahead + 1u) ^ stream->mirror);
        result->prefetch_step = stream->mirror ? -1 : 1;
        stream->ahead = (uint8_t)end;
    }
}

MemStreamStep mem_streams_miss(MemStreams *s, uint64_t line) {
    MemStreamStep result = {.independent = false};
    uint64_t page = line / PAGE_LINES;
    unsigned line_of_page = line % PAGE_LINES;
    MemStream *stream;

    if (!s->count) {
        return result;
    }
    uint32_t index = find_stream(s, page);
    if (index == MEM_NO_STREAM) {
        stream = begin(s, page, line_of_page);
    } else {
        stream = &s->streams[index];
        advance(s, stream, line_of_page);
        use_stream(s, (uint16_t)index);
    }
    result.independent = stream->recognised;
    if (s->prefetches && stream->recognised) {
        look_ahead(s, stream, &result);
    }
    return result;
}
