/* SPDX-License-Identifier: BSD-3-Clause */
#include "steps.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "snapshot/snapshot.h"

enum { LINE = 64, MADE_LINES = 24 };

/* One word of each line: so few contents of a line can be left that all of them are tried. */
struct step {
    enum { END, STORE, COMMIT, ROLL_BACK } kind;
    unsigned line, lines; /* so many from this one on */
    uint64_t value;
};

#define STORE(line, value) {STORE, line, 1, value}
#define STORE_LINES(lines, value) {STORE, 0, lines, value}
#define COMMIT {COMMIT, 0, 0, 0}
#define ROLL_BACK {ROLL_BACK, 0, 0, 0}
#define END {END, 0, 0, 0}

/* Lines of both pages; one that changes in two commits, a word that changes twice in one. */
static const struct step few[] = {STORE(1, 0x11), STORE(70, 0x12), COMMIT, STORE(1, 0x21), STORE(1, 0x22), COMMIT,
                                  STORE(2, 0x31), ROLL_BACK,       END};

/* As many commits as there are sets of log blocks and more, so that each is used again; after a rollback too. */
static const struct step many[] = {STORE(1, 0x11),  COMMIT,         STORE(2, 0x21),  COMMIT,    STORE(1, 0x31),
                                   STORE(70, 0x32), COMMIT,         STORE(70, 0x41), ROLL_BACK, STORE(3, 0x51),
                                   COMMIT,          STORE(1, 0x61), COMMIT,          END};

/* More lines than a block of the log has, each of them twice. */
static const struct step blocks[] = {STORE_LINES(13, 0x21), STORE_LINES(13, 0x31), COMMIT, END};

#undef STORE
#undef STORE_LINES
#undef COMMIT
#undef ROLL_BACK
#undef END

static const struct {
    const char *name;
    const struct step *steps;
} stories[] = {{"few", few}, {"many", many}, {"blocks", blocks}};

static const struct step *story_by_name(const char *name) {
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++)
        if (strcmp(stories[i].name, name) == 0)
            return stories[i].steps;
    return NULL;
}

static bool ends_transaction(const struct step *step) { return step->kind == COMMIT || step->kind == ROLL_BACK; }

static void store(uint8_t *file, unsigned line, uint64_t value, bool tracked) {
    uint8_t *place = file + (size_t)line * LINE;
    if (tracked)
        snapshot_log_range(place, sizeof(value));
    memcpy(place, &value, sizeof(value));
}

static void stores(uint8_t *file, const struct step *step, bool tracked) {
    for (unsigned i = 0; i < step->lines; i++)
        store(file, step->line + i, step->value + i, tracked);
}

/* A transaction of many lines, so that the log has grown and no step has to make it grow. */
static int made(uint8_t *file) {
    for (unsigned line = 0; line < MADE_LINES; line++)
        store(file, line, 0x100 + line, true);
    return snapshot_sync(file);
}

int steps_make(const char *path, unsigned flags) {
    void *file = NULL;
    int status = snapshot_map(path, STEPS_FILE_BYTES, flags, NULL, &file);
    if (status < 0)
        return status;
    status = made(file);
    int closed = snapshot_unmap(file);
    return status < 0 ? status : closed;
}

/* Blocks and pages are there before the first step: all later stores are the library's own. */
int steps_run(const char *path, unsigned flags, const char *story, steps_mark *mark) {
    const struct step *step = story_by_name(story);
    uint32_t number = 0;
    void *file = NULL;
    int status = step ? snapshot_map(path, 0, flags | SNAPSHOT_POPULATE, NULL, &file) : -EINVAL;
    if (status < 0)
        return status;
    mark(number, file);
    for (; status == 0 && step->kind != END; step++) {
        stores(file, step, true);
        if (!ends_transaction(step))
            continue;
        status = step->kind == COMMIT ? snapshot_sync(file) : snapshot_rollback(file);
        mark(++number, file);
    }
    int closed = snapshot_unmap(file);
    mark(++number, NULL);
    return status < 0 ? status : closed;
}

int steps_expected(const char *story, uint32_t mark, uint8_t content[STEPS_FILE_BYTES]) {
    uint8_t working[STEPS_FILE_BYTES] = {0};
    const struct step *step = story_by_name(story);
    for (unsigned line = 0; line < MADE_LINES; line++)
        store(working, line, 0x100 + line, false);
    memcpy(content, working, sizeof(working));
    for (; mark > 0 && step->kind != END; step++) {
        stores(working, step, false);
        if (!ends_transaction(step))
            continue;
        if (step->kind == COMMIT)
            memcpy(content, working, sizeof(working));
        else
            memcpy(working, content, sizeof(working));
        mark--;
    }
    return mark > 1 ? -EINVAL : 0; /* the last is of the end */
}

/* FNV-1a. */
uint64_t steps_digest(const uint8_t content[STEPS_FILE_BYTES]) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (size_t i = 0; i < STEPS_FILE_BYTES; i++)
        sum = (sum ^ content[i]) * 0x100000001b3u;
    return sum;
}
