/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs and checks the cases of module/crash_cases.c.
 *
 *     module_cases run bugs|sound       all cases, with their bugs or without
 *     module_cases check MARK           the condition of the case under way, or of the one just acknowledged
 *
 * Mark 2n is passed before case n, 2n + 1 acknowledges it. The work that the bug skipped is done after that, so that no
 * state mixes two cases.
 */
#define _GNU_SOURCE /* O_DIRECT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module/cells.h"
#include "testbed_roi.h"

static const char *const disk = "/dev/pmem0.1", *const device = "/dev/crash_cases";

static int is_whole(const struct cell *cell, int acknowledged) {
    return cell->valid.word[0] ? cell->record[0].word[0] && cell->record[1].word[0] : !acknowledged;
}

static int both_words(const struct cell *cell, int acknowledged) {
    const struct line *pair = &cell->record[cell->valid.word[0] ? 1 : 0];
    return pair->word[0] == pair->word[1] && (pair->word[0] || !acknowledged);
}

static int undone_or_done(const struct cell *cell, int acknowledged) {
    if (cell->valid.word[0])
        return !acknowledged;
    return cell->record[0].word[0] == cell->record[1].word[0] && (cell->record[0].word[0] || !acknowledged);
}

#define CASE(function, name, holds) {name, holds},
static const struct {
    const char *name;
    int (*holds)(const struct cell *, int acknowledged);
} cases[] = {CRASH_CASES(CASE)};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static int opened(const char *path, int flags) {
    int fd = open(path, flags);
    if (fd < 0) {
        perror(path);
        exit(2);
    }
    return fd;
}

/* A call of the library around write() might hide a missing fence: its locks are fences. */
static void tell(int fd, const char *line, size_t length) {
    if (write(fd, line, length) != (ssize_t)length) {
        perror(device);
        exit(2);
    }
}

static void run(const char *how) {
    int fd = opened(device, O_WRONLY);
    for (unsigned n = 0; n < CASES; n++) {
        char make[32], flush[32];
        int make_length = snprintf(make, sizeof(make), "%u %s", n, how);
        int flush_length = snprintf(flush, sizeof(flush), "%u flush", n);

        testbed_mark(2 * n);
        tell(fd, make, make_length);
        testbed_mark(2 * n + 1);
        tell(fd, flush, flush_length);
    }
    testbed_mark(2 * CASES);
}

/* Around the page cache, which would read other cases as well. */
static int check(unsigned mark) {
    unsigned n = mark / 2, acknowledged = mark % 2;
    static _Alignas(CELL_BYTES) char page[CELL_BYTES];

    if (n >= CASES)
        return 0;
    if (pread(opened(disk, O_RDONLY | O_DIRECT), page, CELL_BYTES, CASES_AT + n * CELL_BYTES) != CELL_BYTES) {
        perror(disk);
        exit(2);
    }
    if (cases[n].holds((const struct cell *)page, acknowledged))
        return 0;
    fprintf(stderr, "%s: %s\n", cases[n].name, acknowledged ? "what was acknowledged is lost" : "it is not whole");
    return 1;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "run"))
        run(argv[2]);
    else if (argc == 3 && !strcmp(argv[1], "check"))
        return check(strtoul(argv[2], NULL, 0));
    else
        return 2;
    return 0;
}
