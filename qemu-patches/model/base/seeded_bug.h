/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that test builds can put into the model on purpose, one at a time, to show
 * that the tests find them. MODEL_SEEDED_BUG is never defined in a product.
 */
#ifndef MODEL_SEEDED_BUG_H
#define MODEL_SEEDED_BUG_H

enum {
    MEM_BUG_NONE,
    MEM_BUG_NO_PREIMAGE,          /* the durable bytes of a line are not saved when it is dirtied */
    MEM_BUG_CLWB_KEEPS_DIRTY,     /* CLWB does not write the line back */
    MEM_BUG_DURABLE_WHEN_SENT,    /* a line is durable when it leaves the host, not when it arrives */
    MEM_BUG_CUT_SPARES_WC,        /* a power cut leaves the WC buffers' bytes in the media */
    MEM_BUG_FENCE_SKIPS_EVICTED,  /* a flush of a line in flight does not delay the next fence */
    MEM_BUG_NO_CAPTURE,           /* dirtying a line again does not save the bytes that are under way */
    MEM_BUG_RESAVED_PREIMAGE,     /* dirtying a line again overwrites its saved durable bytes */
    MEM_BUG_DURABLE_IN_CACHE,     /* an unprotected device cache counts as durable */
    MEM_BUG_LATE_PROGRAM_WINS,    /* older bytes return when their program ends after the newer one's */
    MEM_BUG_GPF_SKIPS_REDIRTIED,  /* GPF forgets dirty lines with an older version under way */
    MEM_BUG_GPF_PAGES_FREE,       /* GPF programs pages without spending energy */
    MEM_BUG_BARRIER_EARLY,        /* pm_wbarrier does not wait for writes in flight */
    MEM_BUG_EADR_LOSES_CPU,       /* eADR keeps no more than ADR */
    MEM_BUG_TOSS_BY_RECORD,       /* the choice of evicted lines depends on the order of the tables */
    MEM_BUG_ADR_LOSES_IN_FLIGHT,  /* ADR keeps no more than the domain none */
    MEM_BUG_GPF_LOSES_SILENTLY,   /* lost lines do not make the shutdown dirty */
    MEM_BUG_PROGRAM_CARRIES_SENT, /* a program saves bytes that arrive after its start */
    MEM_BUG_NO_INTERLEAVING,      /* interleaved media are treated as contiguous */
    MEM_BUG_LAST_PROGRAM_COUNTS,  /* a version in two programs is durable when the one requested last ends */
    /* The device's faults, from 20 on. */
    MEM_BUG_2Q_FORGETS = 20,  /* a page that was in A1out returns as a new page */
    MEM_BUG_NO_MSHR_LIMIT,    /* the number of page fetches under way is unlimited */
    MEM_BUG_READS_INVALID,    /* a read hits bytes of a page that were never fetched */
    MEM_BUG_PROGRAMS_INVALID, /* a page is programmed without the bytes that were not fetched */
    MEM_BUG_COMPACTS_HALF,    /* compaction leaves the lines of its page in the other half dirty */
    MEM_BUG_REFRESH_AT_ONCE,  /* all banks of the device DRAM are refreshed at once */
    MEM_BUG_COMPLETIONS_FREE, /* any number of completions travels with one line */
    MEM_BUG_QUEUE_UNBOUNDED,  /* the host's write queue accepts any number of lines */
    MEM_BUG_HEADERS_FREE,     /* a completion that travels with a line takes no room from another line's header */
    MEM_BUG_COMPLETES_LOST,   /* a completed page is whole, although it could not be read */
    /* Faults of the core and the windows, from 30 on. */
    MEM_BUG_WINDOW_UNBOUNDED = 30, /* the core computes on, however long a load is under way */
    MEM_BUG_STORES_COMMIT_EARLY,   /* a store commits while an earlier one still waits */
    MEM_BUG_FLUSH_BEFORE_STORE,    /* a flush does not wait for the stores to its line */
    MEM_BUG_NO_FILL_BUFFERS,       /* the number of misses under way is unlimited */
    MEM_BUG_ONE_WAY,               /* every piece of an interleaved window goes to its first device */
    MEM_BUG_WRITE_BACK_UNCOUNTED,  /* a written-back page is programmed but not counted */
    MEM_BUG_WC_FREE_AT_ONCE,       /* a WC buffer is free when its line is sent, not when the host has taken it */
    MEM_BUG_WRITE_SKIPS_LLC,       /* a write of the core takes no time to get behind the LLC */
    MEM_BUG_TOUCH_WITHOUT_BUFFER,  /* a prefetched line under way is waited for, or sent, without a fill buffer */
    MEM_BUG_L2_UNBOUNDED,          /* the number of lines under way to L2 is unlimited */

    MEM_BUG_FLASH_SUSPEND_UNTOLD = 40, /* the listener does not learn that a suspended program ends later */
    MEM_BUG_FLASH_BUS_SHARED,          /* two pages cross one channel at once */
    MEM_BUG_GC_READS_FREE,             /* the read of a moved page takes no time */
    MEM_BUG_GC_BLAMED_ON_HOST,         /* waits for cleaning are charged to the host's programs */
    MEM_BUG_GC_MOST_VALID,             /* greedy selects the block with the most valid pages */
    MEM_BUG_FTL_STALE_STAYS,           /* the old copy of an overwritten page stays valid */
    MEM_BUG_FTL_WEAR_IGNORED,          /* the next block is the lowest free one, not the least worn */
    MEM_BUG_FLASH_LOAD_TRUSTS,         /* loading accepts a state that maps two pages to one place */
    MEM_BUG_GC_HEALS,                  /* a page that cleaning cannot read is readable at its new place */
    MEM_BUG_FLASH_NEVER_WEARS,         /* read errors ignore the erases since the first use */

    MEM_BUG_TRACE_UNCHECKED = 60, /* a block with a wrong checksum is accepted */
    MEM_BUG_TRACE_KEEPS_STALLS,   /* gaps start when an operation was issued, not when it was done */

    /* Faults of several cores, from 50 on. */
    MEM_BUG_STALE_SHARER = 50,   /* the directory omits a core that reads a line dirty in another core */
    MEM_BUG_MISSED_INVALIDATION, /* the last of several cores that hold a line keeps it when another core stores */
    MEM_BUG_LOST_DIRTY_BIT,      /* a dirty line that another core reads becomes clean everywhere */
    MEM_BUG_HIT_BEFORE_ARRIVAL,  /* a line on its way to another core counts as there at once */
    MEM_BUG_FENCE_COVERS_OTHERS, /* a fence waits for the stores of all cores */
    MEM_BUG_FLUSH_OF_OWN_ONLY,   /* a flush ignores the copies of other cores */
    MEM_BUG_LOCKED_POSTED,       /* a locked instruction does not wait for its line */

    MEM_BUG_POSTED_CAME_CLEAN = 70, /* a line that came dirty counts as clean if it leaves L1 before L1 is told */
    MEM_BUG_POSTED_BOUND_FROM_NOW,  /* the bound of posted stalls ignores operations under way */
};

#ifndef MODEL_SEEDED_BUG
#define MODEL_SEEDED_BUG 0
#endif

/* A constant, so that a product contains no trace of the faults. */
#define MEM_HAS_BUG(bug) (MODEL_SEEDED_BUG == (bug))

#endif
