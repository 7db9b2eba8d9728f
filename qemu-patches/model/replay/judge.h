/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks configurations against the rules of the model, without a trace. */
#ifndef REPLAY_JUDGE_H
#define REPLAY_JUDGE_H

#include <stdio.h>

/*
 * Each line of `in` describes a machine with one device, in words
 * cpu.NAME=VALUE and device.NAME=VALUE. device.capacity is the size of the
 * media; parameters that the line does not name have their initial value. For
 * each line the function writes a line to `out`: "ok", or the reason why the
 * model rejects the machine.
 */
void judge_all(FILE *in, FILE *out);

#endif
