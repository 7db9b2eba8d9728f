/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memsys-replay: the times and counters that a captured run would have on other
 * devices. Exit status: 0 done; 1 --check found a difference; 2 bad input: one
 * sentence on stderr names the fault and the remedy.
 */
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../base/mem_alloc.h"
#include "judge.h"
#include "options.h"
#include "parameters.h"
#include "report.h"

#define AT_ONCE 8u                              /* configurations that share one decoding */
#define CACHE_PAGES_AT_ONCE (UINT64_C(4) << 20) /* bounds the memory of their device caches, about 100 bytes a page */
#define GRID_LINE_BYTES 4096

static const char usage[] = "usage: memsys-replay [OPTION]... TRACE\n"
                            "       memsys-replay --judge\n"
                            "       memsys-replay --parameters\n"
                            "Play a trace against the memory it was captured on, or others.\n"
                            "\n"
                            "  --set NAME=VALUE   another value: device.cache-size=64M, device1.flash-read=3us,\n"
                            "                     cpu.dram-latency=90ns; can be given several times\n"
                            "  --grid FILE        one configuration a line, each of NAME=VALUE words; - reads stdin\n"
                            "  --json             a line of JSON for each configuration, as soon as it is done\n"
                            "  --check            replay as captured and name every time and counter that differs\n"
                            "  --dry-run          with --grid: only check it, and name its first fault\n"
                            "  --partial          accept a trace that is cut short: replay its readable part\n"
                            "  --list             list the parameters and their values at capture\n"
                            "  --judge            without a trace: of each line of stdin, a machine of one device as\n"
                            "                     cpu.NAME=VALUE and device.NAME=VALUE, say ok or why it cannot be\n"
                            "  --parameters       without a trace: a line of JSON for each parameter there is\n";

typedef struct Options {
    const char *trace;
    const char *grid;
    const char **sets;
    size_t set_count;
    bool json, check, dry_run, partial, list;
} Options;

typedef struct Program {
    Options options;
    FILE *trace;
    MemTraceSetup setup;
    uint64_t operations; /* played, over all configurations */
} Program;

__attribute__((format(printf, 1, 2))) static _Noreturn void fail(const char *format, ...) {
    va_list arguments;
    fputs("memsys-replay: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

static double host_seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static size_t read_file(void *opaque, void *bytes, size_t count) { return fread(bytes, 1, count, opaque); }

/* ---- The trace ---- */

static MemTraceReader *open_reader(Program *p) {
    rewind(p->trace);
    return mem_trace_reader_new(read_file, p->trace, &p->setup);
}

static void check_fault(const Program *p, const MemTraceReader *reader) {
    MemTraceFault f = mem_trace_fault(reader);
    bool cut = f.what && strncmp(f.what, "is cut short", 12) == 0;

    if (!f.what || (cut && p->options.partial && f.operations)) {
        return;
    }
    fail("%s %s%s%s (at byte %" PRIu64 ", after %" PRIu64 " operations)%s", p->options.trace, f.what,
         f.subject ? ": " : "", f.subject ? f.subject : "", f.offset_bytes, f.operations,
         cut ? "; capture it again, or replay the part that is there with --partial" : "");
}

static void open_trace(Program *p) {
    p->trace = fopen(p->options.trace, "rb");
    if (!p->trace) {
        fail("cannot read %s: %s", p->options.trace, strerror(errno));
    }
    MemTraceReader *reader = open_reader(p);
    if (mem_trace_fault(reader).what) {
        check_fault(p, reader);
    }
    mem_trace_reader_free(reader);
}

/* ---- Configurations ---- */

static void apply_sets(const Program *p, ReplayConfig *config) {
    Message message;
    for (size_t i = 0; i < p->options.set_count; i++) {
        if (!options_assign(config, p->options.sets[i], &p->setup, &message)) {
            fail("--set %s", message.text);
        }
    }
}

/* Read the next configuration of a grid; false at its end. Skips empty lines and comments. */
static bool next_config(const Program *p, FILE *grid, size_t *line_number, ReplayConfig *config) {
    char line[GRID_LINE_BYTES];
    Message message;

    while (fgets(line, sizeof(line), grid)) {
        ++*line_number;
        if (!strchr(line, '\n') && !feof(grid)) {
            fail("%s: line %zu is longer than %d bytes", p->options.grid, *line_number, GRID_LINE_BYTES - 2);
        }
        if (strspn(line, " \t\r\n") == strlen(line) || line[0] == '#') {
            continue;
        }
        apply_sets(p, config);
        if (!options_assign_line(config, line, &p->setup, &message)) {
            fail("%s: line %zu: %s", p->options.grid, *line_number, message.text);
        }
        return true;
    }
    return false;
}

static uint64_t cache_pages(const MemTraceSetup *setup) {
    uint64_t pages = 1;
    for (uint32_t i = 0; i < setup->device_count; i++) {
        pages += setup->devices[i].cache_size_bytes / (setup->devices[i].cache_page_bytes | 1);
    }
    return pages;
}

/* ---- Runs ---- */

/* Memories that share one decoding of the trace. */
typedef struct Group {
    Replay replays[AT_ONCE];
    size_t count;
    uint64_t cache_pages;
} Group;

static void add_memory(const Program *p, Group *g, const ReplayConfig *config) {
    MemTraceSetup setup = p->setup;
    const char *fault = replay_configure(&setup, config);

    assert(!fault);
    (void)fault;
    g->cache_pages += cache_pages(&setup);
    replay_init(&g->replays[g->count++], &setup, config);
}

static void play_group(Program *p, Group *g) {
    uint64_t operations;
    MemTraceReader *reader = open_reader(p);

    replay_run(reader, g->replays, g->count, &operations);
    check_fault(p, reader);
    mem_trace_reader_free(reader);
    p->operations += operations * g->count;
}

static void clear_group(Group *g) {
    for (size_t i = 0; i < g->count; i++) {
        replay_destroy(&g->replays[i]);
    }
    g->count = 0;
    g->cache_pages = 0;
}

typedef struct Grid {
    ReplayConfig *configs;
    size_t count;
} Grid;

/* `line_number` 0: from the command line. */
static void check_config(const Program *p, const ReplayConfig *config, size_t line_number) {
    MemTraceSetup setup = p->setup;
    const char *fault = replay_configure(&setup, config);

    if (fault && line_number) {
        fail("%s: line %zu: %s", p->options.grid, line_number, fault);
    }
    if (fault) {
        fail("--set: %s", fault);
    }
}

/* Checks every configuration of the grid before any is replayed. */
static Grid read_grid(const Program *p) {
    FILE *file = strcmp(p->options.grid, "-") == 0 ? stdin : fopen(p->options.grid, "r");
    ReplayConfig config = {0};
    Grid grid = {0};
    size_t line_number = 0;

    if (!file) {
        fail("cannot read %s: %s", p->options.grid, strerror(errno));
    }
    while (next_config(p, file, &line_number, &config)) {
        check_config(p, &config, line_number);
        grid.configs = mem_regrow(grid.configs, grid.count + 1, sizeof(config));
        grid.configs[grid.count++] = config;
        config = (ReplayConfig){0};
    }
    if (grid.count == 0) {
        fail("%s holds no configuration; write one a line, as device.cache-size=64M", p->options.grid);
    }
    fclose(file);
    return grid;
}

static void play_grid(Program *p, const Grid *grid) {
    Group *g = mem_calloc(1, sizeof(*g));

    for (size_t i = 0; i < grid->count; i++) {
        add_memory(p, g, &grid->configs[i]);
        if (g->count == AT_ONCE || g->cache_pages >= CACHE_PAGES_AT_ONCE || i + 1 == grid->count) {
            play_group(p, g);
            for (size_t j = 0; j < g->count; j++) {
                report_json(stdout, &g->replays[j], i + 1 - g->count + j);
            }
            clear_group(g);
        }
    }
    free(g);
}

static void run_grid(Program *p) {
    Grid grid = read_grid(p);

    if (!p->options.dry_run) {
        play_grid(p, &grid);
    }
    for (size_t i = 0; i < grid.count; i++) {
        options_free(&grid.configs[i]);
    }
    free(grid.configs);
}

static int run_one(Program *p) {
    Group *g = mem_calloc(1, sizeof(*g));
    ReplayConfig config = {0};
    int status = 0;

    apply_sets(p, &config);
    check_config(p, &config, 0);
    add_memory(p, g, &config);
    play_group(p, g);
    if (p->options.check) {
        status = report_differences(stdout, &g->replays[0]) ? 1 : 0;
        printf("%zu regions of interest: %s\n", g->replays[0].region_count,
               status ? "NOT as captured" : "exactly as captured");
    } else if (p->options.json) {
        report_json(stdout, &g->replays[0], 0);
    } else {
        report_text(stdout, &g->replays[0]);
    }
    clear_group(g);
    options_free(&config);
    free(g);
    return status;
}

/* ---- Command line ---- */

static void parse_options(Options *o, int argc, char **argv) {
    static const struct option known[] = {
        {"set", required_argument, NULL, 's'},
        {"grid", required_argument, NULL, 'g'},
        {"json", no_argument, NULL, 'j'},
        {"check", no_argument, NULL, 'c'},
        {"dry-run", no_argument, NULL, 'd'},
        {"partial", no_argument, NULL, 'p'},
        {"list", no_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        switch (option) {
        case 's':
            o->sets = mem_regrow(o->sets, o->set_count + 1, sizeof(*o->sets));
            o->sets[o->set_count++] = optarg;
            break;
        case 'g':
            o->grid = optarg;
            break;
        case 'j':
            o->json = true;
            break;
        case 'c':
            o->check = true;
            break;
        case 'd':
            o->dry_run = true;
            break;
        case 'p':
            o->partial = true;
            break;
        case 'l':
            o->list = true;
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            exit(2);
        }
    }
    if (optind != argc - 1) {
        fail("give one trace; --help lists the options");
    }
    o->trace = argv[optind];
    if (o->check && (o->grid || o->set_count)) {
        fail("--check replays as captured; leave out --grid and --set");
    }
}

int main(int argc, char **argv) {
    Program p = {0};
    int status = 0;

    if (argc == 2 && strcmp(argv[1], "--judge") == 0) {
        judge_all(stdin, stdout);
        return fflush(stdout) ? 1 : 0;
    }
    if (argc == 2 && strcmp(argv[1], "--parameters") == 0) {
        parameters_print(stdout);
        return fflush(stdout) ? 1 : 0;
    }
    parse_options(&p.options, argc, argv);
    open_trace(&p);
    double start = host_seconds();
    if (p.options.list) {
        report_setup(stdout, &p.setup);
    } else if (p.options.grid) {
        run_grid(&p);
    } else {
        status = run_one(&p);
    }
    double seconds = host_seconds() - start;
    if (p.operations) {
        fprintf(stderr, "%" PRIu64 " operations in %.2f s: %.1f M/s\n", p.operations, seconds,
                (double)p.operations / seconds * 1e-6);
    }
    free(p.options.sets);
    fclose(p.trace);
    return status;
}
