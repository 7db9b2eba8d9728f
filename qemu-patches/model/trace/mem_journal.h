/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A persistence journal: what a run did to the persistent lines of its devices,
 * in the order in which it did it. From it and from what the devices held at its
 * start follows what a power cut at any instant could have left, whichever lines
 * the CPU had written back. docs/crash.md describes the format and its meaning.
 *
 * Nothing here does I/O. A journal begins as a trace does, with the configurations.
 */
#ifndef MODEL_MEM_JOURNAL_H
#define MODEL_MEM_JOURNAL_H

#include "mem_trace.h"

#define MEM_JOURNAL_VERSION 1u
#define MEM_JOURNAL_MAGIC "CXLJOURN"
#define MEM_JOURNAL_BLOCK_MAGIC 0x4b4c424au /* "JBLK" */
#define MEM_JOURNAL_BLOCK_BYTES_MAX (1u << 16)
#define MEM_JOURNAL_RECORD_BYTES 40u /* and the bytes of a store */

typedef enum MemJournalKind {
    MEM_JOURNAL_STORE,      /* what the bytes are after it */
    MEM_JOURNAL_NT_STORE,   /* the same, non-temporal */
    MEM_JOURNAL_FLUSH,      /* of a line; value: MemFlushKind */
    MEM_JOURNAL_FENCE,      /* value: MemFenceKind */
    MEM_JOURNAL_BARRIER,    /* pm_wbarrier */
    MEM_JOURNAL_WBINVD,     /* all lines of all cores are flushed, and fenced */
    MEM_JOURNAL_WRITE_BACK, /* the model let a line leave the CPU, asked by a flush or not */
    MEM_JOURNAL_DURABLE,    /* the newest bytes of a line are durable in the model */
    MEM_JOURNAL_MARK,       /* value: the workload's number */
    MEM_JOURNAL_POWER_CUT,  /* nothing but the end follows */
    MEM_JOURNAL_END,        /* the run ended here, in order */
    MEM_JOURNAL_KINDS,
} MemJournalKind;

typedef struct MemJournalRecord {
    MemJournalKind kind;
    uint32_t core;
    uint32_t device;
    uint32_t value;
    uint64_t dpa;     /* of the first byte; of a line */
    uint64_t pc;      /* the guest's virtual address of the instruction; 0: none */
    uint64_t process; /* physical address of its page table; 0: none */
    mem_ps at_ps;
    uint32_t count; /* of the bytes, all in one line */
    uint8_t bytes[MEMSYS_LINE_BYTES];
} MemJournalRecord;

typedef struct MemJournalWriter MemJournalWriter;

/* Starts a journal: the header goes to the sink at once. */
MemJournalWriter *mem_journal_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque);
void mem_journal_write(MemJournalWriter *w, const MemJournalRecord *record);
/*
 * End and free it; the end has the time of the record before, since a machine that has ended goes on until its host
 * stops it. A journal without its end reads as cut short.
 */
void mem_journal_writer_end(MemJournalWriter *w);

#endif
