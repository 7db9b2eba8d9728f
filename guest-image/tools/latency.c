// SPDX-License-Identifier: BSD-3-Clause
// latency: the cost of one memory operation in virtual time, as one JSON line per metric to $TESTBED_RESULT (or
// stdout).
//
// Every metric is measured by CLOCK_MONOTONIC in chunks that are short compared with the timer tick (4 ms). The
// reported number is the median chunk, so a tick in some chunks does not affect it; minimum, mean and maximum show
// ticks. The clock's own cost is measured and subtracted. A chase that must miss visits no node twice, and its lines
// were flushed from the CPU's caches before.
#define _GNU_SOURCE
#include "kernels.h"
#include "measure.h"
#include "testbed_roi.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS = 63, SETTLE_US = 500000 };

struct sizes {
    uint64_t l1, llc, device_cache, device_page;
    const char *file;
};

// The file on the device. A read of its first `purge_bytes` evicts everything else from the device cache. The first
// `hit_bytes` of them fit the device cache twice (hits). The `miss_bytes` after them are then not in the device cache
// (misses).
struct device_file {
    char *base;
    uint64_t hit_bytes, purge_bytes, miss_bytes;
    void *hit_node, *miss_node;
};

struct metric {
    const char *name;
    void *(*kernel)(void *, uint64_t);
    int instructions; // of one operation, without loop control
    uint64_t rounds;  // of UNROLL operations, in a chunk
    uint64_t warm_up_rounds;
};

static FILE *result;

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void print_row(const struct metric *m, uint64_t *chunk_ns, uint64_t overhead_ns, uint64_t working_set_bytes) {
    const uint64_t ops = m->rounds * UNROLL;
    uint64_t sum_ns = 0;
    qsort(chunk_ns, CHUNKS, sizeof *chunk_ns, by_value);
    for (int i = 0; i < CHUNKS; i++)
        sum_ns += chunk_ns[i] - overhead_ns;
    // A multiple of 1/16, because of the unrolled loop: exact in binary and in decimal.
    const double per_op = m->instructions + (double)LOOP_CONTROL_INSTRUCTIONS / UNROLL;
    fprintf(result,
            "{\"metric\":\"%s\",\"measured_ps_per_op\":%" PRIu64 ",\"min_ps_per_op\":%" PRIu64
            ",\"mean_ps_per_op\":%" PRIu64 ",\"max_ps_per_op\":%" PRIu64
            ",\"instructions_per_op\":%.4f,\"ops\":%" PRIu64 ",\"chunks\":%d,\"clock_overhead_ns\":%" PRIu64
            ",\"working_set_bytes\":%" PRIu64 "}\n",
            m->name, (chunk_ns[CHUNKS / 2] - overhead_ns) * 1000 / ops, (chunk_ns[0] - overhead_ns) * 1000 / ops,
            sum_ns * 1000 / (ops * CHUNKS), (chunk_ns[CHUNKS - 1] - overhead_ns) * 1000 / ops, per_op, ops * CHUNKS,
            CHUNKS, overhead_ns, working_set_bytes);
    fflush(result);
}

// Nothing is printed or allocated inside the region of interest. The chunk times are in L1, or cost one store per
// chunk.
static void measure(const struct metric *m, void *at, const void *flush_begin, uint64_t flush_bytes,
                    uint64_t working_set_bytes) {
    static uint64_t chunk_ns[CHUNKS];
    static uint32_t roi_id;
    memset(chunk_ns, 0, sizeof chunk_ns);
    testbed_roi_begin(++roi_id);
    flush_range(flush_begin, flush_bytes);
    uint64_t overhead_ns = clock_overhead_ns();
    if (m->warm_up_rounds)
        at = m->kernel(at, m->warm_up_rounds);
    for (int i = 0; i < CHUNKS; i++) {
        uint64_t begin_ns = now_ns();
        at = m->kernel(at, m->rounds);
        chunk_ns[i] = now_ns() - begin_ns;
    }
    testbed_roi_end();
    print_row(m, chunk_ns, overhead_ns, working_set_bytes);
}

static void measure_l1(const struct sizes *s) {
    static const struct metric m = {"l1", kernel_chase, CHASE_INSTRUCTIONS, 16384, 1024};
    void *memory = map_anonymous(s->l1 / 2);
    measure(&m, build_cycle(memory, s->l1 / 2, LINE_BYTES, 1), NULL, 0, s->l1 / 2);
}

static void measure_dram(const struct sizes *s) {
    static const struct metric m = {"dram", kernel_chase, CHASE_INSTRUCTIONS, 64, 0};
    uint64_t need = (uint64_t)CHUNKS * m.rounds * UNROLL * LINE_BYTES;
    uint64_t bytes = 4 * s->llc > need ? 4 * s->llc : need;
    void *memory = map_anonymous(bytes);
    measure(&m, build_cycle(memory, bytes, LINE_BYTES, 2), memory, bytes, bytes);
}

static const struct metric cxl_miss = {"cxl_miss", kernel_chase, CHASE_INSTRUCTIONS, 2, 0};
static const struct metric cxl_hit = {"cxl_hit", kernel_chase, CHASE_INSTRUCTIONS, 16, 0};
static const struct metric store_clwb_sfence = {"store_clwb_sfence", kernel_store_clwb_sfence,
                                                STORE_CLWB_SFENCE_INSTRUCTIONS, 32, 4};
static const struct metric ntstore_sfence = {"ntstore_sfence", kernel_ntstore_sfence, NTSTORE_SFENCE_INSTRUCTIONS, 32,
                                             4};

// The order matters: the purge region is written first, and the miss region, which is at least as large, evicts it to
// flash. A read of the purge region then evicts the miss region and leaves the device cache full of clean pages, so no
// measured miss waits for a flash program.
static void prepare_device(const struct sizes *s, struct device_file *d) {
    const uint64_t pages_needed = 2ull * CHUNKS * cxl_miss.rounds * UNROLL;
    const uint64_t lines_needed = (uint64_t)CHUNKS * cxl_hit.rounds * UNROLL;
    d->hit_bytes = s->device_cache / 2 < 4 * s->llc ? s->device_cache / 2 : 4 * s->llc;
    if (d->hit_bytes <= s->llc || d->hit_bytes / LINE_BYTES < lines_needed)
        fail("half the device cache (%" PRIu64 " bytes) must be larger than the LLC (%" PRIu64
             " bytes) and hold %" PRIu64 " lines: give larger --device-cache",
             s->device_cache / 2, s->llc, lines_needed);
    d->purge_bytes = s->device_cache * 3 / 2;
    d->miss_bytes = s->device_cache * 3 / 2;
    if (d->miss_bytes / s->device_page < pages_needed)
        d->miss_bytes = pages_needed * s->device_page;
    d->base = map_file(s->file, d->purge_bytes + d->miss_bytes);
    char *miss = d->base + d->purge_bytes;
    d->hit_node = build_cycle(d->base, d->hit_bytes, LINE_BYTES, 3);
    flush_range(d->base, d->hit_bytes);
    d->miss_node = build_cycle(miss, d->miss_bytes, s->device_page, 4);
    for (uint64_t page = 0; page < d->miss_bytes; page += s->device_page)
        flush_range(miss + page, LINE_BYTES);
    sync();
    touch_range(d->base, d->purge_bytes, s->device_page);
    usleep(SETTLE_US); // virtual time: the flash finishes its programs
}

static void measure_device(const struct sizes *s) {
    struct device_file d;
    prepare_device(s, &d);
    char *miss = d.base + d.purge_bytes;
    measure(&cxl_miss, d.miss_node, NULL, 0, d.miss_bytes);
    (void)miss;
    touch_range(d.base, d.hit_bytes, s->device_page);
    measure(&cxl_hit, d.hit_node, d.base, d.hit_bytes, d.hit_bytes);
    measure(&store_clwb_sfence, d.base, NULL, 0, UNROLL * LINE_BYTES);
    measure(&ntstore_sfence, d.base, NULL, 0, UNROLL * LINE_BYTES);
    unlink(s->file);
}

// The TSC counts nanoseconds of virtual time (1 GHz in kernel-cmdline), so the three spans must agree.
static void check_clocks(void) {
    uint64_t begin_ns = now_ns(), begin_tsc = read_tsc();
    sleep(1);
    uint64_t end_ns = now_ns(), end_tsc = read_tsc();
    fprintf(result,
            "{\"metric\":\"clocks\",\"slept_ns\":1000000000,\"monotonic_ns\":%" PRIu64 ",\"tsc_ns\":%" PRIu64 "}\n",
            end_ns - begin_ns, end_tsc - begin_tsc);
    fflush(result);
}

static struct sizes parse(int argc, char **argv) {
    static const struct option options[] = {
        {"l1", required_argument, NULL, 'l'},           {"llc", required_argument, NULL, 'c'},
        {"device-cache", required_argument, NULL, 'd'}, {"device-page", required_argument, NULL, 'p'},
        {"file", required_argument, NULL, 'f'},         {NULL, 0, NULL, 0},
    };
    struct sizes s = {32 << 10, 8 << 20, 64 << 20, 4096, "/pmem/latency.bin"};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'l':
            s.l1 = parse_bytes("--l1", optarg);
            break;
        case 'c':
            s.llc = parse_bytes("--llc", optarg);
            break;
        case 'd':
            s.device_cache = parse_bytes("--device-cache", optarg);
            break;
        case 'p':
            s.device_page = parse_bytes("--device-page", optarg);
            break;
        case 'f':
            s.file = optarg;
            break;
        default:
            fail("usage: latency [--l1 SIZE] [--llc SIZE] [--device-cache SIZE] [--device-page SIZE] [--file PATH]");
        }
    }
    if (optind < argc)
        fail("unexpected argument '%s'", argv[optind]);
    if (s.l1 < 4096 || s.device_page < LINE_BYTES || s.device_page % LINE_BYTES)
        fail("--l1 must be at least 4096 and --device-page a multiple of %d", LINE_BYTES);
    return s;
}

int main(int argc, char **argv) {
    struct sizes s = parse(argc, argv);
    const char *path = getenv("TESTBED_RESULT");
    result = path ? fopen(path, "a") : stdout;
    if (!result)
        fail("cannot open %s: %m", path);
    check_clocks();
    measure_l1(&s);
    measure_dram(&s);
    measure_device(&s);
    return 0;
}
