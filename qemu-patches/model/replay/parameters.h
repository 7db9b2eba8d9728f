/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's tables of parameters, for what is made from them. */
#ifndef REPLAY_PARAMETERS_H
#define REPLAY_PARAMETERS_H

#include <stdio.h>

/* A line of JSON for each parameter, in the order of the tables. */
void parameters_print(FILE *out);

#endif
