/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The output of a replay: a table for people, a line of JSON for programs, differences from the capture. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include <stdio.h>

#include "replay.h"

void report_json(FILE *out, const Replay *r, size_t index);
void report_text(FILE *out, const Replay *r);
/* Print every time and counter that differs from the capture. Returns their number. */
size_t report_differences(FILE *out, const Replay *r);

/* Print every parameter with its value at capture and its meaning. */
void report_setup(FILE *out, const MemTraceSetup *setup);

#endif
