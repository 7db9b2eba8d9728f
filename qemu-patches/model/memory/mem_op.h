/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations that the CPU's caches issue to the memory behind them. The sequence
 * of operations depends on the sequence of accesses alone, never on time, so a
 * recorded sequence can be replayed against any other memory. Each operation is
 * issued together with the operation before it, or when the CPU has computed for
 * a while (the operation's gap) since the operation before it was done.
 */
#ifndef MODEL_MEM_OP_H
#define MODEL_MEM_OP_H

#include "../base/units.h"

typedef enum MemOpKind {
    MEM_OP_LOAD,         /* read a line; the CPU waits for it */
    MEM_OP_STREAM_LOAD,  /* read a line; the CPU continues as far as its window allows */
    MEM_OP_STORE,        /* read a line for ownership; the store waits in the store buffer */
    MEM_OP_PREFETCH,     /* read a line that no access has asked for yet */
    MEM_OP_TOUCH,        /* first use of a prefetched line by a load, which waits until the line has arrived */
    MEM_OP_STREAM_TOUCH, /* the same by a load that the CPU can continue past */
    MEM_OP_STORE_TOUCH,  /* the same by a store */
    MEM_OP_EVICT,        /* write a dirty line that the LLC evicted */
    MEM_OP_WRITE_BACK,   /* write a dirty line that was flushed: the next fence waits for it */
    MEM_OP_CLEAN_FLUSH,  /* flush of a clean line: the next fence waits for a write of it under way */
    MEM_OP_FLUSH_WAIT,   /* CLFLUSH: wait for the write that the preceding flush sent or found under way */
    MEM_OP_NT_OPEN,      /* take a write-combining buffer */
    MEM_OP_NT_SEND,      /* write the content of a write-combining buffer: the next fence waits for it */
    MEM_OP_STORE_FENCE,  /* SFENCE */
    MEM_OP_LOAD_FENCE,   /* LFENCE */
    MEM_OP_FULL_FENCE,   /* MFENCE, locked instructions, the end of WBINVD */
    MEM_OP_SERIALIZE,    /* wait for the loads and stores so far, but not for writes that flushes started */
    MEM_OP_BARRIER,      /* pm_wbarrier: the devices make all accepted writes durable */
    MEM_OP_KINDS,        /* the kinds with one core and in a trace; the kinds below occur with several cores only */
    MEM_OP_JOIN = MEM_OP_KINDS, /* a load hit a line that is still on its way to another core */
    MEM_OP_STREAM_JOIN,
    MEM_OP_STORE_JOIN,
    MEM_OP_TRANSFER, /* another core supplies the line */
    MEM_OP_STREAM_TRANSFER,
    MEM_OP_STORE_TRANSFER,
    MEM_OP_UPGRADE, /* a store hit a line that other cores hold: their copies are invalidated */
    MEM_OP_NONE,
} MemOpKind;

typedef struct MemOperation {
    MemOpKind kind;
    bool with_previous; /* issued at the same time as the operation before, regardless of that operation's wait */
    uint64_t line;      /* host physical address / 64; 0 for fences and the barrier */
    uint64_t byte_mask; /* bytes written by EVICT, WRITE_BACK, NT_SEND; else 0 */
} MemOperation;

#endif
