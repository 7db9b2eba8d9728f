/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How cpu.h and device.h state the parameters: a row for each, which is its
 * only place. From it come the field of the configuration (here), the table
 * with its checks (params.c), QEMU's properties, the replayer's options, and
 * by `python -m testbed.build.parameter_tables` the runner's side, the QAPI
 * schema, the tables of docs/model.md and the fuzzer's words.
 *
 * X(kind, field, name, change, initial, allowed, what):
 * - kind: one of the below. The unit of a TIME and of an ENERGY ends both names.
 * - change: FIXED, it shapes what a trace holds; REPLAY, a replay may have
 *   another; LIVE, also a device that runs.
 * - initial: REQUIRED, a profile must state it; DEFAULT(value).
 * - allowed: ANY, UP_TO(most), FROM(least, most), ONE_OF(choices), ... of
 *   params.c. IF(name, allowed), IF_FLASH(allowed): only looked at if that
 *   parameter, or flash-channels, is not 0.
 *   What several fields must be together is a REQUIRE in checks.c or
 *   device/device_config.c.
 * - what: half a sentence for people. It names others as profiles do.
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
#define MEM_FIELD_CHOICE uint32_t /* an enumeration, kept so that one table describes all */

#define MEM_FIELD(kind, field, name, change, initial, allowed, what) MEM_FIELD_##kind field;

/* The values of a choice: X(constant, name). */
#define MEM_CHOICE_ID(id, name) id,
#define MEM_CHOICE_NAME(id, name) name,

#endif
