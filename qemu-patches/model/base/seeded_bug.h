/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that test builds can put into the model on purpose, one at a time, to
 * show that the tests find them. MODEL_SEEDED_BUG is never defined in a product.
 */
#ifndef MODEL_SEEDED_BUG_H
#define MODEL_SEEDED_BUG_H

enum {
    MEM_BUG_NONE,
    MEM_BUG_NO_PREIMAGE,          /* the bytes to fall back to are not saved */
    MEM_BUG_CLWB_KEEPS_DIRTY,     /* CLWB writes nothing back */
    MEM_BUG_DURABLE_WHEN_SENT,    /* durable when it leaves the host, not when it arrives */
    MEM_BUG_CUT_SPARES_WC,        /* a power cut leaves the WC buffers' bytes in the media */
    MEM_BUG_FENCE_SKIPS_EVICTED,  /* a flush of a line in flight promises nothing */
    MEM_BUG_NO_CAPTURE,           /* a line dirtied again does not save the bytes that are under way */
    MEM_BUG_RESAVED_PREIMAGE,     /* a line dirtied again forgets what was durable */
    MEM_BUG_DURABLE_IN_CACHE,     /* an unprotected device cache counts as durable */
    MEM_BUG_LATE_PROGRAM_WINS,    /* old bytes come back when their program ends after a newer one's */
    MEM_BUG_GPF_SKIPS_REDIRTIED,  /* GPF forgets lines of which older bytes are under way */
    MEM_BUG_GPF_PAGES_FREE,       /* GPF programs pages without energy */
    MEM_BUG_BARRIER_EARLY,        /* pm_wbarrier does not wait for what is in flight */
    MEM_BUG_EADR_LOSES_CPU,       /* eADR keeps no more than ADR */
    MEM_BUG_TOSS_BY_RECORD,       /* which lines had been evicted depends on the order of the tables */
    MEM_BUG_ADR_LOSES_IN_FLIGHT,  /* ADR keeps no more than none */
    MEM_BUG_GPF_LOSES_SILENTLY,   /* lost lines make no dirty shutdown */
    MEM_BUG_PROGRAM_CARRIES_SENT, /* a program saves bytes that arrive after its start */
    MEM_BUG_NO_INTERLEAVING,      /* interleaved media are taken for contiguous ones */
    MEM_BUG_LAST_PROGRAM_COUNTS,  /* a version programmed twice is durable when the program asked for last ends */
    /* The device's are 20 and on. */
    MEM_BUG_2Q_FORGETS = 20,  /* a page that was in A1out comes back as a new one */
    MEM_BUG_NO_MSHR_LIMIT,    /* any number of pages is fetched at once */
    MEM_BUG_READS_INVALID,    /* a read takes bytes of a page that were never fetched */
    MEM_BUG_PROGRAMS_INVALID, /* a page is programmed without the bytes that were not fetched */
    MEM_BUG_COMPACTS_HALF,    /* compaction leaves lines of its page in the other half for later */
    MEM_BUG_REFRESH_AT_ONCE,  /* all banks of the device DRAM are refreshed at once */
    MEM_BUG_COMPLETIONS_FREE, /* any number of completions goes with one line */
    MEM_BUG_QUEUE_UNBOUNDED,  /* the host's write queue has room for any number of lines */
    MEM_BUG_HEADERS_FREE,     /* a completion that goes with a line takes no room from the header of another */
    MEM_BUG_COMPLETES_LOST,   /* what a page lacked is there once it was read, though it could not be read */
    /* The core's and the windows' are 30 and on. */
    MEM_BUG_WINDOW_UNBOUNDED = 30, /* the core computes on however long a load is under way */
    MEM_BUG_STORES_COMMIT_EARLY,   /* a store commits though an earlier one still waits */
    MEM_BUG_FLUSH_BEFORE_STORE,    /* a flush does not wait for the stores to its line */
    MEM_BUG_NO_FILL_BUFFERS,       /* any number of misses is under way at once */
    MEM_BUG_ONE_WAY,               /* every piece of an interleaved window goes to its first device */
    MEM_BUG_WRITE_BACK_UNCOUNTED,  /* a page is programmed that no counter accounts for */
    MEM_BUG_WC_FREE_AT_ONCE,       /* a WC buffer is free when its line has been sent, taken or not */
    MEM_BUG_WRITE_SKIPS_LLC,       /* what the core writes starts behind the LLC */
    MEM_BUG_TOUCH_WITHOUT_BUFFER,  /* a prefetched line that is not there yet is waited for, and sent, without a buffer
                                    */
    MEM_BUG_L2_UNBOUNDED,          /* any number of lines is under way to L2 at once */

    MEM_BUG_FLASH_SUSPEND_UNTOLD = 40, /* nobody hears that a suspended program ends later */
    MEM_BUG_FLASH_BUS_SHARED,          /* two pages cross one channel at once */
    MEM_BUG_GC_READS_FREE,             /* a move takes no time to read */
    MEM_BUG_GC_BLAMED_ON_HOST,         /* waits for cleaning are charged to the host's programs */
    MEM_BUG_GC_MOST_VALID,             /* greedy takes the block with the most valid pages */
    MEM_BUG_FTL_STALE_STAYS,           /* the old copy of an overwritten page stays valid */
    MEM_BUG_FTL_WEAR_IGNORED,          /* the next block is the lowest, not the least worn */
    MEM_BUG_FLASH_LOAD_TRUSTS,         /* a saved state may map two pages to one place */
    MEM_BUG_GC_HEALS,                  /* a page that cleaning cannot read is a good one where it is moved to */
    MEM_BUG_FLASH_NEVER_WEARS,         /* read errors forget the erases since the first use */

    MEM_BUG_TRACE_UNCHECKED = 60, /* a block is believed whatever its checksum */
    MEM_BUG_TRACE_KEEPS_STALLS,   /* gaps count from when an operation was issued, not from when it was done */

    /* Those of several cores are 50 and on. */
    MEM_BUG_STALE_SHARER = 50,   /* the directory forgets a core that reads what another one holds dirty */
    MEM_BUG_MISSED_INVALIDATION, /* of several cores that hold a line the last keeps it when another one stores */
    MEM_BUG_LOST_DIRTY_BIT,      /* a dirty line that another core reads is clean everywhere */
    MEM_BUG_HIT_BEFORE_ARRIVAL,  /* a line on its way to another core is there at once */
    MEM_BUG_FENCE_COVERS_OTHERS, /* a fence waits for the stores of all cores */
    MEM_BUG_FLUSH_OF_OWN_ONLY,   /* a flush leaves what other cores hold */
    MEM_BUG_LOCKED_POSTED,       /* a locked instruction does not wait for its line */

    MEM_BUG_POSTED_CAME_CLEAN = 70, /* a line that came dirty and left L1 before it was told is dropped */
    MEM_BUG_POSTED_BOUND_FROM_NOW,  /* the bound of posted stalls forgets what is under way */
};

#ifndef MODEL_SEEDED_BUG
#define MODEL_SEEDED_BUG 0
#endif

/* Constant, so that a product has no trace of it. */
#define MEM_HAS_BUG(bug) (MODEL_SEEDED_BUG == (bug))

#endif
