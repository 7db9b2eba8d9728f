/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model says of configurations that nothing has been captured on. */
#ifndef REPLAY_JUDGE_H
#define REPLAY_JUDGE_H

#include <stdio.h>

/*
 * Each line of `in` is a machine of one device: words cpu.NAME=VALUE and
 * device.NAME=VALUE, where device.capacity is the size of the media and what
 * is not named has its initial value. For each there is a line of `out`: "ok",
 * or why there can be no such machine.
 */
void judge_all(FILE *in, FILE *out);

#endif
