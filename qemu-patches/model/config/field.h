/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How cpu.h and device.h define the parameters. Each parameter is one row, and this
 * row is its only definition. The row generates the field of the configuration
 * (here), the table with its checks (params.c), QEMU's properties, the replayer's
 * options and, by `python -m testbed.build.parameter_tables`, the runner's side,
 * the QAPI schema, the tables of docs/reference/parameters.md and the fuzzer's words.
 *
 * `X(kind, field, name, change, initial, allowed, what)`:
 * - `kind`: one of the kinds below. The unit of a TIME and of an ENERGY ends both
 *   names.
 * - `change`: FIXED, a trace or the guest's view of the device depends on it;
 *   REPLAY, a replay may use another value; LIVE, a running device may, too.
 * - `initial`: REQUIRED, a profile must state it; DEFAULT(value).
 * - `allowed`: ANY, UP_TO(most), FROM(least, most), ONE_OF(choices), ... of
 *   params.c. IF(name, allowed), IF_FLASH(allowed): checked only if that parameter,
 *   or flash-channels, is not 0. A rule over several fields is a REQUIRE in
 *   checks.c or device/device_config.c.
 * - `what`: half a sentence for people. Other parameters are named as in profiles.
 */
#ifndef MODEL_CONFIG_FIELD_H
#define MODEL_CONFIG_FIELD_H

#include "../base/units.h"

#define MEM_FIELD_COUNT uint32_t
#define MEM_FIELD_NUMBER uint64_t /* a seed */
#define MEM_FIELD_SIZE uint64_t   /* bytes */
#define MEM_FIELD_SIZE32 uint32_t
#define MEM_FIELD_TIME mem_ps
#define MEM_FIELD_BANDWIDTH uint64_t /* bytes per second */
#define MEM_FIELD_ENERGY uint64_t
#define MEM_FIELD_BOOL bool
#define MEM_FIELD_CHOICE uint32_t /* an enumeration, stored as a number so that one table describes all */

#define MEM_FIELD(kind, field, name, change, initial, allowed, what) MEM_FIELD_##kind field;

/* The values of a choice: X(constant, name). */
#define MEM_CHOICE_ID(id, name) id,
#define MEM_CHOICE_NAME(id, name) name,

#endif
