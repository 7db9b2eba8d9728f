/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the model's tables of parameters, for generated code and documents. */
#ifndef REPLAY_PARAMETERS_H
#define REPLAY_PARAMETERS_H

#include <stdio.h>

/* Print a line of JSON for each parameter, in the order of the tables. */
void parameters_print(FILE *out);

#endif
