// SPDX-License-Identifier: BSD-3-Clause
// The bandwidth of many cores together. How lines are stored is as in the tests of one core.
#include "../tools/calibrate_bandwidth.c"
#include "team.h"

enum { LOOK_EVERY = 16 };       // rounds of a stream from one look at the leader to the next
enum { POINT_LINES = 1 << 18 }; // of all cores, and with --quick too: of fewer how streams begin and end would show

void stream(struct worker *worker) {
    struct team *team = worker->team;
    const uint64_t half = team->writes ? worker->bytes / 2 : worker->bytes, share = POINT_LINES / team->cores;
    uint64_t state = 1 + worker->core, lines = 0;
    // Each begins on a page of its own choice: in step they would all ask for the same banks and dies at once.
    uint64_t read_at = next_random(&state) % (half / PAGE_BYTES) * PAGE_BYTES, write_at = read_at;
    uint64_t begin_ns = now_ns();
    do {
        for (unsigned round = 0; round < LOOK_EVERY; round++) {
            for (unsigned i = 0; i < team->reads; i++, read_at = read_at + LINE_BYTES < half ? read_at + LINE_BYTES : 0)
                (void)*(volatile char *)(worker->base + read_at);
            for (unsigned i = 0; i < team->writes;
                 i++, write_at = write_at + LINE_BYTES < half ? write_at + LINE_BYTES : 0)
                nt_store_line(worker->base + half + write_at);
        }
        lines += LOOK_EVERY * (team->reads + team->writes);
    } while (worker->core ? team_works(team) : lines < share);
    _mm_mfence();
    worker->took_ns = now_ns() - begin_ns;
    worker->lines = lines;
}

static void print_cores(struct team *team, const char *test) {
    fprintf(team->setup->result, "{\"test\":\"%s\",\"cores\":%u,\"reads\":%u,\"writes\":%u,\"bandwidth_mb_s\":%.1f}\n",
            test, team->cores, team->reads, team->writes, team_mb_s(team, team->cores));
    fflush(team->setup->result);
}

// Once Linux has written a file back, the next store to each of its pages is a fault: not in a region of interest.
static void fault_in(const struct setup *s) {
    for (uint64_t at = 0; at < s->bytes; at += PAGE_BYTES)
        *(volatile char *)(s->base + at) = 0;
}

// The same as `mix`, by all cores, each in its own part of an area that fits the device cache.
void cores_mix(struct team *team) {
    static const unsigned mixes[][2] = {{1, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};
    team_share(team, 0, team->cores, team->setup->base, team->setup->stream_bytes);
    for (unsigned m = 0; m < sizeof mixes / sizeof *mixes; m++) {
        team->reads = mixes[m][0], team->writes = mixes[m][1];
        fault_in(team->setup);
        settle(team->setup, team->setup->stream_bytes);
        team_run(team, team->cores, stream);
        print_cores(team, "mix-cores");
    }
}

static void pass_once(struct worker *worker) {
    uint64_t state = 1 + worker->core; // as above
    const uint64_t first = next_random(&state) % (worker->bytes / PAGE_BYTES) * PAGE_BYTES;
    uint64_t begin_ns = now_ns();
    touch_range(worker->base + first, worker->bytes - first, LINE_BYTES);
    touch_range(worker->base, first, LINE_BYTES);
    _mm_mfence();
    worker->took_ns = now_ns() - begin_ns;
    worker->lines = worker->bytes / LINE_BYTES;
}

// Every line outside the device cache, once, by all cores, each in its own part: the end of the file was read last, and
// is as large as the cache.
void cores_far(struct team *team) {
    struct setup *s = team->setup;
    team->reads = 1, team->writes = 0;
    team_share(team, 0, team->cores, s->base, (s->bytes - s->cache_bytes) / 4 * s->effort);
    settle(s, s->bytes);
    team_run(team, team->cores, pass_once);
    print_cores(team, "far-cores");
}
