/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the command line and grids: the parameters with other values than at capture. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include <stdio.h>

#include "replay.h"

typedef struct Message {
    char text[512];
} Message;

/*
 * Add an assignment such as "device.cache-size=64M", "device1.cache-size=64M" or
 * "cpu.dram-latency=90ns" to `config`. On failure, return false with a message
 * that states the name, the fault and the remedy.
 */
bool options_assign(ReplayConfig *config, const char *assignment, const MemTraceSetup *setup, Message *message);
/* The same for each word of a line. */
bool options_assign_line(ReplayConfig *config, char *line, const MemTraceSetup *setup, Message *message);
void options_free(ReplayConfig *config);

#endif
