// SPDX-License-Identifier: BSD-3-Clause
// calibrate-cores [OPTIONS] TEST...: what `calibrate` does by one core, done by many at once, each a thread on a CPU of
// its own. It is no part of the guest image, so that a change of it moves no other result. Rows and regions of interest
// are as those of `calibrate`.
#define _GNU_SOURCE
#include "team.h"

#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    void (*run)(struct team *);
} tests[] = {
    {"percentiles-cores", cores_percentiles},
    {"loaded-cores", cores_loaded},
    {"mix-cores", cores_mix},
    {"far-cores", cores_far},
};
enum { TESTS = sizeof tests / sizeof *tests };

static void usage(void) {
    fail("usage: calibrate-cores --cores N --size BYTES [--cache BYTES] [--page BYTES] [--row LOADS] [--cold PERMILLE] "
         "[--cached PERMILLE,...] [--quick] TEST..., where a TEST is percentiles-cores, loaded-cores, mix-cores or "
         "far-cores");
}

static uint64_t parse_count(const char *option, const char *text, uint64_t most) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || value > most)
        fail("--%s wants a number of at most %" PRIu64 ", not '%s'", option, most, text);
    return value;
}

static void parse_cached(struct setup *s, char *list) {
    for (char *left, *word = strtok_r(list, ",", &left); word; word = strtok_r(NULL, ",", &left)) {
        if (s->cached_counts == MAX_ROW_LOADS)
            fail("--cached wants at most %d numbers", MAX_ROW_LOADS);
        s->cached_permille[s->cached_counts++] = parse_count("cached", word, 1000);
    }
}

// Returns --cores.
static uint64_t parse(int argc, char **argv, struct setup *s) {
    uint64_t cores = 0;
    const struct {
        uint64_t *value, most;
    } numbers[] = {{&cores, CORES_MAX},          {&s->bytes, 1ull << 40},        {&s->cache_bytes, 1ull << 40},
                   {&s->page_bytes, 1ull << 30}, {&s->row_loads, MAX_ROW_LOADS}, {&s->cold_permille, 1000}};
    enum { NUMBERS = sizeof numbers / sizeof *numbers };
    static const struct option options[] = {
        {"cores", required_argument, NULL, 0},    {"size", required_argument, NULL, 0},
        {"cache", required_argument, NULL, 0},    {"page", required_argument, NULL, 0},
        {"row", required_argument, NULL, 0},      {"cold", required_argument, NULL, 0},
        {"file", required_argument, NULL, 'f'},   {"quick", no_argument, NULL, 'q'},
        {"cached", required_argument, NULL, 'h'}, {NULL, 0, NULL, 0},
    };
    for (int which, option; (option = getopt_long(argc, argv, "", options, &which)) != -1;) {
        if (option == 0 && which < NUMBERS)
            *numbers[which].value = parse_count(options[which].name, optarg, numbers[which].most);
        else if (option == 'f')
            s->file = optarg;
        else if (option == 'h')
            parse_cached(s, optarg);
        else if (option == 'q')
            s->effort = 1;
        else
            usage();
    }
    return cores;
}

static void check(const struct setup *s, uint64_t cores, int test_count) {
    if (!test_count || !s->bytes || !cores)
        usage();
    if (s->bytes & (s->bytes - 1) || s->bytes < 1u << 20)
        fail("--size must be a power of two of at least 1 MiB");
    if (s->bytes < 2 * s->cache_bytes)
        fail("--size must be at least twice --cache");
    if (s->page_bytes < LINE_BYTES || s->page_bytes % LINE_BYTES)
        fail("--page must be a multiple of %d", LINE_BYTES);
    if (!s->row_loads || s->page_bytes % (s->row_loads * LINE_BYTES) || s->cached_counts > s->row_loads)
        fail("--row must divide the lines of a page, and have at least as many as --cached states");
}

static void (*test_named(const char *name))(struct team *) {
    for (int i = 0; i < TESTS; i++) {
        if (!strcmp(tests[i].name, name))
            return tests[i].run;
    }
    fail("no test '%s'", name);
}

static void stay_on_first_cpu(void) {
    cpu_set_t cpu;
    CPU_ZERO(&cpu);
    CPU_SET(0, &cpu);
    if (sched_setaffinity(0, sizeof cpu, &cpu))
        fail("cannot stay on CPU 0: %m");
}

int main(int argc, char **argv) {
    static struct team team;
    struct setup s = {
        .file = "/pmem/calibrate.bin", .page_bytes = PAGE_BYTES, .row_loads = 1, .cold_permille = 1000, .effort = 4};
    team.cores = (unsigned)parse(argc, argv, &s);
    check(&s, team.cores, argc - optind);
    for (int i = optind; i < argc; i++)
        test_named(argv[i]);
    const char *path = getenv("TESTBED_RESULT");
    s.result = path ? fopen(path, "a") : stdout;
    if (!s.result)
        fail("cannot open %s: %m", path);
    stay_on_first_cpu();
    s.base = map_file(s.file, s.bytes);
    s.hot_bytes = s.cache_bytes ? s.cache_bytes / 2 : s.bytes / 2;
    s.stream_bytes = s.cache_bytes >= 1 << 20 ? s.hot_bytes : s.bytes / 2;
    team.setup = &s;
    for (unsigned core = 0; core < CORES_MAX; core++)
        team.workers[core].team = &team, team.workers[core].core = core;
    for (int i = optind; i < argc; i++)
        test_named(argv[i])(&team);
    unlink(s.file);
    return 0;
}
