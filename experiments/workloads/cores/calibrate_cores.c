// SPDX-License-Identifier: BSD-3-Clause
// calibrate-cores --cores N [OPTIONS] TEST...: the work that `calibrate` does on one core, on many at once, each a
// thread on its own CPU. It is no part of the guest image, so that a change of it moves no other result. Rows and
// regions of interest are as those of `calibrate`.
#define _GNU_SOURCE
#include "calibrate_setup.h"
#include "team.h"

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
    fail(
        "usage: calibrate-cores --cores N --size SIZE [--file PATH] [--cache SIZE] [--page SIZE] [--row LOADS] [--cold "
        "PERMILLE] [--cached PERMILLE,...] [--quick] TEST..., where a TEST is percentiles-cores, loaded-cores, "
        "mix-cores or far-cores");
}

// A chase passes over each page in whole rows, as many as the page has.
static void check_rows(const struct setup *s) {
    if (s->page_bytes % (s->row_loads * LINE_BYTES))
        fail("--row must divide the lines of a page");
}

static void (*test_named(const char *name))(struct team *) {
    for (int i = 0; i < TESTS; i++) {
        if (!strcmp(tests[i].name, name))
            return tests[i].run;
    }
    fail("no test '%s'", name);
}

int main(int argc, char **argv) {
    static struct team team;
    if (argc < 3 || strcmp(argv[1], "--cores"))
        usage();
    const unsigned cores = (unsigned)parse_count(argv[1], argv[2], CORES_MAX);
    argc -= 2, argv += 2;
    struct setup s = parse(argc, argv);
    check(&s, argc - optind);
    check_rows(&s);
    for (int i = optind; i < argc; i++)
        test_named(argv[i]);
    s.result = open_result();
    team_gather(&team, &s, cores);
    s.base = map_file(s.file, s.bytes);
    s.stream_bytes = (s.cache_bytes >= 1 << 20 ? s.cache_bytes : s.bytes) / 2;
    for (int i = optind; i < argc; i++)
        test_named(argv[i])(&team);
    unlink(s.file);
    return 0;
}
