/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters as text. Programs write exact numbers without units, people write
 * values with units ("64M", "800ns", "27G", "on", "lru").
 */
#ifndef MODEL_PARAM_TEXT_H
#define MODEL_PARAM_TEXT_H

#include "params.h"

#define MEM_PARAM_TEXT_BYTES 32 /* enough for every value and its terminator */

/* Format the value of a parameter as text that mem_param_parse() accepts. */
void mem_param_format(const MemParam *param, const void *config, char text[MEM_PARAM_TEXT_BYTES]);

/*
 * Parse a value: a number with a unit of the parameter's type, or without a unit
 * (bytes, picoseconds, bytes per second); on or off; the name of a choice. Returns
 * NULL, or a static half sentence ("must be on or off").
 */
const char *mem_param_parse(const MemParam *param, const char *text, uint64_t *value);

/*
 * Find a parameter by its name in the table, or as profiles write it: with '_' for
 * '-', and without the final "-ps". NULL if no parameter has that name.
 */
const MemParam *mem_param_named(const MemParamTable *table, const char *name);
/* The parameter with the most similar name. */
const MemParam *mem_param_nearest(const MemParamTable *table, const char *name);

#endif
