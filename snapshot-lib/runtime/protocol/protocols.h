/* SPDX-License-Identifier: BSD-3-Clause */
/* The commit protocols, and the job that recovery passes to a protocol. */
#ifndef SNAPSHOT_PROTOCOLS_H
#define SNAPSHOT_PROTOCOLS_H

#include "base/region.h"
#include "log/format.h"

/* Input: the log and the file after a crash. Output: the epoch that the file is at now. */
struct recovery_job {
    struct log_view log;
    uint8_t *backing;
    uint64_t line_limit; /* number of lines in the file */
    struct record last;  /* the newest record */
    uint64_t epoch;
    uint64_t lines_undone;
    uint64_t lines_replayed;
};

extern const struct protocol protocol_line, protocol_undo, protocol_undo_nv, protocol_redo;
extern const struct protocol protocol_epoch; /* only in libsnapshot-epochs: the folder epochs/ */

/* NULL: no such protocol. */
const struct protocol *protocol_by_id(uint32_t id);
const struct protocol *protocol_by_name(const char *name);

/* The protocol selected by the flags, else by the environment variable SNAPSHOT_PROTOCOL, else the default. NULL, and a
 * line on stderr, if the selected protocol does not exist. */
const struct protocol *protocol_choose(unsigned flags);

#endif
