// SPDX-License-Identifier: BSD-3-Clause
// calibrate [OPTIONS] TEST...: measures the device with the access patterns of published measurements. Writes one JSON
// line for each point to $TESTBED_RESULT (or stdout). Each point is a separate region of interest, in the order of the
// lines.
#define _GNU_SOURCE
#include "calibrate_setup.h"

#include <unistd.h>

static const struct {
    const char *name;
    void (*run)(struct setup *);
} tests[] = {
    {"chase", test_chase},
    {"percentiles", test_percentiles},
    {"random", test_random},
    {"loaded", test_loaded},
    {"mix", test_mix},
    {"core", test_core},
    {"paced", test_paced},
    {"far", test_far},
    {"far-write", test_far_write},
    {"persist", test_persist},
};
enum { TESTS = sizeof tests / sizeof *tests };

static void usage(void) {
    fail("usage: calibrate --size SIZE [--file PATH] [--cache SIZE] [--page SIZE] [--row LOADS] [--cold "
         "PERMILLE] [--cached PERMILLE,...] [--quick] TEST..., where a TEST is chase, percentiles, random, loaded, "
         "mix, core, paced, far, far-write or persist");
}

static void (*test_named(const char *name))(struct setup *) {
    for (int i = 0; i < TESTS; i++) {
        if (!strcmp(tests[i].name, name))
            return tests[i].run;
    }
    fail("no test '%s'", name);
}

int main(int argc, char **argv) {
    struct setup s = parse(argc, argv);
    check(&s, argc - optind);
    for (int i = optind; i < argc; i++)
        test_named(argv[i]);
    const char *path = getenv("TESTBED_RESULT");
    s.result = path ? fopen(path, "a") : stdout;
    if (!s.result)
        fail("cannot open %s: %m", path);
    s.base = map_file(s.file, s.bytes);
    s.hot_bytes = s.cache_bytes ? s.cache_bytes / 2 : s.bytes / 2;
    s.stream_bytes = s.cache_bytes >= 1 << 20 ? s.hot_bytes : s.bytes / 2;
    for (int i = optind; i < argc; i++)
        test_named(argv[i])(&s);
    unlink(s.file);
    return 0;
}
