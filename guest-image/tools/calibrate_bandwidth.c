// SPDX-License-Identifier: BSD-3-Clause
// The bandwidth tests of `calibrate`, and the cost of persistent writes by size and fence interval.
#include "calibrate.h"

#include <emmintrin.h>
#include <inttypes.h>
#include <stdbool.h>

static inline void store_line(char *at) {
    for (int i = 0; i < LINE_BYTES; i += 16)
        _mm_store_si128((__m128i *)(at + i), _mm_setzero_si128());
}

static inline void nt_store_line(char *at) {
    for (int i = 0; i < LINE_BYTES; i += 16)
        _mm_stream_si128((__m128i *)(at + i), _mm_setzero_si128());
}

static inline void clwb_line(char *at) { __asm__ volatile("clwb %0" : "+m"(*at)); }

static void print_bandwidth(const struct setup *s, const char *test, unsigned reads, unsigned writes, uint64_t lines,
                            uint64_t took_ns) {
    fprintf(s->result, "{\"test\":\"%s\",\"reads\":%u,\"writes\":%u,\"lines\":%" PRIu64 ",\"bandwidth_mb_s\":%.1f}\n",
            test, reads, writes, lines, (double)(lines * LINE_BYTES) * 1000.0 / (double)took_ns);
    fflush(s->result);
}

// Sequential loads and full-line non-temporal stores in fixed proportions, in separate halves of a range that fits the
// device cache. The CPU determines the number of loads in flight. There are so many lines that the kernel's timer, some
// 10 us every 4 ms, does not affect the result.
void test_mix(struct setup *s) {
    static const unsigned mixes[][2] = {{1, 0}, {3, 1}, {2, 1}, {1, 1}, {0, 1}};
    const uint64_t half = s->stream_bytes / 2 / LINE_BYTES * LINE_BYTES, wanted = 1 << 20;
    for (unsigned m = 0; m < sizeof mixes / sizeof *mixes; m++) {
        uint64_t read_at = 0, write_at = 0, lines = 0;
        settle(s, s->stream_bytes);
        begin_point(s);
        uint64_t begin_ns = now_ns();
        for (; lines < wanted; lines += mixes[m][0] + mixes[m][1]) {
            for (unsigned i = 0; i < mixes[m][0]; i++, read_at = read_at + LINE_BYTES < half ? read_at + LINE_BYTES : 0)
                (void)*(volatile char *)(s->base + read_at);
            for (unsigned i = 0; i < mixes[m][1];
                 i++, write_at = write_at + LINE_BYTES < half ? write_at + LINE_BYTES : 0)
                nt_store_line(s->base + half + write_at);
        }
        _mm_mfence();
        uint64_t took_ns = now_ns() - begin_ns;
        testbed_roi_end();
        print_bandwidth(s, "mix", mixes[m][0], mixes[m][1], lines, took_ns);
    }
}

static void load_pass(char *from, char *to, uint64_t bytes) {
    (void)to;
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
        (void)*(volatile char *)(from + at);
}

static void update_pass(char *from, char *to, uint64_t bytes) {
    (void)to;
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES) {
        (void)*(volatile char *)(from + at);
        store_line(from + at);
    }
}

static void copy_pass(char *from, char *to, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES) {
        (void)*(volatile char *)(from + at);
        store_line(to + at);
    }
}

static void store_pass(char *from, char *to, uint64_t bytes) {
    (void)from;
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
        store_line(to + at);
}

static void nt_copy_pass(char *from, char *to, uint64_t bytes) {
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES) {
        (void)*(volatile char *)(from + at);
        nt_store_line(to + at);
    }
}

static void nt_store_pass(char *from, char *to, uint64_t bytes) {
    (void)from;
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES)
        nt_store_line(to + at);
}

// One core, in order, over lines that are not in the CPU's caches. The bytes that the program reads and writes count.
// The bytes that a store reads for ownership do not count, as in the published measurements.
void test_core(struct setup *s) {
    static const struct {
        const char *name;
        void (*run)(char *from, char *to, uint64_t bytes);
        unsigned moved; // lines read and written for each line of the pass
    } passes[] = {{"load", load_pass, 1},   {"update", update_pass, 2},   {"copy", copy_pass, 2},
                  {"store", store_pass, 1}, {"nt-copy", nt_copy_pass, 2}, {"nt-store", nt_store_pass, 1}};
    const uint64_t half = s->stream_bytes / 2 / LINE_BYTES * LINE_BYTES;
    for (unsigned p = 0; p < sizeof passes / sizeof *passes; p++) {
        settle(s, s->stream_bytes);
        begin_point(s);
        uint64_t begin_ns = now_ns();
        passes[p].run(s->base, s->base + half, half);
        _mm_mfence();
        uint64_t took_ns = now_ns() - begin_ns;
        testbed_roi_end();
        fprintf(s->result, "{\"test\":\"core\",\"pass\":\"%s\",\"bandwidth_mb_s\":%.1f}\n", passes[p].name,
                (double)(half * passes[p].moved) * 1000.0 / (double)took_ns);
        fflush(s->result);
    }
}

static inline void spin(uint64_t rounds) {
    if (rounds)
        __asm__ volatile("1:\n\tdec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
}

// Loads of random lines at random intervals, which shrink until the device is the limit. No instruction waits for the
// loads (a study of many cores ensures this), so the device reports their latencies for the point's region.
void test_paced(struct setup *s) {
    static const unsigned mean_rounds[] = {1600, 800, 400, 267, 200, 160, 133, 114, 100, 94, 89, 84, 80, 70};
    const uint64_t lines = s->stream_bytes / LINE_BYTES, loads = 4096 * s->effort;
    for (unsigned i = 0; i < sizeof mean_rounds / sizeof *mean_rounds; i++) {
        uint64_t state = 1 + i;
        settle(s, s->stream_bytes);
        begin_point(s);
        for (uint64_t n = 0; n < loads; n++) {
            spin(next_random(&state) % (2 * mean_rounds[i]));
            (void)*(volatile char *)(s->base + next_random(&state) % lines * LINE_BYTES);
        }
        _mm_mfence();
        testbed_roi_end();
        fprintf(s->result, "{\"test\":\"paced\",\"roi\":%u,\"mean_rounds\":%u}\n", s->points, mean_rounds[i]);
        fflush(s->result);
    }
}

// One load of every page of the file, which is larger than the device cache: the bandwidth of the medium behind the
// cache, counted in whole pages. A CPU that had to read all lines of the pages could not request enough pages at once.
void test_far(struct setup *s) {
    settle(s, s->bytes);
    begin_point(s);
    uint64_t begin_ns = now_ns();
    touch_range(s->base, s->bytes, s->page_bytes);
    _mm_mfence();
    uint64_t took_ns = now_ns() - begin_ns;
    testbed_roi_end();
    print_bandwidth(s, "far", 1, 0, s->bytes / LINE_BYTES, took_ns);
}

// Full-line non-temporal stores of the whole file in order. The fence at the end waits until the device has accepted
// all of them.
void test_far_write(struct setup *s) {
    settle(s, s->bytes);
    begin_point(s);
    uint64_t begin_ns = now_ns();
    for (uint64_t at = 0; at < s->bytes; at += LINE_BYTES)
        nt_store_line(s->base + at);
    _mm_mfence();
    uint64_t took_ns = now_ns() - begin_ns;
    testbed_roi_end();
    print_bandwidth(s, "far-write", 0, 1, s->bytes / LINE_BYTES, took_ns);
}

static uint64_t time_writes(const struct setup *s, bool nt, uint64_t write_bytes, unsigned interval, uint64_t writes) {
    uint64_t at = 0, begin_ns = now_ns();
    for (uint64_t n = 1; n <= writes; n++) {
        for (uint64_t end = at + write_bytes; at < end; at += LINE_BYTES) {
            if (nt) {
                nt_store_line(s->base + at);
            } else {
                store_line(s->base + at);
                clwb_line(s->base + at);
            }
        }
        at = at + write_bytes <= s->stream_bytes ? at : 0;
        if (n % interval == 0)
            _mm_sfence();
    }
    return now_ns() - begin_ns;
}

// Store + clwb compared with a non-temporal store: the mean time of one write, by its size and the number of writes per
// fence, in order over a range that fits the device cache (if the cache is smaller than the CPU's caches: over a range
// that does not).
void test_persist(struct setup *s) {
    static const unsigned sizes[] = {64, 128, 256, 512, 1024, 4096}, intervals[] = {1, 4, 16, 64, 256};
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes * (sizeof intervals / sizeof *intervals) * 2; i++) {
        unsigned bytes = sizes[i / 10], interval = intervals[i / 2 % 5];
        bool nt = i % 2;
        const uint64_t writes = 4096; // enough that a tick of the timer does not affect the mean
        if (i % 10 == 0)
            settle(s, s->stream_bytes);
        begin_point(s);
        uint64_t took_ns = time_writes(s, nt, bytes, interval, writes);
        testbed_roi_end();
        fprintf(s->result,
                "{\"test\":\"persist\",\"method\":\"%s\",\"bytes\":%u,\"writes_per_fence\":%u,\"mean_ns\":%.3f}\n",
                nt ? "ntstore" : "store_clwb", bytes, interval, (double)took_ns / (double)writes);
        fflush(s->result);
    }
}
