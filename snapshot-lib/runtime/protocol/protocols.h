/* SPDX-License-Identifier: BSD-3-Clause */
/* Which commit protocols there are, and what recovery hands to one. */
#ifndef SNAPSHOT_PROTOCOLS_H
#define SNAPSHOT_PROTOCOLS_H

#include "base/region.h"
#include "log/format.h"

/* In: what a crash left. Out: which state the file has now. */
struct recovery_job {
    struct log_view log;
    uint8_t *backing;
    uint64_t line_limit; /* lines of the file */
    struct record last;  /* the newest */
    uint64_t epoch;
    uint64_t lines_undone;
    uint64_t lines_replayed;
};

extern const struct protocol protocol_line, protocol_undo, protocol_undo_nv, protocol_redo;
extern const struct protocol protocol_epoch; /* of libsnapshot-epochs only: the folder epochs/ */

/* NULL: there is none. */
const struct protocol *protocol_by_id(uint32_t id);
const struct protocol *protocol_by_name(const char *name);

/* The one asked for by the flags, else by the environment variable SNAPSHOT_PROTOCOL, else the default; or NULL. */
const struct protocol *protocol_choose(unsigned flags);

#endif
