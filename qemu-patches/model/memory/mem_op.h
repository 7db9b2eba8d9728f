/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the CPU's caches ask of the memory behind them. The sequence of
 * operations follows from the sequence of accesses alone, never from time, so
 * that a recorded one can be replayed against any other memory: an operation
 * is issued when the CPU has computed for a while (its gap) since the one
 * before was done, or together with it.
 */
#ifndef MODEL_MEM_OP_H
#define MODEL_MEM_OP_H

#include "../base/units.h"

typedef enum MemOpKind {
    MEM_OP_LOAD,                /* read a line; the CPU waits for it */
    MEM_OP_STREAM_LOAD,         /* read a line; the CPU goes on, as far as its window allows */
    MEM_OP_STORE,               /* read a line for ownership; the store waits in the store buffer */
    MEM_OP_PREFETCH,            /* read a line that nobody asked for yet */
    MEM_OP_TOUCH,               /* first use of a prefetched line by a load, which waits if it is not there yet */
    MEM_OP_STREAM_TOUCH,        /* the same, by a load that can be under way */
    MEM_OP_STORE_TOUCH,         /* the same, by a store */
    MEM_OP_EVICT,               /* write a dirty line that the LLC pushed out */
    MEM_OP_WRITE_BACK,          /* write a dirty line that was flushed: the next fence waits for it */
    MEM_OP_CLEAN_FLUSH,         /* flush of a clean line: the next fence waits if a write of it is under way */
    MEM_OP_FLUSH_WAIT,          /* CLFLUSH: wait for what the flush before sent or found under way */
    MEM_OP_NT_OPEN,             /* take a write-combining buffer */
    MEM_OP_NT_SEND,             /* write what one holds: the next fence waits for it */
    MEM_OP_STORE_FENCE,         /* SFENCE */
    MEM_OP_LOAD_FENCE,          /* LFENCE */
    MEM_OP_FULL_FENCE,          /* MFENCE, locked instructions, the end of WBINVD */
    MEM_OP_SERIALIZE,           /* the loads and stores so far, but not what flushes started */
    MEM_OP_BARRIER,             /* pm_wbarrier: the device makes durable what it has accepted */
    MEM_OP_KINDS,               /* with one core, and in a trace: what follows is what other cores have to do with it */
    MEM_OP_JOIN = MEM_OP_KINDS, /* a load hit a line that is still on its way to another core */
    MEM_OP_STREAM_JOIN,
    MEM_OP_STORE_JOIN,
    MEM_OP_TRANSFER, /* another core gives the line */
    MEM_OP_STREAM_TRANSFER,
    MEM_OP_STORE_TRANSFER,
    MEM_OP_UPGRADE, /* a store hit a line that others hold: they lose it */
    MEM_OP_NONE,
} MemOpKind;

typedef struct MemOperation {
    MemOpKind kind;
    bool with_previous; /* issued at the same time as the operation before, whatever that one waits for */
    uint64_t line;      /* host physical address / 64; 0 for fences and the barrier */
    uint64_t byte_mask; /* bytes written by EVICT, WRITE_BACK, NT_SEND; else 0 */
} MemOperation;

#endif
