/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A persistence journal: a run's operations on the persistent lines of its
 * devices, in order. The journal and the content of the devices at its start
 * determine every content that a power cut at any instant could have left,
 * whichever lines the CPU had written back. docs/reference/formats.md describes the format
 * and its meaning.
 *
 * This module does no I/O. A journal begins, like a trace, with the configurations.
 */
#ifndef MODEL_MEM_JOURNAL_H
#define MODEL_MEM_JOURNAL_H

#include "mem_trace.h"

#define MEM_JOURNAL_VERSION 1u
#define MEM_JOURNAL_MAGIC "CXLJOURN"
#define MEM_JOURNAL_BLOCK_MAGIC 0x4b4c424au /* "JBLK" */
#define MEM_JOURNAL_BLOCK_BYTES_MAX (1u << 16)
#define MEM_JOURNAL_RECORD_BYTES 40u /* without the bytes of a store, which follow */

typedef enum MemJournalKind {
    MEM_JOURNAL_STORE,      /* with the bytes after the store */
    MEM_JOURNAL_NT_STORE,   /* the same, non-temporal */
    MEM_JOURNAL_FLUSH,      /* flush of a line; value: MemFlushKind */
    MEM_JOURNAL_FENCE,      /* value: MemFenceKind */
    MEM_JOURNAL_BARRIER,    /* pm_wbarrier */
    MEM_JOURNAL_WBINVD,     /* flush of all lines of all cores, then a fence */
    MEM_JOURNAL_WRITE_BACK, /* a line left the CPU in the model, with or without a flush */
    MEM_JOURNAL_DURABLE,    /* the newest bytes of a line became durable in the model */
    MEM_JOURNAL_MARK,       /* value: the workload's number */
    MEM_JOURNAL_POWER_CUT,  /* only the end follows */
    MEM_JOURNAL_END,        /* the run ended here, in an orderly way */
    MEM_JOURNAL_KINDS,
} MemJournalKind;

typedef struct MemJournalRecord {
    MemJournalKind kind;
    uint32_t core;
    uint32_t device;
    uint32_t value;
    uint64_t dpa;     /* of the first byte, or of a line */
    uint64_t pc;      /* the guest's virtual address of the instruction; 0: none */
    uint64_t process; /* physical address of its page table; 0: none */
    mem_ps at_ps;
    uint32_t count; /* number of bytes, all in one line */
    uint8_t bytes[MEMSYS_LINE_BYTES];
} MemJournalRecord;

typedef struct MemJournalWriter MemJournalWriter;

/* Start a journal. Passes the header to the sink at once. */
MemJournalWriter *mem_journal_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque);
void mem_journal_write(MemJournalWriter *w, const MemJournalRecord *record);
/*
 * Write the end record and free the writer. The end record has the time of the record before it, since a machine that
 * has ended continues until its host stops it. A reader reports a journal without an end record as cut short.
 */
void mem_journal_writer_end(MemJournalWriter *w);

#endif
