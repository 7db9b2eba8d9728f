/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The write log of a device, after SkyByte (Zhang et al., HPCA 2025): written lines
 * are appended to device DRAM, so that a small write neither fetches nor programs a
 * page. Two halves take turns. One takes writes until it is full. Its pages are
 * then compacted, each with all its logged lines in one program, while the other
 * half fills. The lines of a half can be read until the half is emptied for its
 * next turn. This file keeps the contents; device_log.c decides the times.
 *
 * A line that is written again in the same half takes no more room. A line is dirty
 * until a program has taken its bytes; a program of a page takes its lines from
 * both halves.
 */
#ifndef MODEL_WRITE_LOG_H
#define MODEL_WRITE_LOG_H

#include "../base/units.h"

/* A set of numbers, each with a place, in the order of addition. */
typedef struct MemKeys {
    uint64_t *keys;
    uint32_t *hash_next; /* place + 1 */
    uint32_t *buckets;   /* place + 1 */
    uint32_t count;
    unsigned bucket_shift;
} MemKeys;

typedef struct MemLogLine {
    uint64_t bytes;      /* one bit for each byte that it holds */
    uint32_t page;       /* place of its page */
    uint32_t generation; /* dirty if equal to its page's */
} MemLogLine;

typedef struct MemLogPage {
    mem_ps accepted_ps; /* when the last of its lines was accepted */
    uint32_t dirty_lines;
    uint32_t whole_lines; /* lines of which this half holds all 64 bytes */
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
    uint32_t filling;       /* the half that takes writes */
    uint32_t next_page;     /* of the other half: earlier pages are compacted or under way */
    uint64_t lines_dirtied; /* since creation: lines that became dirty ... */
    uint64_t lines_cleaned; /* ... and lines that were programmed, overwritten elsewhere or lost */
} MemWriteLog;

void mem_log_init(MemWriteLog *l, uint64_t size_bytes, unsigned page_line_shift);
void mem_log_destroy(MemWriteLog *l);

/* The bytes of a line that the log holds. */
uint64_t mem_log_bytes(const MemWriteLog *l, uint64_t line);

/* Whether the filling half has room for a write of the line. */
bool mem_log_has_room(const MemWriteLog *l, uint64_t line);
void mem_log_append(MemWriteLog *l, uint64_t line, uint64_t bytes, mem_ps accepted_ps);
/* Drop bytes of a line, because newer bytes are elsewhere. */
void mem_log_drop(MemWriteLog *l, uint64_t line, uint64_t bytes);

/* Exchange the halves. All pages of the full half have been compacted; it is emptied and fills next. */
void mem_log_turn(MemWriteLog *l);
/* Whether the full half has pages to compact. */
static inline bool mem_log_is_compacting(const MemWriteLog *l) {
    return l->room && l->next_page < l->halves[1 - l->filling].page_keys.count;
}

/* A page of the full half, for its compaction. */
typedef struct MemLogCompaction {
    uint64_t page;
    mem_ps accepted_ps; /* when its last line, of either half, was accepted */
    bool dirty;         /* false: nothing to do */
    bool whole;         /* the full half holds all its bytes */
} MemLogCompaction;

/* Take the next page of the full half; its lines are clean from now on, in both halves. */
MemLogCompaction mem_log_compact_next(MemWriteLog *l);

/* Empty the log: its lines have been programmed or are lost. */
void mem_log_clear(MemWriteLog *l);

/* NULL, or the broken law. */
const char *mem_log_check(const MemWriteLog *l);

#endif
