/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that test builds can put into the model on purpose, one at a time, to
 * show that the tests find them. MODEL_SEEDED_BUG is never defined in a product.
 */
#ifndef MODEL_SEEDED_BUG_H
#define MODEL_SEEDED_BUG_H

enum {
    MEM_BUG_NONE,
    MEM_BUG_NO_PREIMAGE,         /* the bytes to fall back to are not saved */
    MEM_BUG_CLWB_KEEPS_DIRTY,    /* CLWB writes nothing back */
    MEM_BUG_DURABLE_WHEN_SENT,   /* durable when it leaves the host, not when it arrives */
    MEM_BUG_CUT_SPARES_WC,       /* a power cut leaves the WC buffers' bytes in the media */
    MEM_BUG_FENCE_SKIPS_EVICTED, /* a flush of a line in flight promises nothing */
    MEM_BUG_EARLY_CAPTURE,       /* a full WC buffer goes out without the bytes that filled it */
    MEM_BUG_RESAVED_PREIMAGE,    /* a line dirtied again forgets what was durable */
    MEM_BUG_DURABLE_IN_CACHE,    /* an unprotected device cache counts as durable */
};

#ifndef MODEL_SEEDED_BUG
#define MODEL_SEEDED_BUG 0
#endif

/* Constant, so that a product has no trace of it. */
#define MEM_HAS_BUG(bug) (MODEL_SEEDED_BUG == (bug))

#endif
