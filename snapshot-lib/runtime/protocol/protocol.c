/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of the commit protocol of a file. */
#include "protocols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uncancelled.h"

#define PROTOCOL_DEFAULT protocol_redo
#define PROTOCOL_ID(flag) ((flag) / (SNAPSHOT_PROTOCOL_MASK & -SNAPSHOT_PROTOCOL_MASK))

_Static_assert(PROTOCOL_ID(SNAPSHOT_PROTOCOL_REDO) == 4, "the flags hold the number of the log file");

static const struct protocol *const protocols[] = {
    &protocol_line,  &protocol_undo, &protocol_undo_nv, &protocol_redo,
#ifdef SNAPSHOT_EPOCHS
    &protocol_epoch,
#endif
};
static const size_t protocol_count = sizeof(protocols) / sizeof(protocols[0]);

const struct protocol *protocol_by_id(uint32_t id) {
    for (size_t i = 0; i < protocol_count; i++)
        if (protocols[i]->id == id)
            return protocols[i];
    return NULL;
}

const struct protocol *protocol_by_name(const char *name) {
    for (size_t i = 0; i < protocol_count; i++)
        if (strcmp(protocols[i]->name, name) == 0)
            return protocols[i];
    return NULL;
}

static const struct protocol *complain(const char *what) {
    UNCANCELLED;
    fprintf(stderr, "snapshot: %s is no commit protocol; there are", what);
    for (size_t i = 0; i < protocol_count; i++)
        fprintf(stderr, " %s", protocols[i]->name);
    fprintf(stderr, "\n");
    return NULL;
}

const struct protocol *protocol_choose(unsigned flags) {
    char what[64];
    const struct protocol *chosen = &PROTOCOL_DEFAULT;
    const char *name = getenv("SNAPSHOT_PROTOCOL");
    uint32_t id = PROTOCOL_ID(flags & SNAPSHOT_PROTOCOL_MASK);
    if (id) {
        chosen = protocol_by_id(id);
        snprintf(what, sizeof(what), "number %u in the flags", id);
    } else if (name && *name) {
        chosen = protocol_by_name(name);
        snprintf(what, sizeof(what), "SNAPSHOT_PROTOCOL=%s", name);
    }
    return chosen ? chosen : complain(what);
}
