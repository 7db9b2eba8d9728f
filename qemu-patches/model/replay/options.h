/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command line and grids: which parameters are to have other values than at capture. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include <stdio.h>

#include "replay.h"

typedef struct Message {
    char text[512];
} Message;

/*
 * Add what "device.cache-size=64M", "device1.cache-size=64M" or
 * "cpu.dram-latency=90ns" says to `config`. False with a message if it cannot
 * be: the name, what is wrong, and what would be right.
 */
bool options_assign(ReplayConfig *config, const char *assignment, const MemTraceSetup *setup, Message *message);
/* The same for each word of a line. */
bool options_assign_line(ReplayConfig *config, char *line, const MemTraceSetup *setup, Message *message);
void options_free(ReplayConfig *config);

#endif
