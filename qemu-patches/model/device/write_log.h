/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write log of a device, after SkyByte (Zhang et al., HPCA 2025): written
 * lines are appended to device DRAM, so that a small write neither fetches nor
 * programs a page. Two halves take turns. One takes what is written; when it is
 * full its pages are compacted, each with all its logged lines in one program,
 * while the other fills. What a half holds can be read until it is emptied for
 * its next turn. This keeps the contents; cxl_device decides the times.
 *
 * A line that is written again in the same half takes no more room. A line is
 * dirty until a program has taken its bytes; a program of a page takes those of
 * both halves.
 */
#ifndef MODEL_WRITE_LOG_H
#define MODEL_WRITE_LOG_H

#include "../base/units.h"

/* Numbers with a place each, in the order they were added. */
typedef struct MemKeys {
    uint64_t *keys;
    uint32_t *hash_next; /* place + 1 */
    uint32_t *buckets;   /* place + 1 */
    uint32_t count;
    unsigned bucket_shift;
} MemKeys;

typedef struct MemLogLine {
    uint64_t bytes;      /* a bit for each that it holds */
    uint32_t page;       /* place of its page */
    uint32_t generation; /* dirty if that of its page */
} MemLogLine;

typedef struct MemLogPage {
    mem_ps accepted_ps; /* the last of its lines */
    uint32_t dirty_lines;
    uint32_t whole_lines; /* of which all 64 bytes are here */
    uint32_t generation;
} MemLogPage;

typedef struct MemLogHalf {
    MemKeys line_keys;
    MemKeys page_keys;
    MemLogLine *lines;
    MemLogPage *pages;
} MemLogHalf;

typedef struct MemWriteLog {
    MemLogHalf halves[2];
    uint32_t room; /* lines of a half; 0: no log */
    unsigned page_line_shift;
    uint32_t filling;       /* which half takes what is written */
    uint32_t next_page;     /* of the other: those before it are compacted or under way */
    uint64_t lines_dirtied; /* since creation: lines that became dirty ... */
    uint64_t lines_cleaned; /* ... and that were programmed, overwritten elsewhere or lost */
} MemWriteLog;

void mem_log_init(MemWriteLog *l, uint64_t size_bytes, unsigned page_line_shift);
void mem_log_destroy(MemWriteLog *l);

/* Which bytes of a line the log holds. */
uint64_t mem_log_bytes(const MemWriteLog *l, uint64_t line);

/* Whether a write of the line finds room in the half that is filling. */
bool mem_log_has_room(const MemWriteLog *l, uint64_t line);
void mem_log_append(MemWriteLog *l, uint64_t line, uint64_t bytes, mem_ps accepted_ps);
/* Newer bytes of a line are elsewhere: those here count no more. */
void mem_log_drop(MemWriteLog *l, uint64_t line, uint64_t bytes);

/* The halves change places. The one that is to fill is emptied: all its pages have been compacted. */
void mem_log_turn(MemWriteLog *l);
/* Whether the full half has pages to compact. */
static inline bool mem_log_is_compacting(const MemWriteLog *l) {
    return l->room && l->next_page < l->halves[1 - l->filling].page_keys.count;
}

/* One page of the full half: what its compaction must know. */
typedef struct MemLogCompaction {
    uint64_t page;
    mem_ps accepted_ps; /* its last line, of either half */
    bool dirty;         /* false: there is nothing to do */
    bool whole;         /* all its bytes are in the log */
} MemLogCompaction;

/* Take the next page of the full half; its lines are clean from now on. */
MemLogCompaction mem_log_compact_next(MemWriteLog *l);

/* Everything it holds has been programmed, or is lost. */
void mem_log_clear(MemWriteLog *l);

/* NULL, or the law that is broken. */
const char *mem_log_check(const MemWriteLog *l);

#endif
