// SPDX-License-Identifier: BSD-3-Clause
// The options of `calibrate` and `calibrate-cores`. Each of the programs includes this file once.
#ifndef CALIBRATE_SETUP_H
#define CALIBRATE_SETUP_H

#include "calibrate.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// Prints the usage of the program, and exits.
static void usage(void);

static uint64_t parse_count(const char *option, const char *text, uint64_t most) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || value < 1 || value > most)
        fail("%s wants a number from 1 to %" PRIu64 ", not '%s'", option, most, text);
    return value;
}

// Parses the number in 1000 for one line, two lines, ...; together at most 1000.
static void parse_cached(struct setup *s, char *list) {
    uint64_t sum = 0;
    for (char *left, *word = strtok_r(list, ",", &left); word; word = strtok_r(NULL, ",", &left)) {
        if (s->cached_counts == MAX_ROW_LOADS)
            fail("--cached wants at most %d numbers", MAX_ROW_LOADS);
        sum += s->cached_permille[s->cached_counts++] = parse_count("--cached", word, 1000);
    }
    if (sum > 1000)
        fail("--cached: together at most 1000, not %" PRIu64, sum);
}

static struct setup parse(int argc, char **argv) {
    static const struct option options[] = {
        {"file", required_argument, NULL, 'f'},
        {"size", required_argument, NULL, 's'},
        {"cache", required_argument, NULL, 'c'},
        {"page", required_argument, NULL, 'p'},
        {"row", required_argument, NULL, 'r'},
        {"cold", required_argument, NULL, 'd'},
        {"cached", required_argument, NULL, 'h'},
        {"quick", no_argument, NULL, 'q'},
        {NULL, 0, NULL, 0},
    };
    struct setup s = {
        .file = "/pmem/calibrate.bin", .page_bytes = 4096, .row_loads = 1, .cold_permille = 1000, .effort = 4};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 'f':
            s.file = optarg;
            break;
        case 's':
            s.bytes = parse_bytes("--size", optarg);
            break;
        case 'c':
            s.cache_bytes = strcmp(optarg, "0") ? parse_bytes("--cache", optarg) : 0;
            break;
        case 'p':
            s.page_bytes = parse_bytes("--page", optarg);
            break;
        case 'r':
            s.row_loads = parse_count("--row", optarg, MAX_ROW_LOADS);
            break;
        case 'd':
            s.cold_permille = parse_count("--cold", optarg, 1000);
            break;
        case 'h':
            parse_cached(&s, optarg);
            break;
        case 'q':
            s.effort = 1;
            break;
        default:
            usage();
        }
    }
    return s;
}

static void check(const struct setup *s, int test_count) {
    if (!test_count || !s->bytes)
        usage();
    if (s->bytes & (s->bytes - 1) || s->bytes < 1u << 20)
        fail("--size must be a power of two of at least 1M");
    if (s->cache_bytes && s->bytes < 2 * s->cache_bytes)
        fail("--size must be at least twice --cache, so that reading all of it leaves no dirty page in the cache");
    if (s->page_bytes < LINE_BYTES || s->page_bytes % LINE_BYTES)
        fail("--page must be a multiple of %d", LINE_BYTES);
    if (s->cached_counts > s->row_loads)
        fail("--cached states %" PRIu64 " numbers, but a row has %" PRIu64 " lines", s->cached_counts, s->row_loads);
}

#endif
