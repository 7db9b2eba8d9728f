// SPDX-License-Identifier: BSD-3-Clause
// The latency of a load while other cores are at work. Rows, cold pages and prefetched lines are as in the tests of one
// core.
#include "../tools/calibrate_latency.c"
#include "team.h"

#include <string.h>

// A chase through all lines of a part: those of a page in order, the pages in an order of the chase's own. Linux gives
// memory in no order, and it is the page's address that decides on which die it is.
static void *build_rows(const struct worker *worker, uint64_t page_bytes) {
    const uint64_t pages = worker->bytes / page_bytes;
    uint64_t state = 1 + worker->core;
    uint32_t *order = map_anonymous(pages * sizeof *order);
    for (uint64_t i = 0; i < pages; i++) {
        const uint64_t other = next_random(&state) % (i + 1);
        order[i] = order[other];
        order[other] = (uint32_t)i;
    }
    for (uint64_t i = 0; i < pages; i++) {
        char *page = worker->base + order[i] * page_bytes, *last = page + page_bytes - LINE_BYTES;
        for (char *line = page; line < last; line += LINE_BYTES)
            *(char **)line = line + LINE_BYTES;
        *(char **)last = worker->base + order[(i + 1) % pages] * page_bytes;
    }
    void *first = worker->base + order[0] * page_bytes;
    munmap(order, pages * sizeof *order);
    return first;
}

static void chase_rows(struct worker *worker) {
    const struct setup *s = worker->team->setup;
    uint64_t state = 1 + worker->core, overhead_ns = tsc_overhead_ns();
    char *at = worker->first;
    while (worker->samples.count < worker->samples.capacity) {
        prefetch(s, at, &state);
        at = timed_row(at, s->row_loads, &worker->samples, overhead_ns);
    }
}

// Only the pages that should be cached are in the device cache: the last reads were at the other end of the file.
static void cool(const struct setup *s, uint64_t bytes) {
    char *end = s->base + s->bytes;
    settle(s, 0);
    touch_range(end - s->bytes / 2, s->bytes / 2, LINE_BYTES);
    flush_range(end - s->bytes / 2, s->bytes / 2);
    for (uint64_t page = 0; page < bytes / s->page_bytes; page++) {
        if (!is_cold(s, page)) {
            touch_range(s->base + page * s->page_bytes, 1, LINE_BYTES);
            flush_range(s->base + page * s->page_bytes, LINE_BYTES);
        }
    }
}

// As `percentiles` of one core, but each core has a chase, and they are under way at once.
void cores_percentiles(struct team *team) {
    struct setup *s = team->setup;
    char fields[128];
    team_share(team, 0, team->cores, s->base, s->stream_bytes);
    const uint64_t rows = team->workers[0].bytes / LINE_BYTES / s->row_loads, wanted = 4096 * s->effort / team->cores;
    struct samples all = samples_new(team->cores * (rows < wanted ? rows : wanted));
    for (unsigned core = 0; core < team->cores; core++) {
        struct worker *worker = &team->workers[core];
        worker->first = build_rows(worker, s->page_bytes);
        worker->samples = samples_new(all.capacity / team->cores);
    }
    cool(s, team->cores * team->workers[0].bytes);
    team_run(team, team->cores, chase_rows);
    for (unsigned core = 0; core < team->cores; core++) {
        struct samples *own = &team->workers[core].samples;
        memcpy(all.ns + all.count, own->ns, own->count * sizeof *own->ns);
        all.count += own->count;
        munmap(own->ns, own->capacity * sizeof *own->ns);
    }
    snprintf(fields, sizeof fields, "\"cores\":%u,\"loads\":%" PRIu64 ",\"cold_permille\":%" PRIu64, team->cores,
             s->row_loads, s->cold_permille);
    samples_print(s, &all, "percentiles-cores", fields);
}

// One core chases while the others stream.
static void chase_or_stream(struct worker *worker) {
    if (worker->core) {
        stream(worker);
        return;
    }
    struct samples *samples = &worker->samples;
    void *at = worker->first;
    uint64_t overhead_ns = tsc_overhead_ns(), begin_ns = now_ns();
    while (samples->count < samples->capacity) {
        void *next = timed_load(at, samples, overhead_ns);
        __asm__ volatile("clflushopt %0" : "+m"(*(char *)at)); // not to meet it in the CPU's caches again
        at = next;
    }
    worker->took_ns = now_ns() - begin_ns;
    worker->lines = samples->count;
}

// From no stream to one on every other core, each twice as many as before.
static unsigned more_streams(unsigned streams, unsigned most) {
    const unsigned twice = streams ? 2 * streams : 1;
    return streams < most && twice > most ? most : twice;
}

// The latency of a chase in half of the device cache, by the number of cores that stream through the other half.
void cores_loaded(struct team *team) {
    struct setup *s = team->setup;
    const uint64_t half = s->stream_bytes / 2 / PAGE_BYTES * PAGE_BYTES;
    team->reads = 1, team->writes = 0;
    for (unsigned streams = 0; streams < team->cores; streams = more_streams(streams, team->cores - 1)) {
        struct worker *leader = &team->workers[0];
        char fields[96];
        if (streams)
            team_share(team, 1, streams, s->base + half, half);
        leader->first = build_cycle(s->base, half, LINE_BYTES, 7);
        leader->samples = samples_new(256 * s->effort);
        settle(s, s->stream_bytes);
        team_run(team, 1 + streams, chase_or_stream);
        snprintf(fields, sizeof fields, "\"streams\":%u,\"bandwidth_mb_s\":%.1f", streams,
                 team_mb_s(team, 1 + streams));
        samples_print(s, &leader->samples, "loaded-cores", fields);
    }
}
