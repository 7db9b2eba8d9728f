/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steps as a program of a guest, on the same runtime but with the processor's own instructions:
 *
 *     steps make FILE PROTOCOL
 *     steps run FILE PROTOCOL STORY [BUG]
 *     steps check FILE PROTOCOL STORY MARK [BUG]    prints a digest of the recovered state on standard error; fails
 *                                                   if it is neither of this mark nor of the next one
 */
#include "steps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/snapshot.h"
#include "testbed_roi.h"

const char *seeded_bug = "";
extern char snapshot_single_threaded;
char snapshot_single_threaded = 1;

static void ring(uint32_t number, const void *file) {
    (void)file;
    testbed_mark(number);
}

static int done(int status) {
    if (status < 0)
        fprintf(stderr, "steps: %s\n", strerror(-status));
    return status < 0;
}

static unsigned flag_of(const char *protocol) {
    static const char *const names[] = {"line", "undo", "undo-nv", "redo", "epoch"}; /* the last if it is there */
    unsigned number = 0;
    while (number < 5 && strcmp(names[number], protocol) != 0)
        number++;
    return (number + 1) * SNAPSHOT_PROTOCOL_LINE;
}

static int check(const char *path, unsigned flags, const char *story, uint32_t mark) {
    uint8_t before[STEPS_FILE_BYTES], after[STEPS_FILE_BYTES];
    void *file = NULL;
    int status = snapshot_map(path, 0, flags, NULL, &file);
    if (status < 0) {
        fprintf(stderr, "refused %d\n", -status);
        return 1;
    }
    if (steps_expected(story, mark, before) < 0)
        return 2;
    bool is_last = steps_expected(story, mark + 1, after) < 0;
    fprintf(stderr, "%016" PRIx64 "\n", steps_digest(file));
    bool is_before = memcmp(file, before, sizeof(before)) == 0;
    return !is_before && (is_last || memcmp(file, after, sizeof(after)) != 0);
}

int main(int argc, char **argv) {
    const char *verb = argc > 3 ? argv[1] : "";
    unsigned flags = argc > 3 ? flag_of(argv[3]) : 0;
    bool checks = strcmp(verb, "check") == 0;
    int bug = checks ? 6 : 5;

    if (argc > bug)
        seeded_bug = argv[bug];
    if (strcmp(verb, "make") == 0)
        return done(steps_make(argv[2], flags));
    if (strcmp(verb, "run") == 0 && argc > 4)
        return done(steps_run(argv[2], flags, argv[4], ring));
    if (checks && argc > 5)
        return check(argv[2], flags, argv[4], (uint32_t)strtoul(argv[5], NULL, 0));
    fprintf(stderr, "usage: steps make|run|check FILE PROTOCOL [STORY] [MARK] [BUG]\n");
    return 2;
}
