/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters as text: exact and without units where programs write it, with
 * units where people do ("64M", "800ns", "27G", "on", "lru").
 */
#ifndef MODEL_PARAM_TEXT_H
#define MODEL_PARAM_TEXT_H

#include "params.h"

#define MEM_PARAM_TEXT_BYTES 32 /* enough for every value, with its terminator */

/* The value of a parameter as text that mem_param_parse() reads back. */
void mem_param_format(const MemParam *param, const void *config, char text[MEM_PARAM_TEXT_BYTES]);

/*
 * Read a value: a number with one of the units of the parameter's type, or
 * without (bytes, picoseconds, bytes per second); on or off; a choice's name.
 * Returns NULL, or a static half sentence saying what the value must be.
 */
const char *mem_param_parse(const MemParam *param, const char *text, uint64_t *value);

/*
 * The parameter that people call `name`: as it is in the table, or with '_'
 * for '-' and without the "-ps" at its end, as profiles have it. NULL if none.
 */
const MemParam *mem_param_named(const MemParamTable *table, const char *name);
/* The one whose name looks most like it. */
const MemParam *mem_param_nearest(const MemParamTable *table, const char *name);

#endif
