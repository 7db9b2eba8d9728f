/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a replay says: a table for people, a line of JSON for programs, differences from the capture. */
#ifndef REPLAY_REPORT_H
#define REPLAY_REPORT_H

#include <stdio.h>

#include "replay.h"

void report_json(FILE *out, const Replay *r, size_t index);
void report_text(FILE *out, const Replay *r);
/* Name every time and counter that is not as captured; returns how many there are. */
size_t report_differences(FILE *out, const Replay *r);

/* Every parameter with its value at capture and its meaning. */
void report_setup(FILE *out, const MemTraceSetup *setup);

#endif
