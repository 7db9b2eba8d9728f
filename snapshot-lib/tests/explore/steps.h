/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few transactions on a tracked file, for two explorers of the states after a power cut: explore_steps.cpp natively,
 * on the recording persistence layer; and `testbed crash` in a guest, where steps_main.c is a separate program.
 */
#ifndef SNAPSHOT_TEST_STEPS_H
#define SNAPSHOT_TEST_STEPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { STEPS_FILE_BYTES = 8192 };

/* The acknowledged mark, and the address of the file's mapping. */
typedef void steps_mark(uint32_t number, const void *file);

/* The content at the begin of the steps; its log has room for all of them. 0 or -errno. */
int steps_make(const char *path, unsigned flags);

/* `story`: which of the stories below. Mark 0 comes before the first step, one after each commit and rollback, and the
 * last when the file is closed. 0 or -errno. */
int steps_run(const char *path, unsigned flags, const char *story, steps_mark *mark);

/* The content of the file after this mark, by the story and not by the library. 0, or -EINVAL: no such mark. */
int steps_expected(const char *story, uint32_t mark, uint8_t content[STEPS_FILE_BYTES]);

/* Of a content, for people to compare. */
uint64_t steps_digest(const uint8_t content[STEPS_FILE_BYTES]);

#ifdef __cplusplus
}
#endif

#endif
